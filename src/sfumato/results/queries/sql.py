"""A small part of SQL, read by sqlglot.

::

    SELECT [column, …] aggregate [AS name], … FROM dataset [WHERE condition [AND condition …]]
    [GROUP BY column, …]

    aggregate:  COUNT(*)  SUM(c)  AVG(c)  VARIANCE(c)  VAR_SAMP(c)  MEDIAN(c)  MIN(c)  MAX(c)
                PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY c)  PERCENTILE_DISC(…)
    condition:  c = v  c <> v  c < v  c <= v  c > v  c >= v  c BETWEEN v AND v  c [NOT] IN (v, …)

Columns in GROUP BY need a declared domain, columns in aggregates declared bounds, columns in WHERE
one of both. MIN and MAX are one person's value and cannot be told; the quantiles 0.01 and 0.99 are
answered instead, and named so. Everything else is refused by name, before anything is spent.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from typing import Any

from sfumato.core.declared import Declared
from sfumato.errors import ParameterError, did_you_mean, require
from sfumato.results.queries.quantiles import DEFAULT_GRID, exact_level, grid
from sfumato.results.queries.question import Condition, GroupAxis, Question, condition

LONGEST = 10_000
EXTREMES = {"Min": 0.01, "Max": 0.99, "Median": 0.5}
SUMS = {"Sum": "sum", "Avg": "mean", "Variance": "variance"}
COMPARED = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
CLAUSES = {
    "with_": "WITH",
    "joins": "JOIN",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "distinct": "DISTINCT",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "laterals": "LATERAL",
    "into": "INTO",
}
KNOWN_CLAUSES = {"expressions", "from_", "where", "group"}
KNOWN_PARTS: dict[str, frozenset[str]] = {
    "Select": frozenset(KNOWN_CLAUSES),
    "From": frozenset({"this"}),
    "Table": frozenset({"this", "alias"}),
    "TableAlias": frozenset({"this"}),
    "Where": frozenset({"this"}),
    "Group": frozenset({"expressions"}),
    "Column": frozenset({"this", "table"}),
    "Identifier": frozenset({"this", "quoted"}),
    "Alias": frozenset({"this", "alias"}),
    "Count": frozenset({"this", "big_int"}),  # big_int: which kind of number SQL would return
    "Star": frozenset(),
    **dict.fromkeys(
        [*SUMS, *EXTREMES, "PercentileCont", "PercentileDisc", "Not", "Neg", "Paren", "Boolean"],
        frozenset({"this"}),
    ),
    **dict.fromkeys([*COMPARED, "And", "WithinGroup"], frozenset({"this", "expression"})),
    "Order": frozenset({"expressions"}),
    "Ordered": frozenset({"this", "nulls_first"}),  # quantiles leave missing values out
    "Between": frozenset({"this", "low", "high"}),
    "In": frozenset({"this", "expressions"}),
    "Literal": frozenset({"this", "is_string"}),
}
"""Every node of a statement and every part of it must be known here: what is not read would be
answered with another meaning.
"""


def questions(
    statement: str, declared: Declared, dataset: str
) -> tuple[tuple[str | None, Question], ...]:
    """The questions of a SELECT with their names (AS), one each an aggregate; what is outside is
    refused by name.
    """
    select = _select(statement, dataset)
    _require_clauses(select)
    _require_table(select, dataset)
    by = _groups(select, declared)
    if select.args.get("where"):
        where = tuple(_conditions(select.args["where"].this, declared))
    else:
        where = ()
    aggregates = list(_aggregates(select, by))
    if not aggregates:
        raise _outside(
            "a SELECT without an aggregate",
            "ask for COUNT(*), SUM, AVG, VARIANCE, MEDIAN, MIN or MAX",
        )
    parsed_questions = tuple(
        (name, _question(aggregate, declared, by, where)) for name, aggregate in aggregates
    )
    # last, since the steps before refuse with better words what they know
    _require_known(select)
    _require_qualifiers(select)
    return parsed_questions


def _quote(dataset: str) -> str:
    """The name of the table as SQL wants it."""
    if dataset.isidentifier():
        return dataset
    return f'"{dataset}"'


def _select(statement: str, dataset: str) -> Any:
    sqlglot = require("sqlglot", extra="dp", to="read SQL")
    if len(statement) > LONGEST:
        raise ParameterError(f"a statement may have at most {LONGEST:,} characters; shorten it")
    try:
        with _without_logging():
            parsed = [tree for tree in sqlglot.parse(statement) if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        position = (getattr(error, "errors", None) or [{}])[0]
        if position.get("line"):
            where = f" at line {position['line']}, column {position['col']}"
        else:
            where = ""
        raise ParameterError(
            f"the SQL cannot be read{where}; the table is called {_quote(dataset)}"
        ) from None
    except RecursionError:
        raise ParameterError("the SQL is nested too deeply") from None
    if len(parsed) != 1:
        raise _outside(
            f"{len(parsed)} statements" if parsed else "an empty statement", "give one SELECT"
        )
    if type(parsed[0]).__name__ != "Select":
        raise _outside(_kind_of(parsed[0]), "give one SELECT")
    return parsed[0]


@contextlib.contextmanager
def _without_logging() -> Iterator[None]:
    """Keep the parser from logging the statement: what it cannot read is refused here, in words of
    our own.
    """
    log = logging.getLogger("sqlglot")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _kind_of(tree: Any) -> str:
    """The word a statement begins with, also for one that the parser passes on unread (EXPLAIN,
    SHOW).
    """
    kind = type(tree).__name__
    if kind == "Command":
        return str(tree.this).upper()
    return _spoken(kind)


def _require_clauses(select: Any) -> None:
    for part, value in select.args.items():
        if value and part not in KNOWN_CLAUSES:
            raise _outside(CLAUSES.get(part, _spoken(part)), "leave it out")


def _require_table(select: Any, dataset: str) -> None:
    source = select.args.get("from_")
    if source is None:
        raise _outside("a SELECT without FROM", f"write FROM {_quote(dataset)}")
    table = source.this
    if type(table).__name__ != "Table":
        raise _outside("a subquery in FROM", f"write FROM {_quote(dataset)}")
    extra = [part for part, value in table.args.items() if value and part not in ("this", "alias")]
    if extra or type(table.this).__name__ != "Identifier":
        raise _outside(
            f"{extra[0].upper() if extra else 'a function'} in FROM",
            f"write FROM {_quote(dataset)}",
        )
    if table.name.lower() != dataset.lower():
        raise ParameterError(
            f"there is no table {table.name!r}.{did_you_mean(table.name, [dataset])} Write FROM"
            f" {_quote(dataset)}"
        )


def _require_known(select: Any) -> None:
    """Refuse every node, and every part of a node, that nothing here reads."""
    for node in select.walk():
        kind = type(node).__name__
        if kind not in KNOWN_PARTS:
            raise _outside(_spoken(kind), "leave it out")
        for part, value in node.args.items():
            if part not in KNOWN_PARTS[kind] and value not in (None, False, []):
                raise _outside(f"{_spoken(part)} in {_spoken(kind)}", "leave it out")


def _require_qualifiers(select: Any) -> None:
    """Refuse columns of another table: a qualifier is the name of the table, or its alias where it
    has one.
    """
    table = select.args["from_"].this
    qualifier = (table.alias or table.name).lower()
    for column in select.walk():
        if type(column).__name__ == "Column" and column.table and column.table.lower() != qualifier:
            raise _outside(
                f"the qualifier {column.table!r}",
                f"write {qualifier}.{column.name}, or {column.name} alone",
            )


def _spoken(part: str) -> str:
    """A node or a part of one as SQL would write it: TableAlias → TABLE ALIAS."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", part.strip("_").replace("_", " ")).upper()


def _groups(select: Any, declared: Declared) -> tuple[GroupAxis, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    extra = [part for part, value in group.args.items() if value and part != "expressions"]
    if extra:
        raise _outside(f"GROUP BY {extra[0].replace('_', ' ').upper()}", "group by columns")
    columns = [_column(expression, "GROUP BY") for expression in group.expressions]
    if len(set(columns)) < len(columns):
        raise ParameterError("GROUP BY names a column twice; name it once")
    for column in columns:
        declared.domain_of(column)
    return tuple(GroupAxis(column) for column in columns)


def _aggregates(select: Any, by: tuple[GroupAxis, ...]) -> Iterator[tuple[str | None, Any]]:
    grouped = {axis.column for axis in by}
    for expression in select.expressions:
        has_alias = type(expression).__name__ == "Alias"
        inner = expression.this if has_alias else expression
        if type(inner).__name__ != "Column":
            yield str(expression.alias) if has_alias else None, inner
        elif has_alias:
            raise _outside("AS behind a column of GROUP BY", "name aggregates only")
        elif inner.name not in grouped:
            raise _outside(
                f"column {inner.name!r} outside an aggregate",
                "aggregate it, or name it in GROUP BY",
            )


def _question(
    tree: Any, declared: Declared, by: tuple[GroupAxis, ...], where: tuple[Condition, ...]
) -> Question:
    kind = type(tree).__name__
    if kind == "Count":
        # COUNT(column) would leave missing values out, which is another question
        if type(tree.this).__name__ != "Star" or tree.expressions:
            raise _outside(f"{tree.sql()}", "COUNT(*) counts rows")
        return Question("count", None, by, where)
    if kind in SUMS:
        column = _column(tree.this, kind.upper())
        declared.bounds_of(column)
        return Question(SUMS[kind], column, by, where)
    if kind in EXTREMES and not tree.expressions:
        return _quantile(_column(tree.this, kind.upper()), EXTREMES[kind], declared, by, where)
    if kind == "WithinGroup" and type(tree.this).__name__ in ("PercentileCont", "PercentileDisc"):
        order = tree.expression.expressions
        if len(order) != 1 or order[0].args.get("desc"):
            raise _outside("this WITHIN GROUP", "write WITHIN GROUP (ORDER BY column)")
        level = _value(tree.this.this, "a percentile")
        return _quantile(_column(order[0].this, "ORDER BY"), level, declared, by, where)
    raise _outside(
        f"{tree.sql()!r} in SELECT",
        "supported are COUNT(*), SUM, AVG, VARIANCE, MEDIAN, MIN, MAX, PERCENTILE_CONT",
    )


def _quantile(
    column: str,
    level: Any,
    declared: Declared,
    by: tuple[GroupAxis, ...],
    where: tuple[Condition, ...],
) -> Question:
    candidates = grid(declared.bounds_of(column), DEFAULT_GRID)
    return Question(
        "quantile", column, by, where, level=float(exact_level(level)), candidates=candidates
    )


def _conditions(tree: Any, declared: Declared) -> Iterator[Condition]:
    kind = type(tree).__name__
    if kind == "And":
        yield from _conditions(tree.left, declared)
        yield from _conditions(tree.right, declared)
    elif kind == "Paren":
        yield from _conditions(tree.this, declared)
    elif kind in COMPARED:
        yield _comparison(tree, COMPARED[kind], declared)
    elif kind == "Between":
        column = _column(tree.this, "BETWEEN")
        yield condition(column, ">=", _value(tree.args["low"], "BETWEEN"), declared)
        yield condition(column, "<=", _value(tree.args["high"], "BETWEEN"), declared)
    elif kind == "In":
        yield _in_list(tree, "in", declared)
    elif kind == "Not" and type(tree.this).__name__ == "In":
        yield _in_list(tree.this, "not in", declared)
    else:
        raise _outside(
            f"{tree.sql()!r} in WHERE", "supported are comparisons, BETWEEN, [NOT] IN and AND"
        )


def _comparison(tree: Any, operator: str, declared: Declared) -> Condition:
    left_side, right_side = tree.left, tree.right
    if type(left_side).__name__ != "Column":  # 40 <= age
        left_side, right_side, operator = right_side, left_side, MIRRORED[operator]
    return condition(_column(left_side, "WHERE"), operator, _value(right_side, "WHERE"), declared)


def _in_list(tree: Any, operator: str, declared: Declared) -> Condition:
    if tree.args.get("query") or not tree.expressions:
        raise _outside("a subquery in IN", "list the values")
    values = [_value(expression, "IN") for expression in tree.expressions]
    return condition(_column(tree.this, "IN"), operator, values, declared)


def _column(tree: Any, where: str) -> str:
    if type(tree).__name__ != "Column" or type(tree.this).__name__ != "Identifier":
        raise _outside(f"{tree.sql()!r} in {where}", "use a plain column there")
    return str(tree.name)


def _value(tree: Any, where: str) -> Any:
    kind = type(tree).__name__
    if kind == "Neg" and type(tree.this).__name__ == "Literal" and not tree.this.is_string:
        return -_value(tree.this, where)
    if kind == "Boolean":
        return bool(tree.this)
    if kind != "Literal":
        raise _outside(f"{tree.sql()!r} in {where}", "use a plain number or 'word' there")
    if tree.is_string:
        return str(tree.this)
    number = float(tree.this)
    # 2.0 and 2 are the same word of a domain; from 2**53 on a float does not name one whole number
    if number.is_integer() and abs(number) < 2**53:
        return int(number)
    return number


def _outside(part: str, advice: str) -> ParameterError:
    return ParameterError(f"{part} is not supported in SQL here; {advice}")
