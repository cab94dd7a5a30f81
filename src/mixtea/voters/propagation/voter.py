"""The voter `propagation`: label propagation from known pairs, without training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea.compute.array_checks import check_pairs
from mixtea.compute.scored_pairs import as_numpy
from mixtea.voters.agreement.voter import matched_neighbours
from mixtea.voters.base import Cost, Evidence, Voter, VotingState

if TYPE_CHECKING:
    from torch import Tensor

    from mixtea.compute.scored_pairs import ScoredPairs
    from mixtea.voters.propagation.views import PropagationViews


class Propagation(Voter):
    """Cosines after propagation from the links and from the sure pairs.

    It proposes the nearest of every entity that is in no sure pair. Scores are 0 where nothing known reaches an entity,
    so that there is no evidence.
    """

    name = "propagation"
    needs = ("triples",)
    evidence = "structure"
    _views: PropagationViews | None = None
    _begun: tuple[np.ndarray, np.ndarray, bool] | None = None  # the last one's sure pairs, random state, roughness

    def propose(self, state: VotingState) -> ScoredPairs:
        return self._seen(state).pairs

    def score(self, pairs: ScoredPairs, state: VotingState) -> Tensor:
        return state.entities.mask_without_triples(pairs, self._seen(state).scores(pairs))

    def learn(self, state: VotingState) -> None:
        """Propagate anew from the links and the sure pairs; the inputs are stored, as the vectors are much larger."""
        self._begun = (as_numpy(state.sure), as_numpy(state.generator.get_state()), state.rough)
        self._new_views(state).refresh(state.sure, state.generator, state.rough)

    def release(self) -> None:
        self._views = None

    def _new_views(self, state: VotingState) -> PropagationViews:
        from mixtea.voters.propagation.views import PropagationViews

        if self._views is None:
            self._views = PropagationViews(self.task, self.config, state.entities)
        return self._views

    def _seen(self, state: VotingState) -> PropagationViews:
        """Return the vectors; after an interruption they are made again, with the same random numbers."""
        if self._views is None and self._begun is not None:
            self._new_views(state).refresh_from(*self._begun)
        if self._views is None:
            raise ValueError("propagation is asked before it has learned")
        return self._views

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return linked or surely matched neighbours, and the relations through which they reach the pair."""
        return matched_neighbours(self, source, target, above=self.config.sure_above)

    def cost(self) -> Cost:
        config, n = self.config, sum(graph.n_entities for graph in (self.task.source, self.task.target))
        views, (item, kept) = 1 + config.propagation_cross_fit, (8, 8) if config.precision == "float64" else (4, 2)
        width = config.propagation_relation_dim * config.propagation_part_dim
        hops = 4 * config.propagation_label_dim * item  # of labels, and one that is being made
        return Cost(mib=n * (views * width * kept + hops) / 2**20, products=2.0 * views)

    def state_dict(self) -> dict[str, Any]:
        return {} if self._begun is None else dict(zip(("sure", "generator", "rough"), self._begun, strict=True))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not state:
            return
        sure, generator = state["sure"], state["generator"]
        check_pairs(sure, self.task.joint_index.shape)
        if generator.dtype != np.uint8 or generator.ndim != 1:
            raise ValueError("a random state of another form")
        self._begun, self._views = (sure, generator, bool(state["rough"])), None
