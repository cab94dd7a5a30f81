"""Read settings from a TOML file, or from the config.json of a run."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from mixtea.config import SETTINGS, Config
from mixtea.errors import ConfigError
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.open import open_input

MAX_BYTES, MAX_MESSAGE = 1 << 14, 2000  # bytes, characters


def read_settings(path: Path) -> dict[str, Any]:
    """Read settings from TOML lines `field = value`, or from a run's config.json, and check them one by one."""
    kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
    try:
        with open_input(path) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ConfigError(f"more than {MAX_BYTES:,} bytes, which no settings need. Name another file.")
        text = data.decode("utf-8")
        settings = json.loads(text) if kind == "JSON" else tomllib.loads(text)
        if not isinstance(settings, dict):
            raise ConfigError("not a table of settings. Write field = value lines, or a JSON object.")
        Config.from_dict(settings)
        return SETTINGS.check_all(settings)
    except UnreadableError as error:
        what, todo = error.problem.what.removeprefix("cannot be read "), error.problem.todo
        raise ConfigError(f"{path}: cannot be read ({what.strip('()')}). {todo}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {str(error)[:MAX_MESSAGE]}") from None
    except RecursionError:
        raise ConfigError(f"{path}: not valid {kind}: nested too deeply, which no settings are.") from None
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: not valid {kind}: {str(error)[:MAX_MESSAGE]}.") from None
