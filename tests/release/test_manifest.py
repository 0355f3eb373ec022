"""Whatever is put into a released folder, taken out of it or called otherwise is noticed without
the original, however well it is sealed again.
"""

from __future__ import annotations

import copy
import json

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from tests.data.relational.test_released import RECIPE
from tests.release.test_person_checks import failing, sealed_again

COLUMNS = "columns match the recipe"
TABLES = ("people", "visits", "prescriptions")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("accounted")
    (folder / "recipe.yaml").write_text(RECIPE)
    return sf.run(examples.clinic_tables(), folder / "recipe.yaml", seed=5, seconds=0)


@pytest.fixture
def share(release, tmp_path):
    return release.write(tmp_path / "out") / "share"


def changed(share, said, table, change):
    """A table written anew, with a certificate that says of it what is so."""
    section = said["tables"][table]
    frame = change(pl.read_csv(share / section["file"], infer_schema=False))
    frame.write_csv(share / section["file"])
    section["rows"] = frame.height
    section["columns"] = {c: section["columns"].get(c, {"role": "keep"}) for c in frame.columns}
    section["form"].pop("types", None)


def with_column(frame):
    return frame.with_columns(extra=pl.Series([f"n{i}" for i in range(frame.height)]))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("role", ["keep", "sensitive", "person", "drop", "weight"])
def test_a_column_that_the_recipe_does_not_have(share, table, role):
    def edit(said):
        changed(share, said, table, with_column)
        said["tables"][table]["columns"]["extra"] = {"role": role}

    sealed_again(share, edit)
    assert failing(share)


@pytest.mark.parametrize("table", TABLES)
def test_a_column_that_is_gone_or_has_another_name(share, table):
    last = list(json.loads((share / "certificate.json").read_text())["tables"][table]["columns"])[
        -1
    ]
    sealed_again(
        share, lambda said: changed(share, said, table, lambda frame: frame.rename({last: "other"}))
    )
    assert f"1 column of {table} are not in the recipe: other" in failing(share)[COLUMNS]
    sealed_again(share, lambda said: changed(share, said, table, lambda frame: frame.drop("other")))
    assert (
        f"1 column of {table} are missing, and no step removed them: {last}"
        in failing(share)[COLUMNS]
    )


def test_a_column_of_another_kind_and_words_where_numbers_were(share):
    sealed_again(
        share, lambda said: said["tables"]["visits"]["columns"]["cost"].update(kind="date")
    )
    assert "of another kind than the recipe says: cost" in failing(share)[COLUMNS]

    def names(said):
        said["tables"]["visits"]["columns"]["cost"].update(kind="numeric")
        changed(share, said, "visits", lambda frame: frame.with_columns(cost=pl.lit("Jo Doe")))

    sealed_again(share, names)
    assert failing(share) == {
        "numbers": "words are in columns that the recipe calls numeric: visits.cost"
    }


@pytest.mark.parametrize(
    "name", ["more.zip", "more.db", "notes.md", "names.CSV", "pictures/names.csv", "more/x.png"]
)
def test_a_file_that_no_release_holds(share, name):
    (share / name).parent.mkdir(exist_ok=True)
    (share / name).write_text("a,b\n1,2\n")
    sealed_again(share, lambda said: None)
    assert list(failing(share)) == ["tables judged"]


EDITS = {
    "a step less": lambda said: said["recipe"]["steps"].pop(0),
    "another step in the plan": lambda said: said["plan"][0].update(step="drop_people"),
    "another cap in the plan": lambda said: said["plan"][0].update(at_most=99),
    "a lower cap in both": lambda said: (
        said["plan"][0].update(at_most=1),
        said["recipe"]["steps"][0]["cap_rows"].update(at_most=1),
    ),
    "a step that cannot be": lambda said: said["recipe"]["steps"][0]["cap_rows"].update(at_most=-1),
    "another version": lambda said: said["recipe"].update(sfumato=9),
    "a table of the recipe less": lambda said: said["recipe"]["tables"].pop("visits"),
    "a column of the recipe less": (
        lambda said: said["recipe"]["tables"]["people"]["columns"].pop("age")
    ),
    "no key in the recipe": lambda said: said["recipe"]["tables"]["people"].pop("key"),
    "other columns dropped": lambda said: said.update(dropped_columns=[]),
    "a hierarchy that is none": (
        lambda said: said["recipe"]["tables"]["people"]["columns"]["age"].update(
            hierarchy={"intervals": {}}
        )
    ),
    "keys of nobody": lambda said: said["tables"]["prescriptions"]["columns"]["visit_id"].pop("of"),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_recipe_plan_and_files_say_of_each_other_fits(share, name):
    sealed_again(share, lambda said: None)
    before = json.loads((share / "certificate.json").read_text())
    after = copy.deepcopy(before)
    EDITS[name](after)
    assert after != before
    sealed_again(share, lambda said: (said.clear(), said.update(after)))
    assert failing(share), name


def test_only_the_original_tells_of_other_values(share):
    """The recipe accounts for every column, so a stranger must believe what stands in those that
    nothing is promised of.
    """
    sealed_again(
        share,
        lambda said: changed(
            share, said, "prescriptions", lambda f: f.with_columns(drug=pl.col("drug").reverse())
        ),
    )
    assert failing(share) == {}
