"""Detection of name columns, by how predicates are called and by their values.

A predicate (of a table: a column) that is called as names are and whose values can be names is taken. Without one, and
where ids are not names either, it is the one whose values look like names: filled, distinct, short, of letters, and
made of words that the other side has too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.graph.labels import (
    FURTHER_NAME_RANK,
    NAME_RANK,
    NO_LABEL,
    PLAIN_LABEL_PREDICATES,
    TRANSLATION_RANK,
    label_rank,
)
from mixtea.graph.literal_columns import id_form
from mixtea.graph.terms import TYPE, types_of
from mixtea.graph.text_column import TextColumn
from mixtea.text.names import (
    DESCRIPTION_IRIS,
    MAX_NAME_LENGTH,
    is_code,
    local_name,
    names_from_ids,
    normalized_name,
)

EXACT, CONTAINED, FURTHER = range(3)  # `title`; `product_title`; `alias`
MIN_NAMED = 0.5  # share of the entities with values: with so many labels, or names in their ids, none is looked for
MIN_SHARE_BY_WORD, MIN_SHARE_BY_VALUES = 0.5, 0.8  # share filled, share distinct and share of texts that can be names
MIN_ENTITIES, MAX_WORDS = 10, 12  # by look: entities with the predicate, and words of its median text
MIN_SHARED_WORDS = 0.2  # by look: share of the words, of the side that has fewer, that both have
MIN_LETTERS = 0.6  # share of a name's letters and digits
MAX_CODE_LENGTH, MIN_SAME_LENGTH = 8, 0.9  # codes are no longer than that, and most of a column are equally long
_DIGITS, _LONG_WORD = re.compile(r"\d+"), re.compile(r"[^\W\d_]{6}")
MAX_SAMPLE = 5000  # texts or ids that are looked at


def _folded(text: str) -> str:
    """Return the text in small letters without accents: `Désignation` is `designation`."""
    letters = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")


def _listed(words: str) -> frozenset[str]:
    return frozenset(_folded(words).split())


ENDINGS = _listed("""
    name names title label heading caption titel bezeichnung benennung naam namn navn nimi
    名称 名稱 名字 名 标题 標題 タイトル 이름 제목 명칭
""")  # of longer words too, as in `Produktname`
NAMES = ENDINGS | _listed("""
    preflabel headline nom titre intitule libelle designation denomination
    nombre titulo denominacion nome titolo denominazione denumire nazwa tytul nazev naziv nev isim
    название наименование имя заголовок назва ονομα τιτλος 姓名 题名 題名 題目 题目 名前 氏名 اسم عنوان שם नाम ชื่อ
""")
KINDS_OF_THINGS = _listed("product produit produkt producto prodotto item film movie book 产品 商品")  # called by kind
FURTHER_NAMES = _listed("""
    alias aliases aka synonym synonyms synonyme synonymes altlabel altname alternatename alternative alternate
    nickname hiddenlabel sinonimo sinonimos sinonimi 别名 別名 синоним синонимы
""")
QUALIFIES_FURTHER = _listed("alt alternative alternate other original further autre alternativ originaltitel originale")
OF_OTHERS = _listed("""
    first last given family middle maiden user login file host domain job sub short author creator editor category brand
    manufacturer maker publisher venue type class group status unit id code number count column language lang sort
    prenom surname firstname lastname forename username filename hostname subtitle jobtitle nickname
    vorname nachname familienname benutzername dateiname untertitel kategorie autor auteur marque apellido cognome
    姓 作者 用户 类别 品牌
""")
NOT_NAMES = OF_OTHERS | _listed("""
    description desc comment comments note notes abstract summary definition gloss text content body review remark
    address street city country region place location email mail phone url uri iri website link path image
    authors creators date year keywords tags beschreibung kommentar adresse strasse stadt land resume descripcion
    descrizione direccion indirizzo 描述 说明 地址 备注 摘要
""")


def kind_of_name(predicate: str) -> int | None:
    """Return EXACT, CONTAINED or FURTHER where a predicate is called as names are, else None.

    >>> [kind_of_name(one) for one in ("http://e.org/title", "Nom du produit", "alias", "last_name", "price")]
    [0, 1, 2, None, None]
    """
    words = _words_of_name(predicate)
    if not words:
        return None
    if "".join(words) in FURTHER_NAMES or words[-1] in FURTHER_NAMES:
        return FURTHER
    if len(words) == 1 and words[0] in NAMES | KINDS_OF_THINGS:
        return EXACT
    is_head = words[-1].endswith(tuple(ENDINGS)) or words[-1] in NAMES
    if OF_OTHERS & {*words} or not (is_head or (words[0] in NAMES and words[-1] not in NOT_NAMES)):
        return None
    return FURTHER if QUALIFIES_FURTHER & {*words} else CONTAINED


def is_not_called_as_names(predicate: str) -> bool:
    """Return whether a predicate is called as something that no name is, such as a description or an address."""
    return bool(NOT_NAMES & {*_words_of_name(predicate)})


def _words_of_name(predicate: str) -> list[str]:
    return re.findall(r"[^\W_]+", _folded(local_name(predicate) or predicate))


@dataclass(frozen=True, eq=False)
class PredicateProfile:
    """Distinct values of a predicate, the entities that have one, and shares.

    `filled` is the share of entities of the same types that have a value, `filled_of_all` that of all with values,
    `distinct` the share of values that differ.
    """

    predicate: str
    values: TextColumn
    entities: np.ndarray
    filled: float
    filled_of_all: float
    distinct: float

    @cached_property
    def sample(self) -> list[str]:
        """Return values that are evenly spread over all, as much of each as counts as a name."""
        return [self.values.text(code)[:MAX_NAME_LENGTH] for code in _spread(self.values.codes).tolist()]

    @cached_property
    def words(self) -> set[str]:
        return _words(self.sample)

    @cached_property
    def readable(self) -> float:
        return share_readable(self.sample)

    @property
    def median_length(self) -> float:
        return float(np.median([len(text) for text in self.sample]))

    @property
    def median_words(self) -> float:
        return float(np.median([len(text.split()) for text in self.sample]))


def predicate_profiles(graph: Graph) -> list[PredicateProfile]:
    """Return profiles of the predicates of values, of entities without a label if most have one.

    Of an ontology with its instances, classes may have labels and instances titles; of several tables each may have
    names of its own.
    """
    of, described, labelled = graph.attributes, _described(graph), _has_label(graph)
    in_tables = _filled_in_tables(graph)
    if _mostly_labelled(graph):
        described = described[~labelled[described]]
        if len(described) < MIN_ENTITIES and not in_tables:
            return []
    group = _types(graph)
    sizes = np.bincount(group[described])
    found = []
    for predicate, rows in rows_by_predicate(of):
        if predicate not in TYPE and label_rank(predicate) == NO_LABEL:
            entities, codes = np.intersect1d(of.entity[rows], described), pd.unique(of.value.codes[rows])
            if not len(entities):
                continue
            of_types = sizes[pd.unique(group[entities])].sum()
            filled = in_tables.get(predicate, len(entities) / of_types)
            shares = (filled, len(entities) / len(described), len(codes) / len(rows))
            values = TextColumn(of.value.data, of.value.offsets, codes)
            found.append(PredicateProfile(predicate, values, entities, *shares))
    return found


def _filled_in_tables(graph: Graph) -> dict[str, float]:
    """Return how often columns are filled, of those of several tables that have no column of labels."""
    tables = [
        {PLAIN_LABEL_PREDICATES.get(one.name.casefold(), one.name): one.filled for one in file.columns}
        for file in graph.files
    ]
    if sum(map(bool, tables)) < 2:
        return {}
    unlabelled = (table for table in tables if all(label_rank(word) == NO_LABEL for word in table))
    return {word: filled for table in unlabelled for word, filled in table.items()}


def name_predicates(
    graph: Graph, looks: list[PredicateProfile], other: Graph, others: list[PredicateProfile]
) -> dict[str, int]:
    """Return the predicates to take as names with their ranks; those called so before one that only looks so."""
    named, ranks = _has_label(graph), dict[str, int]()
    for kind, look in _called_as_names(looks):
        if kind != FURTHER and not named[look.entities].mean() >= MIN_NAMED:
            ranks[look.predicate] = NAME_RANK
            named[look.entities] = True
        elif ranks and kind in (EXACT, FURTHER):
            ranks[look.predicate] = FURTHER_NAME_RANK
    if ranks or not looks or _has_named_ids(graph) or _mostly_labelled(graph):
        return ranks
    words = _words_of_names(other, others)
    shared = [
        look for look in _with_name_values(looks)
        if len(look.words & words) >= MIN_SHARED_WORDS * max(min(len(look.words), len(words)), 1)
    ]  # fmt: skip
    return {look.predicate: NAME_RANK for look in sorted(shared, key=lambda look: look.median_length)[:1]}


def _called_as_names(looks: list[PredicateProfile]) -> list[tuple[int, PredicateProfile]]:
    """Return the predicates called as names are, with how, whose values can be names: the best first."""
    found = [
        (kind, look) for look in looks
        if (kind := kind_of_name(look.predicate)) is not None
        and look.distinct >= MIN_SHARE_BY_WORD and (kind == FURTHER or look.filled >= MIN_SHARE_BY_WORD)
        and look.readable >= MIN_SHARE_BY_WORD
    ]  # fmt: skip
    return sorted(found, key=lambda one: (one[0], -one[1].filled * one[1].distinct))


def _with_name_values(looks: list[PredicateProfile]) -> list[PredicateProfile]:
    """Return the predicates whose values look like names whatever they are called."""
    return [
        look for look in looks
        if min(look.filled_of_all, look.distinct) >= MIN_SHARE_BY_VALUES and len(look.entities) >= MIN_ENTITIES
        and look.predicate not in DESCRIPTION_IRIS and not is_not_called_as_names(look.predicate)
        and look.readable >= MIN_SHARE_BY_VALUES and look.median_words <= MAX_WORDS
    ]  # fmt: skip


def _words_of_names(graph: Graph, looks: list[PredicateProfile]) -> set[str]:
    """Return the words of what is a name in a graph, or can be one."""
    labels = _spread(np.arange(graph.labels.text.n_texts))
    texts = [graph.labels.text.text(code) for code in labels.tolist()] or [*_sampled_id_names(graph)]
    candidates = [*(look for _, look in _called_as_names(looks)), *_with_name_values(looks)]
    return _words(texts).union(*(look.words for look in candidates))


def rows_by_predicate(of: Attributes) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each predicate with its rows."""
    order = np.argsort(of.predicate.codes, kind="stable")
    ends = np.cumsum(np.bincount(of.predicate.codes, minlength=of.predicate.n_texts)).tolist()
    for predicate, start, end in zip(of.predicate.texts(), [0, *ends], ends, strict=False):
        if end > start:
            yield predicate, order[start:end]


def _described(graph: Graph) -> np.ndarray:
    """Return the entities that have values."""
    of = graph.attributes
    is_value = np.array([word not in TYPE for word in of.predicate.texts()], dtype=bool)[of.predicate.codes]
    return pd.unique(of.entity[is_value])


def _mostly_labelled(graph: Graph) -> bool:
    described = _described(graph)
    return bool(len(described) and _has_label(graph)[described].mean() >= MIN_NAMED)


def _has_label(graph: Graph) -> np.ndarray:
    """Return bool [n]: the entities with a label of their own."""
    found = np.zeros(graph.n_entities, dtype=bool)
    found[graph.labels.entity[graph.labels.rank != TRANSLATION_RANK]] = True
    return found


def _has_named_ids(graph: Graph) -> bool:
    names = _sampled_id_names(graph)
    return sum(map(bool, names)) >= MIN_NAMED * len(names)


def _sampled_id_names(graph: Graph) -> list[str]:
    return names_from_ids(graph.ids[_spread(np.arange(graph.n_entities))])


def _types(graph: Graph) -> np.ndarray:
    """Return int64 [n]: a number for the first type of each entity, 0 for none."""
    entities, types = types_of(graph.ids, graph.relations, graph.triples, graph.attributes)
    number: dict[str, int] = {}
    group = np.zeros(graph.n_entities, dtype=np.int64)
    codes = np.array([number.setdefault(word, len(number) + 1) for word in types], dtype=np.int64)
    group[entities[::-1].astype(np.int64)] = codes[::-1]
    return group


def _spread(numbers: np.ndarray) -> np.ndarray:
    return numbers[:: len(numbers) // MAX_SAMPLE + 1]


def share_readable(texts: list[str]) -> float:
    """Return the share of texts that can be names; 0 where they are codes of one length, such as `FRA`."""
    lengths = [
        len(text) for text in texts if len(text) <= MAX_CODE_LENGTH and " " not in text and text.lower() != text.upper()
    ]
    if len(texts) >= MIN_ENTITIES and np.bincount(lengths or [0]).max() >= MIN_SAME_LENGTH * len(texts):
        return 0.0
    numbered = [_DIGITS.sub("", text) for text in texts if _is_numbered_name(text)]
    differ = len(set(numbered)) >= MIN_SHARE_BY_WORD * len(numbered)
    return (sum(map(_can_be_name, texts)) + (len(numbered) if differ else 0)) / len(texts)


def _is_numbered_name(text: str) -> bool:
    """Return whether a text is one word with digits that may be a name, if others differ by more than these.

    >>> [_is_numbered_name(text) for text in ("2-methylnaphthalene", "SKU-12a", "B00004TKVY", "x1")]
    [True, False, False, False]
    """
    signs = normalized_name(text).replace(" ", "")
    letters = len(signs) - sum(map(str.isdigit, signs))
    is_one = (
        len(text.split()) == 1 and letters < len(signs) and "@" not in text and id_form(text) not in ("id", "number")
    )
    return is_one and letters >= MIN_LETTERS * len(signs) and _LONG_WORD.search(signs) is not None


def _can_be_name(text: str) -> bool:
    """Return whether a text is mostly letters, and not a number, an IRI, a mail address or a code.

    >>> [_can_be_name(text) for text in ("Ulysses (1954)", "北京", "SKU-12a", "1999-01-31", "a@b.org", "IBM")]
    [True, True, False, False, False, True]
    """
    signs = normalized_name(text).replace(" ", "")
    if not signs or "@" in text or id_form(text) in ("id", "number") or is_code(text):
        return False
    digits = sum(map(str.isdigit, signs))
    return not (digits and len(text.split()) == 1) and len(signs) - digits >= MIN_LETTERS * len(signs)


def _words(texts: Sequence[str]) -> set[str]:
    return {word for text in texts for word in normalized_name(text).split()}
