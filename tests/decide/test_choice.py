"""Which pairs are mapped: by default, for the best F1, for a precision, and all of them."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from deciding import answers, ranked, seven_entities
from hypothesis import given
from hypothesis import strategies as st

from mixtea.decide.answers import FallbackTargets
from mixtea.decide.choose import DECISIONS, MIN_PROBABILITY, Choice, decision_codes, half_of_best_f1
from mixtea.decide.mapping import FURTHER_TARGET, GIVEN, MAPPED, MAPPED_ANYWAY, NO_COUNTERPART, NO_EVIDENCE
from mixtea.errors import ConfigError

PROBABILITY = st.floats(0, 1)
PROBABILITIES = st.lists(PROBABILITY, max_size=12)
MATCHED = st.floats(0, 12)
CHOICES = [Choice(), Choice(best_f1=True), Choice(precision=0.9), Choice(precision=0.3), Choice(every=True)]
MADE = (MAPPED, MAPPED_ANYWAY)


@given(PROBABILITIES, MATCHED)
def test_nothing_below_the_threshold_is_mapped(probability, n_matched):
    p = np.array(probability)
    assert (Choice().accepted(p, n_matched) == (p >= MIN_PROBABILITY)).all()
    best = Choice(best_f1=True).accepted(p, n_matched)
    assert (best == (p >= min(half_of_best_f1(p, n_matched), MIN_PROBABILITY))).all()
    assert Choice(every=True).accepted(p, n_matched).all()


@given(PROBABILITIES, MATCHED)
def test_the_best_f1_has_all_that_is_mapped_by_default_and_a_greater_f1(probability, n_matched):
    p, kept = np.array(probability), {}
    for choice in (Choice(), Choice(best_f1=True)):
        kept[choice.best_f1] = choice.accepted(p, n_matched)
    assert kept[True][kept[False]].all()
    f1 = {best: 2 * p[k].sum() / max(k.sum() + n_matched, 1e-9) for best, k in kept.items()}
    assert f1[True] >= f1[False] - 1e-9


@given(PROBABILITIES, st.floats(0.5, 12))
def test_half_of_the_best_f1_by_all_thresholds(probability, n_matched):
    assert 2 * half_of_best_f1(np.array(probability), n_matched) == pytest.approx(
        oracle.best_expected_f1(probability, n_matched)
    )
    if probability and sum(probability) <= n_matched:  # then it is below .5, and what is mapped reaches it
        p = np.array(probability)
        kept = Choice(best_f1=True).accepted(p, n_matched)
        reached = 2 * p[kept].sum() / (kept.sum() + n_matched)
        assert reached == pytest.approx(oracle.best_expected_f1(probability, n_matched))


@given(PROBABILITIES, st.floats(0.01, 1))
def test_a_precision_is_reached_by_as_many_as_can_be(probability, precision):
    p = np.array(probability)
    kept = Choice(precision=precision).accepted(p, 0.0)
    assert not kept.any() or p[kept].mean() >= precision - 1e-9
    assert abs(kept.sum() - oracle.most_of_precision(probability, precision)) <= np.isclose(p, precision).any()
    assert not kept.any() or p[~kept].max(initial=0.0) <= p[kept].min()


@given(st.lists(PROBABILITY, min_size=1, max_size=8), MATCHED, st.data())
def test_more_evidence_never_unmaps_a_pair(probability, n_matched, data):
    """However pairs are chosen; a source that is likelier to have a counterpart counts among those that have one."""
    p = np.array(probability)
    place, more = data.draw(st.integers(0, len(p) - 1)), p.copy()
    more[place] = data.draw(st.floats(p[place], 1))
    for choice in CHOICES:
        if choice.accepted(p, n_matched)[place]:
            assert choice.accepted(more, n_matched + more[place] - p[place])[place]


@pytest.mark.parametrize("wrong", [0, -0.1, 1.1, 2, float("nan"), "0.9", [0.9]])
def test_a_precision_that_cannot_be(wrong):
    with pytest.raises(ConfigError, match="A precision is a number above 0 and at most 1"):
        Choice(precision=wrong)


@pytest.mark.parametrize("how", [(True, True, None), (True, False, 0.9), (False, True, 0.9), (True, True, 0.9)])
def test_ways_to_choose_exclude_each_other(how):
    with pytest.raises(ConfigError, match="they exclude each other"):
        Choice(*how)


@st.composite
def found_answers(draw):
    """Answers about seven entities: six sources with two candidates each, some of which got none or are unknown."""
    share = st.lists(PROBABILITY, min_size=6, max_size=6)
    likelihood, counterpart = np.array(draw(share)), np.array(draw(share))
    lost, silent = (draw(st.sets(st.integers(0, 5))) for _ in range(2))
    free = np.arange(1, 7)
    both = np.stack([likelihood, (1 - likelihood) * draw(PROBABILITY)], axis=1)
    found = ranked(np.stack([free, np.roll(free, 1)], axis=1), both, counterpart, sorted(silent))
    return answers(seven_entities(), found, sorted(lost))


@given(found_answers(), st.sampled_from(CHOICES))
def test_every_source_has_one_decision_and_a_target_if_it_is_mapped(found, choice):
    frame = found.mapping(choice).to_frame()
    first = frame[frame["decision"] != FURTHER_TARGET]
    assert first["source"].tolist() == [f"s{i}" for i in range(2, 7)]  # without the given ones
    assert frame["target"].dropna().is_unique
    assert first["target"].notna().equals(first["decision"].isin(MADE))
    p = found.decided.probability(2)[1:, 0]
    mapped = first["decision"].isin(MADE).to_numpy()
    assert first["probability"][mapped].to_numpy() == pytest.approx(p[mapped])
    if not choice.every and choice.precision is None and not choice.best_f1:
        assert (p[mapped] >= MIN_PROBABILITY).all() and not (first["decision"] == MAPPED_ANYWAY).any()
    if choice.precision is not None and mapped.any():
        assert frame["probability"][frame["target"].notna()].mean() >= choice.precision - 1e-9
    further = frame.loc[frame["decision"] == FURTHER_TARGET, "probability"]
    assert (further > max(MIN_PROBABILITY, choice.precision or 0)).all()


@given(found_answers())
def test_more_is_mapped_where_more_is_asked_for_and_what_is_added_is_marked(found):
    default, best, every = (
        decision_codes(found.task, found.source_index, found.decided, found.is_assigned, choice)
        for choice in (Choice(), Choice(best_f1=True), Choice(every=True))
    )
    word = np.array(DECISIONS, dtype=object)
    assert (best[default == DECISIONS.index(MAPPED)] == DECISIONS.index(MAPPED)).all()
    marked = word[every] == MAPPED_ANYWAY
    p = found.decided.probability(2)[:, 0]
    assert ((word[every] == MAPPED) == (word[default] == MAPPED)).all() and (p[marked] < MIN_PROBABILITY).all()
    assert not np.isin(word[default][marked], (MAPPED, GIVEN, NO_EVIDENCE)).any()
    is_asked = found.is_assigned & ~found.decided.no_evidence[:, 0] & (found.source_index != 1)
    assert np.isin(word[every][is_asked], MADE).all()
    alone = word[default] == NO_COUNTERPART
    assert (1 - found.decided.counterpart[alone] > p[alone]).all()


def test_sources_whose_targets_went_to_others_are_marked_where_every_one_is_mapped():
    """The target of s3 goes to s4 and that of s5 to s6; t5 is left for one of them."""
    found = ranked([[i, 1] for i in (1, 2, 4, 4, 6, 6)], [[0.9, 0.0]] * 6, [1.0] * 6)
    left = FallbackTargets(np.array([-1, -1, 5, -1, -1, -1]), np.array([0.9, 0.9, 0.1, 0.9, 0.9, 0.9]))
    decided = answers(seven_entities(), found, lost=[2, 4], fallback=left)
    frame = decided.mapping(Choice(every=True)).to_frame().set_index("source")
    assert frame.loc["s3", ["target", "decision", "runner_up"]].tolist() == ["t5", MAPPED_ANYWAY, "t4"]
    assert frame.loc["s3", "probability"] == pytest.approx(0.1) and frame.loc["s5", "target"] is None
    assert decided.mapping().to_frame().set_index("source").loc["s3", "target"] is None
