"""Which of an entity's labels a person sees: by language, then by predicate, then by the alphabet."""

from __future__ import annotations

from collections.abc import Sequence

from mixtea.data.prefixes import BUILT_IN, expand

NAMING = {
    expand(name, BUILT_IN): rank
    for rank, name in enumerate(("rdfs:label", "skos:prefLabel", "foaf:name", "schema:name", "sdo:name"))
}
Candidate = tuple[
    int, str, int, str
]  # language, its tag, predicate, text: the smallest wins, in whatever order they come


class Names:
    """The best name of each entity so far."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = [language.lower() for language in languages]
        self.best: dict[str, Candidate] = {}

    def offer(self, label: str, predicate: str, text: str, language: str) -> None:
        if text.strip():
            tag = language.lower()
            self.keep(label, (self.rank(tag), tag, NAMING[predicate], text))

    def keep(self, label: str, candidate: Candidate) -> None:
        if label not in self.best or candidate < self.best[label]:
            self.best[label] = candidate

    def rank(self, tag: str) -> int:
        """The place of the language among the wanted ones; `en` also wants `en-gb`, the empty one text without any."""
        for place, wanted in enumerate(self.languages):
            if tag == wanted or (wanted and tag.startswith(wanted + "-")):
                return place
        return len(self.languages)
