"""A recipe taken away as a script, a notebook or a command makes the same release as the workbench
does.
"""

from __future__ import annotations

import json
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import recipe_files as recipes
from sfumato.core.blocks import TableBlock, VerdictBlock
from sfumato.core.recipe import Recipe
from sfumato.core.shape import Shape
from sfumato.guidance.comparison import expanded
from sfumato.interfaces.api import read, run
from sfumato.interfaces.scripts import Errand, _literal, to_command, to_notebook, to_python
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.requests import WriteRequest
from sfumato.interfaces.web.tasks.write import HISTORY, write
from tests.core.test_recipe import RECIPES, TEXT
from tests.test_docs_recipes import PAGES, documents

SEED = "000102030405060708090a0b0c0d0e0f"
RECIPE = """
sfumato: 1
missing_values: ["-9"]
columns:
  name: drop
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [5, 10, 20]}}}
  'the "place"': {role: quasi, hierarchy: {tree: {nested: {"*": {north: [Ulm, "O'Hara"], south: ["a,b", Bonn]}}}}}
  illness: {role: sensitive}
meet:
  - k_anonymity: {k: 4}
steps:
  - global_recoding: {budget: 0.2}
limits: {marketer_risk: 0.9}
contract:
  - loss: {at_most: 1.0}
"""


def made_by(code: str) -> Recipe:
    """The recipe that a script makes, without the rest of it."""
    names: dict[str, Any] = {}
    exec(code[: code.index("\ntable = ")], names)  # the last part reads a table
    recipe: Recipe = names["recipe"]
    return recipe


@given(recipe=RECIPES)
def test_the_script_of_any_recipe_makes_that_recipe(recipe: Recipe) -> None:
    assert made_by(to_python(recipe)) == recipe


@pytest.mark.parametrize("page", PAGES)
def test_the_script_of_every_recipe_in_the_documentation_makes_that_recipe(page: str) -> None:
    for _, plain in documents(PAGES[page].read_text(encoding="utf-8")):
        for _, concrete in expanded(plain):
            recipe = recipes.any_from_dict(concrete)
            if recipe.shape is Shape.TABLE:
                assert made_by(to_python(recipe)) == recipe


@given(
    value=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXT),
        lambda below: st.one_of(
            st.lists(below), st.lists(below).map(tuple), st.dictionaries(TEXT, below)
        ),
        max_leaves=8,
    )
)
def test_plain_data_is_read_back_as_it_was(value: Any) -> None:
    assert eval(_literal(value)) == value


@pytest.fixture
def table(tmp_path: Path) -> Path:
    places = ["Ulm", "O'Hara", "a,b", "Bonn"]
    rows = [
        [f"p{i}", str(20 + i * 7 % 50) if i % 11 else "-9", places[i % 4], f"flu {i % 3}"]
        for i in range(120)
    ]
    file = tmp_path / "my visits.csv"
    lines = [";".join(row) for row in [["name", "age", 'the "place"', "illness"], *rows]]
    file.write_text(
        "\n".join(lines).replace('the "place"', '"the ""place"""') + "\n", encoding="utf-8"
    )
    return file


def release_in(folder: Path) -> dict[str, Any]:
    """All that two equal runs have in common: everything but time and salt, and what is computed
    from them.
    """
    (data,) = (folder / "share").glob("data.*")
    certificate = json.loads((folder / "share" / "certificate.json").read_text())
    lock = json.loads((folder / "owner" / "lock.json").read_text())
    once = ("created", "input_commitment", "digest", "files", "salt", "commitment", "certificate")
    assert HISTORY not in {file.name for file in (folder / "share").iterdir()}
    return {
        "data": data.read_bytes(),
        "alignment": (folder / "owner" / "alignment.parquet").read_bytes(),
        "certificate": {key: value for key, value in certificate.items() if key not in once},
        "lock": {key: value for key, value in lock.items() if key not in once},
        "files": sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.name != HISTORY),
    }


def test_script_notebook_command_and_workbench_make_the_same_release(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipes.parse(RECIPE)
    file = tmp_path / "its recipe.yaml"
    file.write_text(recipes.dump(recipe), encoding="utf-8")
    options = {"delimiter": ";"}

    def errand(output: str) -> Errand:
        return Errand(str(table), options=options, output=str(tmp_path / output), seed=SEED)

    script = tmp_path / "release.py"
    script.write_text(to_python(recipe, errand("by script")), encoding="utf-8")
    runpy.run_path(str(script))

    notebook = json.loads(to_notebook(recipe, errand("by notebook")))
    assert notebook["nbformat"] == 4 and len({cell["id"] for cell in notebook["cells"]}) == len(
        notebook["cells"]
    )
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(cell["source"], names)

    command = shlex.split(to_command(errand("by command"), str(file)))
    assert command[0] == "sfumato"
    subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True, timeout=300)

    bench = Bench(table=read(str(table), recipe=recipe, **options))
    bench.keep("release 7", run(bench.data, recipe, seed=SEED))
    answer = write(
        bench,
        lambda *_: None,
        key="7",
        history='{"version": 1}\n',
        request=WriteRequest(str(tmp_path / "by workbench")),
    )
    verdicts = [block for block in answer["blocks"] if isinstance(block, VerdictBlock)]
    assert answer["holds"] and verdicts
    assert all(verdict.holds is not False for verdict in verdicts)
    assert (tmp_path / "by workbench" / "owner" / HISTORY).read_text() == '{"version": 1}\n'
    assert (tmp_path / "by workbench" / "owner" / HISTORY).stat().st_mode & 0o777 == 0o600
    tables = [block for block in answer["blocks"] if isinstance(block, TableBlock)]
    (owner_files,) = (block for block in tables if block.caption == "To keep: owner")
    assert HISTORY in {row[0] for row in owner_files.rows}

    first = release_in(tmp_path / "by script")
    assert b"flu" in first["data"]
    for other in ("by notebook", "by command", "by workbench"):
        assert release_in(tmp_path / other) == first, other


def test_a_script_writes_the_format_it_names(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    errand = Errand(
        str(table), options={"delimiter": ";"}, output=str(out), format="parquet", seed=SEED
    )
    script = tmp_path / "release.py"
    script.write_text(to_python(recipes.parse(RECIPE), errand), encoding="utf-8")
    runpy.run_path(str(script))
    assert (out / "share" / "data.parquet").is_file()


def test_bundled_tables_and_options_of_reading_are_in_the_words_of_a_command(
    tmp_path: Path,
) -> None:
    lines = to_command(
        Errand(example="patients", output="o u t", format="parquet", sign="my key.pem")
    ).split("\n")
    code = shlex.split(lines[0])
    subprocess.run([sys.executable, *code[1:]], cwd=tmp_path, check=True, timeout=300)
    assert (tmp_path / "patients.csv").is_file()
    assert shlex.split(lines[1])[2:] == [
        *(
            "patients.csv",
            "--recipe",
            "recipe.yaml",
            "--output",
            "o u t",
            "--format",
            "parquet",
            "--sign",
            "my key.pem",
        )
    ]
    said = {
        "missing_values": ["NA", "a,b"],
        "header": False,
        "rename_duplicates": True,
        "encoding": "cp1252",
    }
    assert shlex.split(to_command(Errand(options=said)))[7:] == [
        *("--missing", 'NA,"a,b"', "--no-header", "--rename-duplicates", "--encoding", "cp1252")
    ]
