"""Commands of other packages: the entry points of the group ``sfumato.commands``."""

from __future__ import annotations

from collections.abc import Callable, Collection

import typer

from sfumato.core.plug_ins import load_plug_in, points_by_name


def add_commands(
    app: typer.Typer,
    words: Collection[str] | None,
    own_names: Collection[str],
    placeholder: Callable[[], None],
) -> None:
    """Add the commands of plug-ins: functions that typer understands, or groups of them
    (``typer.Typer``).

    Only one that is among the ``words`` of a call is imported, so that a broken plug-in cannot
    break ``--help``.
    """
    for name, point in points_by_name("commands", lambda name: name in own_names).items():
        if words is not None and name not in words:
            app.command(name, help=f"From the plug-in {point.module}.")(placeholder)
            continue
        command = load_plug_in(point, "command", callable)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
