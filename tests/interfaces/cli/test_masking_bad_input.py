"""Masking steps and bad input from the command line: the right exit code, no traceback, no value of
a person.
"""

from __future__ import annotations

import re
import shutil

import pytest

from sfumato.core.recipe_files import write_yaml

HEAD = "name,home,town,sex,school,age,pay,rent,seen\n"
COLUMNS = {
    "name": "drop",
    "home": {"role": "household"},
    "town": "quasi",
    "sex": "quasi",
    "school": {
        "role": "keep",
        "kind": "ordinal",
        "order": ["SENTINELlow", "SENTINELmid", "SENTINELtop"],
    },
    "age": {"role": "keep", "kind": "numeric"},
    "pay": {"role": "sensitive", "kind": "numeric"},
    "rent": {"role": "keep", "kind": "numeric"},
    "seen": {"role": "keep", "kind": "date"},
}
SCHOOLS = ("SENTINELlow", "SENTINELmid", "SENTINELtop")
STEPS = {
    "sample": {"fraction": 0.5},
    "top_bottom_coding": {"columns": ["pay"], "top_quantile": 0.9},
    "outlier_coding": {"columns": ["pay", "rent"]},
    "recode": {"columns": ["age"], "breaks": [30, 60]},
    "round": {"columns": ["pay"], "base": 10, "method": "controlled"},
    "shift_dates": {"columns": ["seen"], "days": 30},
    "add_noise": {"columns": ["pay", "rent"], "alpha": 0.1, "method": "kim"},
    "pseudonymize": {"columns": ["name"], "method": "counter"},
    "rank_swap": {"columns": ["pay"], "p": 0.2},
    "swap_data": {"columns": ["sex"], "rate": 0.5},
    "swap_similar": {"columns": ["sex"], "by": "pay"},
    "swap_households": {"geography": ["town"], "risk": ["age"], "similar": [[]], "rate": 0.5},
    "shuffle_values": {"columns": ["pay"], "predictors": ["age"]},
    "pram": {"columns": ["sex"], "retain": 0.8},
    "microaggregate": {"columns": ["pay", "rent"], "k": 3},
}


def line(i: int) -> str:
    return (
        f"SENTINELname{i},SENTINELhome{i // 2},SENTINELtown{i // 2 % 3},SENTINELsex{i % 2},{SCHOOLS[i % 3]},"
        f"{20 + i},{7_771_000 + 13 * i},{7_772_000 + 7 * i},2024-0{1 + i % 9}-11\n"
    )


FULL = HEAD + "".join(line(i) for i in range(24))


def changed(column: str, value: str, *, rows: str = FULL) -> str:
    """The table with one value in all rows of a column."""
    place = HEAD.strip().split(",").index(column)
    lines = [row.split(",") for row in rows.strip().split("\n")]
    return "".join(
        ",".join([*r[:place], value, *r[place + 1 :]] if i else r) + "\n"
        for i, r in enumerate(lines)
    )


@pytest.fixture
def tried(sfumato, tmp_path, monkeypatch):
    """Run a recipe of one step on a table, and look at what every failure must have in common.
    Pages are not drawn.
    """
    monkeypatch.setattr("sfumato.release.sealing.render_page", lambda _: "")

    def run(table: str, step: str, arguments: dict, *, columns: dict | None = None):
        data, recipe = tmp_path / "people.csv", tmp_path / "people.yaml"
        data.write_text(table)
        steps, meet = [{step: arguments}], [{"k_anonymity": {"k": 1}}]
        recipe.write_text(write_yaml({"columns": columns or COLUMNS, "meet": meet, "steps": steps}))
        done = sfumato("run", data, "-r", recipe, "-o", tmp_path / "out", "--seed", "abc", "-q")
        assert "Traceback" not in done.err and "bug in sfumato" not in done.err, done.err
        assert not re.search(r"SENTINEL|777[12]\d{3}", done.err), done.err
        if done.code:
            assert done.out == "" and not (tmp_path / "out").exists()
            assert done.err.strip(), "a failure says why"
        return done

    return run


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_steps_work_on_the_whole_table(step, tried):
    done = tried(FULL, step, STEPS[step])
    assert done.code == 0, done.err


@pytest.mark.parametrize("step", STEPS)
def test_empty_files_and_tables_without_rows(step, tried):
    assert tried("", step, STEPS[step]).code == 5
    assert tried(HEAD, step, STEPS[step]).code == 2


@pytest.mark.parametrize("step", STEPS)
def test_one_row_is_masked_or_refused(step, tried):
    done = tried(HEAD + line(3), step, STEPS[step])
    assert done.code in (0, 2, 4), done.err


GAPS = [
    (step, column)
    for step, given in STEPS.items()
    for column in given.get("columns", [given.get("by", "pay")])
]


@pytest.mark.parametrize(("step", "column"), GAPS)
def test_columns_of_gaps_are_left_or_refused(step, column, tried):
    done = tried(changed(column, ""), step, STEPS[step])
    assert done.code in (0, 2), done.err
    if done.code:
        assert column in done.err


@pytest.mark.parametrize("step", [step for step in STEPS if "columns" in STEPS[step]])
def test_unknown_columns_are_named(step, tried):
    done = tried(FULL, step, {**STEPS[step], "columns": ["salaryy"]})
    assert done.code == 2 and "salaryy" in done.err


@pytest.mark.parametrize(
    "step",
    [
        "top_bottom_coding",
        "outlier_coding",
        "recode",
        "round",
        "shift_dates",
        "add_noise",
        "rank_swap",
        "shuffle_values",
    ],
)
def test_text_where_numbers_or_dates_are_needed(step, tried):
    done = tried(FULL, step, {**STEPS[step], "columns": ["town"]})
    assert done.code == 2 and "town" in done.err, done.err
    column = STEPS[step]["columns"][0]
    done = tried(
        changed(column, "SENTINELword", rows=HEAD + line(1)) + FULL.removeprefix(HEAD),
        step,
        STEPS[step],
    )
    assert done.code == 2 and column in done.err, done.err
    other = "rent" if column != "rent" else "age"  # what a step does not touch is not its business
    done = tried(
        changed(other, "SENTINELword", rows=HEAD + line(1)) + FULL.removeprefix(HEAD),
        step,
        STEPS[step],
    )
    assert done.code == (2 if other in STEPS[step]["columns"] else 0), done.err


ODD = {"f": {"f": 0.9, "m": 0.3}, "m": {"m": 1.0}}
WRONG = {
    "a share above one": ("sample", {"fraction": 1.5}),
    "more than there are": ("sample", {"size": 25_000}),
    "fraction and size": ("sample", {"fraction": 0.1, "size": 3}),
    "noise of negative variance": ("add_noise", {"columns": ["pay"], "alpha": -0.5}),
    "noise that is no number": ("add_noise", {"columns": ["pay"], "alpha": "SENTINEL"}),
    "p above one": ("rank_swap", {"columns": ["pay"], "p": 1.5}),
    "p below zero": ("rank_swap", {"columns": ["pay"], "p": -0.1}),
    "a rate above one": ("swap_data", {"columns": ["sex"], "rate": 2}),
    "retain above one": ("pram", {"columns": ["sex"], "retain": 1.2}),
    "a matrix whose rows do not sum to one": ("pram", {"columns": ["sex"], "matrix": {"sex": ODD}}),
    "a matrix without rows for all values": (
        "pram",
        {"columns": ["sex"], "matrix": {"sex": {"f": {"f": 1.0}}}},
    ),
    "a matrix of negative probabilities": (
        "pram",
        {"columns": ["sex"], "matrix": {"sex": {"f": {"f": 1.5, "m": -0.5}}}},
    ),
    "k above the number of records": ("microaggregate", {"columns": ["pay"], "k": 25}),
    "strata smaller than k": ("microaggregate", {"columns": ["pay"], "k": 9, "within": ["town"]}),
    "k of one": ("microaggregate", {"columns": ["pay"], "k": 1}),
    "breaks that fall": ("recode", {"columns": ["age"], "breaks": [60, 30]}),
    "a mapping without all values": (
        "recode",
        {"columns": ["sex"], "mapping": {"SENTINELsex0": "one"}},
    ),
    "a base of zero": ("round", {"columns": ["pay"], "base": 0}),
    "dates that cannot move": (
        "shift_dates",
        {"columns": ["seen"], "days": 3, "earliest": "2030-01-01"},
    ),
    "a threshold of text": ("top_bottom_coding", {"columns": ["pay"], "top": "SENTINELmuch"}),
    "a quantile above one": ("top_bottom_coding", {"columns": ["pay"], "top_quantile": 90}),
    "households that part": (
        "swap_households",
        {"geography": ["sex"], "risk": ["age"], "similar": [[]]},
    ),
    "a second table that is not there": ("swap_across", {"columns": ["pay"], "match": ["age"]}),
    "pseudonyms without a key": ("pseudonymize", {"columns": ["name"]}),
    "a key that is not there": (
        "pseudonymize",
        {"columns": ["name"], "key": {"env": "NO_SUCH_KEY_HERE"}},
    ),
    "a parameter nobody knows": ("rank_swap", {"columns": ["pay"], "pp": 0.2}),
    "the same column twice": ("add_noise", {"columns": ["pay", "pay"], "alpha": 0.1}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters(name, tried):
    step, arguments = WRONG[name]
    done = tried(FULL, step, arguments)
    assert done.code == 2, done.err
    told = done.err.lower().replace("_", "")
    assert step.replace("_", "") in told or arguments["columns"][0] in told or "key" in told, (
        done.err
    )


def test_correlations_that_gaps_made_impossible_are_mended(tried, tmp_path):
    """Three columns that are pairwise known on different records: +1, +1 and −1 fit no table, so no
    noise has them.
    """
    rows = ["name,home,town,sex,a,b,c\n"]
    for i in range(12):
        rows.append(f"SENTINELname,h{i},t,s,{i},{i},\n")
        rows.append(f"SENTINELname,i{i},t,s,,{i},{i}\n")
        rows.append(f"SENTINELname,j{i},t,s,{i},,{12 - i}\n")
    numbers = {c: {"role": "keep", "kind": "numeric"} for c in "abc"}
    columns = {**{c: COLUMNS[c] for c in ("name", "home", "town", "sex")}, **numbers}
    for method in ("correlated", "kim", "sullivan"):
        arguments = {"columns": ["a", "b", "c"], "alpha": 0.5, "method": method}
        done = tried("".join(rows), "add_noise", arguments, columns=columns)
        assert done.code == 0, done.err
        shutil.rmtree(tmp_path / "out")


@pytest.mark.parametrize(
    "what", ["limits: {linkage: lots}", "contract: [{means: {columns: [salaryy], at_most: 0.1}}]"]
)
def test_limits_and_contracts_about_nothing(what, sfumato, tmp_path):
    data, recipe = tmp_path / "people.csv", tmp_path / "people.yaml"
    data.write_text(FULL)
    steps = [{"add_noise": STEPS["add_noise"]}]
    recipe.write_text(
        write_yaml({"columns": COLUMNS, "meet": [{"k_anonymity": {"k": 1}}], "steps": steps})
        + what
        + "\n"
    )
    done = sfumato("run", data, "-r", recipe, "-o", tmp_path / "out", "-q")
    assert done.code == 2 and "Traceback" not in done.err and "SENTINEL" not in done.err
    assert "linkage" in done.err or "salaryy" in done.err
