"""Title, purpose, contact and licence of a release, from the recipe to both pages."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.errors import RecipeError

RECIPE = """
publish: {title: Visits 2025, purpose: Teaching, contact: data@clinic.example, licence: CC BY 4.0}
columns: {age: {role: quasi, kind: numeric}, sex: quasi}
meet: [{k_anonymity: 3}]
steps: [{mondrian: {}}]
"""


def test_what_the_publisher_says_stands_on_both_pages_and_survives_verification(tmp_path):
    people = sf.examples.hospital(rows=200).to_polars().select("age", "sex")
    recipe = recipe_files.parse(RECIPE)
    assert recipe_files.from_dict(recipe_files.to_dict(recipe)) == recipe
    folder = sf.run(people, recipe, seed=1).write(tmp_path / "out")
    for page in ("share/report.html", "owner/report.html"):
        text = (folder / page).read_text(encoding="utf-8")
        for words in ("Teaching", "data@clinic.example", "CC BY 4.0"):
            assert words in text
    assert "Release report: Visits 2025" in (folder / "share/report.html").read_text("utf-8")
    assert sf.verify(folder / "share", original=people, owner=folder / "owner").exit_code == 0


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("publish: [a]", "mapping of title, purpose, contact, licence"),
        ("publish: {titel: x}", "Did you mean 'title'"),
        ("publish: {title: ''}", "a text of 1 to 500"),
        ("publish: {title: 5}", "a text of 1 to 500"),
    ],
)
def test_other_entries_are_refused(section, message):
    with pytest.raises(RecipeError, match=message):
        recipe_files.parse(RECIPE.replace(RECIPE.splitlines()[1], section))
