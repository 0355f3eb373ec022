"""``sfumato check-sql``: the promises of a recipe as a query for a database."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.interfaces.cli.console import out
from sfumato.interfaces.cli.options import RecipeFile


def check_sql(
    recipe: RecipeFile,
    table: Annotated[
        str, typer.Option("--table", help="the released table, as SQL names it: visits, {{ ref('visits') }}")
    ],
) -> None:
    """Print the promises of a recipe as one SQL query that returns a row for every class that breaks one: a test for dbt."""
    from sfumato.core import recipe_files as recipes
    from sfumato.interfaces.sql_tests import sql_test

    out().print(sql_test(recipes.load(recipe), table), soft_wrap=True, markup=False, highlight=False)
