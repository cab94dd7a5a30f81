"""The command `mixtea`, also as `python -m mixtea`."""

from __future__ import annotations

import sys


def main() -> None:
    """Like the command itself, but for Ctrl-C while it is being loaded, which takes a second."""
    try:
        from mixtea.cli import main as command
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
