"""The section ``accept`` of a recipe: strict to read, the same again when written, in certificate
and lock.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.core.acceptance import ImpliedQuasi, TextOnly, accepted_pairs, text_only_columns
from sfumato.errors import ParameterError, RecipeError
from sfumato.interfaces import scripts

RECIPE = """
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10, 20]}}}
  sex: {role: quasi}
  birth_year: {role: keep}
  zip: {role: sensitive}
  name: {role: drop}
  visit: {role: person}
meet: [{k_anonymity: {k: 2}}]
steps: [{global_recoding: {budget: 0.1}}]
"""
PAIR = "{implies: age, because: the recipient has both columns}"


def _recipe(accept: str) -> sf.Recipe:
    return recipe_files.parse(f"{RECIPE}accept: {accept}\n")


@pytest.mark.parametrize(
    "accept",
    [
        f"{{birth_year: {PAIR}}}",
        "{zip: text only}",
        (
            f"{{birth_year: [{PAIR}, {{implies: sex, because: known}}], zip: [text only, {{implies:"
            " sex, because: known}]}"
        ),
        "{age: text only}",
        "{}",
    ],
)
def test_an_acceptance_is_the_same_when_it_is_written_and_read_again(accept: str) -> None:
    recipe = _recipe(accept)
    assert recipe_files.parse(recipe_files.dump(recipe)) == recipe
    assert ("accept" in recipe_files.to_dict(recipe)) == bool(recipe.accept)
    assert recipe_files.public_dict(recipe).get("accept") == recipe_files.to_dict(recipe).get(
        "accept"
    )


def test_acceptances_are_sorted_by_kind() -> None:
    recipe = _recipe(f"{{birth_year: {PAIR}, zip: text only}}")
    pair = ImpliedQuasi("birth_year", "age", "the recipient has both columns")
    assert recipe.accept == (pair, TextOnly("zip"))
    assert accepted_pairs(recipe.accept) == {("birth_year", "age"): pair}
    assert text_only_columns(recipe.accept) == {"zip"}


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        ("[zip]", "must map columns"),
        ("{zip: text}", "expected"),
        ("{zip: true}", "expected"),
        ("{zip: []}", "nothing is listed"),
        ("{zap: text only}", "no such column"),
        ("{name: text only}", "drop"),
        ("{birth_year: {implies: age}}", "lacks because"),
        ("{birth_year: {because: known}}", "lacks implies"),
        ("{birth_year: {implies: age, because: ' '}}", "reason in words"),
        ("{birth_year: {implies: [age, sex], because: known}}", "one quasi-identifier"),
        ("{birth_year: {implies: age, because: known, figure: 0.3}}", "'figure' is not known"),
        ("{birth_year: {implies: zip, because: known}}", "not a quasi-identifier"),
        ("{birth_year: {implies: agee, because: known}}", "no column 'agee'"),
        ("{sex: {implies: age, because: known}}", "quasi-identifier itself"),
        ("{visit: {implies: age, because: known}}", "renumbered"),
        ("{name: {implies: age, because: known}}", "drop"),
        (f"{{birth_year: [{PAIR}, {PAIR}]}}", "listed twice"),
        (f"{{birth_year: [{PAIR}, {{implies: age, because: again}}]}}", "two reasons"),
        ("{zip: [text only, text only]}", "listed twice"),
    ],
)
def test_what_is_no_acceptance_is_refused_by_name(accept: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        _recipe(accept)


def test_data_of_another_shape_accept_nothing() -> None:
    with pytest.raises(
        RecipeError,
        match="'accept' belongs to data of shape table, but this recipe has shape baskets",
    ):
        recipe_files.any_from_dict(
            {
                "shape": "baskets",
                "columns": {"id": {"role": "person"}, "item": {"role": "item"}},
                "accept": {"item": "text only"},
            }
        )


def test_a_script_makes_the_same_acceptances() -> None:
    recipe = _recipe(f"{{birth_year: {PAIR}, zip: text only}}")
    script = scripts.to_python(recipe)
    names: dict[str, object] = {}
    exec(script.split("table = ")[0], names)
    assert names["recipe"] == recipe


def test_certificate_and_lock_name_what_was_accepted(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [31, 31, 32, 32] * 5, "zip": ["00501", "501", "7", "8"] * 5})
    accept = {"zip": [{"implies": "age", "because": "agreed with the recipient"}]}
    release = sf.anonymize(
        table,
        sf.KAnonymity(2),
        sf.GlobalRecoding(),
        roles={"quasi": "age", "sensitive": "zip"},
        options=sf.AnonymizeOptions(accept=accept, format="parquet"),
        seed=1,
    )
    release.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out/share/certificate.json").read_text())
    assert certificate["recipe"]["accept"] == {"zip": accept["zip"][0]}
    lock = next((tmp_path / "out/owner").glob("*lock*")).read_text()
    assert "agreed with the recipient" in lock
    assert sf.verify(tmp_path / "out/share").holds


def test_an_acceptance_of_another_table_is_refused_by_the_run() -> None:
    with pytest.raises(ParameterError, match="no such column"):
        sf.anonymize(
            pl.DataFrame({"age": [31, 31]}),
            sf.KAnonymity(2),
            sf.GlobalRecoding(),
            roles={"quasi": "age"},
            options=sf.AnonymizeOptions(accept={"zip": "text only"}),
        )
