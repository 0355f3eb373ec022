"""What lies in a shared folder is what the recipe of its certificate accounts for: every table, column, file, key and step.

A certificate that nobody signed can be edited and sealed again, and then fits whatever lies beside it. What the recipe, the plan and
the files say of each other must fit still. What is left is what only the original tells: values, and rows that were never there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato import recipe_files as recipes
from sfumato import registry
from sfumato.core.hierarchy import bind, is_fixed
from sfumato.core.schema import Kind, Role
from sfumato.core.shape import DATA, PEOPLE, Shape, columns_said
from sfumato.errors import SfumatoError
from sfumato.release.manifest import DESCRIPTIONS, Claim, own_file
from sfumato.release.shaped.reading import has_words, schema_told, sections

if TYPE_CHECKING:
    from sfumato.core.schema import Attribute, Schema
    from sfumato.core.shape import Shaped

REPORT, PICTURES = "report.html", "pictures"
RECODED = (Kind.NOMINAL, Kind.ORDINAL)
"""Kinds that a quasi-identifier may have after recoding, whatever it was."""
UNPUBLISHED = (Role.DIRECT, Role.ASK)
MOST_NAMED = 5
COLUMNS = "columns are what the recipe says"

Schemas = Mapping[str, "Schema"]


def accounted_for(certificate: Mapping[str, Any], released: Shaped) -> Iterator[Claim | None]:
    """Everything that a stranger can hold against the recipe without the original."""
    yield _recipe(certificate, released.shape)
    yield columns_claim(certificate, released)
    yield _values(certificate, released)
    yield _loose(certificate)
    yield _direct(certificate)
    yield _steps(certificate, released)
    yield _levels(certificate, released)
    yield _people_gone(certificate)
    yield from (Claim(name, "fails", words) for name, words in released.doubts().items())


# The recipe itself.


def _recipe(certificate: Mapping[str, Any], shape: Shape) -> Claim | None:
    """A recipe that nobody could run is not the one that was run; parts that its owner keeps are not looked at."""
    said = certificate["recipe"]
    try:
        recipes.any_from_dict({**said, **_shown(said, shape)})
    except SfumatoError as error:
        return Claim("recipe", "fails", f"what the certificate gives as recipe is none: {error}")
    except (KeyError, TypeError, ValueError, AttributeError):
        return Claim("recipe", "fails", "what the certificate gives as recipe is none")
    return None


def _shown(said: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """A recipe without what its owner keeps, so that it can be read."""
    parts: dict[str, Any] = {
        "meet": [spec for spec in said["meet"] if not recipes.keeps_back("models", spec, shape)],
        "steps": [spec for spec in said["steps"] if not _hides(spec)],
        "limits": {},
        "contract": [],
    }
    if "tables" in said:
        return {**parts, "tables": {name: _columns_shown(table) for name, table in said["tables"].items()}}
    beside = {PEOPLE: _columns_shown(said[PEOPLE])} if said.get(PEOPLE) is not None else {}
    return {**parts, **_columns_shown(said), **beside, **parts}


def _hides(spec: Any) -> bool:
    """Whether anything within a step is kept by its owner."""
    if isinstance(spec, Mapping):
        return any(_hides(value) for value in spec.values())
    if isinstance(spec, list):
        return any(map(_hides, spec))
    return bool(spec == recipes.KEPT)


def _columns_shown(table: Mapping[str, Any]) -> dict[str, Any]:
    columns = {
        name: {
            key: value
            for key, value in spec.items()
            if key != "order" and not (key == "hierarchy" and recipes.keeps_back("hierarchies", value))
        }
        for name, spec in table.get("columns", {}).items()
    }
    return {**table, "columns": columns}


# Tables and columns.


def columns_claim(certificate: Mapping[str, Any], released: Shaped) -> Claim:
    """All tables of the recipe and no others, all of their columns and no others, every column as what the recipe says."""
    written, described = sections(certificate), _described(certificate)
    expected = registry.shaped(released.shape).released_schemas(released.written(), described)
    listed = [Path(file).stem for file in certificate["files"]]
    lost = [table for table in expected if table not in written]
    lost += [table for table in (DATA, PEOPLE) if table in listed and table not in written and table not in lost]
    if lost:
        return _fails(f"the table of {' and '.join(lost)} is not certified, though the release has one")
    if strange := [table for table in written if table not in expected]:
        return _fails(f"the recipe knows nothing of the table of {' and '.join(strange)}")
    if (cut := _cut(described, expected)) and not _said_to_cut(certificate["recipe"]["steps"]):
        return _fails(f"{' and '.join(cut)} joins with nobody, and no step of the recipe cuts it off (split: true)")
    problems = [words for table in written for words in _in_table(certificate, table, expected[table], described)]
    return _fails("; ".join(problems)) if problems else Claim(COLUMNS, "holds", "the same columns and roles, no others")


def _fails(words: str) -> Claim:
    return Claim(COLUMNS, "fails", words)


def _described(certificate: Mapping[str, Any]) -> dict[str, Schema]:
    return {table: schema_told(columns) for table, columns in columns_said(certificate["recipe"]).items()}


def _in_table(certificate: Mapping[str, Any], table: str, expected: Schema, described: Schemas) -> Iterator[str]:
    """What is wrong with the columns of one table, in words."""
    found = schema_told(sections(certificate)[table]["columns"]).attributes
    if strange := [column for column in found if column not in expected.attributes]:
        yield f"{_count(strange)} of {table} are not in the recipe: {_named(strange)}"
    hidden = [c for c in found if c in expected.attributes and set(expected[c].roles) & set(UNPUBLISHED)]
    if hidden:
        yield f"{_count(hidden)} of {table} have a role that is never published: {_named(hidden)}"
    meant = described.get(table, expected) if "tables" in certificate else expected  # other shapes say what steps write
    said = {c: a for c, a in meant.attributes.items() if not set(a.roles) & set(UNPUBLISHED)}
    if gone := [c for c in said if c not in found and c not in _left_out(certificate["plan"])]:
        yield f"{_count(gone)} of {table} are missing, and no step left them out: {_named(gone)}"
    known = {c: a for c, a in found.items() if c in expected.attributes}
    if other := [c for c, a in known.items() if set(a.roles) != set(expected[c].roles) or a.of != expected[c].of]:
        yield f"{len(other)} have another role than the recipe gives them: {_named(other)}"
    if other := [c for c, a in known.items() if not _kind_fits(a, expected[c])]:
        yield f"{_count(other)} of {table} are of another kind than the recipe says: {_named(other)}"


def _kind_fits(found: Attribute, said: Attribute) -> bool:
    """Recoding turns amounts and dates of quasi-identifiers into labels; everything else stays what it is."""
    return found.kind is said.kind or (Role.QUASI in said.roles and found.kind in RECODED)


def _left_out(plans: Sequence[Mapping[str, Any]]) -> set[str]:
    """Columns that steps say they left out as a whole."""
    return {column for plan in plans if plan.get("kind") == "attribute suppression" for column in plan["columns"]}


def _count(columns: Sequence[str]) -> str:
    return f"{len(columns)} column{'s' * (len(columns) > 1)}"


def _named(columns: Sequence[str]) -> str:
    return ", ".join(columns[:MOST_NAMED]) + (" …" if len(columns) > MOST_NAMED else "")


def _cut(described: Schemas, expected: Schemas) -> list[str]:
    """Tables that belong to another one in the recipe, and to none in the release."""
    return [
        table
        for table, schema in described.items()
        if any(c in expected[table].attributes and schema[c].of != expected[table][c].of for c in schema.attributes)
    ]


def _said_to_cut(steps: Sequence[Any]) -> bool:
    options = [said for step in steps if isinstance(step, Mapping) for said in step.values()]
    return any(isinstance(said, Mapping) and said.get("split") is True for said in options)


def _values(certificate: Mapping[str, Any], released: Shaped) -> Claim | None:
    """Amounts that are released as they are hold numbers: a column of them that holds words in most of its cells is another one."""
    wrong = [
        f"{table}.{column}"
        for table, frame in released.written().items()
        for column, said in schema_told(sections(certificate)[table]["columns"]).attributes.items()
        if said.kind is Kind.NUMERIC and Role.QUASI not in said.roles and has_words(frame[column])
    ]
    return Claim("numbers", "fails", f"words stand where the recipe says numbers: {_named(wrong)}") if wrong else None


# Files, direct identifiers, steps.


def _loose(certificate: Mapping[str, Any]) -> Claim | None:
    """A file that lies in the folder, and of which the certificate says nothing: nobody judged it."""
    judged = {own_file(section) for section in sections(certificate).values()} | {REPORT}
    loose = [file for file in certificate["files"] if file not in judged and not _is_picture(file)]
    if not loose:
        return None
    return Claim("tables judged", "fails", f"{len(loose)} more file(s) in the folder, which no promise is about")


def _is_picture(file: str) -> bool:
    folder, _, name = file.partition("/")
    return folder == PICTURES and (name == DESCRIPTIONS or ("/" not in name and name.endswith((".png", ".svg"))))


def _direct(certificate: Mapping[str, Any]) -> Claim:
    """Direct identifiers are dropped from every table; a column of that name is one of them that is still there."""
    name = "direct identifiers gone"
    gone = {
        table: [c for c, spec in columns.items() if "direct" in spec["role"]]
        for table, columns in columns_said(certificate["recipe"]).items()
    }
    left = [c for t, section in sections(certificate).items() for c in gone.get(t, ()) if c in section["columns"]]
    if left:
        return Claim(name, "fails", f"still there: {', '.join(left)}")
    names = [column for columns in gone.values() for column in columns]
    if sorted(certificate["dropped_columns"]) != sorted(names):
        return Claim(name, "fails", "the certificate lists other columns as dropped than its recipe calls direct")
    return Claim(name, "holds", f"{len(names)} dropped" if names else "there were none")


def _steps(certificate: Mapping[str, Any], released: Shaped) -> Claim | None:
    """The plan tells of the steps of the recipe, in their order, and what each says everybody can see is so."""
    name, said, plans = "steps", certificate["recipe"]["steps"], certificate["plan"]
    if list(map(_name, said)) != [plan.get("step") for plan in plans]:
        return Claim(name, "fails", "the plan tells of other steps than the recipe names")
    for spec, plan in zip(said, plans, strict=True):
        fields = next(iter(spec.values())) if isinstance(spec, Mapping) else {}
        shown = {**fields, "means": _name(fields.get("step"))} if isinstance(fields, Mapping) else {}
        other = [field for field in shown if field in plan and field != "step" and plan[field] != shown[field]]
        if other:
            return Claim(name, "fails", f"recipe and plan of {plan['step']} differ in {_named(other)}")
        if not _hides(spec) and (words := _contradicted(spec, plan, released)) is not None:
            return Claim(name, "fails", words)
    return None


def _name(spec: Any) -> Any:
    """The name of a step as a recipe writes it."""
    return next(iter(spec), None) if isinstance(spec, Mapping) else spec


def _contradicted(spec: Any, plan: Mapping[str, Any], released: Shaped) -> str | None:
    try:
        step = registry.build("steps", spec, shape=released.shape)
        words: str | None = step.contradicted(released)
    except SfumatoError as error:
        return f"a step of the recipe cannot have been run: {error}"
    lacking = [field for field in step.tells if field not in plan]
    return f"the plan of {step.name} lacks {_named(lacking)}" if lacking else words


def _levels(certificate: Mapping[str, Any], released: Shaped) -> Claim | None:
    """Columns that are said to be generalised to a level hold values of that level, or of one above it.

    Only hierarchies that the recipe shows and that were fixed before the data were seen can be asked; nor is a table asked in which a later step may have changed the values.
    """
    name, described = "levels", columns_said(certificate["recipe"])
    places = dict[tuple[str, str], Any]()
    for plan in certificate["plan"]:
        if (table := plan.get("table")) in described and "means" in plan:
            places = {at: place for at, place in places.items() if at[0] != table}
            places |= {(table, column): place for column, place in plan.get("levels", {}).items()}
    wrong = [
        f"{table}.{column}"
        for (table, column), place in places.items()
        if not _on_level(
            described[table].get(column, {}), place, released.written()[table].get_column(column, default=None)
        )
    ]
    return (
        Claim(name, "fails", f"the values are not of the levels that are certified: {_named(wrong)}") if wrong else None
    )


def _on_level(spec: Mapping[str, Any], place: Mapping[str, int], values: pl.Series | None) -> bool:
    """Whether the values of a column may be of a level of its hierarchy; yes where that cannot be told."""
    level, top = place["level"], place["top"]
    if not 0 <= level <= top or (spec.get("hierarchy") is None and top):
        return False
    if values is None or "hierarchy" not in spec or recipes.keeps_back("hierarchies", spec["hierarchy"]):
        return True
    hierarchy = registry.build("hierarchies", spec["hierarchy"])
    if not is_fixed(hierarchy):
        return True
    different = values.cast(pl.String).unique().to_list()
    try:
        ladder = bind(hierarchy, different, [1] * len(different))
    except SfumatoError:  # a value that the hierarchy does not know is told of by other claims, or was suppressed
        return True
    if top not in (1, ladder.top):  # 1: a step that knows all or nothing
        return False
    reached = ladder.top if level == top else level
    above = ladder.climb(0, reached)
    return all(ladder.labels[reached][above[code]] == label for code, label in enumerate(ladder.labels[0]))


def _people_gone(certificate: Mapping[str, Any]) -> Claim | None:
    """No fewer people are said to have gone than the steps say went; whoever goes with a row is not told of there."""
    said, plans = certificate["suppressed_people"], certificate["plan"]
    told = sum(plan.get("people_dropped", 0) for plan in plans)
    if said is None or told <= said:
        return None
    return Claim("steps", "fails", f"{told:,} people went by the steps, and {said:,} are certified as left out")
