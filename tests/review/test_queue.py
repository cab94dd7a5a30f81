"""What is asked next: by which order, the random slice, known items, and what filters keep."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_graph, said_task
from reviewing import decision, model_of

from mixtea.review.decision import KNOWN, RANDOM
from mixtea.review.queue import (
    ORDERS,
    RANDOM_EVERY,
    Filter,
    influence,
    is_known_item,
    make_queue,
    order_rows,
    uncertainty,
)

# A star: 0 in the middle of 1, 2, 3 and 4; 5 and 6 stand alone
STAR = [(0, 0, 1), (0, 0, 2), (3, 0, 0), (4, 0, 0)]
BEST = np.array([0.9, 0.5, 0.99, 0.6, 0.2, 0.5, 1.0])


def star(named=None, best=BEST):
    task = said_task(make_graph(STAR, 7, "s"), make_graph(STAR, 7, "t"))
    rows = [{i: p, (i + 1) % 7: 0.0} for i, p in enumerate(best.tolist())]
    return model_of(task, rows, named=named, voters=("forward", "names", "agreement", "attributes"))


def many(n=400, n_valid=60, mapped=None):
    """Alone, each with itself; the first ones have validation links."""
    task = said_task(make_graph([], n, "s"), make_graph([], n, "t"))
    task = task.replace(valid=np.repeat(np.arange(n_valid), 2).reshape(-1, 2))
    return model_of(task, [{i: 0.5} for i in range(n)], mapped=mapped)


def test_uncertainty_is_a_bit_in_the_middle_and_nothing_at_the_ends():
    found = uncertainty(np.array([0.0, 0.1, 0.5, 0.9, 1.0]))
    assert found == pytest.approx([0, 0.469, 1, 0.469, 0], abs=1e-3)


def test_the_most_uncertain_come_first():
    found = order_rows(star(), BEST, "uncertain").tolist()
    assert {*found[:2]} == {1, 5} and found[2:] == [3, 4, 0, 2, 6]


def test_influence_is_the_uncertainty_beside_a_source():
    own = uncertainty(BEST)
    assert influence(star(), own) == pytest.approx([own[1:5].sum(), *[own[0] / 2] * 4, 0, 0])


def test_the_middle_of_uncertain_ones_is_the_most_influential():
    found = order_rows(star(), BEST, "influential").tolist()
    assert found[0] == 0 and {*found[-2:]} == {5, 6}  # nobody stands beside them; 1 to 4 are equal
    certain = np.where(np.arange(7) == 1, 1.0, BEST)
    assert {*order_rows(star(), certain, "influential").tolist()[-3:]} == {1, 5, 6}  # nothing is to be learned about 1


def test_uncertain_ones_with_uncertain_neighbours_spread_most():
    own, around = uncertainty(BEST), influence(star(), uncertainty(BEST))
    found = order_rows(star(), BEST, "spreading")
    value = (own * np.log1p(around))[found]
    assert (np.diff(value) <= 0).all() and found[0] == 0 and {*found[-2:].tolist()} == {5, 6}


def test_the_least_agreed_come_first():
    named = np.zeros((7, 2, 4), dtype=bool)
    for row, n in enumerate((4, 4, 2, 3, 0, 2, 2)):
        named[row, 0, :n] = True
    found = order_rows(star(named), np.full(7, 0.5), "disagreed").tolist()
    assert {*found[:3]} == {2, 5, 6} and found[3] == 3 and {*found[4:]} == {0, 1, 4}


def test_worth_goes_in_turn_for_the_pair_and_for_its_neighbours():
    model = star()
    first, second = (order_rows(model, BEST, name).tolist() for name in ("disagreed", "spreading"))
    found = order_rows(model, BEST, "worth").tolist()
    in_turn = [row for both in zip(first, second, strict=True) for row in both]
    assert found == list(dict.fromkeys(in_turn)) and first != second


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_has_each_row_once_and_the_same_seed_the_same_order(order):
    model = many()
    best = np.random.default_rng(1).random(400)
    found = order_rows(model, best, order, seed=3)
    assert sorted(found.tolist()) == [*range(400)]
    assert np.array_equal(found, order_rows(model, best, order, seed=3))


def test_luck_decides_among_equals():
    model, equal = many(), np.full(400, 0.5)
    for order in ("random", "uncertain"):
        assert not np.array_equal(order_rows(model, equal, order), np.arange(400))
        assert not np.array_equal(order_rows(model, equal, order, 0), order_rows(model, equal, order, 1))


def test_each_open_row_is_asked_once_and_known_ones_are_the_validation_links():
    model = many()
    found = make_queue(model, np.arange(400)[::-1])
    known = [item.row for item in found if item.reason == KNOWN]
    asked = [item.row for item in found if item.reason != KNOWN]
    assert sorted(asked) == [*range(60, 400)]
    assert {*known} <= {*range(60)} and len({*known}) == len(known)
    assert [place for place, item in enumerate(found) if item.reason == KNOWN] == [
        place for place in range(len(found)) if is_known_item(place)
    ]
    assert [item.row for item in found if item.reason == ""] == sorted(
        (item.row for item in found if item.reason == ""), reverse=True
    )


def test_one_in_ten_is_of_the_random_slice_from_the_first_ones_on():
    found = [item.reason for item in make_queue(many(), np.arange(400)) if item.reason != KNOWN]
    assert [place for place, reason in enumerate(found) if reason == RANDOM] == [*range(9, 340, RANDOM_EVERY)]


def test_the_random_slice_is_the_same_however_the_queue_is_ordered():
    model, orders = many(), (np.arange(400), np.arange(400)[::-1], np.random.default_rng(5).permutation(400))
    slices = [[item.row for item in make_queue(model, order) if item.reason == RANDOM] for order in orders]
    assert slices[0] == slices[1] == slices[2] and len(slices[0]) == 34


def test_the_random_slice_is_of_what_is_mapped():
    model = many(mapped=np.arange(400) % 2 == 0)
    found = [item.row for item in make_queue(model, np.arange(400)) if item.reason == RANDOM]
    assert len(found) == 34 and all(row % 2 == 0 for row in found)
    alone = make_queue(many(mapped=np.zeros(400, dtype=bool)), np.arange(400))
    assert not [item for item in alone if item.reason == RANDOM] and len(alone) > 340


def test_unaudited_it_is_the_order_without_known_sources():
    found = make_queue(many(), [399, 5, 70], audited=False)
    assert [tuple(item) for item in found] == [(399, ""), (70, "")]


def test_without_validation_links_nothing_is_known():
    found = make_queue(many(20, 0), np.arange(20))
    assert [item.row for item in found if item.reason == ""] and len(found) == 20
    assert KNOWN not in {item.reason for item in found}


def test_known_items_come_in_another_order_by_another_seed():
    first, second = (
        [i.row for i in make_queue(many(), np.arange(400), seed=seed) if i.reason == KNOWN] for seed in (0, 1)
    )
    assert first != second


# Filters, in a review


def rows_of(session, **wanted):
    """What a filter keeps, without known sources."""
    place = session.positions.position("ann")
    place.filter = Filter(**wanted)
    return {item.row for item in session.positions.items(place)}


@pytest.fixture
def session(opened):
    return opened()


def open_rows(session):
    known = {int(session.state.original.row_of[source]) for source in session.state.original.valid}
    return {*range(len(session.state.original.sources))} - known


def test_filters_by_probability_degree_and_voters(session):
    model, best = session.state.original, session.state.best()
    everything = open_rows(session)
    assert rows_of(session, state="all") == everything
    assert rows_of(session, least=0.5, most=0.9) == {r for r in everything if 0.5 <= best[r] <= 0.9}
    degree = model.task.source.degrees[model.sources]
    assert rows_of(session, least_degree=6) == {row for row in everything if degree[row] >= 6} != everything
    for wanted in (("propagation",), ("propagation", "forward")):
        named = [model.voters.index(name) for name in wanted]
        assert rows_of(session, voters=wanted) == {r for r in everything if model.named[r, 0, named].all()}
    assert rows_of(session, voters=("nobody",)) == everything


def test_filters_by_text_in_either_id(session):
    model = session.state.original
    row = min(open_rows(session))
    source, target = session.state.source_id(row), str(model.task.target.ids[model.target[row, 0]])
    for text in (source, target, source.upper()):
        found = rows_of(session, text=text)
        assert row in found and all(
            text.casefold() in session.state.source_id(other) + " " + model.task.target.ids[model.target[other, 0]]
            for other in found
        )
    assert rows_of(session, text="nothing is called so") == set()


def test_filters_by_what_was_decided(session):
    rows = sorted(open_rows(session))[:4]
    ids = [session.state.source_id(row) for row in rows]
    session.keep([
        decision("a", "accept", ids[0], "t1"), decision("b", "unsure", ids[1], "t1"),
        decision("c", "none", ids[2], None, "t1", reviewer="bob"), decision("d", "accept", ids[3], "t1", reason=KNOWN),
    ])  # fmt: skip
    assert rows_of(session, state="decided") == {*rows[:3]}
    assert rows_of(session, state="decided", reviewer="bob") == {rows[2]}
    assert rows_of(session, state="unsure") == {rows[1]} and rows_of(session, state="unsure", reviewer="bob") == set()
    session.undo("ann", "x")  # the known one
    session.undo("ann", "y")
    assert rows_of(session, state="unsure") == set() and rows_of(session, state="decided") == {rows[0], rows[2]}


def test_the_plain_queue_has_known_items_and_filtered_ones_do_not(session):
    place = session.positions.position("ann")
    assert KNOWN in {item.reason for item in session.positions.items(place)}
    place.filter = Filter(state="all")
    assert {item.reason for item in session.positions.items(place)} == {""}


def test_a_queue_stays_while_one_decides_and_another_order_is_another_queue(session):
    place = session.positions.position("ann")
    before = session.positions.items(place)
    session.keep([decision("a", "accept", session.state.source_id(before[0].row), "t1")])
    assert session.positions.items(place) is before
    place.order = "random"
    assert [item.row for item in session.positions.items(place)] != [item.row for item in before]
