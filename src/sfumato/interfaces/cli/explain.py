"""``sfumato list`` and ``sfumato explain``: what can be written in a recipe, and what it means."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.fields import Document, Fields
from sfumato.errors import ParameterError, UnreadableInput, did_you_mean
from sfumato.interfaces.cli.choose_k import (
    BoundOptions,
    ChoiceOptions,
    FigureOptions,
    PlanOptions,
    show_bounds,
    show_choice,
    show_plan,
)
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, out, show_blocks
from sfumato.interfaces.cli.docstring_text import paragraphs, strip_markup
from sfumato.interfaces.cli.options import Json, ReadOptions

if TYPE_CHECKING:
    from sfumato.core.shape import Shape

AGAINST = {
    "identity": "limits who can be recognised",
    "attribute": "limits what can be learned about somebody",
    "both": "limits who can be recognised and what can be learned about them",
    "membership": "limits what can be learned about who is in the table",
}
PROTECTS = {
    "respondent": "the people the data are about",
    "owner": "whoever holds the data",
    "user": "whoever asks questions of the data",
}
SETTING = {
    "publish": "a table is published",
    "share result": "results are shared",
    "compute result": "results are computed",
}
FAMILY_WORDS = {
    "models": "model",
    "steps": "step",
    "hierarchies": "hierarchy",
    "risk": "risk",
    "utility": "utility metric",
    "objectives": "objective",
}
LISTED = (
    "name",
    "meaning",
    "fields",
    "facts",
    "compares",
    "monotone",
    "shrinking",
    "scope",
    "depends",
)
"""What ``sfumato list --json`` says of a method, of all that is known."""

Description = Fields
"""A method as plain data: its name, meaning, fields and traits."""

# ``sfumato list``: every model, step, hierarchy, risk, utility metric, objective and example by
# name.


@command()
def list_names(
    what: Annotated[
        str | None,
        typer.Argument(help="models, steps, hierarchies, risk, utility, objectives or examples"),
    ] = None,
    json: Json = False,
) -> None:
    """List what can be written in a recipe, with one line of meaning each."""
    from sfumato.core import registry

    families = [*registry.FAMILIES, "objectives", "examples"]
    if what is not None:
        if what not in families:
            raise ParameterError(f"there is no list called {what!r}.{did_you_mean(what, families)}")
        families = [what]
    entries = {family: list_family(family) for family in families}
    if json:
        give_json(entries)
        return
    for family, members in entries.items():
        # Shapes in the order in which they first come, each with a list of its own.
        for shape in dict.fromkeys(entry.get("shape") for entry in members):
            title = family if shape in (None, "table") else f"{family}, shape: {shape}"
            _show_list(title, [entry for entry in members if entry.get("shape") == shape])


def _show_list(title: str, entries: list[Document]) -> None:
    table = Table(
        box=None,
        pad_edge=False,
        title=title,
        title_justify="left",
        show_header=False,
        title_style="bold",
    )
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for entry in entries:
        table.add_row(escape(entry["name"]), escape(strip_markup(entry["meaning"])))
    out().print(table)


def list_family(family: str) -> list[Document]:
    """Name and meaning of everything in a family, and the shape of data it serves; hierarchies
    serve all.
    """
    from sfumato.core import registry
    from sfumato.core.objective import OBJECTIVES

    if family == "objectives":
        return [{"name": member.name, "meaning": member.meaning} for member in OBJECTIVES]
    if family == "examples":
        from sfumato.data import examples

        return [{"name": name, "meaning": examples.meaning(name)} for name in examples.names()]
    entries = []
    for shape in _shapes(family):
        for member in registry.family(family, shape).values():
            entry = {} if family == "hierarchies" else {"shape": str(shape)}
            description = registry.describe(member)
            for field in LISTED:
                if field in description:
                    entry[field] = description[field]
            entries.append(entry)
    return entries


def _shapes(family: str) -> list[Shape]:
    """The shapes of data that have members of a family of their own."""
    from sfumato.core.shape import Shape, known_shapes

    if family in ("hierarchies", "objectives"):
        return [Shape.TABLE]
    return list(known_shapes())


@command()
def explain(
    what: Annotated[
        str, typer.Argument(help="a name that 'sfumato list' shows, or the folder of a release")
    ],
    data: Annotated[
        str | None, typer.Argument(help="after k_anonymity: a table to choose k for, with -r")
    ] = None,
    *,
    figures: FigureOptions,
    choice: ChoiceOptions,
    plan: PlanOptions,
    bounds: BoundOptions,
    reading: ReadOptions,
) -> None:
    """Explain a model, step, hierarchy or objective, or what a release did and why.

    With figures: which k a tolerable risk asks for (explain k_anonymity --risk 0.05), which
    buckets fit (explain bucketize --plan), and how many classes a promise about a sensitive column
    allows (explain l_diversity --data visits.csv --sensitive diagnosis).
    """
    from sfumato.core.parameters import known_as

    # models/k_anonymity and k_anonymity are one name here; other names it once had count too.
    name = known_as(what.rpartition("/")[2])
    # An option that was typed makes the object differ from its defaults.
    for_plan = plan != PlanOptions()
    for_choice = data is not None or choice != ChoiceOptions() or reading != ReadOptions()
    if bounds != BoundOptions():
        if for_plan or data is not None or choice != ChoiceOptions(recipe=choice.recipe):
            raise ParameterError(
                "--data goes with --sensitive, --k, -r and options of reading only"
            )
        show_bounds(name, figures, bounds, choice.recipe, reading.intake)
        return
    if name == "bucketize" and plan.plan and not for_choice:
        show_plan(figures, plan)
        return
    if name == "k_anonymity" and not for_plan and (for_choice or figures.k is not None):
        show_choice(data, figures, choice, reading.intake)
        return
    # Options that fit neither question are refused: they would be ignored without a word.
    if for_plan or for_choice or figures.k is not None:
        raise ParameterError(
            "figures go with k_anonymity (--risk, --k, or a table and -r) and with bucketize"
            " (--plan)"
        )
    # A folder comes before a method of the same name.
    if Path(what).is_dir():
        from sfumato.release.explanation import Explanation

        explanation = Explanation.of_folder(Path(what))
        if figures.json:
            give_json(explanation.to_dict())
        else:
            show_blocks(explanation.blocks())
        return
    descriptions = _describe(what)
    if figures.json:
        give_json(descriptions[0] if len(descriptions) == 1 else descriptions)
        return
    for number, description in enumerate(descriptions):
        if number > 0:
            out().print()
        _show_method(description, headed=len(descriptions) > 1)


def _describe(text: str) -> list[Document]:
    """Everything that has a name, one entry a family; ``models/records_at_risk`` asks for the one
    in a family.
    """
    from sfumato.core import registry
    from sfumato.core.parameters import known_as

    families = [*registry.FAMILIES, "objectives"]
    name = text
    if "/" in text:
        family, _, name = text.partition("/")
        if family not in families:
            raise UnreadableInput(
                f"there is no folder {text}, and no family of methods {family!r} (sfumato list)"
            )
        families = [family]
    name = known_as(name)
    # All names that were met, to guess what was meant where none fits.
    names: list[str] = []
    descriptions = []
    for family in families:
        for shape in _shapes(family):
            members = _members(family, shape)
            # Also of families that have no such name: a guess may come from any.
            names += members
            if name in members:
                descriptions.append(_describe_member(family, shape, name, members[name]))
    if not descriptions:
        raise ParameterError(
            f"{text!r} is neither a known name nor a folder.{did_you_mean(name, names)}"
        )
    return descriptions


def _members(family: str, shape: Shape) -> Fields:
    from sfumato.core import registry
    from sfumato.core.objective import OBJECTIVES

    if family == "objectives":
        return {objective.name: objective for objective in OBJECTIVES}
    return registry.family(family, shape)


def _describe_member(family: str, shape: Shape, name: str, member: Any) -> Document:
    from sfumato.core import registry
    from sfumato.core.placed import KEYS
    from sfumato.core.shape import ONE_TABLE

    if family == "objectives":
        meaning = member.meaning
        return {"name": name, "family": family, "meaning": meaning, "doc": meaning, "fields": []}
    description = dict(registry.describe(member))
    if "monotone" in description:
        description["implies"] = registry.implied_by(name)
    description["family"] = family
    if shape not in ONE_TABLE:
        description["shape"] = str(shape)
    elif family in KEYS:
        description["of_several_tables"] = list(KEYS[family])
    description["doc"] = inspect.cleandoc(member.__doc__ or "")
    return description


def _show_method(description: Description, *, headed: bool) -> None:
    """One entry; where the name stands for several things, with the word for what it is."""
    name, family = description["name"], description["family"]
    heading = f" for data of shape {description['shape']}" if "shape" in description else ""
    if headed:
        word = FAMILY_WORDS[family]
        heading = f", as a {word}{heading} (sfumato explain {family}/{name})"
    out().print(f"[bold]{escape(name)}[/]{heading}\n", soft_wrap=True)
    out().print(escape("\n\n".join(paragraphs(description["doc"]))))
    if description["fields"]:
        out().print("\n[bold]Parameters[/]")
    for field in description["fields"]:
        required = " (required)" if field["required"] else ""
        meaning = escape(field["meaning"])
        out().print(f"  {field['name']}{required}: {meaning}", soft_wrap=True)
    if "of_several_tables" in description:
        keys = ", ".join(description["of_several_tables"])
        out().print(f"\nIn recipes of several tables also: {keys}", soft_wrap=True)
    if "search" in description:
        out().print("\n[bold]What kind of search[/]")
        for algorithm, kind in description["search"].items():
            words = f"{algorithm}: {kind}" if algorithm else kind
            out().print(f"  {escape(words)}", soft_wrap=True)
    if "facts" in description:
        out().print("\n[bold]What kind of promise[/]")
        for line in traits_of(description):
            out().print(f"  {escape(line)}", soft_wrap=True)


def traits_of(description: Description) -> list[str]:
    """What kind of promise a model makes, one line a trait."""
    facts, remarks = description["facts"], description.get("depends", {})
    truthful = "released values may be changed at random"
    if facts["truthful"]:
        truthful = "released values stay true"
    traits = {
        "against": AGAINST[facts["against"]],
        "measure": "a yes or no" if facts["measure"] == "boolean" else "a number",
        "truthful": truthful,
        "protects": PROTECTS[facts["protects"]],
        "setting": SETTING[facts["setting"]],
        **_class_traits(description),
    }
    lines = []
    for name, text in traits.items():
        remark = f" ({strip_markup(remarks[name])})" if name in remarks else ""
        lines.append(f"{name}: {text}{remark}")
    if "implies" in description:
        models = [name for name in description["implies"] if name != description["name"]]
        lines.append(f"implies, when strong enough: {', '.join(models) or 'no other model'}")
    return lines


def _class_traits(description: Description) -> dict[str, str]:
    """What a promise about a table does when data are made coarser; of other data, what it is
    judged on.
    """
    if "compares" in description:
        judged_on = "the release alone"
        if description["compares"]:
            judged_on = "the release and the original"
        return {"judged on": judged_on}
    breaks = "never breaks it" if description["monotone"] else "can break it"
    need = "never need" if description["shrinking"] else "may need"
    scope = "it depends on all classes together"
    if description["scope"] == "class":
        scope = "each class holds or fails by itself"
    return {
        "monotone": f"making data coarser {breaks}",
        "shrinking": f"coarser data {need} more records suppressed",
        "scope": scope,
    }
