"""Write docs/settings.md from the settings themselves: `python scripts/write_settings.py`."""

from pathlib import Path

from mixtea.config import describe

HEADER = """# Settings

Every field of `Config`. They are the same as keyword arguments (`MixTEA(entity_dim=512)`), in a TOML file
(`mixtea fit --config settings.toml`, lines like `entity_dim = 512`), on the command line (`--set entity_dim=512`) and
in a run's `config.json`.

Column *paper* is the preset `paper`, the behaviour behind the published numbers, and what `Config()` has. Column *best*
is given where the preset `best` differs, which `MixTEA()` and `mixtea fit` take unless told otherwise; column *text*
where the letter of the paper's text says something else, which the preset `text` takes. What these differences mean
stands in [voting.md](voting.md) and [paper-to-code.md](paper-to-code.md).

"""

page = Path(__file__).parent.parent / "docs" / "settings.md"
page.write_text(HEADER + describe() + "\n", encoding="utf-8")
