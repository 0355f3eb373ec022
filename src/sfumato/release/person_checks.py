"""What the certificate of people who are described by more than a row is held to besides: their
tables, columns, counts and levels.

A certificate that nobody signed can be edited and sealed again, and then fits whatever lies beside
it. What the recipe, the plan and the files say of each other must fit still.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.fields import Fields
from sfumato.core.recipe import columns_in_recipe
from sfumato.core.schema import Kind, Role
from sfumato.core.shape import DATA, PEOPLE
from sfumato.core.words import count_of, counts_in_words, join_words
from sfumato.release.level_checks import is_on_level
from sfumato.release.manifest import Claim
from sfumato.release.public_recipe import left_out_columns
from sfumato.release.read_back import has_words
from sfumato.release.recipe_checks import COLUMNS, first_names
from sfumato.release.table_sections import schema_told, sections

if TYPE_CHECKING:
    from sfumato.core.schema import Attribute, Schema
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder

RECODED = (Kind.NOMINAL, Kind.ORDINAL)
"""Kinds that a quasi-identifier may have after recoding, whatever it was."""
UNPUBLISHED = (Role.DROP, Role.ASK)

Schemas = Mapping[str, "Schema"]


def people_counted(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """As many people, items, points or ties are in the files as certified."""
    counts, certified = shared.released.counts(), certificate["counts"]
    if counts == certified:
        return Claim("counts", "holds", f"{counts_in_words(counts)} as said")
    return Claim(
        "counts",
        "fails",
        f"{counts_in_words(counts)} found, {counts_in_words(certified)} certified",
    )


# Tables and columns.


def columns_of_recipe(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """All tables of the recipe and no others, all of their columns and no others, every column as
    what the recipe says.
    """
    released, table_sections, schemas = (
        shared.released,
        sections(certificate),
        _described_schemas(certificate),
    )
    expected = registry.data_class(released.shape).released_schemas(released.to_tables(), schemas)
    listed = [Path(file).stem for file in certificate["files"]]
    lost = [table for table in expected if table not in table_sections]
    lost += [
        table
        for table in (DATA, PEOPLE)
        if table in listed and table not in table_sections and table not in lost
    ]
    if lost:
        return _fails(
            f"the table of {join_words(lost)} is not certified, though the release has one"
        )
    if strange := [table for table in table_sections if table not in expected]:
        return _fails(f"the table of {join_words(strange)} is not in the recipe")
    if (cut := _cut(schemas, expected)) and not _said_to_cut(certificate["recipe"]["steps"]):
        return _fails(
            f"{join_words(cut)} joins with nobody, and no step of the recipe separates it (split: "
            "true)"
        )
    problems = [
        words
        for table in table_sections
        for words in _in_table(certificate, table, expected[table], schemas)
    ]
    if problems:
        return _fails("; ".join(problems))
    return Claim(COLUMNS, "holds", "the same columns and roles, no others")


def _fails(words: str) -> Claim:
    return Claim(COLUMNS, "fails", words)


def _described_schemas(certificate: Fields) -> dict[str, Schema]:
    return {
        table: schema_told(columns)
        for table, columns in columns_in_recipe(certificate["recipe"]).items()
    }


def _in_table(certificate: Fields, table: str, expected: Schema, schemas: Schemas) -> Iterator[str]:
    """What is wrong with the columns of one table, in words."""
    attributes = schema_told(sections(certificate)[table]["columns"]).attributes
    if strange := [column for column in attributes if column not in expected.attributes]:
        yield (
            f"{count_of(len(strange), 'column')} of {table} are not in the recipe:"
            f" {first_names(strange)}"
        )
    hidden = [
        c
        for c in attributes
        if c in expected.attributes and set(expected[c].roles) & set(UNPUBLISHED)
    ]
    if hidden:
        yield (
            f"{count_of(len(hidden), 'column')} of {table} have a role that is never published:"
            f" {first_names(hidden)}"
        )
    # other shapes say what steps write
    if "tables" in certificate:
        expected_schema = schemas.get(table, expected)
    else:
        expected_schema = expected
    published = {
        c: a for c, a in expected_schema.attributes.items() if not set(a.roles) & set(UNPUBLISHED)
    }
    if gone := [
        c for c in published if c not in attributes and c not in left_out_columns(certificate)
    ]:
        yield (
            f"{count_of(len(gone), 'column')} of {table} are missing, and no step removed them: "
            f"{first_names(gone)}"
        )
    expected_columns = {c: a for c, a in attributes.items() if c in expected.attributes}
    if differing := [
        c
        for c, a in expected_columns.items()
        if set(a.roles) != set(expected[c].roles) or a.of != expected[c].of
    ]:
        names = first_names(differing)
        yield f"{len(differing)} have another role than the recipe gives them: {names}"
    if differing := [c for c, a in expected_columns.items() if not _kind_fits(a, expected[c])]:
        yield (
            f"{count_of(len(differing), 'column')} of {table} are of another kind than the recipe"
            " says:"
            f" {first_names(differing)}"
        )


def _kind_fits(attribute: Attribute, expected: Attribute) -> bool:
    """Recoding turns amounts and dates of quasi-identifiers into labels; everything else stays what
    it is.
    """
    return attribute.kind is expected.kind or (
        Role.QUASI in expected.roles and attribute.kind in RECODED
    )


def _cut(schemas: Schemas, expected: Schemas) -> list[str]:
    """Tables that belong to another one in the recipe, and to none in the release."""
    cut_tables = []
    for table, schema in schemas.items():
        attributes = expected[table].attributes
        shared_columns = [name for name in schema.attributes if name in attributes]
        if any(schema[name].of != attributes[name].of for name in shared_columns):
            cut_tables.append(table)
    return cut_tables


def _said_to_cut(steps: Sequence[Any]) -> bool:
    options = [
        step_options
        for step in steps
        if isinstance(step, Mapping)
        for step_options in step.values()
    ]
    return any(
        isinstance(step_options, Mapping) and step_options.get("split") is True
        for step_options in options
    )


def numbers_of_recipe(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """Amounts that are released as they are hold numbers: a column of them that holds words in most
    of its cells is another one.
    """
    wrong = []
    for table, frame in shared.released.to_tables().items():
        for column, attribute in schema_told(
            sections(certificate)[table]["columns"]
        ).attributes.items():
            if (
                attribute.kind is Kind.NUMERIC
                and Role.QUASI not in attribute.roles
                and has_words(frame[column])
            ):
                wrong.append(f"{table}.{column}")
    words = f"words are in columns that the recipe calls numeric: {first_names(wrong)}"
    return Claim("numbers", "fails", words) if wrong else None


# Direct identifiers, levels, people.


def dropped_columns(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """The columns that are certified as dropped are those that the recipe calls direct."""
    names = []
    for columns in columns_in_recipe(certificate["recipe"]).values():
        names += [column for column, spec in columns.items() if "drop" in spec["role"]]
    if sorted(certificate["dropped_columns"]) == sorted(names):
        return None
    words = "dropped_columns: the recipe names other direct identifiers"
    return Claim("direct identifiers gone", "fails", words)


def levels_of_plan(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """Columns that are said to be generalised to a level hold values of that level, or of one above
    it.

    A table is not asked in which a later step may have changed the values.
    """
    columns, tables = columns_in_recipe(certificate["recipe"]), shared.released.to_tables()
    levels = dict[tuple[str, str], Any]()
    for plan in certificate["plan"]:
        table = plan.get("table")
        if table in columns and registry.is_placed("steps", plan["step"], plan, shared.shape):
            levels = {location: level for location, level in levels.items() if location[0] != table}
            levels |= {(table, column): level for column, level in plan.get("levels", {}).items()}
    wrong = []
    for (table, column), level in levels.items():
        if not is_on_level(
            columns[table].get(column, {}), level, tables[table].get_column(column, default=None)
        ):
            wrong.append(f"{table}.{column}")
    words = f"the values are not of the certified levels: {first_names(wrong)}"
    return Claim("levels", "fails", words) if wrong else None


def people_gone(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """No fewer people are said to have gone than the steps say went; whoever goes with a row is not
    told of there.
    """
    certified, suppressed = (
        certificate["suppressed_people"],
        sum(plan.get("people_dropped", 0) for plan in certificate["plan"]),
    )
    if certified is None or suppressed <= certified:
        return None
    return Claim(
        "steps",
        "fails",
        f"{suppressed:,} people were removed by the steps, but {certified:,} are "
        "certified as removed",
    )
