"""Write the reference from the code: ``python tools/reference.py``.

Pages in docs/reference: requirements and steps of tables, hierarchies, everything of each other
shape, commands, and public names. Risks, attacks and measures of tables have a page of their own, which
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
    "models": "Requirements",
    "steps": "Steps",
    "risk": "Risks and attacks",
    "utility": "Utility metrics",
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


def requirements() -> str:
    """Requirements on tables."""
    lead = (
        "For those who look up one requirement of a recipe for a table. [Models](models.md) has all"
        " of them in one table."
    )
    return page("Requirements", lead, family_of("models", Shape.TABLE, "sf"))


STEP_PACKAGES = {
    "recoding": ("recoding", "local", "taxonomy", "suppression"),
    "masking": ("masking", "swapping", "microaggregation", "rules", "pseudonyms"),
    "synthesis": ("synthesis",),
}
"""The packages of sfumato.methods.steps whose steps stand on one page."""


def steps_page(name: str, title: str, lead: str) -> str:
    """The steps of tables that are defined in the packages of one page."""
    packages = {f"sfumato.methods.steps.{package}" for package in STEP_PACKAGES[name]}
    steps = [
        step
        for step in registry.family("steps", Shape.TABLE).values()
        if ".".join(step.__module__.split(".")[:4]) in packages
    ]
    return page(title, lead, "## Steps", UNDER["steps"], *(entry(step, "sf") for step in steps))


def of_shape(shape: Shape, title: str, lead: str) -> str:
    """Everything of one shape that is no table."""
    home = registry.SHAPES[shape]
    return page(title, lead, *(family_of(name, shape, home) for name in HEADINGS))


def hierarchies() -> str:
    """How values become coarser."""
    lead = (
        "For those who look up one rule by which values become coarser. Under `hierarchy:` of a"
        " column in a recipe, in `with_hierarchies` in Python. The [guide](../how_to/hierarchies.md)"
        " says which one to take."
    )
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

    lead = (
        "For those who look up one command. `sfumato COMMAND --help` shows the options, with a"
        " default for each."
    )
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


METHODS = {
    "sfumato.methods.models": ("Requirements", "[requirements](requirements.md)"),
    "sfumato.methods.steps": (
        "Steps",
        "[recoding](recoding.md), [masking](masking.md) or [synthesis](synthesis.md)",
    ),
    "sfumato.methods.attacks": ("Attacks", "[measures](measures.md)"),
    "sfumato.methods.utility": ("Utility metrics", "[measures](measures.md)"),
    "sfumato.methods.hierarchies": ("Hierarchies", "[hierarchies](hierarchies.md)"),
}
"""By package: what its methods are called, and the pages that describe them."""


def names() -> str:
    """The public names with one line each, by what they are."""
    groups: dict[str, list[str]] = {"Functions": [], "Classes": [], "Modules": []}
    methods: dict[str, list[str]] = {package: [] for package in METHODS}
    for name in sfumato.__all__:
        thing = getattr(sfumato, name)
        if name.startswith("__"):
            continue
        package = next((p for p in METHODS if name in sfumato._HOMES.get(p, ())), None)
        if package is not None:
            methods[package].append(f"`sf.{name}`")
        elif inspect.ismodule(thing):
            groups["Modules"].append(f"| `sf.{name}` | {first_line(thing)} |")
        elif inspect.isclass(thing):
            groups["Classes"].append(f"| `sf.{name}` | {first_line(thing)} |")
        else:
            groups["Functions"].append(f"| `sf.{name}` | {first_line(thing)} |")
    parts = [f"## {title}\n\n" + listed(rows) for title, rows in groups.items()]
    # Methods have an entry on another page: here their names are enough.
    parts += [
        f"## {title}\n\nDescribed in {pages}: {', '.join(methods[package])}."
        for package, (title, pages) in METHODS.items()
    ]
    inside = [f"## `sf.{room}`\n\n" + listed(members(room)) for room in ("dp", "examples", "vault")]
    lead = (
        "For those who look up a name in Python: `import sfumato as sf`. Names are loaded when they"
        " are first used; those that are not here may change."
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
    "requirements": requirements,
    "recoding": lambda: steps_page(
        "recoding",
        "Steps that generalise or suppress",
        "For those who look up one step. The [guide](../how_to/recoding.md) says which one to take.",
    ),
    "masking": lambda: steps_page(
        "masking",
        "Steps that change values",
        "For those who look up one step. The [guide](../how_to/masking.md) says which one to take.",
    ),
    "synthesis": lambda: steps_page(
        "synthesis",
        "Steps that make synthetic records",
        "For those who look up one step. The [guide](../how_to/synthesis.md) says which one to"
        " take.",
    ),
    "baskets": lambda: of_shape(
        Shape.BASKETS,
        "Methods for baskets",
        "For those who look up one method for `shape: baskets`, where every person is a set of"
        " items. See the [guide](../how_to/baskets.md).",
    ),
    "paths": lambda: of_shape(
        Shape.PATHS,
        "Methods for paths",
        "For those who look up one method for `shape: paths`, where every person is points in"
        " time. See the [guide](../how_to/paths.md).",
    ),
    "graphs": lambda: of_shape(
        Shape.GRAPH,
        "Methods for graphs",
        "For those who look up one method for `shape: graph`, people and their ties. See the"
        " [guide](../how_to/graphs.md).",
    ),
    "relations": lambda: of_shape(
        Shape.TABLES,
        "Methods for several tables",
        "For those who look up one method for several linked tables. See the"
        " [guide](../how_to/several_tables.md). Methods of one table are named with the table they"
        " apply to: `k_anonymity: {k: 5, table: visits}`.",
    ),
    "hierarchies": hierarchies,
    "commands": commands,
    "names": names,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, written_page in PAGES.items():
        (FOLDER / f"{name}.md").write_text(written_page(), encoding="utf-8")
