"""Workbooks and databases on the command line: runs of them go on, links of them are judged and dealt out."""

from __future__ import annotations

import json
import re

from conftest import write
from small_files import excel, sqlite

NAMES = ("solaris", "stalker", "mirror", "nostalghia", "sacrifice", "andrei rublev")
FILMS = [(f"s{i}", name, f"s{max(i - 1, 0)}", 1960 + i) for i, name in enumerate(NAMES)]
LINKS = [(f"s{i}", f"t{i}", 1 - i / 10) for i in range(6)]
BASE = sqlite(
    {"films": ("id, title, before, year", FILMS), "same": ("source, target, confidence", LINKS)},
    "CREATE VIEW held AS SELECT source, target FROM same WHERE confidence < 0.7",
)
BOOK = excel({
    "Notes": [("read me",)],
    "Films": [("id", "title", "before", "year"), *((id.replace("s", "t"), name, before.replace("s", "t"), year)
                                                   for id, name, before, year in FILMS)],
})  # fmt: skip


def test_a_run_of_a_query_is_scored_and_goes_on(tmp_path, mixtea, monkeypatch):
    monkeypatch.chdir(write(tmp_path, {"f.db": BASE, "f.xlsx": BOOK}))
    query = ["--source-query", "SELECT id, title, before, year FROM films WHERE title > '' -- 'a//b'"]
    sides = ["--source", "sqlite:f.db", *query, "--target", "f.xlsx#Films"]
    links = ["--links", "f.db", "--links-query", "SELECT source, target FROM same WHERE confidence > 0.7"]
    task = [*sides, *links, "--test-links", "sqlite:f.db#held", "--device", "cpu"]
    call = ["fit", *task, "--quick", "--out", "run"]
    code, out, err = mixtea(*call)
    assert code == 0 and re.search("source  'title' +name", out + err)
    code, out, _ = mixtea("score", "run", "--json")
    assert code == 0 and json.loads(out)["links"] == 2 and json.loads(out)["f1"] == 1
    (tmp_path / "f.db").rename(tmp_path / "gone.db")
    assert mixtea("export", "run", "--out", "m.tsv")[0] == 0
    (tmp_path / "gone.db").rename(tmp_path / "f.db")
    code, _, err = mixtea(*call, "--resume")
    assert code == 0 and "finished already" in err
    code, out, _ = mixtea("inspect", *task, "--json")
    assert code == 0 and [file["format"] for file in json.loads(out)["source"]["files"]] == ["SQLite"]


def test_links_of_databases_and_workbooks_are_judged_and_dealt_out(tmp_path, mixtea):
    write(tmp_path, {"f.db": BASE, "l.xlsx": excel({"L": [("source", "target"), *(row[:2] for row in LINKS[:4])]})})
    code, out, _ = mixtea("evaluate", f"{tmp_path}/f.db#same", "--reference", tmp_path / "l.xlsx", "--json")
    found = json.loads(out)
    assert code == 0 and (found["mapped"], found["links"], found["right"], found["recall"]) == (6, 4, 4, 1.0)
    assert [row["threshold"] for row in found["thresholds"]] == [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    out = ["--train", "0.5", "--valid", "0", "--test", "0.5", "--out", tmp_path / "parts"]
    assert mixtea("split", f"sqlite:{tmp_path}/f.db#same", *out)[0] == 0
    rows = (tmp_path / "parts" / "train_links.csv").read_text().splitlines()
    assert rows[0] == "source,target" and len(rows) == 4
