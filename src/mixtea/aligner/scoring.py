"""Score a fitted aligner by links that it has not learned from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from mixtea.compute.device import reproducible
from mixtea.compute.memory import enough_memory, remembered_sizes
from mixtea.decide.choose import Choice
from mixtea.decide.decode import voter_groups
from mixtea.evaluation.scores import empty_table, hits_by_voter
from mixtea.io.links.resolve import resolve_links
from mixtea.text.names import linked_by_name

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA
    from mixtea.config import Config
    from mixtea.decide.answers import Answers
    from mixtea.decide.decode import StoredOpinions
    from mixtea.decide.predict import Predictor
    from mixtea.graph.task import Task

Voters = str | Sequence[str] | None  # names, in a list or joined by commas
T = TypeVar("T")


def reproducibly(method: Callable[..., T]) -> Callable[..., T]:
    """Make a method of a fitted aligner return the same bits every time where `deterministic` asks for it."""

    @wraps(method)
    def run(self: MixTEA, *args: Any, **kwargs: Any) -> T:
        self._check_fitted()
        with reproducible(self.config.deterministic, self._threads), enough_memory(), remembered_sizes():
            return method(self, *args, **kwargs)

    return run


class Scoring:
    """The methods of `MixTEA` that score links."""

    if TYPE_CHECKING:
        task_: Task
        _last: StoredOpinions | None
        _answers_by_config: Callable[..., Answers]
        _check_fitted: Callable[[], None]
        _decoding: Callable[[str | None, Voters], Config]
        _predictor: Callable[[Config], Predictor]
        _trained_config: Callable[[], Config]

        @property
        def answers_(self) -> Answers: ...

    @reproducibly
    def score_mapping(
        self, links: Any = None, *, complete: bool = False, shared_targets: bool = False, best_f1: bool = False,
        precision: float | None = None, every: bool = False,
    ) -> dict[str, float]:  # fmt: skip
        """Compute precision, recall and F1 of the mapping of `map`, on links (the task's test links unless given).

        With `complete` no further entity has a counterpart; without, only mappings of sources with a link are judged.
        Links of sources that have a given link do not count: the mapping leaves these out. `links` are as in `score`,
        the others as in `map`. Raises what these raise.

        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> sorted(aligner.score_mapping())[:3]
        ['f1', 'precision', 'recall']
        """
        choice, links = Choice(best_f1, every, precision), self._links(links)
        answers = self._answers_by_config(self._trained_config(), shared_targets=shared_targets)
        return answers.mapping_scores(links, complete=complete, choice=choice)

    @reproducibly
    def threshold_curve(
        self, links: Any = None, *, complete: bool = False, shared_targets: bool = False
    ) -> pd.DataFrame:
        """Score the mapping by the least probability that is asked for, instead of what `map` decides.

        Arguments are those of `score_mapping`. Returns a data frame: threshold, precision, recall, f1.
        """
        links = self._links(links)
        answers = self._answers_by_config(self._trained_config(), shared_targets=shared_targets)
        return answers.threshold_curve(links, complete=complete)

    @reproducibly
    def score(self, links: Any = None, *, decoder: str | None = None, voters: Voters = None) -> dict[str, float]:
        """Compute Hit@1/5/10 and MRR on links [p, 2] (the task's test links unless given), and the same backward.

        Parameters
        ----------
        links
            Pairs of entity indices, of ids, or of labels that no other entity has: an array, a list of pairs, a
            data frame or a dictionary.
        decoder, voters
            As in `predict`.

        Returns
        -------
        dict
            Ties count in expectation. Candidates are the links' own targets, or all with candidates="all". Further: the
            calibration error of the probabilities of `predict` for these mappings among all targets, and the share
            of them to accept at 95 % precision.

        Raises
        ------
        DataError
            There are no links, they are not pairs, or a graph has no such entity.
        NotFittedError
            Nothing has been learned yet.

        Examples
        --------
        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> sorted(aligner.score({"territory/Germany": "territoire/Allemagne"}))[-4:]
        ['hits@1', 'hits@10', 'hits@5', 'mrr']
        """
        config = self._decoding(decoder, voters)
        answers = self.answers_ if config == self._trained_config() else None
        return self._predictor(config).scores(self._links(links), answers)

    @reproducibly
    def score_by_evidence(self, links: Any = None) -> pd.DataFrame:
        """Compute Hit@1 of links [p, 2] (the test links unless given) by all voters, by structure alone, by names, ...

        One row each for all voters, for structure (the voters that see nothing but triples and links), and for each
        voter of text. Columns: hits@1 over all the links, over those whose names are equal and over the others, and how
        many links these are. All rows are of this one run, in which structure has learned from what the others found.
        Without a voter beside structure there is no row.
        """
        config, links = self._trained_config(), self._links(links)
        deciding = voter_groups(config, self._last)
        if not deciding:
            return empty_table()
        hits = {
            name: self._predictor(config.replace(decode_voters=voters)).first_hits(links)
            for name, voters in deciding.items()
        }
        return hits_by_voter(hits, linked_by_name(self.task_.source, self.task_.target, links))

    def _links(self, links: Any) -> np.ndarray:
        self._check_fitted()
        return resolve_links(self.task_, links)
