"""``sfumato profile``: propose a recipe."""

from __future__ import annotations

import dataclasses
import sys

from sfumato.cli.options import Data, Json, Quiet, read_data, reading
from sfumato.cli.talk import give_json, progress, tell
from sfumato.core.schema import Role
from sfumato.core.source import NOTHING_SAID, Intake


@reading
def profile(
    data: Data,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Look at a table and propose a recipe: roles, kinds and hierarchies, every guess marked with its reason.

    The recipe goes to stdout: [bold]sfumato profile visits.csv > visits.yaml[/]. No value of a person is printed.
    """
    from sfumato.profiling.yaml_text import recipe_text
    from sfumato.verbs import profile as propose

    dataset = read_data(data, quiet=quiet, intake=intake)
    with progress("trying means", quiet=quiet):
        proposal = propose(dataset)
    if json:
        give_json(dataclasses.asdict(proposal))
        return
    sys.stdout.write(recipe_text(proposal))
    asked = len(proposal.with_roles(Role.ASK))
    width = len(dataset.columns)
    first = f"decide the {asked} with role 'ask' and " if asked else ""
    tell(
        f"{len(dataset):,} rows, {width} column{'' if width == 1 else 's'} looked at; {first}check every line marked 'guess'",
        quiet=quiet,
    )
