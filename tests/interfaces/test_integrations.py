"""What others include: the dbt package asks what ``check --sql`` asks, and the pipelines name
options that there are.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import duckdb
import jinja2
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

import sfumato as sf
from sfumato.core.recipe import Recipe
from sfumato.core.yaml_text import read_yaml
from sfumato.interfaces.cli.app import build_app
from sfumato.interfaces.sql_tests import sql_test

FOLDER = Path(__file__).parents[2] / "integrations"
QUASI = ("a b", 'c"d')
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from(["f", "g", None]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=14,
)


def generic_test(name, **arguments):
    """The query of a generic test, rendered as dbt does."""
    text = (FOLDER / "dbt" / "macros" / "promises.sql").read_text("utf-8")
    text = re.sub(r"{% test (\w+)", r"{% macro test_\1", text).replace("endtest", "endmacro")
    macros = jinja2.Environment(autoescape=False).from_string(text).module
    return getattr(macros, f"test_{name}")(model="t", quasi=list(QUASI), **arguments)


@pytest.mark.parametrize("persons", [False, True])
@given(rows=ROWS)
def test_generic_tests_find_the_classes_that_the_recipe_finds(persons, rows):
    names = (*QUASI, "s", "person")
    kinds = (pl.String, pl.Int64, pl.String, pl.Int64)
    frame = pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")
    roles = {
        "quasi": list(QUASI),
        "sensitive": ["s"],
        ("person" if persons else "keep"): ["person"],
    }
    schema = sf.read(frame).with_roles(**roles).schema
    person = {"person": "person"} if persons else {}
    pairs = [
        (sf.KAnonymity(2), generic_test("k_anonymous", k=2, **person)),
        (sf.LDiversity("s", l=2), generic_test("l_diverse", l=2, sensitive="s", **person)),
        (
            sf.PSensitive("s", p=2, k=3),
            generic_test("p_sensitive", p=2, k=3, sensitive="s", **person),
        ),
    ]
    with duckdb.connect(":memory:") as connection:
        connection.register("t", frame)
        for model, query in pairs:
            expected = connection.sql(sql_test(Recipe(schema, (model,)), "t")).fetchall()
            found = connection.sql(query).fetchall()
            # A recipe asks for k and for values apart, so a class may come twice.
            assert bool(found) == bool(expected) and len(found) <= len(expected)


def test_pipelines_name_options_that_there_are():
    command = get_command(build_app()).commands["check"]
    known = {name for parameter in command.params for name in (*parameter.opts, "--quiet")}
    for file in ("github/action.yml", "gitlab/sfumato.yml"):
        text = (FOLDER / file).read_text("utf-8")
        (call,) = re.findall(r"sfumato check (.+)", text)
        used = set(re.findall(r"--[a-z-]+", call))
        assert used and used <= known, file


def test_pipelines_are_yaml_and_put_no_input_into_a_script():
    action = read_yaml((FOLDER / "github" / "action.yml").read_text("utf-8"), "action.yml")
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "inputs reach scripts as variables only"


def test_the_conda_recipe_has_the_requirements_of_the_project():
    root = FOLDER.parent
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = read_yaml((FOLDER / "conda" / "recipe.yaml").read_text("utf-8"), "recipe.yaml")
    run = {line.replace(" ", "") for line in recipe["requirements"]["run"]}
    assert run == {*project["dependencies"], f"python{project['requires-python']}"}
    assert recipe["context"]["version"] == sf.__version__
