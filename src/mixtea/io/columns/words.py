"""Recognise by what a column is called that it holds ids, dates, measures or references."""

from __future__ import annotations

import re

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^\w]|_|(?<=[^\W\d_])(?=\d)")


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


IDS = word_set("""
    id ids identifier code key uri iri uuid guid isbn issn ean gtin upc sku asin doi orcid lei vin imo mmsi barcode
    iata icao lid fips wmo qid cas inchi smiles rowid rownames rownum rownumber index serial nr no alpha abbreviation
    abbr tailnum callsign symbol ticker acronym isocode ssn geonameid numeric slug handle
""")
DATES = word_set("""
    date dates year years month day days time hour minute second datetime timestamp born birth died death dob
    birthday created updated modified since until founded established released release published publication start
    end began begin expires expiry expiration jahr datum geburtsdatum annee fecha ano anno data rok
""")
MEASURES = word_set("""
    count number num total sum amount price cost rate ratio score rating stars rank size length width height depth
    weight mass area volume population pop age distance speed duration runtime minutes seconds hours quantity qty
    stock pages votes budget gross revenue salary income value percent percentage share mean median average avg min
    max std temperature temp latitude longitude lat lon lng elevation altitude density pressure radius energy power
    level levels points goals wins losses miles mpg cylinders horsepower displacement acceleration delay bedrooms
    bathrooms rooms floors seats capacity employees year month day hour minute date time
""")
REFERENCES = word_set("""
    parent parents child mother father spouse partner manager boss supervisor superior friend sibling owner author
    director successor predecessor next previous prev ref reference refers replaced replacedby replaces superclass
    subclass broader narrower belongs memberof partof source target from to foreign fk
""")
TEXTS = word_set("""
    alias host file url website link page image photo
""")
NO_MEASURES = word_set("""
    postcode postal zip zipcode plz phone telephone tel mobile fax street house building room flat unit extension
""")  # their numbers count nothing
CLASSES = word_set("""
    status type class category group grade level code kind stage phase cluster label season quarter
""")
NAME_PARTS = word_set("""
    first last given middle family surname forename firstname lastname maiden
""")
PAGES = word_set("""
    url urls website homepage web site link links page pages image images img photo photos picture thumbnail thumb
    logo icon video audio pdf wikipedia flag avatar poster trailer source download
""")


def words_of(name: str) -> list[str]:
    """Return the words of the name of a column, in small letters.

    >>> words_of("managerId"), words_of("birth_date"), words_of("alpha_3"), words_of("ISBN-13")
    (['manager', 'id'], ['birth', 'date'], ['alpha', '3'], ['isbn', '13'])
    """
    return [word.casefold() for word in _CAMEL.split(name) if word]


def is_id_word(name: str) -> bool:
    """Return whether a column is called as ids are; one without a name holds what pandas writes in front of rows."""
    words = words_of(name)
    return not words or not IDS.isdisjoint(words)


def is_date_word(name: str) -> bool:
    return not DATES.isdisjoint(words_of(name))


def is_measure_word(name: str) -> bool:
    """Return whether a column is called as measures and counts are."""
    return not MEASURES.isdisjoint(words_of(name))


def is_code_number_word(name: str) -> bool:
    """Return whether numbers in a column of this name are not measures, such as phone and house numbers."""
    return not NO_MEASURES.isdisjoint(words_of(name))


def is_class_word(name: str) -> bool:
    """Return whether a column is called as classes of things are, which may have numbers."""
    return not CLASSES.isdisjoint(words_of(name))


def is_reference_word(name: str) -> bool:
    """Return whether a column is called as references to other rows are, such as `parent` or `managerId`."""
    words = words_of(name)
    return (len(words) > 1 and words[-1] in IDS) or not REFERENCES.isdisjoint(words)


def is_plural(name: str) -> bool:
    """Return whether a column is called by a plural, as lists are: `authors`, `countries_of_origin`."""
    return any(
        len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) for word in words_of(name)
    )


def is_page_word(name: str) -> bool:
    """Return whether IRIs in a column so called are pages and pictures to look at, not things."""
    return not PAGES.isdisjoint(words_of(name))


def is_text_word(name: str) -> bool:
    return not TEXTS.isdisjoint(words_of(name))


def is_person_name_word(name: str) -> bool:
    """Return whether a column is called as a part of a person's name is, such as `nameFirst` or `surname`."""
    words = words_of(name)
    return "surname" in words or (not NAME_PARTS.isdisjoint(words) and "name" in "".join(words))


def is_named_after(name: str, table: str) -> bool:
    """Return whether a column is called as a table is, with or without a word for ids, in the plural or not.

    >>> is_named_after("director", "directors"), is_named_after("Country_ID", "countries")
    (True, True)
    >>> is_named_after("year", "films")
    False
    """
    ours = [word for word in words_of(name) if word not in IDS]
    theirs = words_of(table)
    return bool(ours and theirs) and _singular(ours[-1]) == _singular(theirs[-1])


def _singular(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word[:-1] if word.endswith("s") else word
