"""The same recipe under the same seed gives the same bytes in the workbench and at the command
line.
"""

from __future__ import annotations

import json
import random

import polars as pl
import pytest

from sfumato.core import recipe_files as recipes
from sfumato.interfaces.cli import main
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.requests import WriteRequest
from tests.interfaces.web.tasks.test_explore import do

RECIPE = """\
sfumato: 1
missing_values: ["-9"]
columns: {name: drop, age: {role: quasi, hierarchy: suppress}, code: sensitive, cost: keep, hours: keep}
meet: [{k_anonymity: {k: 3}}]
steps: [{add_noise: {columns: [hours], alpha: 0.3}}, {global_recoding: {budget: 0.1}}]
"""
OWN = {"created", "input_commitment", "files", "digest"}
"""What every certificate says of its own making."""


def table():
    draw = random.Random(4)
    cells = [
        (
            f"n{i}",
            draw.choice(["20", "30", "-9"]),
            draw.choice(["a", "b", ""]),
            draw.choice([1.5, 1 / 3, float("inf")]),
        )
        for i in range(60)
    ]
    hours = pl.Series("hours", [draw.randint(0, 9) for _ in cells])
    return pl.DataFrame(cells, schema=["name", "age", "code", "cost"], orient="row").with_columns(
        hours
    )


@pytest.mark.parametrize("form", [None, "csv", "jsonl", "excel", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_the_workbench_writes_what_the_command_line_writes(tmp_path, monkeypatch, source, form):
    data, recipe = tmp_path / f"people.{source}", tmp_path / "recipe.yaml"
    table().write_csv(data) if source == "csv" else table().write_parquet(data)
    recipe.write_text(RECIPE)
    bench = Bench()
    do(bench, "open_data", path=str(data), example=None, options={})
    do(bench, "make", recipe=recipes.parse(RECIPE), key="1")
    request = WriteRequest(str(tmp_path / "here"), format=form)
    do(bench, "write", key="1", history="", request=request)
    seed = json.loads((tmp_path / "here" / "owner" / "lock.json").read_text())["seed"]
    words = [
        "sfumato",
        "run",
        data,
        "-r",
        recipe,
        "-o",
        tmp_path / "there",
        "--seed",
        seed,
        "--json",
        "-q",
    ]
    monkeypatch.setattr("sys.argv", [*map(str, words), *(["--format", form] if form else [])])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    here, there = (
        json.loads((tmp_path / one / "share" / "certificate.json").read_text())
        for one in ("here", "there")
    )
    assert {key for key in here if here[key] != there[key]} <= OWN
    assert (tmp_path / "here" / "share" / here["data"]["file"]).read_bytes() == (
        tmp_path / "there" / "share" / there["data"]["file"]
    ).read_bytes()
