"""Every parameter that a table attains as it is: k, and α, p, l, t, β and δ of each sensitive
column.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core import registry
from sfumato.core.blocks import Block, Cell, ListBlock, TableBlock
from sfumato.core.evidence import gather, judge_all
from sfumato.core.fields import Document
from sfumato.core.schema import Kind
from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.table import Table

K = ("k", "k_anonymity")
# What is asked of each sensitive column: the name in the table, and the promise in its short form.
OF_COLUMNS: tuple[tuple[str, str], ...] = (
    ("α", "alpha_k_anonymity:{}"),
    ("p", "p_sensitive:{}"),
    ("l, distinct", "l_diversity:{}"),
    ("l, entropy", "l_diversity:{},kind=entropy"),
    ("l, recursive (c = 3)", "l_diversity:{},kind=recursive,c=3"),
    ("t, equal", "t_closeness:{}"),
    ("β, basic", "beta_likeness:{},kind=basic"),
    ("β, enhanced", "beta_likeness:{},kind=enhanced"),
    ("δ", "delta_disclosure:{}"),
)
# Only values with an order have a distance between them.
OF_ORDERED = (("t, ordered", "t_closeness:{},distance=ordered"),)
OF_NUMBERS = (("t, numeric", "t_closeness:{},distance=numeric"),)


@dataclasses.dataclass(frozen=True)
class AttainedParameter:
    """One parameter of one sensitive column (of the table where ``column`` is None). ``value`` is
    None where it is unknown (``reason`` says why) or where no finite value holds.
    """

    parameter: str
    column: str | None
    value: float | None
    reason: str = ""


def measure_parameters(table: Table) -> tuple[AttainedParameter, ...]:
    """Every parameter that a table attains, each judged with the model of its own."""
    questions: list[tuple[str, str | None, str]] = [(*K[:1], None, K[1])]
    for column in table.schema.sensitive:
        # A name that holds a comma stands in double quotes in the short form.
        written = '"' + column.replace('"', '""') + '"'
        kind = table.schema[column].kind
        forms = list(OF_COLUMNS)
        if kind is not Kind.NOMINAL:
            forms += OF_ORDERED
        if kind is Kind.NUMERIC:
            forms += OF_NUMBERS
        questions += [(name, column, form.format(written)) for name, form in forms]
    return tuple(
        _measure(table, name, column, registry.ask(text).model) for name, column, text in questions
    )


def _measure(table: Table, name: str, column: str | None, model: Model) -> AttainedParameter:
    try:
        verdict = judge_all(gather(table, (model,), original=table), (model,))[0]
    except SfumatoError as error:
        return AttainedParameter(name, column, None, str(error))
    attained = verdict.to_dict()["attained"]
    if attained is not None:
        reason = ""
    else:
        reason = f"no finite value holds; {verdict.sentence}"
    return AttainedParameter(name, column, attained, reason)


def parameter_blocks(parameters: Sequence[AttainedParameter]) -> list[Block]:
    """One table: a row for each parameter, a column for each sensitive column."""
    columns = list(dict.fromkeys(p.column for p in parameters if p.column is not None))
    values: dict[tuple[str, str | None], Cell] = {}
    for entry in parameters:
        values[entry.parameter, entry.column] = entry.value
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(entry.parameter for entry in parameters):
        if (name, None) in values:
            # k is about the table as a whole: it is the same in every column.
            cells = [values[name, None]] * max(1, len(columns))
        else:
            cells = [values.get((name, column)) for column in columns]
        rows.append((name, *cells))
    header = columns or ["value"]
    blocks: list[Block] = [TableBlock(("parameter", *header), tuple(rows))]
    unknown = [
        f"{entry.parameter} of {entry.column}: {entry.reason}"
        for entry in parameters
        if entry.value is None
    ]
    if unknown:
        blocks.append(ListBlock(tuple(unknown), "Without a value"))
    return blocks


def plain_parameters(parameters: Sequence[AttainedParameter]) -> list[Document]:
    """The parameters as plain data."""
    return [dataclasses.asdict(entry) for entry in parameters]
