"""Which texts are taken as names: by what their column or predicate is called, by what they look like, by the user."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import LINKS, SOURCE, TARGET, benchmark_files, write

from mixtea import DataError, load_task
from mixtea.graph.fingerprint import checksum
from mixtea.io.checks import summary
from mixtea.io.naming import name_coverage, name_coverage_line
from mixtea.runs.folder import graph_arrays, vocabulary
from mixtea.runs.validate import check_task, check_vocabulary
from mixtea.text.name_looks import CONTAINED, EXACT, FURTHER, MAX_SAMPLE, is_not_called_as_names, kind_of_name
from mixtea.text.names import entity_names
from mixtea.voters.attributes import AttributeOpinions

MADE_OF = ("Amber", "Bronze", "Cedar", "Denim", "Ebony", "Flint", "Glass", "Hemp", "Ivory", "Jade", "Kelp", "Linen")
THINGS = [f"{one} {other}" for one, other in zip(MADE_OF, ("lamp", "vase", "chair", "stool") * 3, strict=True)]
LONG = [f"This {thing.lower()} of ours fits into every room and every pocket and lasts" for thing in THINGS]
FURNITURE = "id,title\n" + "".join(f"{n},{thing}\n" for n, thing in enumerate(THINGS))
NT = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def table(header, *columns, start=0):
    """A table with ids that say nothing, and these columns."""
    lines = [header, *(",".join([f"{start + n}", *row]) for n, row in enumerate(zip(*columns, strict=True)))]
    return "".join(f"{line}\n" for line in lines)


def task_of(tmp_path, source, target=None, ending="csv", **options):
    write(tmp_path, {f"s.{ending}": source, f"t.{ending}": source if target is None else target})
    files = {"source": tmp_path / f"s.{ending}", "target": tmp_path / f"t.{ending}"}
    return load_task(**files, links_from="names", **options)


def taken(graph):
    return [one["predicate"] for one in name_coverage(graph)]


def both(task):
    return taken(task.source), taken(task.target)


def labels(graph):
    return [[text for text, _ in graph.labels_of(i)] for i in range(graph.n_entities)]


def compared(task):
    """The predicates of the source that the voter of attributes sees."""
    side = AttributeOpinions(task).sides[0]
    return {side.names[predicate] for predicate in side.predicate.tolist()}


FILMS = table(
    "id,title,year,director",
    ["Ulysses", "Ulysses", "Solaris", "Stalker"], ["1954", "1967", "1972", "1979"], ["Camerini", "Strick", "AT", "AT"],
)  # fmt: skip


def test_titles_of_films_are_names_and_no_values(tmp_path):
    task = task_of(tmp_path, FILMS)
    assert both(task) == (["title"], ["title"]) and task.source.label(2) == "Solaris"
    assert compared(task) == {"year", "director"} and task.source.n_attribute_triples == 12


@pytest.mark.parametrize(
    "header, name",
    [
        ("id,full_name,email,city", "full_name"),  # of people
        ("id,Nom complet,courriel,ville", "Nom complet"),
        ("id,Personenname,E-Mail,Ort", "Personenname"),
        ("id,姓名,邮箱,城市", "姓名"),
    ],
)
def test_people(tmp_path, header, name):
    rows = (["Ada Lovelace", "Alan Turing", "Grace Hopper"], ["ada@a.org", "alan@a.org", "g@a.org"], ["London"] * 3)
    assert taken(task_of(tmp_path, table(header, *rows)).source) == [name]


def test_parts_of_the_names_of_people_stay_values(tmp_path):
    rows = (["Ada", "Alan", "Grace"], ["Lovelace", "Turing", "Hopper"], ["Countess", "Doctor", "Admiral"])
    assert both(task_of(tmp_path, table("id,first_name,last_name,job_title", *rows))) == ([], [])


@pytest.mark.parametrize(
    "header, name",
    [
        ("code,Bezeichnung,Kürzel", "Bezeichnung"),
        ("id,Désignation,sigle", "Désignation"),
        ("id,产品名称,代码", "产品名称"),
        ("id,Heading,code", "Heading"),
        ("id,product,code", "product"),
        ("id,PRODUCT_TITLE,code", "PRODUCT_TITLE"),
    ],
)
def test_names_in_other_words_and_languages_beside_codes(tmp_path, header, name):
    codes = [f"{made[:3].upper()}" for made in MADE_OF]
    task = task_of(tmp_path, table(header, THINGS, codes))
    assert both(task) == ([name], [name]) and task.source.label(0) == "Amber lamp"


@pytest.mark.parametrize("order", [1, -1])
def test_a_long_title_is_a_name_and_a_short_code_is_none(tmp_path, order):
    columns = [("title", LONG), ("label_code", [f"X{n}-{n}B" for n in range(12)])][::order]
    task = task_of(tmp_path, table(f"id,{columns[0][0]},{columns[1][0]}", *(rows for _, rows in columns)))
    assert taken(task.source) == ["title"]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("texts", [LONG, [f"one {thing} with a lid" for thing in THINGS]])
def test_by_look_the_shorter_is_the_name(tmp_path, order, texts):
    columns = [("thing", THINGS), ("about", texts)][::order]
    task = task_of(tmp_path, table(f"id,{columns[0][0]},{columns[1][0]}", *(rows for _, rows in columns)))
    assert both(task) == (["thing"], ["thing"])


def test_by_look_places_are_names_and_their_codes_are_none(tmp_path):
    source = table("id,cc,where", [made[:3].upper() for made in MADE_OF], THINGS)
    target = table("id,lieu,n", THINGS[::-1], [f"7-{n}" for n in range(12)], start=50)
    assert both(task_of(tmp_path, source, target)) == (["where"], ["lieu"])


def test_by_look_a_table_may_have_many_words_that_the_other_has_not(tmp_path):
    more = [f"Gadget{one}{other} of{other}{one}" for one in "abcdefgh" for other in "abcdefgh"]
    target = table("id,where,n", THINGS + more, ["1.5"] * (len(THINGS) + len(more)))
    assert both(task_of(tmp_path, FURNITURE, target)) == (["title"], ["where"])


def test_by_look_words_with_digits_are_names_where_more_than_these_differ(tmp_path):
    """Compounds are, numbered invoices are not."""
    words = [f"{n}-di{one.lower()}ethane" for n, one in enumerate(MADE_OF)]
    assert both(task_of(tmp_path, table("id,compound,n", words, ["1.5"] * 12))) == (["compound"], ["compound"])


OTHERWISE = {
    "numbered": ([f"invoice-{n}" for n in range(12)],) * 2,
    "not shared": (THINGS, [f"Nothing{c} equal{c}" for c in "abcdefghijkl"]),
    "not distinct": ([*THINGS[:2]] * 6,) * 2,
    "not filled": ([*THINGS[:9], "", "", ""],) * 2,
    "not letters": ([f"{n}.{n}.1990" for n in range(12)],) * 2,
    "codes with letters": ([f"AB-{n}C" for n in range(12)],) * 2,
    "codes of one length": ([made[:3].upper() for made in MADE_OF],) * 2,
    "mail": ([f"{made.lower()}@lamp.org" for made in MADE_OF],) * 2,
    "long": ([" ".join([thing] * 7) for thing in THINGS],) * 2,
}


@pytest.mark.parametrize("why", OTHERWISE)
def test_by_look_what_is_no_name_stays_a_value(tmp_path, why):
    source, target = (table("id,thing,n", texts, ["1.5"] * 12, start=20) for texts in OTHERWISE[why])
    assert both(task_of(tmp_path, source, target)) == ([], [])


@pytest.mark.parametrize("header", ["id,description,n", "id,address,n", "id,brand_name,n", "id,Beschreibung,n"])
def test_by_look_what_is_called_otherwise_stays_a_value(tmp_path, header):
    assert both(task_of(tmp_path, table(header, THINGS, ["1.5"] * 12))) == ([], [])


def test_few_rows_are_no_ground_for_a_look(tmp_path):
    assert both(task_of(tmp_path, table("id,thing,n", THINGS[:9], ["1.5"] * 9))) == ([], [])


def test_ids_that_are_names_leave_nothing_to_look_for_but_are_not_before_titles(tmp_path):
    text = "".join(f"{thing},{thing} here,1\n" for thing in THINGS)
    assert both(task_of(tmp_path, f"id,thing,n\n{text}")) == ([], [])
    assert both(task_of(tmp_path, f"id,title,n\n{text}")) == (["title"], ["title"])


def test_ids_of_tables_that_are_codes_are_no_names(tmp_path):
    ids = ["B00004TKVY", "B0000AKVYA", "B1XKD9", "FR01", "7", "Rome"]
    task = task_of(tmp_path, "id,n\n" + "".join(f"{id},1\n" for id in ids))
    assert entity_names(task.source)[1].tolist() == ["Rome"]
    task = task_of(tmp_path, "id,n\n" + "".join(f"{id},1\n" for id in ("U2", "ABBA", "Blur", "Rome")))
    assert entity_names(task.source)[1].tolist() == ["U2", "ABBA", "Blur", "Rome"]


def test_names_by_another_column_on_each_side(tmp_path):
    source, target = table("id,title,n", THINGS, ["1.5"] * 12), table("id,name,n", THINGS, ["1.5"] * 12, start=40)
    task = task_of(tmp_path, source, target)
    assert both(task) == (["title"], ["name"]) and task.target.name_predicates == ()


def test_a_graph_with_labels_stays_as_it_is(tmp_path):
    text = table("id,name,title,alias", THINGS, [f"The {one}" for one in THINGS], THINGS[::-1])
    task = task_of(tmp_path, text)
    assert labels(task.source) == [[one] for one in THINGS] and task.source.name_predicates == ()
    lines = "".join(f'<http://e.org/{n}> <{p}> "{one}" .\n' for n, one in enumerate(THINGS) for p in (
        "http://www.w3.org/2004/02/skos/core#prefLabel", "http://e.org/title"))  # fmt: skip
    assert taken(task_of(tmp_path, lines, ending="nt").source) == ["skos:prefLabel"]


def test_further_labels_come_after_the_name(tmp_path):
    original = ["Lampe", "Vase", "Stuhl", "Hocker"]
    text = table("id,original_title,alias,title,brand", original, ["", "pot", "", ""], THINGS[:4], ["A"] * 4)
    graph = task_of(tmp_path, text).source
    assert labels(graph)[:2] == [["Amber lamp", "Lampe"], ["Bronze vase", "Vase", "pot"]]
    assert set(graph.name_predicates) == {"title", "original_title", "alias"}


def stated(n, kind, word, value):
    entity = f"<http://e.org/{n}>"
    return f"{entity} <{NT}type> <http://e.org/{kind}> .\n{entity} <http://e.org/{word}> {value} .\n"


RDF = "".join([
    *(stated(n, "Film", "title", f'"{text}"@en') for n, text in enumerate(THINGS[:4])),
    *(stated(n, "Person", "fullName", f'"Ada {c}ee"') for n, c in enumerate("BLMT", 4)),
    *(stated(n, "Place", "postcode", f'"{n}"') for n in range(8, 17)),
])  # fmt: skip


def test_in_rdf_each_type_may_have_a_predicate_of_its_own(tmp_path):
    graph = task_of(tmp_path, RDF, ending="nt").source
    assert set(graph.name_predicates) == {"http://e.org/title", "http://e.org/fullName"}
    by_id = {str(graph.ids[i]): graph.labels_of(i) for i in range(graph.n_entities)}
    assert by_id["http://e.org/0"] == [("Amber lamp", "en")] and by_id["http://e.org/4"] == [("Ada Bee", "")]


@pytest.mark.parametrize("n_people, n_films", [(3, 3), (70, 30), (30, 70)])
@pytest.mark.parametrize("word", ["name", "full_name"])
def test_each_table_of_a_side_may_have_a_column_of_its_own(n_people, n_films, word):
    """Titles of films were values beside people with names, or where most rows were people."""
    people = [{"id": n, word: f"Ada {chr(97 + n % 26)}{n // 26 * 'x'}ee", "born": 1900 + n} for n in range(n_people)]
    films = [{"id": n, "title": f"Alps {chr(97 + n % 26)}{n // 26 * 'x'}ee", "year": 1900 + n} for n in range(n_films)]
    graph = load_task(source={"people": people, "films": films}, target=people, links_from="names").source
    assert {word, "title"} - {"name"} <= {*graph.name_predicates}
    assert [labels(graph)[place] for place in (0, n_people)] == [["Ada aee"], ["Alps aee"]]


def test_the_vocabulary_s_labels_of_few_entities_stay_labels(tmp_path):
    text = f'{RDF}<http://e.org/5> <http://purl.org/dc/terms/title> "Countess" .\n'
    graph = task_of(tmp_path, text, ending="nt").source
    assert graph.is_name("http://purl.org/dc/terms/title")
    at = graph.find(np.array(["http://e.org/5"], dtype=object))[0]
    assert graph.labels_of(at) == [("Ada Lee", ""), ("Countess", "")]


def test_a_sample_decides_about_many(tmp_path, monkeypatch):
    looked_at = []
    monkeypatch.setattr("mixtea.text.name_looks.share_readable", lambda texts: looked_at.append(len(texts)) or 1.0)
    n = 3 * MAX_SAMPLE
    task = task_of(tmp_path, table("id,title,n", [f"Lamp {k}" for k in range(n)], ["1.5"] * n))
    assert taken(task.source) == ["title"] and 0 < max(looked_at) <= MAX_SAMPLE


def test_it_does_not_matter_in_which_order_rows_come(tmp_path):
    lines = table("id,thing,about", THINGS, LONG).splitlines()
    tasks = [task_of(tmp_path, "\n".join([lines[0], *rows, ""])) for rows in (lines[1:], lines[:0:-1])]
    assert [task.source.name_predicates for task in tasks] == [("thing",)] * 2


def test_the_user_overrules_it(tmp_path):
    text = table("id,name,code,n", THINGS, [f"X{n}" for n in range(12)], ["1.5"] * 12)
    task = task_of(tmp_path, text, name_column="code")
    assert both(task) == (["code"], ["code"]) and labels(task.source)[3] == ["X3"]
    assert compared(task) == {"rdfs:label", "n"}  # what was the name is a value then
    task = task_of(tmp_path, text, source_name_column=["code", "Name"])
    assert labels(task.source)[0] == ["X0", "Amber lamp"] and both(task)[1] == ["name"]
    task = task_of(tmp_path, text, target_name_column="n", name_column="CODE")
    assert both(task) == (["code"], ["code", "n"]) and task.target.name_predicates == ("n", "code")


def test_a_column_of_one_side_is_looked_for_on_that_side(tmp_path):
    source, target = table("id,a,n", THINGS, ["1.5"] * 12), table("id,b,n", THINGS, ["1.5"] * 12)
    assert both(task_of(tmp_path, source, target, name_column=["a", "b"])) == (["a"], ["b"])
    with pytest.raises(
        DataError, match=r"--source-name-column: the source graph has no values of 'b'\. There are: 'a', 'n'"
    ):
        task_of(tmp_path, source, target, source_name_column="b")


def test_predicates_are_named_with_a_prefix_too(tmp_path):
    text = '@prefix e: <http://e.org/> . e:1 e:say "Ada" ; e:of e:2 . e:2 e:say "Bob" .'
    assert taken(task_of(tmp_path, text, ending="ttl", name_column="e:say").source) == ["e:say"]
    with pytest.raises(DataError, match=r"neither graph has values of 'e:to'\. There are: 'e:say'"):
        task_of(tmp_path, text, ending="ttl", name_column="e:to")
    with pytest.raises(DataError, match=r"'e:of' leads to entities; --literals makes values of it"):
        task_of(tmp_path, text, ending="ttl", name_column="e:of")


@pytest.mark.parametrize("wrong", [7, [7], {"a": 1}.values()])
def test_what_is_no_name_of_a_column_is_an_error(tmp_path, wrong):
    with pytest.raises(DataError, match=r"name_column is .* Give the name of a column, or a list of such"):
        task_of(tmp_path, FILMS, name_column=wrong)


def test_a_column_is_told_by_its_own_name(tmp_path):
    source = "id,Name,colour\n1,Ada,red\n2,Bea,blue\n"
    with pytest.raises(DataError, match=r"There are: 'Name', 'colour'"):
        task_of(tmp_path, source, name_column="nmae")
    assert name_coverage_line(task_of(tmp_path, source).source) == "'Name' (100% filled, 100% distinct)"


def test_a_broken_file_is_told_before_a_column_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="2 columns"):
        task_of(tmp_path, "id,a,b\n1,2\n", FILMS, name_column="title")


def test_a_file_of_names_or_an_option_leaves_the_values_alone(tmp_path):
    write(tmp_path, {"n.tsv": "0\tOne\n"})
    task = task_of(tmp_path, FILMS, names_source=tmp_path / "n.tsv")
    assert labels(task.source) == [["One"], [], [], []] and taken(task.target) == ["title"]


def test_without_values_names_stay(tmp_path):
    task = task_of(tmp_path, FILMS, attributes=False)
    assert task.source.label(2) == "Solaris" and task.source.n_attribute_triples == 0


def test_a_benchmark_folder_is_read_as_it_is_unless_the_user_says_so(tmp_path):
    files = benchmark_files() | {"attr_triples_1": "a\ttitle\tAlpha\nb\ttitle\tBeta\n"}
    write(tmp_path / "set", files)
    assert not len(load_task(tmp_path / "set").source.labels)
    assert load_task(tmp_path / "set", name_column="title").source.label(0) == "Alpha"


def test_a_run_remembers_which_values_are_names(tmp_path):
    task = task_of(tmp_path, FILMS)
    about = {"task": task.name, "fold": None, "links_from": "names"}
    again = check_task(about, check_vocabulary(vocabulary(task)), graph_arrays(task))
    assert again.source.name_predicates == ("title",) and checksum(again) == checksum(task)
    assert checksum(task) != checksum(task_of(tmp_path, FILMS, name_column="director"))
    with pytest.raises(TypeError, match="name_predicates of the source"):
        words = vocabulary(task)
        check_vocabulary(words | {"source": words["source"] | {"name_predicates": [1]}})


def test_the_summary_says_what_is_taken(tmp_path):
    task = task_of(tmp_path, FILMS)
    found = {"predicate": "title", "entities": 4, "share": 1.0, "distinct": 0.75}
    assert summary(task)["source"]["names"] == [found]
    assert name_coverage_line(task.source) == "'title' (100% filled, 75% distinct)"


def test_graphs_without_values(tmp_path):
    write(tmp_path, {"s.tsv": SOURCE, "t.tsv": TARGET, "l.tsv": LINKS})
    task = load_task(source=tmp_path / "s.tsv", target=tmp_path / "t.tsv", links=tmp_path / "l.tsv")
    assert both(task) == ([], [])
    with pytest.raises(DataError, match="There are: none at all"):
        load_task(source=[("a", "r", "b")], target=[("a", "r", "b")], links_from="names", name_column="x")


@pytest.mark.parametrize(
    "word, kind",
    [
        ("Title", EXACT), ("http://e.org/onto#name", EXACT), ("título", EXACT), ("product", EXACT),
        ("U70_has_title", CONTAINED), ("movieTitle", CONTAINED), ("nom du produit", CONTAINED), ("书名", CONTAINED),
        ("titre original", FURTHER), ("synonyms", FURTHER), ("altLabel", FURTHER), ("alternate_name", FURTHER),
        ("title_id", None), ("subtitle", None), ("product description", None), ("name description", None),
        ("genome", None), ("given_name", None), ("作者", None), ("", None), ("P31", None),
    ],
)  # fmt: skip
def test_what_names_are_called(word, kind):
    assert kind_of_name(word) == kind
    assert is_not_called_as_names("item description") and not is_not_called_as_names("item")
