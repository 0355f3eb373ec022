"""The commands, put together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any

import typer

from sfumato import __version__

EPILOG = "Exit codes: 0 all holds · 1 a promise fails · 2 wrong usage or recipe · 3 our bug · 4 nothing satisfies the recipe · 5 input unreadable"


def _tell_version(asked: bool | None) -> None:
    if asked:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


def build_app() -> typer.Typer:
    """The application with all its commands."""
    from sfumato.cli import (
        assess,
        attack,
        choose_k,
        compare,
        demo,
        evaluate,
        explain,
        policy,
        query,
        run,
        vault,
        verify,
    )

    app = typer.Typer(
        name="sfumato",
        help="Blur the people, keep the picture, and prove it.",
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_common)
    for name, command in (
        ("profile", assess.profile),
        ("assess", assess.assess),
        ("run", run.run),
        ("check", verify.check),
        ("attack", attack.attack),
        ("evaluate", evaluate.evaluate),
        ("compare", compare.compare),
        ("verify", verify.verify),
        ("explain", explain.explain),
        ("choose-k", choose_k.choose_k),
        ("plan", choose_k.plan),
        ("list", explain.list_names),
        ("keygen", verify.keygen),
        ("query", query.query),
        ("demo", demo.demo),
    ):
        app.command(name)(_interruptible(command))
    app.add_typer(vault.build(_interruptible), name="vault")
    app.add_typer(policy.build(_interruptible), name="policy")
    return app


class Interrupted(Exception):
    """The user pressed Ctrl-C; raised instead of KeyboardInterrupt, which the command framework would swallow."""


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            raise Interrupted from None

    return run


def _common(
    version: Annotated[
        bool | None,
        typer.Option("--version", help="print the version and leave", is_eager=True, callback=_tell_version),
    ] = None,
) -> None:
    """Options of the program itself."""
