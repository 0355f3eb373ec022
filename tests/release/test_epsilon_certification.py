"""An ε is certified for a whole recipe or not at all, and nothing else of the original stands
beside it.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import registry
from sfumato.core.recipe import Agreement, Recipe
from sfumato.core.step import LOOKS, Account, Effect, Step, declaration_of
from sfumato.errors import SchemaError
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.release.epsilon_certification import TYPES_FOUND, certified

SEED = "0123456789abcdef0123456789abcdef"
SAFE = sf.SafeAnonymize(1.0, delta=1e-5)
ONE = sf.KAnonymity(1)


def table(*more, ages=(20, 30), rows=600):
    """Invented people of few ages, and perhaps one more of whom nobody may learn."""
    people = [(ages[i % len(ages)], "fm"[i % 2 * (i % 3 > 0)], f"n{i}") for i in range(rows)]
    frame = pl.DataFrame([*people, *more], schema=["age", "sex", "name"], orient="row")
    data = sf.read(frame).with_roles(quasi=["age", "sex"], drop=["name"])
    return data.with_hierarchies(age=sf.intervals(5, 10, 20, lower=0, upper=120), sex=sf.suppress())


def judged(*steps, meet=(ONE,), limits=None, contract=(), data=None, columns=None, rehearsal=False):
    data = data or table()
    recipe = Recipe(data.schema, tuple(meet), tuple(steps), limits or {}, tuple(contract))
    left = data.schema.without(data.schema.dropped_columns)
    return certified(recipe, columns or list(left.attributes), left, rehearsal=rehearsal)


def test_a_search_before_the_accounted_step_breaks_it(tmp_path):
    """600 rows of two ages come out as an interval without, and as * with one more person: the
    levels tell.
    """
    made = []
    for people in (table(), table((97, "f", "zed"))):
        steps = [sf.GlobalRecoding(budget=0), SAFE]
        made.append(sf.anonymize(people, [sf.KAnonymity(50)], steps, seed=SEED))
    assert set(made[0].data["age"]) != set(made[1].data["age"]), (
        "the table shows that there is something to find"
    )
    for place, release in enumerate(made):
        found = release.certified
        assert found is not None and not found.holds
        assert "reads data" in found.reasons[0]
        assert any("no ε is certified" in warning for warning in release.warnings)
        release.write(tmp_path / str(place))
        told = json.loads((tmp_path / str(place) / "share" / "certificate.json").read_text())
        assert (
            told["differential_privacy"]["certified"] is False
            and told["differential_privacy"]["epsilon"] is None
        )
        assert told["plan"][1]["epsilon"] is None and told["plan"][1]["certified"] is False
        assert "No ε is certified" in (tmp_path / str(place) / "share" / "report.html").read_text()


def test_the_sum_and_the_neighbours():
    alone = judged(SAFE)
    assert (
        alone.holds
        and (alone.epsilon, alone.neighbours) == (1.0, "add_remove")
        and alone.delta <= 1e-5
    )
    twice = judged(SAFE, sf.SafeAnonymize(0.5, delta=1e-5))
    assert twice.holds and twice.epsilon == 1.5 and alone.delta < twice.delta <= 2e-5
    means = sf.InsensitiveMicroaggregate(["age"], k=5, epsilon=0.25, bounds={"age": (0, 110)})
    mixed = judged(means, SAFE)
    assert mixed.holds and mixed.neighbours == "replace" and mixed.epsilon == 0.25 + 2 * 1.0
    assert judged(sf.GlobalRecoding()) is None, "where no step accounts for an ε none is claimed"


BROKEN = {
    "rehearsal": ({"rehearsal": True}, [SAFE], "rehearsal"),
    "attack": ({"limits": {"linkage": 0.5}}, [SAFE], "limit on linkage"),
    "utility": ({"limits": {"loss": 1.0}}, [SAFE], "limit on loss"),
    "contract": (
        {"contract": [Agreement(registry.build("utility", "loss"), at_most=1.0, refuse=True)]},
        [SAFE],
        "contract on loss",
    ),
    "reference": (
        {
            "meet": [sf.TCloseness("sex", t=0.3)],
            "data": table().with_roles(quasi=["age"], sensitive=["sex"], drop=["name"]),
        },
        [SAFE],
        "compares the release with the original",
    ),
    "bare column": (
        {},
        [sf.InsensitiveMicroaggregate(["age"], k=5, epsilon=1, bounds={"age": (0, 110)})],
        "no step accounts for sex",
    ),
    "linked": (
        {"columns": ["age"]},
        [
            sf.InsensitiveMicroaggregate(
                ["age"], k=5, epsilon=1, bounds={"age": (0, 110)}, linked=True
            ),
            SAFE,
        ],
        "show which group",
    ),
    "quantile": ({}, [sf.TopBottomCoding(["age"], top_quantile=0.9), SAFE], "quantiles"),
    "mean": (
        {},
        [sf.TopBottomCoding(["age"], top=25, replacement="mean"), SAFE],
        "mean of its values",
    ),
    "random rounding": ({}, [sf.Round(["age"], base=5, method="random"), SAFE], "round reads"),
    "kept values": (
        {},
        [sf.Recode(["sex"], mapping={"f": "w"}, unmapped="keep"), SAFE],
        "depends on all values",
    ),
    "sample": ({}, [sf.Sample(0.5), SAFE], "sample reads"),
    "cells": ({}, [sf.Suppress("cell"), SAFE], "suppression reads"),
    "pram": ({}, [sf.Pram(["sex"], retain=0.7, invariant="none"), SAFE], "pram reads"),
    "between": (
        {},
        [
            sf.InsensitiveMicroaggregate(["age"], k=5, epsilon=1, bounds={"age": (0, 110)}),
            sf.Mondrian(),
            SAFE,
        ],
        "mondrian reads",
    ),
}


@pytest.mark.parametrize(("options", "steps", "said"), BROKEN.values(), ids=BROKEN)
def test_what_breaks_a_certificate_is_said(options, steps, said):
    found = judged(*steps, **options)
    assert not found.holds and any(said in reason for reason in found.reasons), found.reasons
    assert found.to_dict()["epsilon"] is None


HOLDING = {
    "alone": [SAFE],
    "ranges": [sf.Recode(["age"], breaks=[25, 40]), SAFE],
    "words": [sf.Recode(["sex"], mapping={"f": "w", "m": "man"}, unmapped="other"), SAFE],
    "coded and rounded": [sf.TopBottomCoding(["age"], top=25), sf.Round(["age"], base=5), SAFE],
    "fixed levels": [sf.PersonalLevels(levels={"age": 1}), SAFE],
    "levels of its own": [sf.SafeAnonymize(1.0, delta=1e-5, levels={"age": 2})],
    "searched afterwards": [SAFE, sf.GlobalRecoding()],
    "masked afterwards": [SAFE, sf.Mondrian()],
}


@pytest.mark.parametrize("steps", HOLDING.values(), ids=HOLDING)
def test_what_keeps_a_certificate(steps):
    assert judged(*steps, limits={"marketer_risk": 1.0}).holds


def test_hierarchies_that_look_break_it():
    data = table().with_hierarchies(age=sf.frequency(1))
    assert (
        "made from the values"
        in judged(sf.PersonalLevels(levels={"age": 1}), SAFE, data=data).reasons[0]
    )
    with pytest.raises(SchemaError, match="made from the values that occur"):
        sf.anonymize(data, [ONE], [sf.SafeAnonymize(1.0, delta=1e-5, levels={"age": 1})], seed=SEED)


def test_a_step_that_declares_nothing_looks():
    class Nobody(Step):
        name = "nobody"

    assert Nobody().account(table().schema) == Account() and Account().effect is Effect.LOOKS
    assert declaration_of(Nobody) == LOOKS
    quiet = {
        n
        for n, cls in registry.family("steps").items()
        if declaration_of(cls).effect is Effect.LOOKS
    }
    assert {"global_recoding", "mondrian", "rank_swap", "sample", "pram"} <= quiet


def test_the_table_in_the_documentation_is_that_of_the_registry():
    tool = runpy.run_path(
        str(Path(__file__).resolve().parents[2] / "tools" / "accounting_table.py")
    )
    text = tool["PAGE"].read_text(encoding="utf-8")
    assert tool["page"](text) == text, "run python tools/accounting_table.py"
    assert all(f"`{name}`" in tool["table"]() for name in registry.family("steps"))


def share_of(release, folder):
    """Everything that is shared, but for the time, the commitment to the input, and what is
    computed from those.
    """
    release.write(folder, options=sf.WriteOptions(pictures=True))
    told = json.loads((folder / "share" / "certificate.json").read_text())
    changing = [
        told["created"],
        told["input_commitment"]["value"],
        told["digest"],
        told["files"]["report.html"]["sha256"],
    ]
    moment = told["created"][:10]
    found = {}
    for file in sorted((folder / "share").rglob("*")):
        if file.is_file():
            text = file.read_bytes()
            if file.suffix in (".json", ".html", ".txt"):
                for word in changing:
                    text = text.replace(word.encode(), b"")
                text = b"\n".join(line for line in text.split(b"\n") if moment.encode() not in line)
            found[str(file.relative_to(folder))] = text
    return found


def all_sampled(self, count, share):
    import numpy as np

    return np.ones(count, dtype=bool)


FAST = ("ranges", "searched afterwards")


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(s, id=name, marks=[] if name in FAST else [pytest.mark.slow])
        for name, s in HOLDING.items()
    ],
)
def test_one_person_more_changes_nothing_that_is_shared(steps, tmp_path, monkeypatch):
    """With the same coins, the accounted data do not hold the one more person, whose class is
    small; nor may anything else.
    """
    monkeypatch.setattr(Draws, "kept", all_sampled)
    options = {
        "limits": {"marketer_risk": 1.0},
        "options": sf.AnonymizeOptions(
            contract=[Agreement(registry.build("utility", "loss"), at_most=1.0)]
        ),
        "seed": SEED,
    }
    shares = []
    for place, people in enumerate((table(), table((97, "x", "zed")))):
        release = sf.anonymize(people, [ONE], steps, **options)
        assert release.certified.holds and len(release.released) == 600
        assert len(release.contract) == 1, "the owner knows"
        shares.append(share_of(release, tmp_path / str(place)))
    assert shares[0].keys() == shares[1].keys() and "share/report.html" in shares[0]
    for name, text in shares[0].items():
        assert text == shares[1][name], name


def test_one_person_replaced_changes_nothing_that_is_shared(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.setattr(
        Draws, "laplace", lambda self, scale, count: np.zeros(count, dtype=np.int64)
    )
    monkeypatch.setattr(Draws, "permutation", lambda self, count: np.arange(count))
    step = sf.InsensitiveMicroaggregate(["age"], k=5, epsilon=1, bounds={"age": (0, 90)})
    shares = []
    for place, age in enumerate((118, 90)):  # the same once cut off at the bounds
        data = table((age, "f", "zed")).drop(["sex"])
        release = sf.anonymize(data, [ONE], [step], seed=SEED)
        assert release.certified.holds
        shares.append(share_of(release, tmp_path / str(place)))
    assert shares[0] == shares[1]


def test_the_certificate_says_what_the_owner_keeps(tmp_path):
    contract = [Agreement(registry.build("utility", "loss"), at_most=1.0)]
    release = sf.anonymize(
        table(),
        [ONE],
        [sf.Recode(["age"], breaks=[25]), SAFE],
        options=sf.AnonymizeOptions(contract=contract),
        seed=SEED,
    )
    release.write(tmp_path / "out")
    told = json.loads((tmp_path / "out" / "share" / "certificate.json").read_text())
    private = told["differential_privacy"]
    assert private["certified"] and private["epsilon"] == 1.0 and told["contract"] == []
    assert (
        told["plan"][0] == {"step": "recode", "plan": "stays with the owner"}
        and told["suppressed_records"] is None
    )
    assert [part["effect"] for part in private["steps"]] == ["data_independent", "accounted"]
    owner = json.loads((tmp_path / "out" / "owner" / "release.json").read_text())
    assert owner["contract"][0]["name"] == "loss"
    assert all(claim.status != "fails" for claim in sf.verify(tmp_path / "out" / "share").claims)


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["20.5,f", "old,f", '20,"a,b"', "20,7"])
def test_an_odd_cell_changes_nothing_where_every_cell_is_read_for_itself(
    odd, tmp_path, monkeypatch
):
    """One cell of another type would turn its whole column: with text=True it does not."""
    monkeypatch.setattr(Draws, "kept", all_sampled)
    shares = []
    for place, more in enumerate(("", f"{odd}\n")):
        file = tmp_path / f"{place}.d" / "people.csv"
        file.parent.mkdir()
        file.write_text("age,sex\n" + "20,f\n30,m\n" * 200 + more)
        people = sf.read(file, text=True).with_roles(quasi=["age", "sex"])
        release = sf.anonymize(people, [ONE], [SAFE], seed=SEED)
        assert release.certified.holds and len(release.released) == 400
        shares.append(share_of(release, tmp_path / str(place)))
    assert shares[0] == shares[1]


def test_types_found_from_all_cells_certify_nothing(tmp_path):
    """One cell may decide what a column is, so a CSV read the usual way goes with no ε, and one
    read by its recipe does.
    """
    file = tmp_path / "people.csv"
    file.write_text("age,sex\n" + "20,f\n30,m\n" * 200)
    roles = {"quasi": ["age", "sex"]}
    usual = sf.anonymize(sf.read(file).with_roles(**roles), [ONE], [SAFE], seed=SEED)
    assert usual.certified.reasons == (TYPES_FOUND,)
    recipe = sf.Recipe(sf.read(file).with_roles(**roles).schema, (ONE,), (SAFE,))
    by_recipe = sf.run(sf.read(file, recipe=recipe), recipe, seed=SEED)
    assert by_recipe.certified.holds
