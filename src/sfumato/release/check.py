"""Judging released data by a recipe: the gate of a pipeline, whatever the shape of the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.acceptance import text_only_columns
from sfumato.core.evidence import columns_seen, judge_all
from sfumato.core.schema import Role
from sfumato.core.shape import Shape
from sfumato.data.table.default_readers import read_as_one
from sfumato.errors import ReleaseRefused, UnreadableInput
from sfumato.release.certificates import read_any_certificate
from sfumato.release.make import population_of
from sfumato.release.manifest import own_file, require_plain_file
from sfumato.release.read_back import read_described
from sfumato.release.shaped.reading import TableRead, as_released, require_roles, sections, tables_for

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Verdict
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema
    from sfumato.core.source import Intake
    from sfumato.data.lazy.table import LazyTable
    from sfumato.data.table.default_readers import ReadAsOne


def check_released(
    data: Any, recipe: Recipe, *, original: Any = None, population: Dataset | None = None
) -> tuple[Verdict, ...]:
    """Judge released data by a recipe: direct identifiers must be gone, promises must hold.

    ``data`` are a table, or of other shapes the tables that were read (:func:`read_to_check`). Promises that compare tables
    with the original are judged against the released table itself where that is not given.
    """
    if not recipe.meet:
        raise ReleaseRefused(
            "the recipe promises nothing under 'meet', and an empty promise is not a promise: nothing about a released file can be "
            "checked by it; limits and contract need the original: sfumato attack, sfumato evaluate"
        )
    everyone = population_of(recipe.meet, population, recipe.base)
    released, original, readings = DESCRIBED[recipe.shape](data, recipe, original, everyone)
    blind = [model.promise for model in recipe.meet if model.compares and original is None]
    if blind:
        raise ReleaseRefused(
            f"{' and '.join(blind)} is unknown: it compares the release with the original; give --original"
        )
    verdicts = judge_all(released.evidence(recipe.meet, original=original, population=everyone), recipe.meet)
    for reading in readings:
        reference = None if original is None else reading.of(original)
        judged = judge_all(
            reading.of(released).evidence(recipe.meet, original=reference, population=everyone), recipe.meet
        )
        both = zip(verdicts, judged, strict=True)
        verdicts = tuple(
            verdict if other.holds or not verdict.holds else _read_otherwise(other, reading) for verdict, other in both
        )
    return verdicts


def _read_otherwise(verdict: Verdict, reading: ReadAsOne) -> Verdict:
    """A verdict that a default reader would come to, and why."""
    names = ", ".join(reading.keys)
    reason = f"{reading.reader} takes several values of {names} for one, as 00501 and 501 are the number 501"
    return dataclasses.replace(verdict, sentence=f"{verdict.sentence}; {reason}")


def _refuse_direct(name: str, schema: Schema, columns: Iterable[str]) -> None:
    left = [column for column in schema.direct if column in columns]
    if left:
        raise ReleaseRefused(f"{name} still holds direct identifiers: {', '.join(left)}")


Described = tuple[Any, Any, Iterable["ReadAsOne"]]
"""Released data described as the recipe says, the original as promises compare with it, and readers that take the file otherwise."""


def _described_table(
    table: Dataset | LazyTable, recipe: Recipe, original: Dataset | LazyTable | None, everyone: Dataset | None
) -> Described:
    """A released table in memory; of one that an engine holds, the combinations that promises look at."""
    schema = recipe.schema
    for step in recipe.steps:
        schema = step.released_schema(schema, table.columns)
    _refuse_direct(table.source.name, schema, table.columns)
    schema = schema.without(schema.direct)
    schema.check(table.columns, table.source)
    if everyone is None:
        schema = _without_hierarchies(schema)
    described = table.with_schema(schema)
    counted = described.counted(columns_seen(recipe.meet, schema))
    if original is not None:
        original = original.counted(name for name in counted.columns if name in original.columns)
    if counted.copies is not None:  # an engine holds it, which says what is text
        return counted, original, ()
    text_only = text_only_columns(recipe.accept)
    return counted, original, read_as_one(counted.to_polars(), table.source.format, but=text_only)


def _without_hierarchies(schema: Schema) -> Schema:
    """A schema whose quasi-identifiers are what they are: local methods release ranges that no hierarchy lists."""
    for name in schema.quasi:
        if Role.SENSITIVE not in schema[name].roles:
            schema = schema.replace(name, hierarchy=None)
    return schema


def _described_persons(
    tables: Mapping[str, TableRead], recipe: Recipe, original: Data | None, everyone: Dataset | None
) -> Described:
    """Released people from the tables that were read."""
    for name, table in tables.items():
        _refuse_direct(table.source.name, recipe.schemas.get(name, recipe.schema), table.frame.columns)
    frames, source = {name: table.frame for name, table in tables.items()}, next(iter(tables.values())).source
    noun: type[Data] = registry.shaped(recipe.shape)
    schemas = noun.released_schemas(frames, {name: as_released(schema) for name, schema in recipe.schemas.items()})
    require_roles(tables, recipe.shape, schemas)
    return noun.from_tables(frames, schemas, source), original, ()


DESCRIBED: dict[Shape, Callable[..., Described]] = {
    **dict.fromkeys(Shape, _described_persons),
    Shape.TABLE: _described_table,
}


# Reading released files of people who are described by more than a row.


def read_to_check(
    data: Any, recipe: Recipe, *, people: Any = None, said: Intake | None = None
) -> Mapping[str, TableRead]:
    """The tables of released data: as the certificate beside them says, or else as the recipe does."""
    certified = _certified_tables(data, people, said)
    return certified or tables_for(data, recipe, people=people, said=said, intake=recipe.intake.layout)


def _certified_tables(data: Any, people: Any, said: Intake | None) -> dict[str, TableRead] | None:
    """The tables of a file beside the certificate that names it, or of its folder, read as it says; None for any other file."""
    if not isinstance(data, str | Path) or str(data) == "-" or people is not None or (said is not None and said.said()):
        return None
    folder = Path(data) if Path(data).is_dir() else Path(data).parent
    try:
        certificate = read_any_certificate(folder)
    except UnreadableInput:
        return None
    named = sections(certificate)
    first: Mapping[str, Any] = next(iter(named.values()), {"parts": []})
    if "parts" in first or (folder != Path(data) and first["file"] != Path(data).name):
        return None
    return {
        name: TableRead(*read_described(require_plain_file(folder, own_file(section)), section, lists=True))
        for name, section in named.items()
    }
