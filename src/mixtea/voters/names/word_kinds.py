"""Words in names that distinguish similar entities: opposites, colours, quantities, product codes, stems."""

from __future__ import annotations

import re

# Words of English names, and of none that is written the same in another language and means something else.
OPPOSITES = (
    ("left", "right"), ("internal", "external"), ("inner", "outer"), ("interior", "exterior"), ("upper", "lower"),
    ("superior", "inferior"), ("anterior", "posterior"), ("dorsal", "ventral"), ("medial", "lateral"),
    ("proximal", "distal"), ("deep", "superficial"), ("ascending", "descending"), ("afferent", "efferent"),
    ("major", "minor"), ("greater", "lesser"), ("large", "small"), ("long", "short"), ("big", "little"),
    ("male", "female"), ("men", "women"), ("man", "woman"), ("boys", "girls"), ("young", "old"), ("new", "used"),
    ("north", "south"), ("northern", "southern"), ("east", "west"), ("eastern", "western"), ("front", "rear"),
    ("first", "last"), ("start", "end"), ("begin", "end"), ("minimum", "maximum"), ("min", "max"), ("low", "high"),
    ("positive", "negative"), ("accepted", "rejected"), ("accept", "reject"), ("wired", "wireless"),
    ("indoor", "outdoor"), ("input", "output"), ("import", "export"), ("parent", "child"), ("active", "passive"),
    ("open", "closed"), ("primary", "secondary"), ("mac", "windows"), ("student", "teacher"), ("single", "double"),
    ("hot", "cold"),
)  # fmt: skip
COLOURS = frozenset((
    "beige", "black", "blue", "bronze", "brown", "chrome", "copper", "crimson", "cyan", "gold", "gray", "green", "grey",
    "indigo", "ivory", "lavender", "magenta", "maroon", "navy", "orange", "pink", "platinum", "purple", "red", "silver",
    "tan", "teal", "titanium", "turquoise", "violet", "white", "yellow",
))  # fmt: skip
_SAME_COLOUR = {"grey": "gray"}
# Units of one kind and how many of the smallest each is; quantities of one kind can be compared.
_UNITS = {
    "memory": {"kb": 1, "mb": 1024, "gb": 1024**2, "tb": 1024**3},
    "length": {"mm": 1, "cm": 10, "m": 1000, "km": 10**6},
    "inches": {"in": 1, "inch": 1, "inches": 1, "ft": 12, "feet": 12, "foot": 12},
    "weight": {"mg": 1, "g": 1000, "kg": 10**6},
    "pounds": {"oz": 1, "ounce": 1, "ounces": 1, "lb": 16, "lbs": 16, "pound": 16, "pounds": 16},
    "volume": {"ml": 1, "cl": 10, "l": 1000, "liter": 1000, "litre": 1000},
    "frequency": {"hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9},
    "power": {"w": 1, "watt": 1, "watts": 1, "kw": 1000},
    "voltage": {"v": 1, "volt": 1, "volts": 1, "kv": 1000},
    "pixels": {"mp": 1, "megapixel": 1, "megapixels": 1},
    "users": {"user": 1, "users": 1, "license": 1, "licenses": 1, "licence": 1, "licences": 1},
    "pack": {"pack": 1, "packs": 1, "pk": 1, "count": 1, "ct": 1, "pcs": 1, "piece": 1, "pieces": 1},
}
_UNIT = {unit: (kind, factor) for kind, units in _UNITS.items() for unit, factor in units.items()}
_QUANTITY = re.compile(rf"\b(\d+) ?({'|'.join(sorted(_UNIT, key=len, reverse=True))})\b")
_CODE = re.compile(r"\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{4,}\b")
_SUFFIXES = (
    "ization", "ational", "ation", "ition", "ments", "ment", "ness", "ings", "ing", "ions", "ion", "ical", "ial", "eal",
    "ally", "ary", "ous", "ors", "ers", "ive", "ies", "ied", "ic", "al", "ed", "er", "or", "es", "ly", "e", "s", "y",
)  # fmt: skip
MIN_STEM = 4  # letters that a stem has
_DOUBLE = re.compile(r"(.)\1")


def opposites(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a name that have an opposite, and their opposites.

    >>> opposites("left internal artery")
    (['internal', 'left'], ['external', 'right'])
    """
    own = sorted(set(text.split()) & _OPPOSITE.keys())
    return own, sorted({other for word in own for other in _OPPOSITE[word]})


def _opposite() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one, other in OPPOSITES:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


_OPPOSITE = _opposite()


def colours(text: str) -> list[str]:
    """Return the colours in a name.

    >>> colours("grey and red case")
    ['gray', 'red']
    """
    return [_SAME_COLOUR.get(word, word) for word in text.split() if word in COLOURS]


def quantities(text: str) -> dict[str, str]:
    """Return the numbers with a unit in a name, by what is measured; the last of each kind.

    >>> quantities("card 1 gb 40mm") == quantities("card 1024mb 4 cm")
    True
    """
    found = {}
    for number, unit in _QUANTITY.findall(text):
        kind, factor = _UNIT[unit]
        found[kind] = f"{kind} {int(number) * factor}"
    return found


def codes(text: str) -> list[str]:
    """Return the words of letters and digits in a name, such as numbers of models; quantities are none.

    >>> codes("radeon hd4870 512mb 3d ati100437")
    ['hd4870', 'ati100437']
    """
    return [code for code in _CODE.findall(text) if not _QUANTITY.fullmatch(code)]


def stem(word: str) -> str:
    """Return a word without its ending, so that adjective, noun and verb of one root are often the same.

    >>> [stem(word) for word in ("spleen", "splenic", "reviewing", "review", "arterial", "artery", "is")]
    ['splen', 'splen', 'review', 'review', 'arter', 'arter', 'is']
    """
    short = _DOUBLE.sub(r"\1", word)
    for suffix in _SUFFIXES:
        if short.endswith(suffix) and len(short) - len(suffix) >= MIN_STEM:
            return short[: -len(suffix)]
    return short
