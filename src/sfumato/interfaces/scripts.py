"""A recipe to take away: as a Python script, a notebook, or the words of a command, each of which
makes the same release.

The script is made of the objects that the recipe names, with the parameters that differ from their
defaults. It never holds the seed of a release, which stays with its owner: two runs of it give
equal promises, not equal rows, unless a ``seed`` is given.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sfumato.core import registry
from sfumato.core.acceptance import Acceptance
from sfumato.core.fields import Document, Fields
from sfumato.core.publication import Publication
from sfumato.core.recipe import Agreement, Recipe
from sfumato.core.schema import Attribute
from sfumato.core.source import Intake

WIDTH = 110
FLAGS = {"missing_values": "--missing", "rename_duplicates": "--rename-duplicates"}
"""Options of reading that the command line calls otherwise."""
REGISTER = {"file": "--register", "to": "--to", "person": "--person", "key": "--register-key"}


@dataclasses.dataclass(frozen=True)
class Errand:
    """What is made: of which table, read how, written where. ``example`` names a bundled table in
    the place of a path.
    """

    data: str = "data.csv"
    example: str | None = None
    options: Fields = dataclasses.field(default_factory=dict)
    output: str = "out"
    format: str | None = None
    sign: str | None = None
    seed: str | None = None
    register: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """A register of releases: its ``file`` and the recipient (``to``); ``person`` and ``key`` where
    they are said.
    """


# Python


def to_python(recipe: Recipe, errand: Errand = Errand()) -> str:
    """A script that reads the table, makes the release and writes it.

    >>> from sfumato.core import recipe_files
    >>> recipe = recipe_files.parse("{columns: {age: quasi}, meet: [{k_anonymity: {k: 5}}]}")
    >>> print(to_python(recipe, Errand("visits.csv")))
    import sfumato as sf
    <BLANKLINE>
    recipe = sf.Recipe(
        schema=sf.Schema({"age": sf.Attribute(roles=("quasi",))}),
        meet=(sf.KAnonymity(k=5),),
    )
    <BLANKLINE>
    table = sf.read("visits.csv", recipe=recipe)
    <BLANKLINE>
    release = sf.run(table, recipe)
    print(release)
    <BLANKLINE>
    release.write("out")
    <BLANKLINE>
    """
    return "\n".join(_cells(recipe, errand))


def _cells(recipe: Recipe, errand: Errand) -> list[str]:
    """The script in its parts: what is imported, the recipe, the table, the release, its folder."""
    names: dict[str, str] = {}
    parts = _call("sf.Recipe", _recipe_parts(recipe, names))
    names |= {"remember": "sfumato.release.registered_release"} if errand.register else {}
    imports = [
        "import sfumato as sf",
        *sorted(f"from {module} import {name}" for name, module in names.items()),
    ]
    # The standard library stands first, with a blank line below.
    first = sorted(line for line in imports if line.startswith("from pathlib"))
    own_imports = [line for line in imports if line not in first]
    top = "\n".join([*first, *([""] if first else []), *own_imports])
    seed = {} if errand.seed is None else {"seed": _literal(errand.seed)}
    if errand.format is None:
        format_argument = {}
    else:
        format_argument = {"format": _literal(errand.format)}
    options = {**format_argument, **({"memory": "register.memory"} if errand.register else {})}
    if options:
        option_arguments = {"options": _call("sf.RunOptions", options)}
    else:
        option_arguments = {}
    # Blank names are arguments by place; two of them take two different blanks.
    run_call = _call("sf.run", {"": "table", " ": "recipe", **seed, **option_arguments})
    folder = {
        "": _literal(errand.output),
        **format_argument,
        **({} if errand.sign is None else {"sign": _literal(errand.sign)}),
    }
    opened, write_call = "", f"{_call('release.write', folder)}\n"
    if errand.register:
        register_arguments = {
            name: _literal(value) for name, value in errand.register.items() if name != "file"
        }
        file = _literal(errand.register["file"])
        opened = f"register = {_call('remember', {'': file, **register_arguments})}\n"
        # The register writes the release, so that it is entered only when it was written.
        write_call = (
            f"{_call('register.write', {' ': 'release', **folder})}\n"
            'print(*register.found.sentences, sep="\\n")\n'
        )
    return [
        f"{top}\n",
        f"recipe = {parts}\n",
        f"table = {_reading(errand)}\n",
        f"{opened}release = {run_call}\nprint(release)\n",
        write_call,
    ]


def _reading(errand: Errand) -> str:
    if errand.example is not None:
        return f"sf.examples.load({_literal(errand.example)})"
    arguments = {name: _literal(value) for name, value in errand.options.items()}
    return _call("sf.read", {"": _literal(errand.data), "recipe": "recipe", **arguments})


def _recipe_parts(recipe: Recipe, names: dict[str, str]) -> dict[str, str]:
    columns = {
        _literal(name): _attribute(attribute, names)
        for name, attribute in recipe.schema.attributes.items()
    }
    parts = {"schema": f"sf.Schema({_mapping(columns, 8)})"}
    for section in ("meet", "steps"):
        if objects := getattr(recipe, section):
            parts[section] = _tuple((_object(member, names) for member in objects), 8)
    if recipe.limits:
        parts["limits"] = _literal(dict(recipe.limits))
    if recipe.contract:
        parts["contract"] = _tuple((_agreement(member, names) for member in recipe.contract), 8)
    if recipe.accept:
        parts["accept"] = _tuple((_acceptance(member, names) for member in recipe.accept), 8)
    if recipe.publication != Publication():
        names["Publication"] = Publication.__module__
        texts = {name: _literal(text) for name, text in recipe.publication.to_dict().items()}
        parts["publication"] = _call("Publication", texts)
    if recipe.intake != Intake():
        names["Intake"] = Intake.__module__
        parts["intake"] = _call(
            "Intake", {name: _literal(value) for name, value in recipe.intake.options().items()}
        )
    # Such models name files beside the recipe, which a script elsewhere could not find.
    if any(model.population is not None for model in recipe.meet):
        names["Path"] = "pathlib"
        parts["base"] = f"Path({_literal(str(recipe.base.absolute()))})"
    if recipe.proposed_from is not None:
        parts["proposed_from"] = _literal(recipe.proposed_from)
    return parts


def _attribute(attribute: Attribute, names: dict[str, str]) -> str:
    """A column, with what differs from the default."""
    arguments = {"roles": _literal(tuple(str(role) for role in attribute.roles))}
    for field in dataclasses.fields(attribute):
        value = getattr(attribute, field.name)
        if field.name == "hierarchy" and value is not None:
            arguments["hierarchy"] = _object(value, names)
        elif field.name not in ("roles", "hierarchy") and value != field.default:
            arguments[field.name] = _literal(str(value) if isinstance(value, str) else value)
    return _call("sf.Attribute", arguments)


def _agreement(agreement: Agreement, names: dict[str, str]) -> str:
    bounds = {
        "at_most": agreement.at_most,
        "at_least": agreement.at_least,
        "refuse": agreement.refuse or None,
    }
    arguments = {name: _literal(value) for name, value in bounds.items() if value is not None}
    return _call("sf.Agreement", {"": _object(agreement.metric, names), **arguments})


def _acceptance(acceptance: Acceptance, names: dict[str, str]) -> str:
    names[type(acceptance).__name__] = type(acceptance).__module__
    arguments = {
        field.name: _literal(getattr(acceptance, field.name))
        for field in dataclasses.fields(acceptance)
    }
    return _call(type(acceptance).__name__, arguments)


def _object(value: Any, names: dict[str, str]) -> str:
    """A model, step, hierarchy or metric: its class with its parameters. A class that is no public
    name is imported from where it is.
    """
    ((_, parameters),) = registry.write(value).items()
    cls = type(value)
    arguments = {name: _literal(parameter) for name, parameter in (parameters or {}).items()}
    if _is_public(cls):
        return _call(f"sf.{cls.__name__}", arguments)
    names[cls.__name__] = cls.__module__
    return _call(cls.__name__, arguments)


def _is_public(cls: type) -> bool:
    import sfumato

    return getattr(sfumato, cls.__name__, None) is cls


def _call(name: str, arguments: Mapping[str, str]) -> str:
    """A call with arguments by name (those whose name is blank by place), in one line or one a
    line.
    """
    words = [f"{key.strip()}={value}" if key.strip() else value for key, value in arguments.items()]
    line = f"{name}({', '.join(words)})"
    # A recipe is written over several lines in any case: it is there to be read.
    if len(line) <= WIDTH and "\n" not in line and name != "sf.Recipe":
        return line
    return f"{name}(\n" + "".join(f"    {_indent(word)},\n" for word in words) + ")"


def _mapping(items: Mapping[str, str], room: int) -> str:
    line = "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
    if len(line) + room <= WIDTH and "\n" not in line:
        return line
    return "{\n" + "".join(f"    {key}: {_indent(value)},\n" for key, value in items.items()) + "}"


def _tuple(parts: Iterable[str], room: int) -> str:
    words = list(parts)
    line = f"({', '.join(words)}{',' if len(words) == 1 else ''})"
    if len(line) + room <= WIDTH and "\n" not in line:
        return line
    return "(\n" + "".join(f"    {_indent(word)},\n" for word in words) + ")"


def _indent(text: str) -> str:
    return text.replace("\n", "\n    ")


def _literal(value: Any) -> str:
    """Plain data as Python writes it, text in double quotes.

    >>> print(_literal({"a": ["x", "it's", 1.5, None, True], "b": ("y",)}))
    {"a": ["x", "it's", 1.5, None, True], "b": ("y",)}
    """
    if isinstance(value, str):
        return _quote(str(value))
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{_literal(key)}: {_literal(below)}" for key, below in value.items())
            + "}"
        )
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    # repr writes inf, which is no Python.
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return repr(value)


def _quote(text: str) -> str:
    """Text in double quotes, whatever is in it; what cannot be seen is spelled out."""
    # Backslashes are doubled first: those of the escapes that follow must stay single.
    printable = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text.replace("\\", "\\\\")
    )
    return '"' + printable.replace('"', '\\"') + '"'


# The command line


def to_command(errand: Errand = Errand(), recipe: str = "recipe.yaml") -> str:
    """The words of ``sfumato run``, quoted for a shell; a bundled table is written to a file first.

    >>> print(to_command(Errand("my visits.csv", options={"delimiter": ";"})))
    sfumato run 'my visits.csv' --recipe recipe.yaml --output out --delimiter ';'
    """
    words = ["sfumato", "run", errand.data if errand.example is None else f"{errand.example}.csv"]
    words += ["--recipe", recipe, "--output", errand.output]
    words += [word for name, value in errand.options.items() for word in _flag(name, value)]
    for flag, value in (
        ("--format", errand.format),
        ("--sign", errand.sign),
        ("--seed", errand.seed),
    ):
        words += [] if value is None else [flag, value]
    words += [word for name, value in errand.register.items() for word in (REGISTER[name], value)]
    line = shlex.join(words)
    if errand.example is None:
        return line
    code = (
        "import sfumato as sf;"
        f" sf.examples.load({errand.example!r}).to_polars().write_csv({errand.example + '.csv'!r})"
    )
    return f"{shlex.join(['python', '-c', code])}\n{line}"


def _flag(name: str, value: Any) -> list[str]:
    flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
    if value is True:
        return [flag]
    if value is False:
        # Only the header has a negative form; other switches are off when they are left out.
        return [f"--no-{name}"] if name == "header" else []
    if isinstance(value, list | tuple):
        return [flag, ",".join(f'"{item}"' if "," in str(item) else str(item) for item in value)]
    return [flag, str(value)]


# A notebook


def to_notebook(recipe: Recipe, errand: Errand = Errand()) -> str:
    """A notebook (nbformat 4.5) with the script in cells, and what it does in words between
    them.
    """
    words = [
        (
            f"# A release of {errand.example or Path(errand.data).name}\n\nThe promises and"
            " the steps that reach them are in `recipe`."
        ),
        # Imports and recipe belong together: no words between them.
        None,
        "The table is read as the recipe says.",
        (
            "The release is judged on what would be shared; the printed output holds no "
            "value of a person."
        ),
        "Give away `share/`, never `owner/`.",
    ]
    cells: list[Document] = []
    for text, code in zip(words, _cells(recipe, errand), strict=True):
        if text is not None:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": text})
        source = code.rstrip("\n")
        cells.append(
            {
                "cell_type": "code",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": source,
            }
        )
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells, 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": numbered,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
