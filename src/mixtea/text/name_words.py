"""Recognise by what a column or predicate is called that its values are names, in the usual words of some languages."""

from __future__ import annotations

import re
import unicodedata

from mixtea.text.names import local_name

EXACT, CONTAINED, FURTHER = range(3)  # `title`; `product_title`; `alias`


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
    words = _words(predicate)
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
    return bool(NOT_NAMES & {*_words(predicate)})


def _words(predicate: str) -> list[str]:
    return re.findall(r"[^\W_]+", _folded(local_name(predicate) or predicate))
