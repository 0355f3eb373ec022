"""The commands, put together."""

from __future__ import annotations

import typer

from sfumato import __version__

EPILOG = "Exit codes: 0 all holds · 1 a promise fails · 2 wrong usage or recipe · 3 our bug · 4 nothing satisfies the recipe · 5 input unreadable"


def build_app() -> typer.Typer:
    """The application with all its commands."""
    from sfumato.cli import assess, check, demo, explain, keygen, listing, profile, run, verify

    app = typer.Typer(
        name="sfumato",
        help="Blur the people, keep the picture, and prove it.",
        epilog=EPILOG,
        no_args_is_help=True,
        invoke_without_command=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_version)
    for name, command in (
        ("profile", profile.profile),
        ("assess", assess.assess),
        ("run", run.run),
        ("check", check.check),
        ("verify", verify.verify),
        ("explain", explain.explain),
        ("list", listing.list_names),
        ("keygen", keygen.keygen),
        ("demo", demo.demo),
    ):
        app.command(name)(command)
    return app


def _version(
    version: bool = typer.Option(False, "--version", help="print the version and leave", is_eager=True),
) -> None:
    if version:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit
