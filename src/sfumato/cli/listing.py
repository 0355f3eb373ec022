"""``sfumato list``: every model, step, hierarchy, risk, utility metric, objective and example by name."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.cli.options import Json
from sfumato.cli.prose import plain
from sfumato.cli.talk import give_json, out
from sfumato.core.objective import OBJECTIVES
from sfumato.errors import ParameterError, did_you_mean


def list_names(
    what: Annotated[
        str | None, typer.Argument(help="models, steps, hierarchies, risk, utility, objectives or examples")
    ] = None,
    json: Json = False,
) -> None:
    """List what can be written in a recipe, with one line of meaning each."""
    found = _found(what)
    if json:
        give_json(found)
        return
    for family, entries in found.items():
        table = Table(
            box=None, pad_edge=False, title=family, title_justify="left", show_header=False, title_style="bold"
        )
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for entry in entries:
            table.add_row(escape(entry["name"]), escape(plain(entry["meaning"])))
        out().print(table)


def _found(what: str | None) -> dict[str, list[dict[str, Any]]]:
    from sfumato import registry

    every = (*registry.FAMILIES, "objectives", "examples")
    if what is not None and what not in every:
        raise ParameterError(f"there is nothing called {what!r} to list.{did_you_mean(what, every)}")
    return {name: entries(name) for name in ([what] if what else every)}


def entries(family: str) -> list[dict[str, Any]]:
    """Name and meaning of everything in a family."""
    from sfumato import registry

    if family == "objectives":
        return [{"name": o.name, "meaning": o.meaning} for o in OBJECTIVES]
    if family == "examples":
        from sfumato import examples

        return [{"name": n, "meaning": examples.meaning(n)} for n in examples.names()]
    kept = ("name", "meaning", "fields", "facts", "monotone", "shrinking", "scope", "depends")
    return [
        {key: described[key] for key in kept if key in described}
        for described in map(registry.describe, registry.family(family).values())
    ]
