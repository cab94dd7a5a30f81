"""The voter `domain_range`: ends that fit, that are related and that clash, and what each is worth."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST, said_graph, said_task
from processes import run
from scipy.sparse import csr_matrix
from voting import known_pairs

from mixtea import MixTEA, load_task
from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys
from mixtea.config import STRUCTURE_VOTERS, Config
from mixtea.council.council import bind_voters, cover_isolated
from mixtea.council.opinions import belief_of, independent_log_odds
from mixtea.council.summary import voters_line
from mixtea.graph.joint_index import OpenIndex
from mixtea.runs.reader import StoredRun
from mixtea.voters.base import VotingState
from mixtea.voters.domain_range import CLASHES, FITS, RELATED, Believed, DomainRangeOpinions, believed_pairs

# Both graphs: classes Person 0, Author 1 (a Person), Paper 2; properties wrote 3 and title 4
DOMAIN, RANGE, ABOVE = range(3)
RELATIONS = np.array(["rdfs:domain", "rdfs:range", "rdfs:subClassOf"], dtype=object)
PERSON, AUTHOR, PAPER, WROTE, TITLE = range(5)
NAMES = ["Person", "Author", "Paper", "wrote", "title"]
HIERARCHY = [(AUTHOR, ABOVE, PERSON)]
CLASSES = [PERSON, AUTHOR, PAPER]
NO_PAIRS = np.empty(0, dtype=np.int64)


def ontology(*triples, values=(), prefix="a"):
    graph = said_graph(NAMES, [(entity, "rdfs:range", kind) for entity, kind in values], prefix)
    return replace(graph, relations=RELATIONS, triples=np.array([*HIERARCHY, *triples], dtype=np.int64))


def task_of(ours, theirs, our_values=(), their_values=(), train=()):
    return said_task(ontology(*ours, values=our_values), ontology(*theirs, values=their_values, prefix="b"), train)


def equal_classes(p=1.0):
    return csr_matrix((np.full(3, p), (CLASSES, CLASSES)), shape=(5, 5))


def level(ours, theirs, same=None, end=0, **more):
    """Of the two properties `wrote`: how likely one of their ends fits, is related and clashes."""
    same = equal_classes() if same is None else same
    believed = Believed(pairs_of(NO_PAIRS, NO_PAIRS).with_columns(p=np.empty(0), alike=np.empty(0, dtype=bool)), same)
    return DomainRangeOpinions(task_of(ours, theirs, **more)).levels(believed, *np.full((2, 1), WROTE))[end, 0]


def test_the_same_class_fits():
    assert level([(WROTE, DOMAIN, PERSON)], [(WROTE, DOMAIN, PERSON)]).tolist() == [1, 0, 0]
    assert level([(WROTE, RANGE, PAPER)], [(WROTE, RANGE, PAPER)], end=1).tolist() == [1, 0, 0]


@pytest.mark.parametrize("ours, theirs", [(AUTHOR, PERSON), (PERSON, AUTHOR)])
def test_a_class_above_or_below_the_counterpart_is_related(ours, theirs):
    assert level([(WROTE, DOMAIN, ours)], [(WROTE, DOMAIN, theirs)]).tolist() == [0, 1, 0]


def test_a_class_whose_counterpart_is_another_one_clashes():
    assert level([(WROTE, DOMAIN, PERSON)], [(WROTE, DOMAIN, PAPER)]).tolist() == [0, 0, 1]
    one_way = csr_matrix(([1.0], ([PERSON], [PERSON])), shape=(5, 5))  # nobody is thought to be the same as Paper
    assert level([(WROTE, DOMAIN, PERSON)], [(WROTE, DOMAIN, PAPER)], one_way).tolist() == [0, 0, 1]


def test_a_union_is_above_its_members():
    union = [(WROTE, DOMAIN, PERSON), (WROTE, DOMAIN, PAPER)]
    assert level(union, union).tolist() == [1, 0, 0]
    assert level(union, [(WROTE, DOMAIN, PERSON)]).tolist() == [0.5, 0.5, 0]


def test_it_is_as_sure_as_the_belief():
    same = equal_classes(0.75)
    assert level([(WROTE, DOMAIN, PERSON)], [(WROTE, DOMAIN, PERSON)], same) == pytest.approx([0.75, 0, 0])
    assert level([(WROTE, DOMAIN, PERSON)], [(WROTE, DOMAIN, PAPER)], same) == pytest.approx([0, 0, 0.75])
    assert level([(WROTE, DOMAIN, PERSON)], [(WROTE, DOMAIN, PERSON)], csr_matrix((5, 5))).tolist() == [0, 0, 0]


def test_an_end_that_one_does_not_have_tells_nothing():
    assert np.isnan(level([(WROTE, DOMAIN, PERSON)], [])).all()
    assert np.isnan(level([], [])).all()
    values = dict(their_values=[(WROTE, "xsd:string")])  # classes against values
    assert all(np.isnan(level([(WROTE, RANGE, PAPER)], [], end=end, **values)).all() for end in (1, 2))


@pytest.mark.parametrize(
    "ours, theirs, wanted",
    [("string", "anyURI", FITS), ("int", "double", FITS), ("string", "date", RELATED), ("int", "date", CLASHES)],
)
def test_values_are_compared_by_their_kind(ours, theirs, wanted):
    values = dict(our_values=[(WROTE, f"xsd:{ours}")], their_values=[(WROTE, f"xsd:{theirs}")])
    assert level([], [], end=2, **values).argmax() == wanted


def odds_of(task, p=1.0):
    """Log-odds by the domain of each pair of the two properties, where the classes of the same name are the same."""
    source, target = np.repeat(CLASSES, 3), np.tile(CLASSES, 3)
    believed = believed_pairs(task, pairs_of(source, target), np.where(source == target, p, 0.0), None)
    return DomainRangeOpinions(task).log_odds(believed, *np.indices((2, 2)).reshape(2, -1) + WROTE)[0].reshape(2, 2)


BOTH = [(WROTE, DOMAIN, PERSON), (TITLE, DOMAIN, PAPER)]


def test_ends_that_fit_are_evidence_for_a_pair_and_others_against_it():
    odds = odds_of(task_of(BOTH, BOTH))
    assert (odds.diagonal() > 1).all() and odds[0, 1] < -1 and odds[1, 0] < -1
    less = odds_of(task_of(BOTH, BOTH), 0.5)
    assert (less.diagonal() > 0).all() and (less.diagonal() < odds.diagonal()).all() and odds[0, 1] < less[0, 1] < 0
    assert odds_of(task_of(BOTH, BOTH), 0.0).tolist() == [[0, 0], [0, 0]]


def test_links_tell_what_ends_are_worth():
    """The links have domains that clash: then these are hardly evidence against a pair."""
    ours, theirs = BOTH, [(WROTE, DOMAIN, PAPER), (TITLE, DOMAIN, PERSON)]
    without, given = (odds_of(task_of(ours, theirs, train=train)) for train in ([], [(WROTE, WROTE), (TITLE, TITLE)]))
    assert given[0, 0] > without[0, 0] + 1 and given[0, 1] < without[0, 1]
    linked = task_of(ours, theirs, train=[(PERSON, PAPER), (PAPER, PERSON)])  # classes: a link is certain
    believed = believed_pairs(linked, pairs_of(NO_PAIRS, NO_PAIRS), np.empty(0), None)
    assert DomainRangeOpinions(linked).log_odds(believed, np.array([WROTE]), np.array([WROTE]))[0] > 1


def test_what_fits_less_well_is_never_better_evidence():
    """All candidates that are called alike fit, so that a clash seems rarer among them than among matches."""
    task = task_of(BOTH, BOTH)
    source, target = np.array([PERSON, PAPER, *[WROTE] * 60]), np.array([PERSON, PAPER, *[WROTE] * 60])
    believed = believed_pairs(task, pairs_of(source, target), np.r_[1.0, 1.0, np.zeros(60)], None)
    odds = DomainRangeOpinions(task).log_odds(believed, np.array([WROTE, WROTE]), np.array([WROTE, TITLE]))[0]
    assert odds[1] <= odds[0] < 0


def test_texts_tell_which_classes_are_the_same_and_the_belief_where_they_do_not():
    """To have no counterpart is a rival of what texts find, which the belief does not know."""
    task = task_of(BOTH, BOTH)
    ends = np.array([PERSON, AUTHOR, PAPER])
    believed = believed_pairs(task, pairs_of(ends, ends), np.ones(3), np.array([np.log(5 * 9), np.log(5 / 9), np.nan]))
    assert believed.pairs.p == pytest.approx([0.9, 0.1, 1.0]) and believed.pairs.alike.tolist() == [True, False, True]
    assert believed_pairs(task, pairs_of(ends, ends), np.ones(3), np.full(3, -1.0)).pairs.alike.tolist() == [False] * 3
    assert believed.same.toarray()[PERSON, PERSON] == pytest.approx(0.9)


def pairs_of(source, target):
    return ScoredPairs(source, target, (5, 5))


def bound(task):
    (voter,) = bind_voters(task, Config.preset("best"), ["domain_range"])
    return voter


def scores(voter, p=None, said=None):
    """[5, 5] scores of all pairs under a belief that those of the same name are the same."""
    entities = OpenIndex((torch.arange(5), torch.arange(5) + 5), (5, 5), (5, 5))
    pairs = entities.open_pairs(pairs_of_keys(torch.arange(25), (5, 5)))
    belief = belief_of(pairs, torch.eye(5).flatten() if p is None else p, said)
    state = VotingState(voter.task, voter.config, entities, torch.Generator(), belief=belief)
    return np.asarray(voter.score(pairs, state)).reshape(5, 5)


def test_it_has_an_opinion_on_pairs_of_properties_alone():
    voter = bound(task_of(BOTH, BOTH))
    found = scores(voter)
    assert np.argwhere(~np.isnan(found)).min() == WROTE and found[WROTE, WROTE] > 0 > found[WROTE, TITLE]
    assert not voter.proposes and voter.is_applicable() and not cover_isolated([voter]) and not voter.is_independent


def test_texts_count_before_the_belief():
    sure = torch.where(torch.eye(5) > 0, 2.0, -2.0).flatten()
    voter, nothing = bound(task_of(BOTH, BOTH)), torch.zeros(25)
    assert scores(voter, nothing, sure)[WROTE, WROTE] > 0 > scores(voter, nothing, sure)[WROTE, TITLE]
    assert scores(voter, nothing)[WROTE, WROTE] == 0


def test_what_voters_say_who_know_nothing_of_the_belief_is_added():
    voters = bind_voters(
        task_of(BOTH, BOTH), Config.preset("best"), ["names", "attributes", "domain_range", "agreement"]
    )
    nan = float("nan")
    held = dict(names=[1.0, nan, nan], attributes=[2.0, 1.0, nan], domain_range=[4.0, 4.0, 4.0], agreement=[8.0] * 3)
    found = independent_log_odds({name: torch.tensor(values) for name, values in held.items()}, voters)
    assert found is not None and found[:2].tolist() == [3.0, 1.0] and bool(found[2].isnan())
    assert independent_log_odds({"names": torch.full((3,), nan), "agreement": torch.ones(3)}, voters) is None


def test_without_properties_on_both_sides_it_is_silent(rings):
    one_sided = task_of(BOTH, [])
    assert not bound(one_sided).is_applicable() and np.isnan(scores(bound(one_sided))).all()
    assert voters_line([bound(rings)]) == "voters: none; without evidence: domain_range"


def test_silence_changes_no_bit(rings):
    with_it, without = (
        MixTEA(voters=names, **SMALL_BEST).fit(rings)
        for names in ((*STRUCTURE_VOTERS, "names", "domain_range"), STRUCTURE_VOTERS)
    )
    assert with_it.vectors_.equal(without.vectors_)
    assert with_it.map().to_frame().equals(without.map().to_frame())


def test_ends_stand_side_by_side_in_explanations():
    task = task_of([*BOTH, (WROTE, RANGE, AUTHOR)], [*BOTH, (WROTE, RANGE, PERSON)])
    voter = bound(task)
    found = scores(voter)
    pairs = np.indices((5, 5)).reshape(2, -1)
    voter.known = known_pairs(*pairs, np.eye(5).ravel(), {"domain_range": found.ravel()})
    first = voter.explain(WROTE, WROTE)
    assert {row.what for row in first} == {"domain: Person ~ Person", "range: Author ~ Person (one is above the other)"}
    assert sum(row.weight for row in first) == pytest.approx(found[WROTE, WROTE])
    (row,) = voter.explain(WROTE, TITLE)
    assert row.what == "domain: Person ≠ Paper" and row.weight == pytest.approx(found[WROTE, TITLE])
    assert voter.explain(PERSON, PERSON) == ()


def test_a_pair_that_is_no_candidate_has_no_weight():
    voter = bound(task_of(BOTH, BOTH, [(TITLE, "xsd:string")], [(TITLE, "xsd:int")]))
    voter.known = known_pairs(np.array([0]), np.array([0]), np.ones(1), {"domain_range": np.array([np.nan])})
    rows = voter.explain(TITLE, TITLE)
    assert {row.what for row in rows} == {"domain: Paper ? Paper", "range: text ~ number (one is above the other)"}
    assert all(np.isnan(row.weight) for row in rows)


PREFIXES = """@prefix : <http://{side}.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Person a owl:Class . :Paper a owl:Class . :Organization a owl:Class . :Conference a owl:Class .
:Review a owl:Class . :Banquet a owl:Class . :hasStreet a owl:DatatypeProperty . :hasPhone a owl:DatatypeProperty .
"""
ENDS = {
    "a": ":hasStreet rdfs:domain :Person ; rdfs:range xsd:string . :hasPhone rdfs:domain :Person .",
    "b": ":hasStreet rdfs:domain :Conference ; rdfs:range xsd:string . :hasPhone rdfs:domain :Person .",
}


@pytest.fixture
def ontologies(tmp_path):
    for side, ends in ENDS.items():
        (tmp_path / f"{side}.ttl").write_text(PREFIXES.format(side=side) + ends)
    return load_task(source=tmp_path / "a.ttl", target=tmp_path / "b.ttl", links_from="names")


def test_probabilities_without_links_know_domains(ontologies, tmp_path):
    """Two properties with equal names: the one whose domain fits is likelier for it, the other one is not."""
    voters = Config.preset("best").voters
    settings = SMALL_BEST | dict(max_epochs=2)
    others = tuple(name for name in voters if name != "domain_range")
    with_it, without = (MixTEA(voters=names, **settings).fit(ontologies) for names in (voters, others))

    def log_odds(aligner, name):
        best = aligner.predict(1).best().set_index("source")
        assert best.loc[f"http://a.org/{name}", "target"] == f"http://b.org/{name}"
        p = best.loc[f"http://a.org/{name}", "probability"]
        return np.log(p / (1 - p))

    assert log_odds(with_it, "hasStreet") < log_odds(without, "hasStreet") - 1
    assert log_odds(with_it, "hasPhone") > log_odds(without, "hasPhone") + 1
    with_it.save(tmp_path / "run")
    source, target = (list(graph.ids) for graph in (ontologies.source, ontologies.target))
    pair = source.index("http://a.org/hasStreet"), target.index("http://b.org/hasStreet")
    why = StoredRun(tmp_path / "run").explain(*pair)
    rows = why[why["voter"] == "domain_range"].set_index("what")["weight"]
    assert rows["domain: :Person ≠ :Conference"] < 0 and "range: text ~ text" in rows.index


def test_it_is_there_without_torch():
    program = "import sys, mixtea.voters.domain_range; assert 'torch' not in sys.modules"
    assert run([sys.executable, "-c", program]).returncode == 0
