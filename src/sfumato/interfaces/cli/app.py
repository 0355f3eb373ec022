"""The commands, put together."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from typing import Annotated

import typer
from typer.core import TyperGroup

from sfumato import __version__

EPILOG = (
    "Exit codes: 0 all holds · 1 a promise fails · 2 wrong usage or recipe · 3 our bug · 4 nothing"
    " satisfies the recipe · 5 input unreadable · 6 another party fails · 7 nothing false, but not"
    " all verified"
)


def _print_version(version: bool | None) -> None:
    if version:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


COMMANDS = {
    "protect": (
        "protect:protect",
        (
            "Protect a table: find the release that loses least, attack it, verify it, and decide"
            " who may have it."
        ),
    ),
    "profile": (
        "assess:profile",
        (
            "Look at a table and propose a recipe: roles, kinds and hierarchies, each with its "
            "reason."
        ),
    ),
    "recommend": (
        "recommend:recommend",
        (
            "Recommend a release: ask for the context, try every family of methods, and write the "
            "best recipe with its reasons."
        ),
    ),
    "assess": (
        "assess:assess",
        (
            "Show what an intruder can do with a table as it is: uniques, k, risks, and the "
            "columns that cause them."
        ),
    ),
    "run": (
        "run:run",
        (
            "Anonymize a table by a recipe, judge the output again, and write what to share and "
            "what to keep."
        ),
    ),
    "check": (
        "verify:check",
        (
            "Judge a released table by a recipe; exit code 1 if a promise does not hold or a "
            "direct identifier remains."
        ),
    ),
    "attack": (
        "attack:attack",
        (
            "Let named intruders (prosecutor, journalist, neighbour, colleague, worst case) try "
            "the attacks of the literature."
        ),
    ),
    "evaluate": (
        "evaluate:evaluate",
        (
            "Compare a release with its original: loss, moments, tables, queries, models; by "
            "default everything that applies."
        ),
    ),
    "compare": (
        "compare:compare",
        (
            "Run, attack and measure several candidates in the same way, and show which of them "
            "no other one beats."
        ),
    ),
    "verify": (
        "verify:verify",
        (
            "Recompute what a certificate claims: which claims hold, which fail, which need the"
            " original."
        ),
    ),
    "explain": (
        "explain:explain",
        "Explain a model, step, hierarchy or objective, or what a release did and why.",
    ),
    "table": (
        "table:table",
        (
            "Count persons or sum a column by other columns, and publish a table from which "
            "nobody can be computed."
        ),
    ),
    "serve": (
        "serve:serve",
        (
            "Open the workbench: an editor of the recipe in a browser on this machine. Nothing is"
            " uploaded anywhere."
        ),
    ),
    "list": (
        "explain:list_names",
        "List what can be written in a recipe, with one line of meaning each.",
    ),
    "import": (
        "import_arx:import_project",
        (
            "Convert a project of ARX or metadata of µ-Argus to a recipe: roles, hierarchies, "
            "privacy models and the table; what cannot be converted is listed."
        ),
    ),
    "deposit": (
        "deposit:deposit",
        "Write the metadata of a release (DataCite, DDI, RO-Crate) and upload it as a draft.",
    ),
    "query": (
        "query:query",
        "Answer a question under differential privacy and record what it cost.",
    ),
    "demo": (
        "demo:demo",
        (
            "Anonymize a generated hospital table twice: one release that intruders beat, and one "
            "that they do not."
        ),
    ),
}
"""Name → where the command is, and its title, so that ``--help`` need not import them all."""
GROUPS = {
    "key": (
        "key",
        "Make keys: to sign certificates, for pseudonyms and vaults, for a party of studies.",
    ),
    "vault": ("vault", "The vault of pseudonyms: list, reidentify (logged), rotate."),
    "party": (
        "party",
        (
            "Compute one answer with several parties: draft and sign a study, take part in it "
            "(party study.yaml data.csv --as NAME), verify a result."
        ),
    ),
    "register": (
        "register",
        (
            "Record what was released, of what and to whom, and check what all of it reveals "
            "together: start, list, check, add, withdraw."
        ),
    ),
    "outputs": (
        "outputs",
        (
            "Check outputs of researchers: review and decide, release what is approved, verify; "
            "find stable results."
        ),
    ),
    "policy": (
        "policy",
        "Privacy policies: check, compile, run, compare with a release, export.",
    ),
}
"""Name → the module of a group of commands, and its title."""
MEMBERS = {
    "key": {
        "sign": "key:make_signing_key",
        "vault": "key:make_vault_key",
        "party": "key:make_party_keys",
    },
    "vault": {
        "list": "vault:list_domains",
        "reidentify": "vault:reidentify",
        "rotate": "vault:rotate",
    },
    "party": {
        "run": "party:run",
        "draft": "party:draft",
        "sign": "party:sign",
        "verify": "party:verify",
    },
    "register": {
        "start": "register:start",
        "list": "register:show",
        "check": "register:check",
        "add": "register:add",
        "withdraw": "register:withdraw",
    },
    "outputs": {
        "review": "outputs:review",
        "release": "outputs:release",
        "verify": "outputs:verify",
        "stable": "integral:stable",
    },
    "policy": {
        "lint": "policy:lint",
        "compile": "policy:compile_recipe",
        "run": "policy:run",
        "comply": "policy:comply",
        "export": "policy:export",
    },
}
"""Group → the names of its commands, and where they are."""


ANONYMIZE = "anonymize"
"""The same as ``run``, for who looks for that word; ``--help`` does not list it."""
PANELS = {
    "Everyday": (
        "protect",
        "profile",
        "recommend",
        "assess",
        "run",
        "attack",
        "evaluate",
        "compare",
        "verify",
        "explain",
        "serve",
    ),
    "Publish statistics": ("table", "query", "outputs", "deposit"),
    "Organisation": ("register", "policy", "party", "vault", "key"),
    "Pipelines": ("check",),
    "Reference": ("list", "import", "demo"),
}
"""Commands as ``--help`` lists them: the heading, and the commands below it."""


def build_app(words: Collection[str] | None = None) -> typer.Typer:
    """The application with all its commands.

    Only commands that are among the ``words`` of a call are imported, the others are there with
    their titles; without words all are. A command can be called only by its name, so one that was
    not imported is never run.
    """
    app = typer.Typer(
        name="sfumato",
        help="Blur the people, keep the picture, and prove it.",
        epilog=EPILOG,
        no_args_is_help=True,
        # Long tracebacks can print local variables, which may hold values of people.
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_common)
    homes = COMMANDS | GROUPS
    for panel, names in PANELS.items():
        for name in names:
            home, title = homes[name]
            # Words are all words of the call. A file called like a command imports it too, without
            # harm.
            if words is not None and name not in words:
                app.command(name, help=title, rich_help_panel=panel)(_not_called)
            elif name in GROUPS:
                app.add_typer(_build_group(name), name=name, rich_help_panel=panel)
            else:
                app.command(name, rich_help_panel=panel)(_import_command(home))
    if words is None or ANONYMIZE in words:
        app.command(ANONYMIZE, hidden=True)(_import_command(COMMANDS["run"][0]))
    # Looking for plug-ins reads files of every installed package: a call of a command of ours need
    # not wait for it.
    if words is None or next(iter(words), "") not in {*homes, ANONYMIZE}:
        from sfumato.interfaces.cli.added_commands import add_commands

        add_commands(app, words, homes, _not_called)
    return app


def _build_group(name: str) -> typer.Typer:
    """A group of commands; its module may bring a class for it (``GroupClass``)."""
    module, title = GROUPS[name]
    members = importlib.import_module(f"{__package__}.{module}")
    # A group may need its own way to find commands, as party does.
    group_class = getattr(members, "GroupClass", TyperGroup)
    group = typer.Typer(cls=group_class, no_args_is_help=True, help=title)
    for member, home in MEMBERS[name].items():
        group.command(member)(_import_command(home))
    return group


def _import_command(home: str) -> Callable[..., None]:
    """The command of a name such as ``assess:profile``."""
    module, _, name = home.partition(":")
    command: Callable[..., None] = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    return command


def _not_called() -> None:
    """Stand for a command that the words of the call do not name."""


def _common(
    version: Annotated[
        bool | None,
        typer.Option(
            "--version", help="print the version and exit", is_eager=True, callback=_print_version
        ),
    ] = None,
) -> None:
    """Options of the program itself."""
