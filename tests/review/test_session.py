"""A review from card to card: places, repeats, known items, two reviewers, undo, and models that come and go."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing

import numpy as np
import pytest
from conftest import SMALL_BEST
from reviewing import DirectSession, decision

from mixtea import MixTEA
from mixtea.errors import RunError
from mixtea.review import session as module
from mixtea.review.app import Page
from mixtea.review.decision import KNOWN, REPEAT
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.review.learning import retrain
from mixtea.review.model import Model
from mixtea.review.queue import HOLD_SECONDS, Filter, Item
from mixtea.review.reviewers import measure_reviewers
from mixtea.review.session import REPEAT_EVERY, Session, ShownPair, new_key
from mixtea.review.training import BackgroundTraining


@pytest.fixture
def session(opened):
    return opened()


def shown(session, row):
    """What the card of a row shows, by ids."""
    return session.pair_on(session.state.card(row))


def other_target(source):
    """A target that is not the source's own."""
    return f"t{(int(source[1:]) + 1) % 72}"


def answer(session, reviewer="ann", action="accept", place=0, **asked):
    """Decide on the card that the reviewer sees, as the page does, and go on."""
    item = session.positions.current_item(reviewer)
    key = session.note_shown(reviewer, item, session.state.card(item.row), **{"shown": False} | asked)
    kept = session.decide(reviewer, key, shown(session, item.row), action, place)
    session.advance(reviewer)
    return kept


def answer_until(session, n_plain, reviewer="ann"):
    """Until so many were decided that are no audits."""
    kept = []
    while len(session.state.index.plain.get(reviewer, {})) < n_plain:
        kept.append(answer(session, reviewer))
    return kept


# Places


def test_it_begins_with_the_first_of_the_queue_and_goes_on(session):
    items = session.positions.items(session.positions.position("ann"))
    assert session.positions.current_item("ann") == items[0] == session.positions.current_item("ann")
    assert answer(session).source == session.state.source_id(items[0].row)
    assert session.positions.current_item("ann") == items[1] and session.positions.position("ann").at == 1
    assert session.positions.go("ann", 1) == items[2]  # skipped
    assert session.positions.go("ann", -1) == items[1]
    assert session.positions.go("ann", -1, also_decided=True) == items[0]  # to look at it again
    assert session.positions.go("ann", -1, also_decided=True) == items[0]  # there is nothing before it


def test_what_was_decided_is_not_asked_again_and_then_it_ends(session):
    seen = set()
    while (item := session.positions.current_item("ann")) is not None:
        assert (item.row, item.reason) not in seen
        seen.add((item.row, item.reason))
        answer(session)
    known = {row for row, reason in seen if reason == KNOWN}
    assert {row for row, reason in seen if reason not in (KNOWN, REPEAT)} == {
        row for row in range(60) if int(session.state.original.sources[row]) not in session.state.original.valid
    }
    assert {int(session.state.original.sources[row]) for row in known} <= session.state.original.valid.keys()
    assert len(session.state.index.by_source) == session.state.n_sources_to_decide == 36
    assert session.positions.go("ann", 1) is None and session.positions.position("ann").item is None


def test_one_may_go_to_any_row(session):
    items = session.positions.items(session.positions.position("ann"))
    assert session.positions.ask_about("ann", items[7].row) == items[7] and session.positions.position("ann").at == 7
    known = next(item for item in items if item.reason == KNOWN)
    assert session.positions.ask_about("ann", known.row).reason == KNOWN
    session.positions.position("ann").filter = Filter(text="nothing is called so")
    assert session.positions.ask_about("ann", 3) == Item(3, "")
    assert session.positions.ask_about("ann", -1) is None and session.positions.ask_about("ann", 60) is None


def test_the_place_is_remembered_when_it_starts_again(opened):
    session = opened()
    session.positions.position("ann").order = "uncertain"
    session.positions.position("ann").shows = True
    for _ in range(3):
        answer(session)
    at = session.positions.current_item("ann")
    session.save_position("ann")
    again = opened()
    assert again.positions.current_item("ann") == at
    assert (again.positions.position("ann").order, again.positions.position("ann").shows) == ("uncertain", True)
    assert again.positions.position("bob").order == "worth" and again.positions.position("bob").at == -1
    assert [*again.state.index.active.values()] == [*session.state.index.active.values()]


def test_a_remembered_place_that_makes_no_sense_is_the_first_one(opened):
    session = opened()
    session.state.store.keep_position("ann", {"order": "by colour", "source": "gone"})
    assert session.positions.position("ann").order == "worth" and session.positions.position("ann").at == -1


# Decisions


def test_a_decision_says_what_was_seen(session):
    item = session.positions.current_item("ann")
    card = session.state.card(item.row)
    kept = answer(session, place=2, shown=True)
    ids = tuple(str(session.state.original.task.target.ids[option.number]) for option in card.alternatives)
    assert (kept.action, kept.target, kept.others, kept.shown) == ("accept", ids[2], ids, True)
    assert kept.probability == card.probability and kept.model == session.state.original.name
    assert kept.votes.split() == [voice.name for voice in card.voter_evidence if voice.favours]
    none = answer(session, action="none")
    assert none.target is None and len(none.others) == 9 and answer(session, action="unsure").action == "unsure"


def test_a_decision_that_is_sent_twice_is_one(session):
    item = session.positions.current_item("ann")
    key = session.note_shown("ann", item, session.state.card(item.row), shown=False)
    pair = shown(session, item.row)
    first, second = (session.decide("ann", key, pair, action) for action in ("accept", "reject"))
    assert first == second and session.state.index.last_id == 1


def test_a_card_of_before_a_restart_can_still_be_decided(opened):
    session = opened()
    item = session.positions.current_item("ann")
    key = session.note_shown("ann", item, session.state.card(item.row), shown=True)
    kept = opened().decide("ann", key, shown(session, item.row), "accept")
    assert kept.key == key and kept.source == session.state.source_id(item.row) and not kept.shown


def test_cards_that_were_shown_are_forgotten_when_there_are_very_many(session, monkeypatch):
    monkeypatch.setattr(module, "MAX_CARDS_KEPT", 10)
    item = session.positions.current_item("ann")
    card = session.state.card(item.row)
    keys = [session.note_shown("ann", item, card, shown=True) for _ in range(30)]
    assert len(session.shown_cards) <= 12 and keys[-1] in session.shown_cards and keys[0] not in session.shown_cards


@pytest.mark.parametrize(("action", "place"), [("perhaps", 0), ("undo", 0), ("accept", 9), ("accept", -1)])
def test_a_decision_that_makes_no_sense_is_refused(session, action, place):
    with pytest.raises(ValueError, match="There is no such decision"):
        session.decide("ann", new_key(), shown(session, 0), action, place)
    assert session.state.index.last_id == 0


def test_a_card_of_entities_that_are_not_there_is_refused(session):
    linked = str(session.state.original.task.source.ids[session.state.original.task.train[0, 0]])
    for pair in (
        ShownPair("gone", ("t1",)),
        ShownPair(session.state.source_id(0), ("t1", "gone")),
        ShownPair(linked, ("t1",)),
    ):
        with pytest.raises(ValueError, match="Reload the page"):
            session.decide("ann", new_key(), pair, "accept")
    assert session.state.store.last_id() == 0


def test_a_card_is_decided_as_it_was_shown_or_not_at_all(session):
    item = session.positions.current_item("ann")
    card = session.state.card(item.row)
    key, pair = session.note_shown("ann", item, card, shown=False), session.pair_on(card)
    for other in (ShownPair(pair.source, pair.targets[::-1]), shown(session, item.row + 1)):
        with pytest.raises(ValueError, match="Reload the page"):
            session.decide("ann", key, other, "accept")
    assert session.decide("ann", key, pair, "accept", 1).target == pair.targets[1]


def test_what_a_model_thought_is_kept_only_of_the_candidate_that_it_has_in_front(session):
    pair = shown(session, 0)
    first = session.decide("ann", new_key(), ShownPair(pair.source, pair.targets[::-1]), "reject")
    assert (first.probability, first.votes, first.target) == (None, "", pair.targets[-1])
    assert session.decide("bob", new_key(), pair, "reject").probability is not None


def test_a_pair_whose_target_was_accepted_for_another_is_not_likely_any_more(session):
    """However many were decided since: filters by probability go by it."""
    model = session.state.original
    row, place = next((r, p) for t in range(72) for r, p in model.rivals(t) if p == 0 and len(model.rivals(t)) > 1)
    target = int(model.target[row, 0])
    others = [r for r, p in model.rivals(target) if p == 0 and r != row]
    source = next(r for r in range(60) if r not in (row, *others))
    pair = ShownPair(session.state.source_id(source), (str(model.task.target.ids[target]),))
    session.decide("ann", new_key(), pair, "accept", place)
    assert (
        session.state.best()[[row, *others]].tolist()
        == [0.0] * (1 + len(others))
        == [session.state.probability(r) for r in (row, *others)]
    )


def test_a_decision_is_believed_at_once(session):
    row = next(
        item.row
        for item in session.positions.items(session.positions.position("ann"))
        if session.state.card(item.row).effect.moved
    )
    session.decide("ann", new_key(), shown(session, row), "accept")
    assert session.state.probability(row) == 1 and session.state.best()[row] == 1
    moved = np.flatnonzero(np.abs(session.state.best() - session.state.original.probability[:, 0]) >= 0.005)
    assert len({*moved.tolist()} - {row}) >= 1
    session.undo("ann", new_key())
    assert session.state.best() == pytest.approx(session.state.original.probability[:, 0], abs=2e-3)


def test_what_another_process_decides_is_taken_up(session, copied):
    row = session.positions.current_item("ann").row
    with closing(DecisionStore(decisions_path(copied))) as other:
        target = str(session.state.original.task.target.ids[session.state.original.target[row, 0]])
        other.add([decision("x", "reject", session.state.source_id(row), target, reviewer="bob")])
        session.state.refresh()
        assert session.state.probability(row) == 0 and session.positions.go("ann", 1).row != row
        other.undo("bob", "y")
        session.state.refresh()
    assert session.state.probability(row) > 0 and len(session.state.index.by_source) == 0


def test_what_is_taken_back_while_a_reviewer_proves_to_err_is_taken_back(session, copied):
    rows = [item.row for item in session.positions.items(session.positions.position("ann"))][:2]
    for reviewer, row in zip(("ann", "bob"), rows, strict=True):
        session.decide(reviewer, new_key(), shown(session, row), "accept")
    known = [f"s{source}" for source in session.state.original.task.valid[:, 0]]
    with closing(DecisionStore(decisions_path(copied))) as other:
        other.add([decision(id_, "accept", id_, other_target(id_), reason=KNOWN) for id_ in known])
        other.undo("bob", "x")
    session.state.refresh()
    assert session.state.weights["ann"] == 0 and all(session.state.probability(row) < 1 for row in rows)


def test_begun_lazily_it_knows_later_what_was_decided(opened, copied):
    session = opened()
    for _ in range(8):
        answer(session)
    with closing(DecisionStore(decisions_path(copied))) as store:
        lazy = DirectSession(copied, store, lazily=True)
        assert (
            not lazy.state.card(0).voter_evidence
            and not lazy.state.update_posteriors()
            and len(lazy.state.index.active) == 8
        )
        assert lazy.positions.current_item("ann") == session.positions.current_item("ann")
        lazy.state.prepare(lazy.state.load())
        rounds = 1
        while lazy.state.update_posteriors(3):
            rounds += 1
        assert rounds == -(-len(lazy.state.index.by_source) // 3) and len(lazy.state.card(0).voter_evidence) > 0
        assert lazy.state.best() == pytest.approx(session.state.best(), abs=1e-12)


# Known items and repeats


def test_known_items_tell_about_the_reviewer_and_are_asked_once(session):
    kept = []
    while (item := session.positions.current_item("ann")) is not None and len(kept) < 3:
        before = session.state.best()
        one = answer(session)
        if item.reason == KNOWN:
            kept.append(one)
            assert one.reason == KNOWN and np.array_equal(session.state.best(), before)
    one = measure_reviewers(session.state.index.active.values(), session.state.truth)["ann"]
    right = sum(kept_.target in session.state.truth[kept_.source] for kept_ in kept)
    assert (one.right.met, one.right.of) == (right, 3) and not {o.source for o in kept} & {
        *session.state.index.by_source
    }
    known = [item for item in session.positions.items(session.positions.position("ann")) if item.reason == KNOWN][:3]
    place = session.positions.position("ann")
    assert not any(session.positions._to_ask(item, "ann", place) for item in known)
    assert all(session.positions._to_ask(item, "bob", session.positions.position("bob")) for item in known)


def test_after_fifteen_an_earlier_one_is_asked_again(session):
    kept = answer_until(session, REPEAT_EVERY)
    plain = [one for one in kept if one.reason != KNOWN]
    item = session.positions.current_item("ann")
    assert item.reason == REPEAT and session.state.source_id(item.row) in [one.source for one in plain[:5]]
    again = answer(session, action="reject")
    assert again.reason == REPEAT and session.positions.current_item("ann").reason != REPEAT
    first = next(one for one in plain if one.source == again.source)
    assert session.state.index.last_about(again.source) == first  # what was said of it stays
    assert measure_reviewers(session.state.index.active.values(), session.state.truth)["ann"].same == (0, 1)
    more = answer_until(session, 2 * REPEAT_EVERY)
    assert not [one for one in more if one.reason == REPEAT]
    second = session.positions.current_item("ann")
    assert second.reason == REPEAT and session.state.source_id(second.row) != again.source


def test_repeats_and_known_items_are_blind(session):
    page = Page(session, BackgroundTraining(session.state, 0), "ann")
    session.positions.position("ann").shows = True
    seen = {}
    while REPEAT not in seen:
        found = asyncio.run(page._card("ann"))
        reason = session.positions.current_item("ann").reason
        seen.setdefault(reason, set()).add((found["shown"], session.shown_cards[found["key_now"]].shown))
        session.decide("ann", found["key_now"], session.pair_on(found["card"]), "accept")
        session.advance("ann")
    assert seen[KNOWN] == seen[REPEAT] == {(False, False)} and seen[""] == {(True, True)}


def test_only_what_can_be_asked_is_repeated(session):
    """Decisions about linked sources or such that are gone came in with a file."""
    task = session.state.original.task
    linked = [str(task.source.ids[source]) for source in task.train[:, 0]]
    session.keep([decision(id_, "accept", id_, "t1", reason="imported") for id_ in [*linked, "gone"]])
    found = []
    for number in range(40):
        session.keep([decision(f"n{number}", "accept", session.state.source_id(0), "t1")])
        found.append(session._repeat("ann"))
    assert any(found) and all(item is None or item.row >= 0 for item in found)


def test_a_reviewer_who_errs_has_opinions(session):
    row = session.positions.current_item("ann").row
    answer(session)
    assert session.state.probability(row) == 1
    task = session.state.original.task
    for number, source in enumerate(task.valid[:20, 0].tolist()):
        target = f"t{source}" if number % 2 else other_target(f"s{source}")
        session.keep([decision(f"k{number}", "accept", f"s{source}", target, reason=KNOWN)])
    assert session.state.weights["ann"] == 0 and 0 < session.state.probability(row) < 1  # as good as a coin
    for _ in range(20):
        session.undo("ann", new_key())
    assert session.state.probability(row) == 1


# Two reviewers


def test_two_are_not_asked_the_same_at_the_same_time(session, monkeypatch):
    first, second = session.positions.current_item("ann"), session.positions.current_item("bob")
    assert first != second
    answer(session, "ann")
    assert session.positions.current_item("ann") not in (first, second)
    later = time.monotonic() + HOLD_SECONDS + 1
    monkeypatch.setattr("mixtea.review.queue.time.monotonic", lambda: later)
    assert session.positions.current_item("cleo") == second  # held no more


def test_what_one_has_decided_the_other_is_not_asked(session):
    mine = {answer(session, "ann").source for _ in range(6)}
    theirs = {answer(session, "bob").source for _ in range(6)}
    open_ = session.state.index.by_source.keys()
    assert not mine & theirs & open_ and len({one.reviewer for one in session.state.index.active.values()}) == 2


# Undo


def test_undo_brings_the_card_back(session):
    items = [session.positions.current_item("ann")]
    for _ in range(6):
        answer(session)
        items.append(session.positions.current_item("ann"))
    for item in items[-2::-1]:
        (taken,) = session.undo("ann", new_key())
        assert session.positions.current_item("ann") == item and taken.source == session.state.source_id(item.row)
    assert session.undo("ann", new_key()) == [] and session.positions.current_item("ann") == items[0]
    assert KNOWN in {item.reason for item in items} and len(session.state.index.active) == 0


def test_undo_of_a_repeat_asks_it_again(session):
    answer_until(session, REPEAT_EVERY)
    item = session.positions.current_item("ann")
    answer(session)
    session.undo("ann", new_key())
    assert session.positions.current_item("ann") == item and item.reason == REPEAT


def test_an_undo_sent_twice_is_one(session):
    answer(session)
    answer(session)
    key = new_key()
    assert session.undo("ann", key) == session.undo("ann", key) and len(session.state.index.active) == 1


# Several alike


def test_alike_are_open_rows_of_the_same_voters_on_the_same_side(session):
    model = session.state.original
    open_ = [row for row in range(60) if int(model.sources[row]) not in model.valid]
    row = max(open_, key=lambda row: len(session.alike(row)))
    found = session.alike(row)
    assert found[0] == row and len(found) > 2 and len({*found}) == len(found)
    for other in found:
        assert np.array_equal(model.named[other, 0], model.named[row, 0])
        assert (model.probability[other, 0] >= 0.5) == (model.probability[row, 0] >= 0.5)
        assert int(model.sources[other]) not in model.valid
        assert session._signature(other) == session._signature(row)
    session.decide("bob", new_key(), shown(session, found[1]), "accept")
    assert found[1] not in session.alike(row)


def test_alike_are_at_most_as_many_as_can_be_looked_at(session, monkeypatch):
    model = session.state.original
    row = next(row for row in range(60) if int(model.sources[row]) not in model.valid and len(session.alike(row)) > 2)
    monkeypatch.setattr(module, "MAX_ALIKE_SHOWN", 2)
    assert len(session.alike(row)) == 2


def test_several_are_decided_one_by_one_and_taken_back_together(session):
    rows = [item.row for item in session.positions.items(session.positions.position("ann")) if item.reason == ""][:4]
    answer(session)
    key = new_key()
    pairs = [pair for pair, _, _ in session.alike_pairs(rows)]
    kept = session.decide_alike("ann", [*pairs, pairs[0]], "accept", key)
    assert [one.source for one in kept] == [session.state.source_id(row) for row in rows] and {
        o.batch for o in kept
    } == {key}
    assert session.decide_alike("ann", pairs, "reject", key) == kept  # sent twice
    assert len(session.state.index.plain["ann"]) == 1  # the others say nothing about the pace
    assert len(session.undo("ann", new_key())) == 4 and len(session.state.index.active) == 1
    with pytest.raises(ValueError, match="accepted or rejected"):
        session.decide_alike("ann", pairs, "none", key)


# What the evidence says against


def test_decisions_against_the_evidence_are_told(session):
    model, best = session.state.original, session.state.best()
    open_ = [row for row in range(60) if int(model.sources[row]) not in model.valid]
    sure, doubted = max(open_, key=lambda r: best[r]), min(open_, key=lambda r: best[r])
    session.decide("ann", new_key(), shown(session, sure), "accept")
    session.decide("ann", new_key(), shown(session, doubted), "reject")
    assert session.state.contradicted() == []
    session.decide("ann", new_key(), shown(session, sure), "reject")
    session.decide("ann", new_key(), shown(session, doubted), "accept")
    found = {one.source: p for one, p in session.state.contradicted()}
    assert found.keys() == {session.state.source_id(row) for row in (sure, doubted)}
    assert found[session.state.source_id(sure)] > 0.8 and found[session.state.source_id(doubted)] < 0.2
    place = session.positions.position("ann")
    place.filter = Filter(state="contradicted")
    assert {item.row for item in session.positions.items(place)} == {sure, doubted}
    session.decide("ann", new_key(), shown(session, sure), "unsure")
    assert {one.source for one, _ in session.state.contradicted()} == {session.state.source_id(doubted)}


# Models that were trained with decisions


@pytest.fixture
def taught(session, doubtful, copied):
    """A review in which five were accepted, and a model that was trained with them."""
    rows = [item.row for item in session.positions.items(session.positions.position("ann")) if item.reason == ""][:5]
    kept = [session.decide("ann", new_key(), shown(session, row), "accept") for row in rows]
    retrain(doubtful, session.state.store.active()).save(session.state.reviewed_run)
    model = Model(session.state.reviewed_run)
    session.state.store.keep_trained(model.name, kept[-1].id)
    return session, model, rows, kept[-1].id


def test_a_trained_model_is_used_and_says_what_it_maps_differently(taught):
    session, model, rows, last_id = taught
    before = session.state.original.matched.copy()
    assert session.state.since_trained() == last_id
    changes = session.state.adopt(model, last_id)
    assert session.state.current is model is not session.state.original and session.state.since_trained() == 0
    assert len(changes) == (before != model.matched).sum() and changes == session.state.changes
    assert not np.isin(session.state.original.sources[rows], model.sources).any()
    open_ = next(
        r
        for r in range(60)
        if r not in rows and int(session.state.original.sources[r]) not in session.state.original.valid
    )
    own = int(model.row_of[session.state.original.sources[open_]])
    assert session.state.best()[open_] == pytest.approx(model.probability[own, 0], abs=2e-3)
    assert (
        session.state.card(rows[0]).row == rows[0] and session.state.probability(rows[0]) == 1
    )  # asked no more, but shown
    assert (
        session.state.card(open_).source.id == session.state.source_id(open_) and session.state.card(open_).row == open_
    )
    assert session.decide("ann", new_key(), shown(session, open_), "accept").model == model.name
    assert session.state.since_trained() == 1


def test_when_something_it_was_taught_is_taken_back_it_is_left(taught):
    session, model, rows, last_id = taught
    session.state.adopt(model, last_id)
    kept = session.decide("ann", new_key(), shown(session, next(r for r in range(60) if r not in rows)), "accept")
    session.undo("ann", new_key())  # which it does not know of
    assert session.state.current is model and kept.id not in session.state.index.active
    session.undo("ann", new_key())
    assert (
        session.state.current is session.state.original and session.state.since_trained() == session.state.index.last_id
    )
    assert session.state.probability(rows[4]) < 1 and session.state.probability(rows[0]) == 1


def test_it_is_taken_up_when_it_starts_again(taught, opened):
    _, model, _, last_id = taught
    again = opened()
    assert (
        again.state.current.name == model.name
        and again.state.trained_id == last_id
        and again.state.original.name != model.name
    )
    answer(again)
    assert again.state.since_trained() == 1 and opened().state.since_trained() == 1


def test_it_is_not_taken_up_again_after_something_it_was_taught_was_taken_back(taught, opened):
    session, model, _, last_id = taught
    session.undo("ann", new_key())
    again = opened()
    assert again.state.current is again.state.original and again.state.since_trained() == again.state.index.last_id
    assert (
        session.state.adopt(model, last_id) == [] and session.state.current is session.state.original
    )  # nor when it comes too late


def test_a_run_that_nobody_knows_of_or_that_is_broken_is_not_taken_up(taught, opened):
    session, model, _, _ = taught
    session.state.store.base.execute("DELETE FROM training")
    assert opened().state.current.name == session.state.original.name
    session.state.store.keep_trained(model.name, 5)
    (session.state.reviewed_run / "candidates.safetensors").unlink()
    assert opened().state.current.name == session.state.original.name


def test_decisions_about_entities_that_are_gone_do_no_harm(session):
    session.keep([
        decision("a", "accept", "gone", "t1"), decision("b", "reject", session.state.source_id(0), "gone"),
        decision("c", "none", "gone too", None, "t1"),
    ])  # fmt: skip
    assert session.state.best() == pytest.approx(session.state.original.probability[:, 0], abs=2e-3)
    assert session.state.contradicted() == [] and session.state.label("gone", "source") == "gone"
    assert session.state.label(session.state.source_id(0), "source") == session.state.source_id(0)
    assert session.state.label(None, "target") == "none of them"


def test_a_run_without_open_sources_cannot_be_reviewed(rings, tmp_path):
    links = np.concatenate([rings.train, rings.valid, rings.test])
    task = rings.replace(train=links, valid=links[:0], test=links[:0])
    MixTEA(**SMALL_BEST | {"max_epochs": 1}).fit(task).save(tmp_path / "full")
    with closing(DecisionStore(tmp_path / "d.sqlite")) as store, pytest.raises(RunError, match="no source is left"):
        Session(tmp_path / "full", store)
