"""Names of entities as text: their normal forms, equal names of two graphs, and texts for sentence models."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from anyascii import anyascii

from mixtea.graph.graph import Graph
from mixtea.graph.labels import TRANSLATION_RANK
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.graph.text_column import TextColumn

MAX_NAME_LENGTH = 1000  # characters of a text that count as a name
MIN_NUMBERED_SHARE, MIN_NUMBERED = 0.05, 10  # of the entities of a side that one numbering must have to be one
MIN_CODED_SHARE = 0.5  # of the ids of a side that are codes or like such: then none of these is a name
_IS_IRI = re.compile(r"https?://|urn:", re.IGNORECASE)
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9.-]*:(?=[^\W_])")
_VOCABULARIES = tuple(BUILT_IN[name] for name in ("rdf", "rdfs", "owl", "xsd"))
_ARTICLES = "/resource/"  # what follows is the title of an article, which may hold a slash
_WORD = re.compile(r"[^\W_]+")
_NUMBERED_WORD = re.compile(r"[^\W\d_]+\d+")
_LETTERS_AND_CODE = re.compile(r"[QPL]\d+|[^\W\d_]+\d{4,}|0\w+|\d{5,}")
_HEX = re.compile(r"[0-9a-f]{6,}|[0-9A-F]{6,}")
_ASCII_WORD = re.compile(r"[0-9A-Za-z]+")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_DIGITS = re.compile(r"\d+")
_ONE_DIGIT = str.maketrans("23456789", "11111111")
_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
Names = tuple[np.ndarray, TextColumn]
_NAMES: WeakKeyDictionary[Graph, dict[bool, Names]] = WeakKeyDictionary()  # by whether translations are among them
DESCRIPTION_PREDICATES = (
    "rdfs:comment", "skos:definition", "schema:description", "sdo:description", "dcterms:description", "dc:description",
    "obo:IAO_0000115", "oboInOwl:hasDefinition",
)  # fmt: skip
DESCRIPTION_IRIS = frozenset(expand(name, BUILT_IN) for name in DESCRIPTION_PREDICATES)
MAX_TEXT_LENGTH = 4096  # characters: more than a model of sentences reads


def local_name(id: str) -> str:
    """Return the name that an id or IRI holds, in words; "" for a number or a code.

    >>> local_name("http://dbpedia.org/resource/Ang_Lee"), local_name("http://ex.org/onto#ConferenceMember")
    ('Ang Lee', 'Conference Member')
    >>> local_name("wd:Q42"), local_name("wn30:n-00001740"), local_name("1984")
    ('', '', '')
    """
    part, is_title = _without_namespace(expand(id, BUILT_IN))
    part = part[:MAX_NAME_LENGTH]
    with suppress(UnicodeError):  # not of UTF-8: then it stays as it is written
        part = unquote(part, errors="strict")
    name = " ".join(part.replace("_", " ").split())
    if is_code(name):
        return ""
    return name if is_title or " " in name else _camel_words(name)


def last_part(id: str) -> str:
    """Return the part of an id or IRI behind the last slash, # or colon, as it is written.

    >>> last_part("http://purl.obolibrary.org/obo/MA_0000072"), last_part("http://ex.org/")
    ('MA_0000072', '')
    """
    return id[max(map(id.rfind, "/#:")) + 1 :]


def is_vocabulary_term(id: str) -> bool:
    """Return whether an id is a blank node, or a term of RDF or OWL itself.

    >>> [is_vocabulary_term(id) for id in ("_:b0", "http://www.w3.org/2002/07/owl#Class", "rdf:List", "http://ex.org/Class")]
    [True, True, True, False]
    """
    return expand(id, BUILT_IN).startswith(("_:", *_VOCABULARIES))


def label_text(text: str) -> str:
    """Return a label in words: the local name of an IRI ("" for a code), other texts as they are.

    >>> label_text("http://dbpedia.org/resource/Deepest_Shame"), label_text("Wide-Eye_2"), label_text("1984")
    ('Deepest Shame', 'Wide-Eye 2', '1984')
    >>> label_text("http://www.wikidata.org/entity/Q1000001")
    ''
    """
    if _IS_IRI.match(text):
        return local_name(text)
    return " ".join(text[:MAX_NAME_LENGTH].replace("_", " ").split())


def normalized_name(text: str) -> str:
    """Return a name as it is compared: case-folded letters and digits, without brackets unless nothing else is left.

    >>> normalized_name("National_Front_(France)"), normalized_name("ＡＢＣ – Straße!"), normalized_name("(1965)")
    ('national front', 'abc strasse', '1965')
    """
    folded = unicodedata.normalize("NFKC", text[:MAX_NAME_LENGTH]).casefold()
    return alphanumeric_words(_BRACKETS.sub(" ", folded)) or alphanumeric_words(folded)


def normalized_names(texts: Iterable[str]) -> list[str]:
    """Return `normalized_name` of each text; those in ASCII without brackets cost little."""
    return [
        " ".join(text[:MAX_NAME_LENGTH].translate(_PLAIN).split())
        if text.isascii() and "(" not in text and "[" not in text
        else normalized_name(text)
        for text in texts
    ]


def alphanumeric_words(text: str) -> str:
    """Return the letters with their marks, and the digits of a text, with single spaces between words."""
    if text.isascii():
        return " ".join(_ASCII_WORD.findall(text))
    return " ".join("".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text).split())


def transliterated(text: str) -> str:
    """Return a text in lower-case Latin letters and digits, without accents.

    >>> transliterated("crème brûlée"), transliterated("москва"), transliterated("北京"), transliterated("ガンダム")
    ('creme brulee', 'moskva', 'beijing', 'gandamu')
    """
    if text.isascii():
        return text
    bare = "".join(c for c in unicodedata.normalize("NFC", text) if not unicodedata.combining(c))
    return alphanumeric_words(anyascii(bare).lower())


def comparison_form(text: str) -> str:
    """Return a name in the form in which names of both sides are compared: plain, and in Latin letters if it can be.

    >>> comparison_form("Łódź (city)"), comparison_form("Москва")
    ('lodz', 'moskva')
    """
    words = normalized_name(text)
    return transliterated(words) or words


def is_code(name: str) -> bool:
    """Return whether a text is an identifier rather than a name: no letters, hexadecimal, or letters with numbers.

    >>> [is_code(text) for text in ("E000143", "GO 0008150", "person1-Address620", "0038d267", "U2", "X-Change 2")]
    [True, True, True, True, False, False]
    """
    return _is_code(name.translate(_ONE_DIGIT))


@lru_cache(maxsize=1 << 16)
def _is_code(name: str) -> bool:
    """Do so for a name whose digits are all 0 or 1: many ids differ by the others alone."""
    words = _WORD.findall(name)
    if not any(letter.isalpha() for letter in name) or _is_hex(name):
        return True
    if any(_is_spelled(word) for word in words):
        return False
    numbered = all(_NUMBERED_WORD.fullmatch(word) for word in words) and not name.isupper()
    return numbered or any(_LETTERS_AND_CODE.fullmatch(word) or _changes(word) >= 4 for word in words)


def entity_names(graph: Graph, *, translated: bool = True) -> tuple[np.ndarray, TextColumn]:
    """Return (int32 [r] entities, their names): all labels in words, or the local name where there is no own label.

    Sorted by entity, each name of an entity once; an entity without a name has no row. Translations are names too, but
    not own ones, and are left out unless `translated`. Ids that differ from many others by numbers alone (`item 17`)
    are not names. They are read once per graph.
    """
    known = _NAMES.setdefault(graph, {})
    if translated not in known:
        known[translated] = _entity_names(graph, translated)
    return known[translated]


def _entity_names(graph: Graph, translated: bool) -> Names:
    labels = graph.labels if translated else graph.labels.take(graph.labels.rank != TRANSLATION_RANK)
    words = [label_text(text) for text in labels.text.texts()]
    said = np.array([bool(word) for word in words], dtype=bool)[labels.text.codes]
    has_own = np.zeros(graph.n_entities, dtype=bool)
    has_own[labels.entity[said & (labels.rank != TRANSLATION_RANK)]] = True
    ids = [] if has_own.all() else names_from_ids(graph.ids)
    by_id = [(i, name) for i, name in enumerate(ids) if name and not has_own[i]]
    by_label = zip(labels.entity[said].tolist(), labels.text.codes[said].tolist(), strict=True)
    rows = dict.fromkeys([*((entity, words[code]) for entity, code in by_label), *by_id])
    entity = np.array([entity for entity, _ in rows], dtype=np.int32)
    order = np.argsort(entity, kind="stable")
    return entity[order], TextColumn.from_texts(name for _, name in rows).take(order)


def names_from_ids(ids: np.ndarray) -> list[str]:
    """Return the local name of each id, "" where it is not a name.

    Ids of tables are codes too where they have digits and no word in letters (`B00004TKVY`), as most ids of the side.
    """
    names = [local_name(id) for id in ids]
    coded = [not name or (_is_like_code(name) and not _IS_IRI.match(id)) for id, name in zip(ids, names, strict=True)]
    if sum(coded) >= MIN_CODED_SHARE * len(ids):
        names = ["" if is_one else name for name, is_one in zip(names, coded, strict=True)]
    shapes = [_DIGITS.sub("0", name) for name in names]
    least = max(MIN_NUMBERED, MIN_NUMBERED_SHARE * len(ids))
    numbering = {shape for shape, n in Counter(shapes).items() if n >= least and "0" in shape}
    return ["" if shape in numbering else name for name, shape in zip(names, shapes, strict=True)]


def _without_namespace(id: str) -> tuple[str, bool]:
    """Return the part of an id behind its namespace, and whether it is the title of an article."""
    authority = _AUTHORITY.match(id)
    rest = id[authority.end() :] if authority else id
    if authority and _ARTICLES in rest:
        return rest.partition(_ARTICLES)[2], True
    rest = rest.rstrip("/#")
    cut = max(rest.rfind("/"), rest.rfind("#"))
    if authority or cut >= 0:
        return rest[cut + 1 :], False
    if id.startswith(("_:", "urn:")):
        return "" if id.startswith("_:") else rest[rest.rfind(":") + 1 :], False
    prefix = _PREFIX.match(rest)
    return rest[prefix.end() :] if prefix else rest, False


def _camel_words(name: str) -> str:
    """Split camel case: `hasAuthor` into `has Author`, `XMLFile` into `XML File`."""
    following = [*name[1:], ""]
    begins = [
        here.isupper() and (before.islower() or (before.isupper() and after.islower()))
        for (before, here), after in zip(pairwise(name), following[1:], strict=True)
    ]
    return name[:1] + "".join(f" {c}" if new else c for c, new in zip(name[1:], begins, strict=True))


def _is_hex(name: str) -> bool:
    """Return whether a name is hexadecimal, such as `0038d267` or a UUID."""
    bare = name.strip("{}").replace("-", "")
    return _HEX.fullmatch(bare) is not None and sum(c.isdigit() for c in bare) >= 2


def _is_like_code(name: str) -> bool:
    """Return whether a name has a digit, and no spelled word."""
    return any(map(str.isdigit, name)) and not any(map(_is_spelled, _WORD.findall(name)))


def _is_spelled(word: str) -> bool:
    """Return whether a word has three letters or more and is not all capitals, or is in a script without capitals."""
    if any(c.isalpha() and c.lower() == c.upper() for c in word):
        return True
    return len(word) >= 3 and word.isalpha() and not word.isupper()


def _changes(word: str) -> int:
    """Count the changes between digits and letters in a word."""
    return sum(a.isdigit() != b.isdigit() for a, b in pairwise(word))


def equal_names(source: Graph, target: Graph) -> tuple[int, np.ndarray]:
    """Return (number of names that both sides have, int64 [p, 2] pairs with a name unique on each side).

    Names are compared by `normalized_name`. An entity whose names lead to two others is in no pair.
    """
    return equal_name_pairs(entity_names(source), entity_names(target))


def equal_name_pairs(source: Names, target: Names) -> tuple[int, np.ndarray]:
    """Do so for the results of `entity_names` on each side."""
    sides = [_plain_names(*names) for names in (source, target)]
    alike = set(sides[0]["name"]) & set(sides[1]["name"])
    once = [side[side["name"].isin(alike) & ~side["name"].duplicated(keep=False)] for side in sides]
    pairs = once[0].merge(once[1], on="name")[["entity_x", "entity_y"]].drop_duplicates()
    twice = pairs["entity_x"].duplicated(keep=False) | pairs["entity_y"].duplicated(keep=False)
    found = pairs[~twice].to_numpy(np.int64)
    return len(alike), found[np.argsort(found[:, 0], kind="stable")]


def linked_by_name(source: Graph, target: Graph, links: np.ndarray) -> np.ndarray:
    """Return bool [p]: the links [p, 2] whose ends have a name in common, by `normalized_name`."""
    ours, theirs = (_plain_names(*entity_names(graph)) for graph in (source, target))
    pairs = pd.DataFrame({"link": np.arange(len(links)), "entity": links[:, 0], "other": links[:, 1]})
    named = pairs.merge(ours, on="entity").merge(theirs, left_on=["other", "name"], right_on=["entity", "name"])
    return np.isin(np.arange(len(links)), named["link"].to_numpy())


def has_shared_name(source: Graph, target: Graph) -> np.ndarray:
    """Return bool [n]: the source entities with a name that the other side has too, by `normalized_name`."""
    ours, theirs = (_plain_names(*entity_names(graph)) for graph in (source, target))
    return np.isin(np.arange(source.n_entities), ours.loc[ours["name"].isin(theirs["name"]), "entity"].to_numpy())


def _plain_names(entity: np.ndarray, names: TextColumn) -> pd.DataFrame:
    """Return each entity with each of its normalized names, once."""
    writing = np.array(normalized_names(names.texts()), dtype=object)[names.codes]
    rows = pd.DataFrame({"entity": entity, "name": pd.Series(writing, dtype=object)})
    return rows[rows["name"] != ""].drop_duplicates()


def entity_texts(graph: Graph) -> list[tuple[str, str]]:
    """Return names and description of each entity, "" where there is none.

    They are apart because often one graph describes what the other only names.
    """
    names: list[list[str]] = [[] for _ in range(graph.n_entities)]
    descriptions: list[list[str]] = [[] for _ in range(graph.n_entities)]
    attributes = graph.attributes
    describes = np.array([text in DESCRIPTION_IRIS for text in attributes.predicate.texts()], dtype=bool)[
        attributes.predicate.codes
    ]
    for found, entity, text in (
        (names, *entity_names(graph)),
        (descriptions, attributes.entity[describes], attributes.value.take(describes)),
    ):
        for index, said in zip(entity.tolist(), text.tolist(), strict=True):
            found[index].append(said.strip()[:MAX_TEXT_LENGTH])
    return [(_joined(ours), _joined(said)) for ours, said in zip(names, descriptions, strict=True)]


def _joined(parts: list[str]) -> str:
    return ". ".join(filter(None, parts))[:MAX_TEXT_LENGTH]
