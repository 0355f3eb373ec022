"""Tables as graphs: which columns hold the ends of ties, who is there, and what is wrong with it,
in counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.schema import ANSWERS, Role, Schema
from sfumato.core.source import and_more, missing_column_problems, without_role
from sfumato.errors import SchemaError, UnreadableInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.source import Source

DIRECTED = "directed"
"""The column of ties that may say, with the same word in every row, whether they have a direction.
"""

DENSE = 8
"""Numbers between the lowest and the highest id, for each id, up to which ids are looked up in a
table.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class GraphParts:
    """What tables say: how many people, the arcs between them in order, their own columns, and what
    was put right.
    """

    nodes: int
    arcs: NDArray[np.int32]
    own: pl.DataFrame | None
    directed: bool | None
    notes: tuple[str, ...]


def parts_of(
    tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
) -> GraphParts:
    """Read a graph; people are numbered in the order of their ids, so the order of rows does not
    matter.
    """
    data = tables["data"]
    people = tables.get("people")
    tail, head, unit = checked(tables, schemas, source)
    tails = data[tail]
    heads = data[head]
    # A person without a tie is a row with no end; a row with no beginning says nothing.
    if tails.null_count():
        raise UnreadableInput(
            f"{tails.null_count():,} row(s) of {source.name} have an empty column of role from; "
            "for a person without ties name the person there and leave the column of role to "
            "empty"
        )
    ids = None
    if not (people is None or unit is None):
        ids = people[unit]
    # Ids must be of one type in all columns, or the same person would have two numbers.
    tails, heads, ids = _alike(tails, heads, ids, source)
    everybody = _everybody(tails, heads, ids, source)
    arcs, notes = _arcs(tails, heads, everybody, source)
    if len(everybody) < 2:
        raise UnreadableInput(
            f"{source.name} has {len(everybody)} person(s); a graph needs at least two"
        )
    own = None
    if people is not None and ids is not None and unit is not None:
        columns = [
            name
            for name, attribute in schemas["people"].attributes.items()
            if name in people.columns
        ]
        columns = [
            name for name in columns if name != unit and not schemas["people"][name].has(Role.DROP)
        ]
        own = None
        if columns:
            # Own columns in the order of ids, as people are numbered.
            own = people.select(columns)[ids.arg_sort()]
    return GraphParts(len(everybody), arcs, own, _directed(data, source), notes)


def _directed(data: pl.DataFrame, source: Source) -> bool | None:
    """What the column ``directed`` says of all ties; None: there is none."""
    if DIRECTED not in data.columns:
        return None
    # Some with and some without a direction cannot be distinguished by one flag.
    words = set(data[DIRECTED].cast(pl.String).str.to_lowercase().to_list())
    if words not in ({"true"}, {"false"}):
        raise UnreadableInput(
            f"the column 'directed' of {source.name} must be true in every row, or false in every "
            "row; graphs that mix both are not supported"
        )
    return words == {"true"}


def checked(
    tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
) -> tuple[str, str, str | None]:
    """The columns of tails, heads and people's ids; everything that does not fit is told at
    once.
    """
    schema = schemas["data"]
    beside = schemas.get("people")
    problems = [*_fitting(tables["data"], schema, source, "the ties"), *_ends(schema, source)]
    unit = None
    if beside is not None and "people" in tables:
        problems += [
            *_fitting(tables["people"], beside, source, "the people"),
            *_people(beside, source),
        ]
        unit = None
        if beside.units:
            unit = beside.units[0]
    elif beside is not None:
        problems.append(
            f"the recipe of {source.name} describes the people's own columns, but there is no "
            "table of people; name its file (people: {file: …}), or leave 'people' out"
        )
    elif "people" in tables:
        problems.append(
            f"{source.name} comes with a table of people without descriptions of its columns; add "
            "'people: {columns: …}'"
        )
    if problems:
        raise SchemaError(problems)
    return schema.columns(Role.FROM)[0], schema.columns(Role.TO)[0], unit


def _fitting(table: pl.DataFrame, schema: Schema, source: Source, part: str) -> list[str]:
    """Columns that are not there, or have no role; a direct identifier may be gone already."""
    open_columns = [
        name
        for name in schema.attributes
        if name in table.columns or not schema[name].has(Role.DROP)
    ]
    roles = ", ".join((*ANSWERS, Role.FROM, Role.TO) if part == "the ties" else ANSWERS)
    problems = missing_column_problems(table.columns, source, open_columns)
    problems += without_role(table.columns, source, schema.attributes, roles)
    return problems + schema.undecided(source.name)


def _ends(schema: Schema, source: Source) -> list[str]:
    problems = []
    for role in (Role.FROM, Role.TO):
        names = schema.columns(role)
        if len(names) != 1:
            problems.append(
                f"one column of {source.name} must have role {role!s}, where a tie"
                f" {'begins' if role is Role.FROM else 'ends'}; {len(names)} have it"
            )
    if weights := schema.columns(Role.WEIGHT):
        problems.append(
            f"column {weights[0]!r} of {source.name} has role weight, and weighted ties are not "
            "supported; keep the ties above some weight in a file of their own, and give the "
            "column role drop"
        )
    other_columns = [
        name
        for name, attribute in schema.attributes.items()
        if name != DIRECTED
        and not {Role.FROM, Role.TO, Role.DROP, Role.WEIGHT, Role.ASK} & set(attribute.roles)
    ]
    if other_columns:
        problems.append(
            f"{len(other_columns)} column(s) of {source.name} describe single ties, which no "
            f"promise covers: {and_more(other_columns)}; give them role drop"
        )
    return problems


def _people(beside: Schema, source: Source) -> list[str]:
    problems = []
    if len(beside.units) != 1:
        problems.append(
            f"one column of the people of {source.name} must have role person, by which ties name "
            f"them; {len(beside.units)} have it"
        )
    wrong = [name for role in (Role.WEIGHT, Role.STRATUM) for name in beside.columns(role)]
    if wrong:
        problems.append(
            f"people of a graph have no weights and strata, but {and_more(wrong)} have "
            "such a role; give them another role"
        )
    graded = [
        name for name, attribute in beside.attributes.items() if attribute.hierarchy is not None
    ]
    if graded:
        problems.append(
            "quasi-identifiers of people in a graph are released or suppressed, not generalised: "
            f"remove the hierarchy of {and_more(graded)}, or generalise the column before"
        )
    return problems + beside.of_another_shape(f"the people of {source.name}")


def _alike(
    tails: pl.Series, heads: pl.Series, ids: pl.Series | None, source: Source
) -> tuple[pl.Series, pl.Series, pl.Series | None]:
    """Ids as whole numbers where all are, else as text."""
    columns = [_whole(column, source) for column in (tails, heads, *([] if ids is None else [ids]))]
    if len({column.dtype for column in columns if column.dtype != pl.Null}) > 1:
        columns = [column.cast(pl.String) for column in columns]
    elif heads.dtype == pl.Null:
        columns = [column.cast(columns[0].dtype) for column in columns]
    return columns[0], columns[1], columns[2] if len(columns) > 2 else None


def _whole(column: pl.Series, source: Source) -> pl.Series:
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype in (pl.String, pl.Null):
        return column
    if column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if column.dtype.is_float() and column.fill_nan(None).drop_nulls().is_finite().all():
        column = column.fill_nan(None)
        if (column.drop_nulls() % 1 == 0).all():
            return column.cast(pl.Int64)
    raise UnreadableInput(
        f"column {column.name!r} of {source.name} must name people by whole numbers or text, not by"
        f" {column.dtype}"
    )


def _everybody(
    tails: pl.Series, heads: pl.Series, ids: pl.Series | None, source: Source
) -> pl.Series:
    """Everybody's id, ascending: the people of their own table, or whoever a tie names."""
    if ids is None:
        return pl.concat([tails.alias("id"), heads.alias("id")]).drop_nulls().unique().sort()
    if ids.null_count():
        raise UnreadableInput(
            f"{ids.null_count():,} of the people of {source.name} have no id; give every person one"
        )
    repeated = len(ids) - ids.n_unique()
    if repeated:
        raise UnreadableInput(
            f"{repeated:,} row(s) of the people of {source.name} repeat an id; keep one row per "
            "person"
        )
    return ids.alias("id").sort()


def _arcs(
    tails: pl.Series, heads: pl.Series, everybody: pl.Series, source: Source
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Arcs as numbers of people, sorted, each once; and in counts what was left out."""
    alone = heads.is_null()
    endpoints = [_numbers(column, everybody) for column in (tails, heads)]
    unknown = int(((endpoints[0] < 0) | ((endpoints[1] < 0) & ~alone.to_numpy())).sum())
    if unknown:
        raise UnreadableInput(
            f"{unknown:,} row(s) of {source.name} name somebody who is missing from the table of "
            "people; add these people to it, or remove the rows"
        )
    ties = ~alone.to_numpy()
    # Rows that only name a person have no second end.
    tail = endpoints[0][ties]
    head = endpoints[1][ties]
    loops = tail == head
    # One number for an arc: sorting it sorts by tail, then head, and equal ones become neighbours.
    keys = tail[~loops] * len(everybody) + head[~loops]
    distinct = ascending(keys)
    remarks = (
        (int((~ties).sum()), "row(s) name a person without a tie"),
        (int(loops.sum()), "tie(s) of people with themselves were removed"),
        (len(keys) - len(distinct), "repeated tie(s) were removed"),
        (
            _both_ways(distinct, len(everybody)),
            (
                "pair(s) are tied in both directions and count as one tie, unless the graph "
                "is read as directed"
            ),
        ),
    )
    arcs = np.stack([distinct // len(everybody), distinct % len(everybody)]).astype(np.int32)
    return arcs, tuple(f"{count:,} {remark}" for count, remark in remarks if count)


def ascending(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every number once, ascending; sorting takes a tenth of the time that numpy's hashing does.

    >>> ascending(np.array([3, 1, 3, 2])).tolist()
    [1, 2, 3]
    """
    ordered = np.sort(keys)
    fresh = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    return ordered if fresh.all() else ordered[fresh]


def _both_ways(keys: NDArray[np.int64], people: int) -> int:
    """How many pairs stand in both directions."""
    tails = keys // people
    heads = keys % people
    # Written with the smaller number first throughout: nothing can stand in both directions.
    if (tails < heads).all():
        return 0
    return len(keys) - len(ascending(np.minimum(tails, heads) * people + np.maximum(tails, heads)))


def _numbers(column: pl.Series, everybody: pl.Series) -> NDArray[np.int64]:
    """The place of every id among all, −1 for one that is not there."""
    if column.dtype == pl.Int64:
        # Missing ids become 0 only to have numbers; ``inside`` takes them out again.
        return _numbers_of_whole(column.fill_null(0).to_numpy(), column, everybody)
    table = pl.DataFrame({"id": everybody, "place": np.arange(len(everybody), dtype=np.int64)})
    joined = pl.DataFrame({"id": column}).join(table, on="id", how="left", maintain_order="left")
    return joined["place"].fill_null(-1).to_numpy().astype(np.int64)


def _numbers_of_whole(
    ids: NDArray[np.int64], column: pl.Series, everybody: pl.Series
) -> NDArray[np.int64]:
    numbers = everybody.to_numpy()
    if not len(numbers):
        return np.full(len(ids), -1, dtype=np.int64)
    lowest = int(numbers[0])
    highest = int(numbers[-1])
    inside = (ids >= lowest) & (ids <= highest) & column.is_not_null().to_numpy()
    if highest - lowest < DENSE * len(numbers):  # looked up in a table of all numbers in between
        # A table from id to number is faster than a search, where few numbers in between are
        # unused.
        number_of_id = np.full(highest - lowest + 1, -1, dtype=np.int64)
        number_of_id[numbers - lowest] = np.arange(len(numbers))
        return np.where(inside, number_of_id[np.where(inside, ids - lowest, 0)], -1)
    positions = np.minimum(np.searchsorted(numbers, ids), len(numbers) - 1)
    return np.where(inside & (numbers[positions] == ids), positions, -1).astype(np.int64)
