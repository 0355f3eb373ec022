"""``sfumato attack``: exit codes, what it writes and leaves alone, and what it never says."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf

ONLY = ("--attack", "linkage", "--attack", "homogeneity", "--seconds", 20, "-q")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder for what is made once."""
    return tmp_path_factory.mktemp("attacked")


@pytest.fixture
def folder(made, tmp_path, sfumato, visits, recipe) -> Path:
    """A release to attack; made once, copied for each test."""
    if not (made / "out").exists():
        assert sfumato("run", visits, "-r", recipe, "-o", made / "out", "-q").code == 0
    shutil.copytree(made / "out", tmp_path / "out")
    return tmp_path / "out"


def attack(sfumato, folder, visits, *more):
    return sfumato("attack", folder, "--original", visits, *ONLY, *more)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()
    }


def flat(text: str) -> str:
    """Text without line breaks, which depend on the width."""
    return " ".join(text.split())


def values_of(visits: Path) -> set[str]:
    """Words and numbers of the table that could not be there by chance."""
    table = pl.read_csv(visits, infer_schema_length=0)
    columns = (
        "patient_name",
        "insurance_number",
        "email",
        "zip",
        "nationality",
        "occupation",
        "diagnosis",
        "cost",
    )
    return {
        value
        for column in columns
        for value in table[column].drop_nulls().unique()
        if len(value) > 4
    }


@pytest.mark.slow
def test_what_was_found_is_shown_and_added_to_the_certificate(sfumato, folder, visits):
    done = attack(sfumato, folder, visits, "--certify")
    assert done.code == 0 and "prosecutor" in done.out and "linkage" in done.out
    certificate = json.loads((folder / "share" / "certificate.json").read_text())
    assert {t["attack"] for t in certificate["attacks"]["tried"]} == {"linkage", "homogeneity"}
    assert "linkage" in (folder / "share" / "report.html").read_text()
    assert sfumato("verify", folder / "share", "-q").code == 7
    again = attack(sfumato, folder, visits, "--certify")
    assert again.code == 0  # and may be done again


@pytest.mark.slow
def test_lines_fit_a_narrow_terminal_and_say_what_is_what(sfumato, folder, visits):
    done = sfumato("attack", folder, "--original", visits, "--seconds", 4, "--sample", 40, "-q")
    assert done.code == 0 and max(map(len, done.out.splitlines())) <= 80
    assert "✗ succeeds clearly more often than guessing" in flat(done.out)
    assert "the recipe limits none of them" in flat(done.out)
    assert not {"limit"} & set(
        done.out.splitlines()[5].split()
    )  # a column with nothing in it is not shown
    first = [line.split()[1] for line in done.out.split("\n\n")[2].splitlines()[2:]]
    assert first[0] == "probabilistic" and first.index("linkage") < first.index(
        "homogeneity"
    )  # strongest first


@pytest.mark.slow
def test_no_value_of_the_table_is_said(sfumato, folder, visits):
    how = ("--seconds", 4, "--sample", 40, "--json", "--certify")
    done = sfumato("attack", folder, "--original", visits, *how)
    tried = json.loads(done.out)["tried"]
    assert len(tried) > 10
    for text in (
        done.out,
        done.err,
        (folder / "share" / "certificate.json").read_text().split('"attacks"')[1],
    ):
        assert not [
            v for v in values_of(visits) if re.search(rf"(?<![\w.]){re.escape(v)}(?!\w)", text)
        ]


def test_the_next_command_is_named(sfumato, folder, visits):
    # Without -q, which silences what is no result.
    asked = ("attack", folder, "--original", visits, *ONLY[:-1])
    assert f"next: sfumato evaluate {folder} --original" in flat(sfumato(*asked).err)
    assert f"next: sfumato verify {folder}/share" in flat(sfumato(*asked, "--certify").err)


def test_without_certify_everything_is_left_as_it_was(sfumato, folder, visits):
    before = contents(folder)
    assert attack(sfumato, folder, visits).code == 0
    assert contents(folder) == before


def test_json_is_what_the_certificate_gets(sfumato, folder, visits):
    done = attack(sfumato, folder, visits, "--json", "--certify")
    printed = json.loads(done.out)
    certified = json.loads((folder / "share" / "certificate.json").read_text())["attacks"]
    assert len(printed["tried"]) == len(certified["tried"]) > 0
    for attack_printed, attack_certified in zip(printed["tried"], certified["tried"], strict=True):
        # A certificate holds fields and no sentences.
        assert attack_certified.items() <= attack_printed.items()


@pytest.mark.slow
def test_a_limit_that_is_exceeded_gives_exit_code_1(sfumato, tmp_path, visits, recipe):
    """Lowered in the lock after the release was made: nothing that breaks its own limits is ever
    written.
    """
    limited = tmp_path / "limited.yaml"
    limited.write_text(recipe.read_text() + "limits: {linkage: 0.9}\n")
    out = tmp_path / "out"
    assert sfumato("run", visits, "-r", limited, "-o", out, "-q").code == 0
    held = attack(sfumato, out, visits)
    assert (
        held.code == 0 and "90 %" in held.out and "where the recipe sets a limit" in flat(held.out)
    )
    lock = out / "owner" / "lock.json"
    lock.write_text(lock.read_text().replace('"linkage": 0.9', '"linkage": 0.0001'))
    assert attack(sfumato, out, visits).code == 1


def test_a_limit_refuses_the_release_before_it_is_written(sfumato, tmp_path, visits, recipe):
    limited = tmp_path / "limited.yaml"
    limited.write_text(recipe.read_text() + "limits: {linkage: 0.0001}\n")
    done = sfumato("run", visits, "-r", limited, "-o", tmp_path / "out", "-q")
    assert done.code == 1 and "linkage is" in done.err and not (tmp_path / "out").exists()


SWAPPED = """
columns: {age: {role: quasi, kind: numeric}, sex: quasi, ill: sensitive}
meet: [{k_anonymity: {k: 1}}]
steps: [{rank_swap: {columns: [age], p: 0.3}}]
"""


def swapped_table(folder: Path) -> tuple[Path, Path]:
    """A table whose ages are swapped, so that nobody can say whom a class holds."""
    table, recipe = folder / "small.csv", folder / "small.yaml"
    people = {
        "age": [20 + i for i in range(40)],
        "sex": ["f", "m"] * 20,
        "ill": ["flu", "cold"] * 20,
    }
    pl.DataFrame(people).write_csv(table)
    recipe.write_text(SWAPPED)
    return table, recipe


def test_an_unknown_attack_is_shown_as_such_and_keeps_no_limit(sfumato, tmp_path):
    table, recipe = swapped_table(tmp_path)
    out = tmp_path / "out"
    assert sfumato("run", table, "-r", recipe, "-o", out, "-q").code == 0
    done = attack(sfumato, out, table, "--certify")
    reason = "homogeneity: unknown: values of age were changed, not generalised"
    assert (
        done.code == 0
        and "? homogeneity" in done.out
        and reason in flat(done.out)
        and "1 unknown" in done.out
    )
    (told,) = json.loads((out / "share" / "certificate.json").read_text())["attacks"]["skipped"]
    assert told["status"] == "unknown"
    for folder in ("share", "owner"):
        assert "1 attack is unknown" in (out / folder / "report.html").read_text()
    # The reason is a sentence: the owner's page has it, a certificate and its page hold fields
    # only.
    assert "values of age were changed" in (out / "owner" / "report.html").read_text()
    assert sfumato("verify", out / "share", "-q").code == 7
    lock = out / "owner" / "lock.json"
    written = json.loads(lock.read_text())
    written["recipe"]["limits"] = {"homogeneity": 0.9}
    lock.write_text(json.dumps(written))
    refused = attack(sfumato, out, table)
    assert refused.code == 1 and "90 %" in refused.out and "✓ homogeneity" not in refused.out


def test_a_limit_on_an_unknown_attack_refuses_the_release(sfumato, tmp_path):
    table, recipe = swapped_table(tmp_path)
    recipe.write_text(SWAPPED + "limits: {homogeneity: 0.9}\n")
    done = sfumato("run", table, "-r", recipe, "-o", tmp_path / "out", "-q")
    assert done.code == 1 and "homogeneity is unknown: values of age were changed" in flat(done.err)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_signed_certificate_is_signed_again_or_left_alone(sfumato, tmp_path, visits, recipe):
    key, out = tmp_path / "key.pem", tmp_path / "out"
    assert sfumato("key", "sign", key).code == 0
    assert sfumato("run", visits, "-r", recipe, "-o", out, "-q", "--sign", key).code == 0
    before = contents(out)
    refused = attack(sfumato, out, visits, "--certify")
    assert (
        refused.code == 2
        and "--sign" in refused.err
        and not refused.out
        and contents(out) == before
    )
    assert attack(sfumato, out, visits).code == 0
    assert attack(sfumato, out, visits, "--sign", key).code == 2  # signs what is not written
    assert attack(sfumato, out, visits, "--certify", "--sign", key).code == 0
    assert sfumato("verify", out / "share", "-q").code == 7


def test_an_intruder_with_a_file(sfumato, folder, visits, tmp_path):
    table = pl.read_csv(visits, infer_schema_length=0)
    register = tmp_path / "register.csv"
    table.select("patient_name", pl.col("age").alias("years"), "sex").sample(50, seed=1).write_csv(
        register
    )
    more = (
        "--intruder",
        register,
        "--rename",
        "years=age",
        "--by",
        "patient_name",
        "--json",
    )
    done = attack(sfumato, folder, visits, *more)
    report = json.loads(done.out)
    assert done.code == 0 and report["looked_for"] == 50
    assert {tuple(t["knows"]) for t in report["tried"]} == {("age", "sex")}
    narrowed = attack(sfumato, folder, visits, *more, "--knows", "sex")
    assert {tuple(t["knows"]) for t in json.loads(narrowed.out)["tried"]} == {("sex",)}
    alone = attack(sfumato, folder, visits, "--intruder", register, "--rename", "years=age")
    assert alone.code == 0 and "knows age, sex" in alone.out


def test_columns_an_intruder_knows_without_a_file_and_how_many_people(sfumato, folder, visits):
    done = attack(sfumato, folder, visits, "--knows", "age, sex", "--sample", 30, "--json")
    assert json.loads(done.out)["looked_for"] == 30


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--seconds", 0), 2, "time budget"),
        (("--attack", "linkege"), 2, "Did you mean"),
        (("--sample", 0), 2, "at least one record"),
        (("--threshold", 2), 2, "threshold"),
        (("--by", "patient_name"), 2, "--intruder"),
        (("--knows", "size"), 2, "no column 'size'"),
        (("--intruder", "nowhere.csv"), 5, "nowhere.csv"),
    ],
)
def test_wrong_usage(sfumato, folder, visits, more, code, said):
    before = contents(folder)
    done = attack(sfumato, folder, visits, *more)
    assert done.code == code and said in done.err and not done.out and contents(folder) == before


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", 5, "register.csv"),
        ("age,sex\n", 2, "has no rows"),
        ("height\n1\n", 2, "no column in common"),
    ],
    ids=["empty", "header only", "nothing in common"],
)
def test_files_of_intruders_that_cannot_be_used(
    sfumato, folder, visits, tmp_path, text, code, said
):
    register = tmp_path / "register.csv"
    register.write_text(text)
    done = attack(sfumato, folder, visits, "--intruder", register)
    assert done.code == code and said in done.err and not done.out


SMALL_RECIPE = """
sfumato: 1
columns:
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10]}}}
  illness: sensitive
meet:
  - k_anonymity: {k: 2}
steps:
  - global_recoding: {suppress: tuple, budget: 0.0, algorithm: optimal}
"""


@pytest.fixture
def small(sfumato, tmp_path):
    """A table of six people and two releases of it, each with classes of two, that together give
    everybody away.
    """
    data = tmp_path / "small.csv"
    data.write_text("age,illness\n12,flu\n18,gout\n22,flu\n28,angina\n32,gout\n38,angina\n")
    for name, widths in (("first", "[10]"), ("second", "[20]")):
        recipe = tmp_path / f"{name}.yaml"
        recipe.write_text(SMALL_RECIPE.replace("[10]", widths))
        assert sfumato("run", data, "-r", recipe, "-o", tmp_path / name, "-q").code == 0
    return data


def test_two_releases_are_put_together(sfumato, small, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    more = ("--original", small, "--attack", "composition", "-q", "--json")
    alone = json.loads(sfumato("attack", first, *more).out)
    assert not [t for t in alone["tried"] if t["attack"] == "composition"]
    both = json.loads(sfumato("attack", first, "--others", second, *more).out)
    assert [t["attack"] for t in both["tried"]] == ["composition"]
    assert "2 releases" in both["tried"][0]["sentence"]
    done = sfumato("attack", first, "--others", tmp_path / "nowhere", *more)
    assert done.code == 5 and "nowhere" in done.err


def test_releases_of_different_tables_that_share_people_are_put_together(sfumato, small, tmp_path):
    """Two doctors publish; one patient is in both tables, recognised by what both know of him."""
    other = tmp_path / "other.csv"
    other.write_text("age,illness\n12,flu\n15,cough\n33,gout\n38,fever\n")
    assert (
        sfumato("run", other, "-r", tmp_path / "first.yaml", "-o", tmp_path / "third", "-q").code
        == 0
    )
    more = ("--original", small, "--attack", "composition", "-q", "--json")
    both = ("--others", tmp_path / "third", "--other-original", other)
    found = json.loads(sfumato("attack", tmp_path / "first", *both, *more).out)["tried"][0]
    assert found["attack"] == "composition" and "people in all 2 releases" in found["sentence"]
    # Aged 12 and 38 are in both. Of the first, both classes have flu only; of the other, nothing in
    # common.
    assert found["value"] == 0.5
    done = sfumato("attack", tmp_path / "first", *both, "--other-original", other, *more)
    assert done.code == 2 and "one original for each" in done.err


def test_a_population_is_looked_up(sfumato, small, tmp_path):
    everyone = tmp_path / "everyone.csv"
    everyone.write_text("age\n" + "".join(f"{age}.0\n" for age in (12, 18, 22, 28, 32, 38, 38, 32)))
    more = ("--original", small, "--attack", "unique_in_population", "-q", "--json")
    found = json.loads(sfumato("attack", tmp_path / "first", "--population", everyone, *more).out)
    assert [(t["attack"], t["value"]) for t in found["tried"]] == [("unique_in_population", 0.0)]
    told = json.loads(
        sfumato("assess", small, "--quasi", "age", "--population", everyone, "--json", "-q").out
    )
    assert {m["name"]: m["value"] for m in told["measures"]}[
        "unique_in_population"
    ] == pytest.approx(4 / 6)
    assert (
        "unique in population"
        in sfumato("assess", small, "--quasi", "age", "--population", everyone, "-q").out
    )


def test_a_release_judged_by_a_population_shows_its_risks(sfumato, small, tmp_path):
    """What only the population tells is measured before; the table shows what is measured before
    and after.
    """
    recipe = tmp_path / "mapped.yaml"
    recipe.write_text(
        SMALL_RECIPE.replace("k_anonymity: {k: 2}", f"k_map: {{k: 2, population: {small}}}")
    )
    assert "k_map" in recipe.read_text()
    done = sfumato("run", small, "-r", recipe, "-o", tmp_path / "mapped")
    assert done.code == 0 and "marketer risk" in done.out + done.err
    release = sf.run(small, recipe)
    assert {was.name for was, now in release.risks} == {m.name for m in release.after.measures}
    assert "marketer risk" in release._repr_html_()
    with pytest.raises(sf.errors.ParameterError, match="is not known"):
        release.after.measure("unique_in_population")


@pytest.mark.parametrize("rename", ["age", "=age", "years=", "a=b=c"])
def test_a_rename_that_says_nothing(sfumato, folder, visits, tmp_path, rename):
    register = tmp_path / "register.csv"
    register.write_text("years\n30\n")
    done = attack(sfumato, folder, visits, "--intruder", register, "--rename", rename)
    assert done.code == 2 and "years=age" in done.err


def test_another_table_is_not_taken_for_the_original(sfumato, folder, visits, tmp_path):
    table = pl.read_csv(visits, infer_schema_length=0)
    other = tmp_path / "other.csv"
    table.head(100).write_csv(other)
    shorter = attack(sfumato, folder, other)
    assert shorter.code == 5 and "does not match" in shorter.err
    table.sample(fraction=1, shuffle=True, seed=1).write_csv(other)
    shuffled = attack(sfumato, folder, other)
    assert shuffled.code == 5 and "row for row" in shuffled.err and not shuffled.out


def test_what_is_no_release_is_said(sfumato, folder, visits, tmp_path):
    assert attack(sfumato, tmp_path / "nowhere", visits).code == 5
    assert "share and owner" in attack(sfumato, folder / "share", visits).err
    (folder / "owner" / "lock.json").write_text("{}")
    assert attack(sfumato, folder, visits).code == 5


def test_another_recipe_says_what_an_intruder_knows_and_what_is_allowed(sfumato, tmp_path):
    """The ward was plain in the release; where it is a quasi-identifier, more people are found."""
    table = tmp_path / "people.csv"
    table.write_text("sex,ward\n" + "".join(f"{'fm'[i % 2]},w{i}\n" for i in range(40)))
    plain, quasi = tmp_path / "plain.yaml", tmp_path / "quasi.yaml"
    columns = (
        "sfumato: 1\ncolumns:\n  sex: {role: quasi, hierarchy: {suppress: {}}}\n  ward: {role:"
        " %s}\n"
    )
    plain.write_text(
        columns % "keep" + "meet:\n  - k_anonymity: {k: 5}\nsteps:\n  - global_recoding\n"
    )
    quasi.write_text(columns % "quasi" + "limits: {linkage: 0.5}\n")
    out = tmp_path / "out"
    assert sfumato("run", table, "-r", plain, "-o", out, "-q").code == 0
    before = contents(out)
    how = (
        "attack",
        out,
        "--original",
        table,
        "--attack",
        "linkage",
        "--seconds",
        20,
        "-q",
        "--json",
    )
    found = {}
    for recipe, code in ((plain, 0), (quasi, 1)):
        done = sfumato(*how, "-r", recipe)
        assert done.code == code
        tried = json.loads(done.out)["tried"]
        found[recipe] = next(t["value"] for t in tried if t["intruder"] == "prosecutor")
    assert found == {plain: pytest.approx(2 / 40), quasi: 1.0}
    assert contents(out) == before, "nothing is kept of what another recipe says"
    refused = sfumato(*how, "-r", quasi, "--certify")
    assert refused.code == 2 and "another recipe" in refused.err
    (tmp_path / "short.yaml").write_text("sfumato: 1\ncolumns:\n  sex: quasi\n")
    assert sfumato(*how, "-r", tmp_path / "short.yaml").code == 2


def test_an_attack_takes_parameters_and_is_shown_with_them(sfumato, folder, visits):
    asked = ("--attack", "suda", "--attack", "suda: {most: 2}", "--seconds", 20, "-q")
    done = sfumato("attack", folder, "--original", visits, *asked, "--certify")
    assert done.code == 0 and "suda (most: 2)" in done.out
    certificate = json.loads((folder / "share" / "certificate.json").read_text())
    assert [one.get("parameters") for one in certificate["attacks"]["tried"]] == [None, {"most": 2}]
    assert "suda (most: 2)" in (folder / "share" / "report.html").read_text()
    assert sfumato("verify", folder / "share", "-q").code == 7


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("suda: {least: 2}", "no parameter 'least'"),
        ("suda: {", "not valid YAML"),
        ("7", "an attack is a name"),
    ],
)
def test_parameters_that_an_attack_does_not_take_are_a_usage_error(
    sfumato, folder, visits, asked, says
):
    done = sfumato("attack", folder, "--original", visits, "--attack", asked, "-q")
    assert done.code == 2 and says in flat(done.err)


def test_a_limit_with_parameters_decides_the_exit_code(sfumato, folder, visits, recipe, tmp_path):
    strict = tmp_path / "strict.yaml"
    strict.write_text(
        recipe.read_text() + "\nlimits: {suda: {most: 2, threshold: 0.01, at_most: 0}}\n"
    )
    done = sfumato(
        "attack",
        folder,
        "--original",
        visits,
        "-r",
        strict,
        "--attack",
        "suda: {most: 2, threshold: 0.01}",
        "-q",
    )
    assert "suda (most: 2, threshold: 0.01)" in flat(done.out)
    loose = sfumato("attack", folder, "--original", visits, "-r", strict, "--attack", "suda", "-q")
    assert loose.code == 0  # the limit is on another attack
