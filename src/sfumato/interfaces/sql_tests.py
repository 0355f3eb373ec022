"""Promises as SQL: a query whose rows are what breaks a recipe, for pipelines that test tables
where they are.

The convention of dbt and of most testing tools: a test passes when its query returns no row. Every
row names a promise and counts the records of one class that breaks it; values of people never come
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.core.encoding import parts_of
from sfumato.core.evidence import needed
from sfumato.core.schema import Missing
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema


def sql_test(recipe: Recipe, table: str) -> str:
    """A query that returns a row for every class of a released table that breaks a promise of a
    recipe, and none when all hold.

    What SQL can say: promises that classes, or groups of fewer columns, hold at least k records or
    persons, and that classes show at least l values. Others are refused by name, and so are columns
    whose missing values equal everything: a test that left them out would look passed. ``table``
    stands in the query as it is given, ``{{ ref('visits') }}`` too.

    >>> from sfumato import examples
    >>> from sfumato.core.recipe import Recipe
    >>> from sfumato.methods.models import KAnonymity
    >>> print(sql_test(Recipe(examples.ancona().schema, (KAnonymity(2),)), "ancona"))
    SELECT '2-anonymity' AS promise, COUNT(*) AS records FROM ancona
    GROUP BY "zip", "age" HAVING COUNT(*) < 2
    """
    if not recipe.meet:
        raise ParameterError("the recipe promises nothing under 'meet'; add a promise")
    needed(recipe.meet, recipe.schema)  # names what the schema lacks
    wild = [name for name in recipe.schema.quasi if recipe.schema[name].missing is Missing.WILDCARD]
    if wild:
        raise ParameterError(
            f"missing values of {', '.join(wild)} equal everything (missing: wildcard), which "
            "GROUP BY cannot express; use sfumato check"
        )
    unsaid = [model.promise for model in recipe.meet if not _can_say(model, recipe.schema)]
    if unsaid:
        raise ParameterError(f"SQL cannot express {', '.join(unsaid)}; use sfumato check for these")
    return "\nUNION ALL\n".join(
        query for model in recipe.meet for query in _queries(model, recipe.schema, table)
    )


def _can_say(model: Model, schema: Schema) -> bool:
    return model.crowds(schema.quasi) is not None or _distinct(model) is not None


def _distinct(model: Model) -> tuple[tuple[str, ...], int] | None:
    """The columns of which every class must show so many different values, where that is all that
    is asked.
    """
    if model.diversity is None:
        return None
    column, values = model.diversity
    whole = int(values)
    if whole == values and model.holds_where_diverse(column, whole):
        return (parts_of(column), whole)
    return None


def _queries(model: Model, schema: Schema, table: str) -> Iterator[str]:
    people = _people(schema)
    for columns, k in model.crowds(schema.quasi) or ():
        yield _query(model.promise, table, columns, f"{people} < {k}")
    if (diverse := _distinct(model)) is not None:
        columns, values = diverse
        condition = f"{_different(columns)} < {values}"
        yield _query(
            model.promise,
            table,
            schema.quasi,
            condition if people == "COUNT(*)" else f"{condition} OR {people} < {values}",
        )


def _query(promise: str, table: str, columns: Sequence[str], having: str) -> str:
    literal, groups = promise.replace("'", "''"), ", ".join(_quote(name) for name in columns)
    return (
        # The query is printed, not run.
        f"SELECT '{literal}' AS promise, COUNT(*) AS records FROM {table}\n"  # noqa: S608
        f"GROUP BY {groups} HAVING {having}"
    )


def _people(schema: Schema) -> str:
    if schema.person is None:
        return "COUNT(*)"
    return f"COUNT(DISTINCT {_quote(schema.person)})"


def _different(columns: Sequence[str]) -> str:
    """How many values a class shows; a missing one is a value of its own, which COUNT(DISTINCT)
    leaves out.
    """
    if len(columns) > 1:
        raise ParameterError(
            f"SQL cannot count the combinations of {', '.join(columns)} that a class shows; use "
            "sfumato check"
        )
    name = _quote(columns[0])
    return f"COUNT(DISTINCT {name}) + MAX(CASE WHEN {name} IS NULL THEN 1 ELSE 0 END)"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
