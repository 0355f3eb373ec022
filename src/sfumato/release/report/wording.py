"""What a certificate says, in words a manager reads. Everything here follows from the document
alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from sfumato.core.fields import Fields
from sfumato.core.recipe import columns_in_recipe
from sfumato.core.source import Intake
from sfumato.core.words import count_of, inflect, number, plain_name
from sfumato.methods.formulas.dependence_search import LOOKED_FOR

T = TypeVar("T")
UNCHANGED = "released unchanged"
RENUMBERED = "renumbered at random within each class"
UNLINKED = (
    "It shows which records of one class belong together; in other classes people have other"
    " numbers. A column that is the same in all records of a person still links them."
)
FEWEST_APART = 4
"""So many plain columns that were released as they are stand in one line."""
Counted = Literal["records", "persons", "classes"]
"""What the bars of a class-size histogram count."""

CHANCES = ("prosecutor_risk", "journalist_risk", "marketer_risk")
"""Risks that are a chance of picking one record: the promised 1/k is a bar for them. The others are
shares of records.
"""

ROLES = {
    "drop": "not released",
    "quasi": "quasi-identifier",
    "sensitive": "sensitive",
    "weight": "survey weight",
    "person": "person",
    "household": "household",
    "stratum": "stratum",
    "keep": "kept for analysis",
    "key": "key",
}
REASONS = {
    "drop": "It names people, copies another column or is free text.",
    "sensitive": "It is sensitive.",
    "weight": "It gives the number of people a record represents.",
    "person": "Promises count persons, not records.",
    "household": "Promises count households, not records.",
    "stratum": "It gives the part of the survey a record belongs to.",
    "keep": "Outsiders are not expected to know it.",
}
MISSING = {
    "category": "A missing value equals only another missing value.",
    "wildcard": (
        "A missing value may stand for any value, so a record counts with every record it could"
        " equal."
    ),
}


@dataclasses.dataclass(frozen=True)
class ColumnStory:
    """What happened to one column, and why."""

    name: str
    roles: str
    outcome: str
    why: str
    hierarchy: str

    def is_plain(self) -> bool:
        """Whether there is nothing to say of the column."""
        return self.roles == ROLES["keep"] and self.outcome == UNCHANGED

    def is_unchanged_secret(self) -> bool:
        """Whether it is sensitive and nothing else, and was released as it is."""
        return self.roles == ROLES["sensitive"] and self.outcome == UNCHANGED


def implied(document: Fields | None) -> str | None:
    """Which relations between released columns and quasi-identifiers were looked for, and which
    were accepted; None: none.

    >>> accepted = [{"columns": ["a"], "implies": "q"}]
    >>> print(implied({"compared": 9, "unknown": 0, "accepted": accepted}))
    Compared 9 pairs of a released column and a quasi-identifier, looking for pairs, lines and sums
    of up to three columns. Accepted: a reveals more of q than the released label.
    """
    if not document:
        return None
    where = ""
    if sample := document.get("sampled"):
        where = f" in a sample of {number(sample['records'])} of {number(sample['of'])} records"
    pairs = f"{count_of(document['compared'], 'pair')} of a released column and a quasi-identifier"
    sentence = f"Compared {pairs}, looking for {LOOKED_FOR}{where}."
    for pair in document["accepted"]:
        columns = " + ".join(pair["columns"])
        verb = inflect(len(pair["columns"]), "reveals", "reveal")
        sentence += (
            f" Accepted: {columns} {verb} more of {pair['implies']} than the released label."
        )
    if not document["accepted"]:
        sentence += " No such relation undoes the release."
    if document["unknown"]:
        sentence += f" Too few records for {count_of(document['unknown'], 'pair')}."
    return sentence


def formulas(data: Fields) -> str | None:
    """What a spreadsheet would run of a released CSV, or None.

    >>> formulas({"formulas": {"note": 2, "=name": 1}, "form": {"defused": False}})
    '3 cells that a spreadsheet would run as formulas: note (2), =name (1). Open the file as text,
    or have it written defused.'
    """
    counts = data.get("formulas") or {}
    if not counts:
        return None
    cell_counts = ", ".join(f"{column} ({count:,})" for column, count in counts.items())
    cells = sum(counts.values())
    subject = f"{count_of(cells, 'cell')} that a spreadsheet would run as formulas: {cell_counts}."
    if data.get("form", {}).get("defused"):
        return f"{subject} Each has an apostrophe before it in the file, which verify removes."
    return f"{subject} Open the file as text, or have it written defused."


def promised_k(certificate: Fields) -> int | None:
    """The largest class size any promise of k-anonymity asks for, or None."""
    sizes = [
        int(v["required"])
        for v in certificate["verdicts"]
        if v["model"] == "k_anonymity" and v["required"]
    ]
    return max(sizes, default=None)


def members(certificate: Fields, *tables: tuple[Mapping[str, int], int]) -> Counted:
    """What size times number of classes counts in all tables, each given as its class sizes and
    number of records.

    With missing values as wildcards the size of a class is the number of records it could be
    confused with. Classes may then overlap, which shows in a sum above the number of records: only
    classes can be counted. Where the recipe names a person column, sizes count persons.
    """
    overlap = any(
        sum(int(size) * number for size, number in sizes.items()) != records
        for sizes, records in tables
    )
    if "wildcard" in certificate["missing_rule"].values() and overlap:
        return "classes"
    specs = certificate["recipe"].get("columns", {}).values()
    person = any(spec.get("role") in ("person", ["person"]) for spec in specs)
    return "persons" if person else "records"


def levels_of(plan: Iterable[Fields]) -> dict[str, tuple[int, int]]:
    """Column → (level, top) over all steps; the last step that recoded a column decides."""
    levels: dict[str, tuple[int, int]] = {}
    for step in plan:
        levels |= {
            column: (int(level_entry["level"]), int(level_entry["top"]))
            for column, level_entry in step.get("levels", {}).items()
        }
    return levels


def column_stories(certificate: Fields) -> list[ColumnStory]:
    """Every column of the original in its order, released or not."""
    specs = certificate["recipe"].get("columns", {})
    levels = levels_of(certificate["plan"])
    names = dict.fromkeys([*specs, *certificate["dropped_columns"], *certificate["roles"]])
    stories = []
    for name in names:
        spec = specs.get(name, {})
        roles = certificate["roles"].get(name) or spec.get("role", [])
        if isinstance(roles, str):
            roles = [roles]
        outcome, why = _column_outcome(name, roles, certificate, levels.get(name))
        hierarchy = spec.get("hierarchy")
        method = ""
        if name in levels and isinstance(hierarchy, Mapping) and hierarchy:
            method = plain_name(next(iter(hierarchy)))
        stories.append(ColumnStory(name, role_names(roles), outcome, why, method))
    return stories


def set_apart(columns: Sequence[T], plain: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    """Columns that have something to tell, and those that are plain and released as they are: a
    table of the latter reveals nothing.

    A few of them stay with the others, where they take no room.

    >>> set_apart(["age", "a", "b", "c", "d"], lambda name: name != "age")
    (['age'], ['a', 'b', 'c', 'd'])
    >>> set_apart(["age", "a"], lambda name: name != "age")
    (['age', 'a'], [])
    """
    unchanged = [column for column in columns if plain(column)]
    if len(unchanged) < FEWEST_APART:
        return list(columns), []
    return [column for column in columns if not plain(column)], unchanged


def _column_outcome(
    name: str, roles: list[str], certificate: Fields, level_entry: tuple[int, int] | None
) -> tuple[str, str]:
    """What happened to a column, and why; ``level_entry`` is its level and the top of its
    hierarchy.
    """
    why = " ".join(REASONS[role] for role in roles if role in REASONS)
    if name in certificate["dropped_columns"]:
        return "dropped", why or "It is not part of the release."
    if level_entry is not None:
        level, top = level_entry
        reason = "An intruder may know it; coarser values are shared by more people."
        if top == 0:
            reason = "An intruder may know it; without a hierarchy it stays unchanged."
        elif level == 0:
            reason = "An intruder may know it, but the promises hold with its exact values."
        elif level == top:
            reason = "An intruder may know it; it is fully suppressed."
        return level_words(level, top), f"{reason} {why}".strip()
    # A step without levels that does not name its columns may have changed any.
    steps, is_recoded = [], False
    for step in certificate["plan"]:
        columns = step.get("columns", step.get("masked"))
        if "levels" not in step and (columns is None or name in columns):
            steps.append(plain_name(step["step"]))
            is_recoded = is_recoded or step.get("kind") == "class recoding"
    if is_recoded and len(steps) == 1:
        reason = "An intruder may know it; all records of a class share its label."
        return f"made coarser, class by class ({steps[0]})", f"{reason} {why}".strip()
    if steps:
        return f"changed by {', '.join(steps)}", why
    if {"person", "household"} & set(roles):
        return RENUMBERED, f"{UNLINKED} {why}"
    if "quasi" in roles:
        why = f"An intruder may know it; no step of the recipe changes it. {why}".strip()
    return UNCHANGED, why.replace(REASONS["sensitive"], "Sensitive; released unchanged.")


def level_words(level: int, top: int) -> str:
    """A level of a hierarchy in words.

    >>> level_words(2, 4), level_words(0, 4), level_words(4, 4), level_words(0, 0)
    ('level 2 of 4', 'exact', 'fully suppressed', 'as it is')
    """
    if top == 0:
        return "as it is"
    if level == 0:
        return "exact"
    return "fully suppressed" if level == top else f"level {level} of {top}"


def labels_in_words(facts: Fields) -> str:
    """What the labels of a column look like, in a few words.

    >>> labels_in_words(
    ...     {"labels": 8, "scale": "number", "narrowest": 5.0, "widest": 20.0, "overlap": True}
    ... )
    '8 labels: ranges of 5 to 20, which overlap'
    >>> labels_in_words({"labels": 1})
    '1 label'
    """
    text = count_of(facts["labels"], "label")
    if "scale" not in facts:
        return text
    narrowest, widest = number(facts["narrowest"]), number(facts["widest"])
    unit = " days" if facts["scale"] == "date" else ""
    if facts["widest"] <= 1:
        return f"{text}: single {'days' if unit else 'values'}"
    span = f"{widest}{unit}" if narrowest == widest else f"{narrowest} to {widest}{unit}"
    overlap = ", which overlap" if facts["overlap"] else ""
    return f"{text}: ranges of {span}{overlap}"


def role_names(roles: Iterable[str]) -> str:
    """Roles in full words, joined."""
    return ", ".join(ROLES.get(role, role) for role in roles) or "–"


def steps_taken(certificate: Fields) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each step with the single facts its plan tells."""
    return [
        (plain_name(step["step"]), facts(step, leave_out=("step",))) for step in certificate["plan"]
    ]


def facts(document: Fields, *, leave_out: Iterable[str] = ()) -> list[tuple[str, str]]:
    """The entries of a document that are single values, with readable names."""
    single = {
        key: value
        for key, value in document.items()
        if isinstance(value, str | int | float) and key not in leave_out
    }
    return [
        (plain_name(key), value if isinstance(value, str) else number(value))
        for key, value in single.items()
    ]


def missing_rules(certificate: Fields) -> list[tuple[str, list[str]]]:
    """Each rule for missing values in a sentence, with the quasi-identifiers it holds for."""
    columns: dict[str, list[str]] = {}
    for name, rule in certificate["missing_rule"].items():
        columns.setdefault(rule, []).append(name)
    return [(MISSING.get(rule, rule), names) for rule, names in columns.items()]


def reading(certificate: Fields) -> list[str]:
    """How the values of the original were read, where its recipe says so: codes for missing values,
    spelling of text.
    """
    recipe = certificate["recipe"]
    every = {
        name: spec
        for columns in columns_in_recipe(recipe).values()
        for name, spec in columns.items()
    }
    single = {
        name: spec["missing_values"] for name, spec in every.items() if "missing_values" in spec
    }
    return Intake.from_recipe(recipe, single).sentences()


def risk_name(name: str) -> str:
    """The name of a risk as a title.

    >>> risk_name("prosecutor_risk")
    'Prosecutor risk'
    """
    return plain_name(name).capitalize()
