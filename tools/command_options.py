"""Write the options of all verbs that commands are made of: ``python tools/command_options.py``.

The command line reads them there, so that a help page need not import the verbs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from sfumato.interfaces.cli.app import build_app
from sfumato.interfaces.cli.verb_options import load_verb, options_in, record_of

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "src/sfumato/interfaces/cli/data_files/verb_options.json"


def verbs_of(command: Any) -> Iterator[str]:
    """The verbs of a command, or of all commands of a group."""
    for below in getattr(command, "commands", {}).values():
        yield from verbs_of(below)
    making = getattr(command.callback, "making", None)
    if making is not None:
        yield from making.verbs


def page() -> str:
    """The file: the options of each verb, in the order of its signature."""
    names = sorted(set(verbs_of(get_command(build_app()))))
    options = {name: [record_of(one) for one in options_in(load_verb(name))] for name in names}
    return json.dumps(options, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(page(), encoding="utf-8")
