"""What stands, kept up to date row by row, equals what stands when all rows are read anew."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st
from reviewing import decision

from mixtea.review.decision import AUDIT, Decision, DecisionIndex, Share, pair_decisions
from mixtea.review.decisions import DecisionStore

NAMES, SOURCES, TARGETS = ("ann", "bob"), ("s", "z"), ("t", "u", "v")
REASONS = ("", "random", "known", "repeat", "imported")


@st.composite
def rows(draw) -> list[Decision]:
    """Rows of a file: decisions of two about two sources, some of them taken back, in any order."""
    found: list[Decision] = []
    open_: dict[int, Decision] = {}
    for number in range(1, draw(st.integers(0, 25)) + 1):
        if open_ and draw(st.integers(0, 3)) == 0:
            taken = open_.pop(draw(st.sampled_from([*open_])))
            found.append(taken._replace(key=f"{number}", action="undo", undoes=taken.id, id=number))
            continue
        action = draw(st.sampled_from(("accept", "reject", "none", "unsure")))
        target = None if action == "none" else draw(st.sampled_from(TARGETS))
        others = draw(st.sampled_from((TARGETS, TARGETS[::-1], ())))
        about = {"reason": draw(st.sampled_from(REASONS)), "batch": draw(st.sampled_from(("", "b")))}
        who, source = draw(st.sampled_from(NAMES)), draw(st.sampled_from(SOURCES))
        one = decision(f"{number}", action, source, target, *others, reviewer=who, id=number, **about)
        open_[number] = one
        found.append(one)
    return found


def active(all_rows: list[Decision]) -> list[Decision]:
    taken = {one.undoes for one in all_rows}
    return [one for one in all_rows if one.action != "undo" and one.id not in taken]


def sample(stands: list[Decision]) -> Share:
    """Of the random slice, the first candidate that was accepted."""
    judged = [one for one in stands if one.reason == "random" and one.action != "unsure" and one.others]
    return Share(sum(one.action == "accept" and one.target == one.others[0] for one in judged), len(judged))


@given(rows(), st.sets(st.sampled_from(SOURCES)), st.integers(0, 25))
def test_it_is_what_all_rows_together_say(all_rows, several, half):
    index = DecisionIndex(several)
    index.apply(all_rows[:half])
    index.apply(all_rows[half:])
    stands = active(all_rows)
    assert [*index.active.values()] == stands and index.last_id == len(all_rows)
    told = {pair: one for source in SOURCES for pair, one in index.pair_decisions_of(source).items()}
    assert told == pair_decisions(stands, several)
    about = {source: [one for one in stands if one.source == source and one.reason not in AUDIT] for source in SOURCES}
    lasts = {source: own[-1] for source, own in about.items() if own}
    assert {source: index.last_about(source) for source in index.by_source} == lasts
    assert +index.counts == Counter(one.action for one in lasts.values())
    for name in NAMES:
        own = [one for one in stands if one.reviewer == name]
        assert [*index.audits.get(name, {}).values()] == [one for one in own if one.reason in AUDIT]
        plain = [one for one in own if one.reason not in AUDIT and not one.batch]
        assert [*index.plain.get(name, {}).values()] == plain
    assert index.sample == sample(stands)


@given(rows(), st.sets(st.sampled_from(SOURCES)), st.randoms(use_true_random=False))
def test_rows_may_come_in_any_order_and_more_than_once(all_rows, several, random):
    """As they do while a large file is taken over: the own decision is applied before the others are read."""
    mixed = [*all_rows, *all_rows[::2]]
    random.shuffle(mixed)
    found, wanted = DecisionIndex(several), DecisionIndex(several)
    for row in mixed:
        found.apply([row])
    wanted.apply(all_rows)
    assert found.active == wanted.active and found.undone == wanted.undone and found.last_id == wanted.last_id
    for source in SOURCES:
        assert found.pair_decisions_of(source) == wanted.pair_decisions_of(source)
        assert found.last_about(source) == wanted.last_about(source)
    assert +found.counts == +wanted.counts and found.sample == wanted.sample
    assert {name: own for name, own in found.audits.items() if own} == {
        n: own for n, own in wanted.audits.items() if own
    }


@given(rows(), st.sets(st.sampled_from(SOURCES)))
def test_decisions_about_entities_elsewhere_decide_nothing(all_rows, several):
    index = DecisionIndex(several, concerns_run=lambda one: one.source == "s" and one.target != "u")
    index.apply(all_rows)
    stands = active(all_rows)
    here = [one for one in stands if one.source == "s" and one.target != "u"]
    assert [*index.active.values()] == stands and [*index.outside_run.values()] == [o for o in stands if o not in here]
    assert index.pair_decisions_of("s") == pair_decisions(here, several) and index.pair_decisions_of("z") == {}


def test_the_clock_does_not_matter(tmp_path, monkeypatch):
    """Decisions count by their number: one made later, by a clock that was set back, is the last word."""
    times = iter(["2030-01-01", "1999-12-31", "2026-11-18"])
    monkeypatch.setattr("mixtea.review.decision.now", lambda: next(times))
    with closing(DecisionStore(tmp_path / "d.sqlite")) as store:
        for key, action in (("a", "accept"), ("b", "reject")):
            store.add([decision(key, action, "s", "t", "t")])
        index = DecisionIndex()
        index.apply(store.rows())
        assert index.last_about("s").key == "b" and not index.pair_decisions_of("s")["s", "t"].same
        assert [one.key for one in store.undo("ann", "x")] == ["b"]
        index.apply(store.rows(2))
        assert index.last_about("s").key == "a" and index.pair_decisions_of("s")["s", "t"].same


class Counted(dict):
    """Counts how often something is looked up."""

    n = 0

    def __getitem__(self, key):
        Counted.n += 1
        return super().__getitem__(key)


def test_a_decision_costs_the_same_after_many_about_its_source():
    index = DecisionIndex()
    rows = [decision(f"{n}", ("accept", "reject")[n % 2], "s", f"t{n % 9}", id=n + 1) for n in range(2000)]
    index.apply(rows[:1])
    index.by_source["s"].decisions = Counted(index.by_source["s"].decisions)
    costs = []
    for row in rows[1:]:
        Counted.n = 0
        index.apply([row])
        index.pair_decisions_of("s")
        costs.append(Counted.n)
    assert max(costs[1000:]) == max(costs[20:100]) < 20


@given(rows())
def test_what_came_or_went_is_told(all_rows):
    index, by_id = DecisionIndex(), {one.id: one for one in all_rows}
    for row in all_rows:
        assert index.apply([row]) == [by_id[row.undoes] if row.action == "undo" else row]


def test_an_undo_of_what_is_not_known_is_nothing():
    index = DecisionIndex()
    assert index.apply([decision("x", "undo", "s", "t", undoes=7, id=8)]) == [] and index.last_id == 8


def test_it_follows_a_file(tmp_path):
    with closing(DecisionStore(tmp_path / "d.sqlite")) as store:
        index = DecisionIndex()
        store.add([decision("a", "accept", "s", "t"), decision("b", "none", "z", None, "t")])
        assert [one.key for one in index.apply(store.rows(index.last_id))] == ["a", "b"]
        store.undo("ann", "x")
        assert [one.key for one in index.apply(store.rows(index.last_id))] == ["b"]
        assert [*index.active.values()] == store.active() and index.counts["none"] == 0
        assert index.apply(store.rows(index.last_id)) == []
