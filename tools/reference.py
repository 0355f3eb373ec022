"""Write the reference from the code: ``python tools/reference.py``.

Pages in docs/reference: promises and means of tables, hierarchies, everything of each other shape,
commands, and public names. Risks, attacks and measures of tables have a page of their own, which
tools/measures_page.py writes.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import runpy
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import sfumato
from sfumato.core import registry
from sfumato.core.parameters import spelled
from sfumato.core.shape import Shape
from sfumato.interfaces.cli.app import COMMANDS, GROUPS, build_app

TOOLS = Path(__file__).resolve().parent
FOLDER = TOOLS.parent / "docs" / "reference"
text_of: Callable[[str], str] = runpy.run_path(str(TOOLS / "measures_page.py"))["text_of"]
NOTE = "<!-- Written by tools/reference.py; change the docstrings and run it again. -->"
HEADINGS = {
    "models": "Promises",
    "steps": "Means",
    "risk": "Risks and attacks",
    "utility": "Measures of utility",
}
UNDER = {
    "models": "Under `meet:` in a recipe, in `meet=` in Python.",
    "steps": "Under `steps:` in a recipe, in `steps=` in Python.",
    "risk": "Tried by `sfumato attack`; a recipe sets `limits:` for them.",
    "utility": (
        "Measured by `sfumato evaluate`; a recipe names them under `contract:` and `limits:`."
    ),
}
NO_DEFAULT = "required"


def entry(cls: Any, home: str) -> str:
    """A member as its docstring tells it, with its fields."""
    where = home if home != "sf" or cls.__name__ in sfumato.__all__ else cls.__module__
    told = [f"### `{cls.name}`", f"In Python `{where}.{cls.__name__}`.", told_by(cls)]
    return "\n\n".join([*told, *fields(cls)])


def told_by(cls: Any) -> str:
    """A docstring as Markdown; small letters below and above the line stay there."""
    small = re.sub(r"\\ :(sub|sup):`([^`]*)`(\\ )?", r"<\1>\2</\1>", inspect.getdoc(cls) or "")
    return text_of(small)


def fields(cls: Any) -> list[str]:
    """The fields as a table; none where there are none."""
    described = registry.describe(cls)["fields"]
    if not described:
        return []
    words = spelled(cls)
    defaults = {words[field.name]: default_of(field) for field in dataclasses.fields(cls)}
    hints = {words[name]: field.annotation for name, field in cls.__pydantic_fields__.items()}
    rows = ["| field | default | meaning |", "|---|---|---|"]
    for field in described:
        meaning = "; ".join(
            part for part in (field["meaning"], choices(hints.get(field["name"]))) if part
        )
        rows.append(f"| `{field['name']}` | {cell(defaults[field['name']])} | {escaped(meaning)} |")
    return ["\n".join(rows)]


def default_of(field: dataclasses.Field[Any]) -> str:
    """What a field is when nobody says it, as it is written in a recipe."""
    default: Any = field.default
    if hasattr(default, "get_default"):  # pydantic keeps its own field as the default
        default = default.get_default(call_default_factory=True)
    elif default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    if default is dataclasses.MISSING or type(default).__name__ == "PydanticUndefinedType":
        return NO_DEFAULT
    return written(default)


def written(value: Any) -> str:
    """A default as YAML has it."""
    if value is None or isinstance(value, bool):
        return {None: "–", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(map(written, value)) + "]"
    return str(value)


def cell(default: str) -> str:
    """A default in its column."""
    return default if default in (NO_DEFAULT, "–") else f"`{escaped(default)}`"


def choices(hint: Any) -> str:
    """The words that a field may be, where there are only some."""
    found = [
        word for part in literals(hint) for word in typing.get_args(part) if isinstance(word, str)
    ]
    return "one of " + ", ".join(f"`{word}`" for word in dict.fromkeys(found)) if found else ""


def literals(hint: Any) -> Iterable[Any]:
    """The lists of words within a type."""
    if typing.get_origin(hint) is typing.Literal:
        yield hint
        return
    for part in typing.get_args(hint):
        yield from literals(part)


def escaped(text: str) -> str:
    """Text as it may stand in a table."""
    return text_of(text).replace("|", r"\|").replace("\n", " ")


def first_line(thing: Any) -> str:
    """What something is, in the first sentence of its docstring."""
    paragraph = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return escaped(paragraph)


def family_of(name: str, shape: Shape, home: str) -> str:
    """All members of a family for one shape."""
    members = registry.family(name, shape).values()
    return "\n\n".join(
        [f"## {HEADINGS[name]}", UNDER[name], *(entry(cls, home) for cls in members)]
    )


def page(title: str, *parts: str) -> str:
    """A page of the reference."""
    return "\n\n".join([f"# {title}", NOTE, *parts]) + "\n"


def tables() -> str:
    """Promises and means of tables."""
    lead = (
        "What a recipe with a row for each person can say. [Models](models.md) compares the"
        " promises, [measures](measures.md) has the risks, attacks and measures of utility with"
        " their formulas."
    )
    families = (
        family_of(name, Shape.TABLE, home) for name, home in (("models", "sf"), ("steps", "sf"))
    )
    return page("Promises and means of tables", lead, *families)


def of_shape(shape: Shape, title: str, lead: str) -> str:
    """Everything of one shape that is no table."""
    home = registry.SHAPES[shape]
    return page(title, lead, *(family_of(name, shape, home) for name in HEADINGS))


def hierarchies() -> str:
    """How values become coarser."""
    lead = "Under `hierarchy:` of a column in a recipe, in `with_hierarchies` in Python."
    members = registry.family("hierarchies").values()
    return page(
        "Hierarchies",
        lead,
        "## How values become coarser",
        *(entry(cls, "sfumato.methods.hierarchies") for cls in members),
    )


def commands() -> str:
    """Every command with its title; those of groups below them."""
    import typer

    lead = "`sfumato COMMAND --help` tells the options, with a default for each."
    rows = ["| command | does |", "|---|---|"]
    rows += [f"| `sfumato {name}` | {escaped(title)} |" for name, (_, title) in COMMANDS.items()]
    groups: Any = typer.main.get_command(build_app())
    parts = []
    for name, (_, title) in GROUPS.items():
        below = groups.commands[name].commands
        inner = [
            f"| `sfumato {name} {sub}` | {escaped((one.help or '').split(chr(10) * 2)[0])} |"
            for sub, one in below.items()
            if not one.hidden
        ]
        parts.append(
            "\n\n".join(
                [
                    f"## `sfumato {name}`",
                    title,
                    "\n".join(["| command | does |", "|---|---|", *inner]),
                ]
            )
        )
    return page("Commands", lead, "\n".join(rows), *parts)


ROOMS = {
    "sfumato.methods.models": "Promises",
    "sfumato.methods.steps": "Means",
    "sfumato.methods.attacks": "Attacks",
    "sfumato.methods.utility": "Measures of utility",
    "sfumato.methods.hierarchies": "Hierarchies",
}


def names() -> str:
    """The public names with one line each, by what they are."""
    groups: dict[str, list[str]] = {
        "Verbs": [],
        "Nouns": [],
        "Rooms": [],
        **{title: [] for title in ROOMS.values()},
    }
    for name in sfumato.__all__:
        thing = getattr(sfumato, name)
        if name.startswith("__"):
            continue
        home = next((t for room, t in ROOMS.items() if name in sfumato._HOMES.get(room, ())), None)
        kind = (
            "Rooms" if inspect.ismodule(thing) else "Nouns" if inspect.isclass(thing) else "Verbs"
        )
        groups[home or kind].append(f"| `sf.{name}` | {first_line(thing)} |")
    parts = [f"## {title}\n\n" + listed(rows) for title, rows in groups.items()]
    inside = [f"## `sf.{room}`\n\n" + listed(members(room)) for room in ("dp", "examples", "vault")]
    lead = (
        "`import sfumato as sf`. Names are loaded when they are first used; those that are not here"
        " may change."
    )
    return page("Names in Python", lead, *parts, *inside)


def listed(rows: list[str]) -> str:
    """A table of names."""
    return "\n".join(["| name | is |", "|---|---|", *rows])


def members(room: str) -> list[str]:
    """What a module of public names holds."""
    module = getattr(sfumato, room)
    public = {name: getattr(module, name) for name in sorted(module.__all__)}
    return [
        f"| `sf.{room}.{name}` | {first_line(thing)} |"
        for name, thing in public.items()
        if callable(thing)
    ]


PAGES: dict[str, Callable[[], str]] = {
    "tables": tables,
    "baskets": lambda: of_shape(
        Shape.BASKETS,
        "Members of baskets",
        "With `shape: baskets`: every person is a set of items.",
    ),
    "paths": lambda: of_shape(
        Shape.PATHS,
        "Members of paths",
        "With `shape: paths`: every person is points in time. See [paths](../how_to/paths.md).",
    ),
    "graphs": lambda: of_shape(
        Shape.GRAPH,
        "Members of graphs",
        "With `shape: graph`: people and their ties. See [graphs](../how_to/graphs.md).",
    ),
    "relations": lambda: of_shape(
        Shape.TABLES,
        "Members of several tables",
        "With `shape: tables`, or a section `tables`: people and rows of other tables below them."
        " See [several tables](../how_to/several_tables.md). Promises, steps and metrics of ordinary"
        " tables are named with the table they apply to: `k_anonymity: {k: 5, table: visits}`.",
    ),
    "hierarchies": hierarchies,
    "commands": commands,
    "names": names,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, written_page in PAGES.items():
        (FOLDER / f"{name}.md").write_text(written_page(), encoding="utf-8")
