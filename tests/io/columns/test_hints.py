"""What a user says of columns is done, and never overruled."""

from __future__ import annotations

import pytest
from conftest import write
from small_files import triples_of

from mixtea import DataError, load_task
from mixtea.graph.fingerprint import checksum
from mixtea.io.columns.hints import ColumnHint, ComparedColumns, column_hints
from mixtea.runs.folder import graph_arrays, vocabulary
from mixtea.runs.validate import check_compared, check_task, check_vocabulary

SHOPS = [
    {"id": "1", "title": "Arnie Mortons", "phone": "310/246-1501", "price": "12", "tags": "a|b", "next": "2"},
    {"id": "2", "title": "Arts Deli", "phone": "818-762-1221", "price": "14", "tags": "b", "next": "1"},
]
OTHERS = [
    {"id": "x", "name": "Mortons of Chicago", "tel": "310 246 1501", "price": "14", "next": "y"},
    {"id": "y", "name": "Art's Delicatessen", "tel": "818 762 1221", "price": "12", "next": "x"},
]


def task_of(columns, **more):
    return load_task(source=SHOPS, target=OTHERS, links={"1": "x"}, columns=columns, **more)


def kinds(graph):
    return {column.name: (column.kind, column.is_hint) for column in graph.files[0].columns}


def test_a_column_is_what_the_user_says():
    task = task_of({"price": "ignore", "source": {"tags": "list", "next": "number", "title": "text", "phone": "name"}})
    found = kinds(task.source)
    assert found["price"] == ("ignore", True) and found["next"] == ("number", True) and found["id"] == ("id", False)
    assert [pair[:2] for pair in task.source.attributes_of(0)] == [
        ("title", "Arnie Mortons"), ("phone", "310/246-1501"), ("tags", "a"), ("tags", "b"), ("next", "2"),
    ]  # fmt: skip
    assert task.source.label(0) == "310/246-1501" and task.source.n_triples == 0 and task.target.n_triples == 2


def test_ids_and_references_by_hint():
    rows = [{"id": "1", "sku": "S1", "like": "S2"}, {"id": "1", "sku": "S2", "like": "S9"}]
    task = load_task(
        source=rows, target=[("a", "r", "b")], links=[("S1", "a")],
        columns={"sku": "id", "like": {"refers_to": "source"}},
    )  # fmt: skip
    assert triples_of(task.source) == [("S1", "like", "S2"), ("S2", "like", "S9")]
    assert kinds(task.source)["sku"] == ("id", True) and kinds(task.source)["like"] == ("reference", True)
    numbered = load_task(source=rows, target=[("a", "r", "b")], links=[("1", "a")], columns={"id": "text"})
    assert numbered.source.ids.tolist() == ["1", "2"]
    led = load_task(
        source=rows, target=[("a", "r", "b")], links=[("1", "a")], columns={"id": "text", "like": "reference"}
    )
    assert led.source.n_triples == 2


def test_columns_that_are_compared():
    task = task_of({"source": {"phone": {"key": True, "same_as": "tel"}}, "price": {"weight": 0}})
    assert task.compared == (ComparedColumns("price", "price", 0.0, False), ComparedColumns("phone", "tel", 1.0, True))
    task = task_of(
        {"target": {"tel": {"weight": 2, "same_as": "phone"}}, "tags": {"weight": 3}, "title": {"same_as": "name"}}
    )
    assert task.compared == (
        ComparedColumns("tags", "", 3.0, False), ComparedColumns("title", "rdfs:label", 1.0, False),
        ComparedColumns("phone", "tel", 2.0, False),
    )  # fmt: skip


def test_a_run_remembers_compared_columns_and_tables_kept_apart(tmp_path):
    write(tmp_path, {"a.csv": "id,x\n1,p\n2,q\n", "b.csv": "id,y\n1,r\n2,s\n"})
    source = [tmp_path / "a.csv", tmp_path / "b.csv"]
    task = load_task(source=source, target=OTHERS, links={"a/1": "x"}, columns={"source": {"x": {"weight": 2}}})
    about = {"task": task.name, "fold": None, "links_from": "given"}
    again = check_task(about, check_vocabulary(vocabulary(task)), graph_arrays(task))
    assert again.compared == task.compared != () and again.source.kept_apart == ("a", "b")
    assert checksum(again) == checksum(task) != checksum(task.replace(compared=()))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda words: words["compared"][0].pop(), "list of four"),
        (lambda words: words["compared"][0].__setitem__(2, 1), "two texts, a number and a truth value"),
        (lambda words: words["compared"][0].__setitem__(2, -1.0), "out of range"),
    ],
)
def test_stored_columns_are_checked(change, message):
    words = {"compared": [["a", "b", 1.0, True]]}
    check_compared(words["compared"])
    change(words)
    with pytest.raises((TypeError, ValueError), match=message):
        check_compared(words["compared"])


def test_a_file_says_the_same(tmp_path):
    text = 'price = "ignore"\nphone = {key = true, same_as = "tel"}\n[source]\ntitle = "name"\n'
    (tmp_path / "columns.toml").write_text(text)
    hints = column_hints(tmp_path / "columns.toml")
    assert hints == column_hints(
        {"price": "ignore", "phone": {"key": True, "same_as": "tel"}, "source": {"title": ColumnHint("name")}}
    )
    assert hints.of_side("source")["title"].kind == "name" and "title" not in hints.of_side("target") and hints
    assert not column_hints(None)


def test_a_column_may_be_called_source():
    assert column_hints({"source": {"kind": "text"}, "target": "ignore"}).both.keys() == {"source", "target"}


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"prize": "ignore"}, "neither side has a column 'prize'. There are: 'id', 'title'"),
        ({"source": {"tel": "text"}}, "the source has no column 'tel'"),
        ({"phone": {"key": True}}, "'phone' is a key of the source, and the target has no such column"),
        ({"phone": {"same_as": "fax"}}, "'phone' is declared the same as 'fax', which the target does not have"),
        ({"next": {"refers_to": "films"}}, "there is no table 'films' with ids. There are: source"),
        ({"price": "prise"}, "columns: price: kind is 'prise'. Choose one of id, name"),
        ({"price": {"wait": 2}}, "columns: price: there is no 'wait'. Choose some of kind, key, weight"),
        ({"price": {"weight": -1}}, "weight is -1.0. Choose a number from 0 to 100"),
        ({"price": {"weight": "2"}}, "weight is '2'. It is a number"),
        ({"price": 2}, "columns: price is 2. Write for instance"),
        ({"price": {"kind": "text", "refers_to": "a"}}, "it is a text and refers to 'a'. Leave one of both out"),
    ],
)
def test_wrong_hints_are_told(columns, message):
    with pytest.raises(DataError) as error:
        task_of(columns)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("price = ", "not valid TOML"),
        ("x" * (2 << 20), "no hints need"),
        (b"\xff", "not valid TOML"),
        (None, "no such file"),
    ],
)
def test_a_file_that_is_no_toml_is_told(tmp_path, text, message):
    path = tmp_path / "columns.toml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message):
        task_of(path)


def test_a_benchmark_folder_has_no_columns(tmp_path):
    with pytest.raises(DataError, match="no columns of tables"):
        load_task(tmp_path, columns={"x": "text"})
