"""A proposal for several tables as a commented recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sfumato.core.schema import Role
from sfumato.core.source import Code
from sfumato.core.words import percent
from sfumato.guidance.profiling.related_persons import PersonsDesign
from sfumato.guidance.profiling.row_warnings import NO_SENSITIVE
from sfumato.guidance.profiling.table_relations import RelationsProposal, TableGuess
from sfumato.guidance.profiling.yaml_text import (
    PROPOSED,
    column_lines,
    flow,
    reading_lines,
    role_lines,
    scalar,
)


def relations_text(proposal: RelationsProposal, files: Mapping[str, str]) -> str:
    """The recipe that a proposal for several tables amounts to; ``files`` are the names of their
    files.
    """
    first = proposal.tables[0]
    codes: dict[str, tuple[Code, ...]] = {}
    for table in proposal.tables:
        codes |= table.proposal.missing_codes
    lines = [
        *_header(proposal),
        "sfumato: 1",
        PROPOSED,
        *reading_lines(first.proposal.source, codes),
        "tables:",
    ]
    for table in proposal.tables:
        lines += _table(table, files.get(table.name))
    lines += _designed(proposal.design)
    return "\n".join([*lines, "  - key_pseudonyms: {split: false}"]) + "\n"


def _designed(design: PersonsDesign | None) -> Iterator[str]:
    """Promises and steps, with the reason of each, and promises that cost too much as comments."""
    meet, steps, refused = (
        ((), (), ()) if design is None else (design.meet, design.steps, design.refused)
    )
    yield "meet:" if meet else "meet: []"
    for line in meet:
        yield f"  - {flow(line.spec)[1:-1]}  # {line.why}"
    for line in refused:
        yield f"  # not proposed: {flow(line.spec)[1:-1]}, where it was tried: {line.why}"
    yield "steps:"
    for line in steps:
        yield f"  - {flow(line.spec)[1:-1]}  # {line.why}"


def _header(proposal: RelationsProposal) -> Iterator[str]:
    tables = ", ".join(
        f"{scalar(table.name)} ({table.proposal.rows:,} rows)" for table in proposal.tables
    )
    yield f"# Proposed by sfumato profile for several tables: {tables}."
    yield from role_lines()
    yield (
        f"# Check also that {scalar(proposal.tables[0].name)} is the table of the people, that"
        " every other table belongs to the right one, and that how often somebody comes is capped"
        " low enough."
    )
    if not any(Role.SENSITIVE in column.roles for t in proposal.tables for column in t.columns):
        yield f"# {NO_SENSITIVE}"
    open_columns = []
    for table in proposal.tables:
        waiting = [column for column in table.columns if Role.ASK in column.roles]
        open_columns += [f"{table.name}.{column.name}" for column in waiting]
    if open_columns:
        yield (
            f"# {len(open_columns)} column(s) wait for your decision (role: ask), and nothing"
            " runs before:"
            f" {', '.join(map(scalar, open_columns[:10]))}."
        )
    for name, why in zip(proposal.apart, proposal.why, strict=True):
        yield f"# {scalar(name)} is left out: {why}."


def _table(table: TableGuess, file: str | None) -> Iterator[str]:
    yield f"  {scalar(table.name)}:"
    if file is not None:
        yield f"    file: {scalar(file)}"
    if table.key is not None:
        yield f"    key: {scalar(table.key.column)}  # guess: {table.key.reason}"
    if table.parent is not None:
        yield (
            f"    belongs_to: {flow({table.parent.table: table.parent.column})}  # guess:"
            f" {table.parent.reason}"
        )
        if table.parent.share < 1:
            yield (
                f"    orphans: drop  # guess: {percent(1 - table.parent.share)} of the rows belong"
                " to nobody, and are dropped"
            )
    yield "    columns:" if table.columns else "    columns: {}"
    for column in table.columns:
        yield from (f"    {line}" for line in column_lines(column))
