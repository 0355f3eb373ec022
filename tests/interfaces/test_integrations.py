"""What others include: the tests of the dbt package find the classes that verdicts find, and the
pipelines name options that there are.
"""

from __future__ import annotations

import functools
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
from sfumato.core.yaml_text import read_yaml
from sfumato.interfaces.api import judge
from sfumato.interfaces.cli.app import build_app

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


@functools.cache
def macros():
    """The macros of the package, with generic tests as macros too: dbt renders them so."""
    text = (FOLDER / "dbt" / "macros" / "promises.sql").read_text("utf-8")
    text = re.sub(r"{% test (\w+)", r"{% macro test_\1", text).replace("endtest", "endmacro")
    return jinja2.Environment(autoescape=False).from_string(text).module


def generic_test(name, **arguments):
    """The query of a generic test."""
    return getattr(macros(), f"test_{name}")(model="t", quasi=list(QUASI), **arguments)


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
            (verdict,) = judge(frame, [model], roles=roles)
            found = connection.sql(query).fetchall()
            assert len(found) == len(verdict.failing)
            assert sum(records for _, records in found) == verdict.records


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
