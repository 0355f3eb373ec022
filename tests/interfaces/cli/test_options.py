"""How a table is read, on the command line and in a recipe: the same on the way in, in the lock and
when it is verified.
"""

from __future__ import annotations

import json
import random

import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.source import Intake

RECIPE = """
sfumato: 1
header: false
missing_values: ['?', -9]
text: {unicode: nfc, blanks: strip}
columns:
  column_1: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10, 20]}}}
  column_2: {role: keep, missing_values: [none]}
  column_3: {role: keep}
meet:
  - k_anonymity: {k: 5}
steps:
  - global_recoding: {suppress: tuple, budget: 0.1}
"""


@pytest.fixture
def table(tmp_path):
    """A file without header, with a blank after every separator and codes for missing values."""
    draw = random.Random(1)
    lines = [
        f"{draw.randint(20, 60)}, {draw.choice(['cook', 'none', '?'])}, {draw.choice([1, 2, -9])}"
        for _ in range(80)
    ]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_what_a_recipe_says_about_reading_is_written_back_as_it_was():
    recipe = recipes.parse(RECIPE)
    assert recipe.intake == Intake(
        header=False,
        missing_values=("?", -9),
        missing_in={"column_2": ("none",)},
        unicode="nfc",
        blanks="strip",
    )
    assert recipes.parse(recipes.dump(recipe)) == recipe
    assert recipes.public_dict(recipe)["missing_values"] == ["?", -9]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("missing_values: [true]", "missing_values takes words and numbers"),
        ("text: {unicode: nfd}", "unicode must be nfc"),
        ("text: {blank: strip}", "text takes unicode and blanks"),
        ("header: maybe", "header must be true or false"),
        ("delimiter: ab", "delimiter must be one ASCII character"),
    ],
)
def test_what_cannot_be_read_is_told_with_the_rest(line, told):
    with pytest.raises(recipes.RecipeError, match=told):
        recipes.parse(f"{line}\ncolumns: {{a: quasi}}")


def test_a_release_is_read_the_same_way_by_run_lock_and_verify(sfumato, tmp_path, table):
    recipe = tmp_path / "t.yaml"
    recipe.write_text(RECIPE)
    made = sfumato("run", table, "-r", recipe, "-o", tmp_path / "out", "--seed", "1")
    assert made.code == 0, made.err
    assert made.err.count("read as missing by their code") == 1
    lock = json.loads((tmp_path / "out" / "owner" / "lock.json").read_text())["recipe"]
    assert (lock["header"], lock["missing_values"], lock["text"]) == (
        False,
        ["?", -9],
        {"unicode": "nfc", "blanks": "strip"},
    )
    assert lock["columns"]["column_2"]["missing_values"] == ["none"]
    released = (tmp_path / "out" / "share" / "data.csv").read_text()
    assert (
        "none" not in released and "-9" not in released and "?" in released
    )  # a column's codes replace the general ones
    page = (tmp_path / "out" / "share" / "report.html").read_text()
    assert "The codes ?, -9 were read as missing values." in page
    assert (
        "Text was compared after Unicode normalisation (NFC) and leaving out outer blanks." in page
    )
    verified = sfumato("verify", tmp_path / "out" / "share", "--original", table)
    assert verified.code == 0, verified.out
    assert "produced again from recipe and seed, row for row" in verified.out
    assert sfumato("evaluate", tmp_path / "out", "--original", table, "--metric", "loss").code == 0


def test_the_command_line_goes_before_the_recipe_and_into_the_lock(sfumato, tmp_path, table):
    recipe = tmp_path / "t.yaml"
    recipe.write_text(RECIPE)
    made = sfumato(
        "run", table, "-r", recipe, "-o", tmp_path / "out", "--seed", "1", "--missing", "cook,none"
    )
    assert made.code == 0, made.err
    lock = json.loads((tmp_path / "out" / "owner" / "lock.json").read_text())["recipe"]
    assert lock["missing_values"] == ["cook", "none"]
    assert "missing_values" not in lock["columns"]["column_2"]
    assert sfumato("verify", tmp_path / "out" / "share", "--original", table).code == 0


def test_profile_remembers_the_header_and_offers_codes(sfumato, tmp_path, table):
    proposed = sfumato("profile", table)
    assert recipes.parse(proposed.out).intake == Intake(header=False)
    offered = proposed.out.replace("# missing_values:", "missing_values:")
    assert recipes.parse(offered).intake == Intake(header=False, missing_values=("?", "none", -9))
    asked = sfumato("profile", table, "--header", "--rename-duplicates", "--missing", "NA")
    assert asked.code == 0, asked.err
    assert recipes.parse(asked.out).intake == Intake(
        header=True, rename_duplicates=True, missing_values=("NA",)
    )


def test_every_command_that_reads_takes_the_options_of_reading(sfumato):
    for command in (
        "profile",
        "assess",
        "run",
        "check",
        "attack",
        "evaluate",
        "compare",
        "verify",
        "query",
    ):
        shown = sfumato(command, "--help").out
        for option in (
            "--missing",
            "--no-header",
            "--rename-duplicates",
            "--delimiter",
            "--encoding",
            "--decimal",
            "--sheet",
        ):
            assert option[:12] in shown, (command, option)


def test_a_table_without_header_is_released_with_one_when_positions_no_longer_name_its_columns(
    sfumato, tmp_path, table
):
    recipe = tmp_path / "t.yaml"
    recipe.write_text(RECIPE.replace("column_2: {role: keep,", "column_2: {role: drop,"))
    made = sfumato("run", table, "-r", recipe, "-o", tmp_path / "out", "--seed", "1", "-q")
    assert made.code == 0, made.err
    data = tmp_path / "out" / "share" / "data.csv"
    assert data.read_text().startswith("column_1,column_3\n")
    assert sfumato("verify", data.parent, "--original", table).code == 0
    assert sfumato("check", data, "-r", recipe).code == 0


def test_a_sheet_is_part_of_the_recipe_and_read_again(sfumato, tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    book = xlsxwriter.Workbook(str(tmp_path / "book.xlsx"))
    book.add_worksheet("cover").write(0, 0, "nothing here")
    sheet = book.add_worksheet("stays")
    for i, row in enumerate([["age", "ward"], *([30 + i // 10, "ab"[i % 2]] for i in range(40))]):
        sheet.write_row(i, 0, row)
    book.close()
    proposed = sfumato("profile", tmp_path / "book.xlsx", "--sheet", "stays")
    assert recipes.parse(proposed.out).intake.sheet == "stays"
    recipe = tmp_path / "stays.yaml"
    recipe.write_text(
        "sheet: stays\ncolumns: {age: {role: quasi, hierarchy: {intervals: [10]}}, ward:"
        " keep}\nmeet: [k_anonymity: 5]\nsteps: [global_recoding]\n"
    )
    made = sfumato("run", tmp_path / "book.xlsx", "-r", recipe, "-o", tmp_path / "out", "-q")
    assert made.code == 0, made.err
    assert (
        sfumato("verify", tmp_path / "out" / "share", "--original", tmp_path / "book.xlsx").code
        == 0
    )
    assert sfumato("check", tmp_path / "out" / "share" / "data.xlsx", "-r", recipe).code == 0
    assert (
        sfumato(
            "run",
            tmp_path / "book.xlsx",
            "-r",
            recipe,
            "--sheet",
            "none",
            "-o",
            tmp_path / "no",
            "-q",
        ).code
        == 2
    )
