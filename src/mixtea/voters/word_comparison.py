"""Word-by-word comparison of two names, beyond the similarity of letters. No torch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from mixtea.compute.similar_rows import row_products
from mixtea.voters.candidate_pairs import Feature
from mixtea.voters.word_sets import Numbered, Rows, SplitTexts, numbered_sets

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
MAX_COUNTED = 3  # words or numbers of a name that count
# Words of English names that carry no meaning of their own; rare elsewhere, so that they do no harm there.
FUNCTION_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "do", "does", "for", "from", "had", "has", "have", "in",
    "is", "it", "its", "of", "on", "or", "that", "the", "this", "to", "was", "were", "with",
))  # fmt: skip
_NUMBERS = re.compile(r"\d+")
_PLURALS = (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"))
_NO_PLURALS = ("ss", "us", "is")
_SPELLINGS = tuple(  # British to American, and ligatures as they are written out
    (re.compile(pattern), other)
    for pattern, other in (("isation", "ization"), ("is(e|ed|ing|er)$", r"iz\1"), ("our$", "or"), ("ae|oe", "e"))
)
WORD_FEATURES = (
    Feature("words_differ", -0.5, 0.5),  # both names have words that the other has not: per word
    Feature("head_differs", -0.5, 0.5),  # the last words differ: an artery is not a nerve
    Feature("words_more", -1.0, 0.7),  # one name has more words, by how rare these are
    Feature("numbers_differ", -3.0, 1.0),  # both have numbers that the other has not: per number
    Feature("numbers_shared", 0.7, 0.5),
    Feature("opposites", -2.0, 1.0),  # one has a word, the other its opposite: left and right
    Feature("colours_differ", -1.0, 0.7),  # both have colours, and none in common
    Feature("quantities_differ", -1.0, 0.7),  # both have a number of the same kind of unit, and another one
    Feature("codes_differ", -0.5, 0.7),  # both have words of letters and digits, and none in common
    Feature("codes_shared", 1.0, 0.7),
    Feature("stems_shared", 0.5, 0.5),  # of the words that differ, those that have a stem in common
)


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


class WordComparison:
    """Comparison of texts of two sides in comparison form: lower case, letters and digits, single spaces."""

    def __init__(
        self, source: Sequence[str], target: Sequence[str], known: tuple[int, Mapping[str, int]] | None = None
    ) -> None:
        """Store the texts; `known` is a number of texts and the texts per word, which rate the rarity of words."""
        self.texts, self.known = (source, target), known

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Compute WORD_FEATURES [p, f] of pairs of texts, by their places on each side."""
        words, rare, numbers = (self._left(rows, a, b) for rows in (self._words, self._rare_words, self._numbers))
        shared = shared_items(*self._numbers, a, b)
        heads = self._heads[0][a] != self._heads[1][b]
        colours, codes = (clashing(rows, a, b) for rows in (self._colours, self._codes))
        columns = (
            np.minimum(*words), heads, np.abs(rare[0] - rare[1]), np.minimum(*numbers), shared,
            shared_items(*self._opposites, a, b), colours, self._quantities_that_differ(a, b), codes,
            shared_items(*self._codes, a, b), self._stems_shared(words, a, b),
        )  # fmt: skip
        return np.column_stack([np.minimum(column, MAX_COUNTED) for column in columns]).astype(np.float32)

    def _quantities_that_differ(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Count kinds of units of which both have a number, less the numbers that are the same."""
        kinds, numbers = (shared_items(*rows, a, b) for rows in (self._kinds_of_units, self._quantities))
        return kinds - numbers

    def _stems_shared(self, words: tuple[np.ndarray, np.ndarray], a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Count the words that differ, in pairs, less those that still differ as stems."""
        stems = self._left(self._stems, a, b)
        return np.maximum(np.minimum(*words) - np.minimum(*stems), 0.0)

    def _left(self, rows: tuple[Rows, Rows], a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count per pair what each of both has that the other has not."""
        ones = csr_matrix((np.ones_like(rows[1].held.data), rows[1].held.indices, rows[1].held.indptr),
                          rows[1].held.shape)  # fmt: skip
        shared = shared_items(rows[0], Rows(ones, rows[1].size), a, b)
        return np.maximum(rows[0].size[a] - shared, 0.0), np.maximum(rows[1].size[b] - shared, 0.0)

    @cached_property
    def _split(self) -> SplitTexts:
        return SplitTexts(self.texts, lambda word: "".join(content_words(word)))

    @cached_property
    def _words(self) -> tuple[Rows, Rows]:
        """Return the content words; their columns are those of `_split.content`."""
        return self._split.sets(self._split.content.codes, len(self._split.content.names))

    @cached_property
    def _stems(self) -> tuple[Rows, Rows]:
        content = self._split.content
        stems = Numbered.of(stem(word) for word in content.names)
        return self._split.sets(np.append(stems.codes, -1)[content.codes], len(stems.names))

    @cached_property
    def _opposites(self) -> tuple[Rows, Rows]:
        """Return the words with an opposite on one side, and the opposites of such words on the other."""
        number = {word: place for place, word in enumerate(_OPPOSITE)}
        own = self._split.sets_of(lambda word: opposites(word)[0], number)
        others = self._split.sets_of(lambda word: opposites(word)[1], number)
        return own[0], others[1]

    @cached_property
    def _colours(self) -> tuple[Rows, Rows]:
        return self._split.sets_of(colours)

    @cached_property
    def _codes(self) -> tuple[Rows, Rows]:
        return self._split.sets_of(codes)

    @cached_property
    def _measured(self) -> tuple[list[dict[str, str]], ...]:
        nothing: dict[str, str] = {}
        return tuple(
            [quantities(text) if has else nothing for text, has in zip(texts, rows.size > 0, strict=True)]
            for texts, rows in zip(self.texts, self._numbers, strict=True)
        )

    @cached_property
    def _kinds_of_units(self) -> tuple[Rows, Rows]:
        return numbered_sets(*([list(found) for found in side] for side in self._measured))

    @cached_property
    def _quantities(self) -> tuple[Rows, Rows]:
        return numbered_sets(*([list(found.values()) for found in side] for side in self._measured))

    @cached_property
    def _rare_words(self) -> tuple[Rows, Rows]:
        """Weigh words by rarity: from 0 for a word of all texts to 1 for a word of one."""
        held = [rows.held for rows in self._words]
        n, count = self._counted(held)
        rarity = (np.log(n / np.maximum(count, 1)) / np.log(n)).astype(np.float32)
        found = [csr_matrix((rarity[rows.indices], rows.indices, rows.indptr), rows.shape) for rows in held]
        ours, theirs = (Rows(rows, np.asarray(rows.sum(axis=1)).ravel()) for rows in found)
        return ours, theirs

    def _counted(self, held: Sequence[csr_matrix]) -> tuple[int, np.ndarray]:
        """Return the number of texts, and of those with each word of both sides."""
        if self.known is None:
            count = np.sum([np.bincount(rows.indices, minlength=rows.shape[1]) for rows in held], axis=0)
            return max(sum(rows.shape[0] for rows in held), 2), count
        n, known = self.known
        return max(n, 2), np.array([known.get(word, 1) for word in self._split.content.names] or [1], dtype=np.int64)

    def word_counts(self) -> tuple[int, dict[str, int]]:
        """Count the texts of both sides, and in how many of them each word is: `known` of other comparisons."""
        counts = np.sum([np.bincount(rows.held.indices, minlength=rows.held.shape[1]) for rows in self._words], axis=0)
        return sum(map(len, self.texts)), dict(zip(self._split.content.names, counts.tolist(), strict=False))

    @cached_property
    def _numbers(self) -> tuple[Rows, Rows]:
        return self._split.sets_of(lambda word: [number.lstrip("0") for number in _NUMBERS.findall(word)])

    @cached_property
    def _heads(self) -> tuple[np.ndarray, np.ndarray]:
        """Number the last content word of each text, alike on both sides; no word has a number of its own."""
        ours, theirs = (self._split.last(side) for side in (0, 1))
        return ours, theirs


def shared_items(ours: Rows, theirs: Rows, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Count per pair what both sets have; pairs of which one is empty cost nothing."""
    found = np.zeros(len(a), dtype=np.float32)
    both = np.flatnonzero((ours.size[a] > 0) & (theirs.size[b] > 0))
    found[both] = row_products(ours.held, theirs.held, a[both], b[both])
    return found


def clashing(rows: tuple[Rows, Rows], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return per pair whether both have something, and nothing in common."""
    ours, theirs = rows
    return (ours.size[a] > 0) & (theirs.size[b] > 0) & (shared_items(ours, theirs, a, b) == 0)


def content_words(text: str) -> list[str]:
    """Return the words of a name in one spelling, without those that carry no meaning and without numbers.

    >>> content_words("has the organisations of 25 papers"), content_words("is a")
    (['organization', 'paper'], [])
    """
    return [one_spelling(word) for word in text.split() if word not in FUNCTION_WORDS and not _NUMBERS.search(word)]


def one_spelling(word: str) -> str:
    """Return a word in the singular and in American spelling.

    >>> [one_spelling(word) for word in ("studies", "classes", "virus", "colour", "oesophagus", "organise")]
    ['study', 'class', 'virus', 'color', 'esophagus', 'organize']
    """
    if len(word) > 3 and word.endswith("s") and not word.endswith(_NO_PLURALS):
        word = next((word[: -len(end)] + other for end, other in _PLURALS if word.endswith(end)), word[:-1])
    for pattern, other in _SPELLINGS:
        word = pattern.sub(other, word)
    return word
