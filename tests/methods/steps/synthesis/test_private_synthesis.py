"""Tables drawn from noisy counts: what is spent, what is looked at, and what an audit finds. Models
are fitted naively here.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.budget import epsilon_of_rho, rho_of_budget
from sfumato.core.declared import Relation
from sfumato.core.ledger import Ledger, Terms
from sfumato.core.randomness import Seed
from sfumato.core.step import Effect, Goal
from sfumato.errors import BudgetExceeded, FittingFailed, MissingExtra, ParameterError, SchemaError
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.formulas.noise import exponential
from sfumato.methods.steps.synthesis import model_fits
from sfumato.methods.steps.synthesis.noisy_counts import (
    PrivateTable,
)
from tests.oracles.private_synthesis import (
    WholeTable,
    smallest_delta,
)

PLENTY = Fraction(10**9)
"""So much ρ that noise is 0 and the best is chosen."""


@pytest.fixture
def naive(monkeypatch):
    """Models fitted without mbi."""
    monkeypatch.setattr("sfumato.methods.steps.synthesis.private_synthesis.ModelWorker", WholeTable)
    monkeypatch.setattr(
        "sfumato.methods.steps.synthesis.private_synthesis.require_fitting", lambda: None
    )


def people(rows=400, *, seed=1, **more):
    """Three columns, two of which depend on each other, with what is publicly known of them."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, rows)
    work = (town + (rng.random(rows) < 0.2)) % 3
    frame = pl.DataFrame(
        {
            "town": np.array(["a", "b", "c"])[town],
            "work": np.array(["p", "q", "r"])[work],
            "age": rng.integers(0, 40, rows),
            **more,
        }
    )
    return described(frame)


def described(frame, **others):
    schema = {
        "town": sf.Attribute(("quasi",), domain=("a", "b", "c")),
        "work": sf.Attribute(("sensitive",), domain=("p", "q", "r")),
        "age": sf.Attribute(("quasi",), kind="numeric", bounds=(0, 39)),
        "who": sf.Attribute(("person",)),
        **others,
    }
    return sf.Table(frame, sf.Schema({name: schema[name] for name in frame.columns}))


def private(codes, *, rho=PLENTY, rows=1, draws=None):
    codes = {name: np.array(values, dtype=np.int64) for name, values in codes.items()}
    sizes = {name: int(values.max(initial=0)) + 1 for name, values in codes.items()}
    return PrivateTable(codes, sizes, rho=rho, rows=rows, draws=draws or Draws())


def step(**options):
    return sf.SynthesizePrivately(**{"epsilon": 1.0, "delta": 1e-6, "bins": 4, **options})


# What is spent.


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [(1, 1e-6, 0.02435597), (1, 1e-9, 0.01497306), (10, 1e-9, 1.0907857), (0.5, 1e-6, 0.00664152)],
)
def test_rho_of_epsilon_and_delta(epsilon, delta, rho):
    """The largest ρ by the conversion of Canonne, Kamath and Steinke 2020, found by another way; a
    looser one is smaller.
    """
    assert rho_of_budget(epsilon, delta) == pytest.approx(rho, rel=1e-6)
    assert float(step(epsilon=epsilon, delta=delta).rho) == pytest.approx(rho, rel=1e-6)
    assert smallest_delta(float(step(epsilon=epsilon, delta=delta).rho), epsilon) == pytest.approx(
        delta, rel=1e-6
    )
    loose = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    assert loose < rho
    assert epsilon_of_rho(0.1, 1e-6) == pytest.approx(2.141939, rel=1e-6)


def test_both_methods_spend_all_they_have_and_no_more(naive):
    for method, looks in (("mst", 3 + 2 + 2), ("aim", 3)):
        plan = step(method=method).plan(people(), Goal())
        spent = [look["rho"] for look in plan.owner["spent"]]
        assert (
            math.fsum(spent) == pytest.approx(plan.public["rho"], rel=1e-12) and len(spent) >= looks
        )
        assert (plan.public["epsilon"], plan.public["delta"], plan.public["certified"]) == (
            1.0,
            1e-6,
            True,
        )
    table = private({"a": [0, 1]}, rho=Fraction(1, 10))
    table.measure(("a",), Fraction(1, 10))
    with pytest.raises(BudgetExceeded):
        table.measure(("a",), Fraction(1, 10**9))


def test_the_exponential_mechanism_chooses_as_its_formula_says():
    """4000 choices among three scores; every count within 5 standard deviations: wrong with
    probability below 2e-6.
    """
    scores, sensitivity, rho = np.array([0, 30, 50]), 10, Fraction(1, 2)
    weights = np.exp(scores * math.sqrt(8 * rho) / (2 * sensitivity))
    shares = weights / weights.sum()
    secure, rehearsed = Draws(), Draws(np.random.default_rng(3))
    for draws in (secure, rehearsed):
        found = np.bincount(
            [draws.best(scores, sensitivity, rho) for _ in range(4000)], minlength=3
        )
        assert (np.abs(found - 4000 * shares) <= 5 * np.sqrt(4000 * shares * (1 - shares))).all()
    assert exponential(sensitivity, rho).scale == pytest.approx(
        2 * sensitivity / math.sqrt(8 * rho)
    )


def test_noise_has_the_variance_that_is_told():
    """20,000 draws; their variance within 5 standard errors."""
    for draws in (Draws(), Draws(np.random.default_rng(1))):
        noise = draws.gaussian(2.0, Fraction(1, 50), 20_000)
        assert abs(noise.var() / 100 - 1) < 5 * math.sqrt(2 / 20_000) and noise.dtype == np.int64


# What one person can move.


def test_a_person_has_so_many_rows_and_noise_for_them():
    frame = people(12).to_polars().with_columns(who=pl.Series(["x"] * 9 + ["y"] * 2 + [None]))
    table = described(frame)
    made = step(rows_per_person=3)
    for _ in range(5):
        counts, _ = made._split_rows(table, made._relation(table.schema), Draws())
        assert (counts[:9].sum(), counts[9:].tolist()) == (3, [True, True, False])
    assert private({"a": [0]}, rows=3).sigma(Fraction(1, 2)) == 3.0
    account = made.account(table.schema)
    assert (
        account.unit == "one person (at most 3 rows of each count)"
        and account.effect is Effect.ACCOUNTED
    )
    assert account.replaced[0] == pytest.approx(epsilon_of_rho(4 * float(made.rho), 1e-6))


# What is public.


def test_what_is_not_declared_raises_no_error_and_is_released_as_missing(naive):
    odd = pl.DataFrame(
        {
            "town": ["a", None, "zed"] * 200,
            "work": ["p"] * 600,
            "age": [1e9, float("nan"), -7.0] * 200,
        }
    )
    made = step(epsilon=50.0)
    released = made.apply(described(odd), made.plan(described(odd), Goal())).to_polars()
    assert (
        abs(released["town"].null_count() - 400) < 30
        and abs((released["town"] == "a").sum() - 200) < 30
    )
    assert (
        abs(released["age"].null_count() - 200) < 30
        and abs((released["age"] >= 30).sum() - 200) < 30
    )
    told = step(epsilon=50.0, other={"town": "c", "age": 20})
    released = told.apply(described(odd), told.plan(described(odd), Goal())).to_polars()
    assert abs((released["town"] == "c").sum() - 400) < 30
    assert released["town"].null_count() == 0 and released["age"].null_count() == 0


def test_types_follow_from_what_is_declared(naive):
    frame = pl.DataFrame(
        {"code": [1, 2, 1, 2] * 50, "yes": [True, False] * 100, "size": [0.25, 0.75] * 100}
    )
    schema = sf.Schema(
        {
            "code": sf.Attribute(("quasi",), domain=("1", "2", "3")),
            "yes": sf.Attribute(("quasi",), domain=("true", "false")),
            "size": sf.Attribute(("quasi",), bounds=(0, 1)),
        }
    )
    made = step(epsilon=20.0, decimals={"size": 2}, records=50)
    table = sf.Table(frame, schema)
    plan = made.plan(table, Goal())
    released = made.apply(table, plan)
    assert [str(released.dtype(n)) for n in released.columns] == [
        "String",
        "String",
        "Float64",
    ], "words are text, whatever one record made of the column"
    assert len(released) == 50 and (released.origin == -1).all()
    assert all(round(v, 2) == v for v in released.column("size").drop_nulls())


# How marginals are chosen and models are made.


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_drawn_tables_have_the_pairs_of_the_original(method, naive):
    """At ε = 20 noise is small: the cells of town × work are off by what drawing 3000 rows does,
    below .1 but for 1e-6.
    """
    table = people(3000)
    made = step(epsilon=20.0, method=method)
    plan = made.plan(table, Goal())
    pairs = [
        t.group_by("town", "work").len().with_columns(pl.col("len") / len(t))
        for t in (table.to_polars(), plan.table)
    ]
    both = pairs[0].join(pairs[1], on=["town", "work"], how="full").fill_null(0)
    assert (both["len"] - both["len_right"]).abs().sum() < 0.1
    assert abs(len(plan.table) - 3000) < 60 and plan.held_out is None
    assert {tuple(m["columns"]) for m in plan.public["measured"]} >= {("town",), ("town", "work")}


@pytest.mark.parametrize("rows", [2, 3])
def test_tables_of_few_rows_and_constant_columns(rows, naive):
    frame = pl.DataFrame({"town": ["a"] * rows, "work": ["p"] * rows, "age": [3] * rows})
    plan = step().plan(described(frame), Goal())
    assert len(plan.table) >= 1 and any("noise hides" in warning for warning in plan.warnings)
    only = described(frame.select("town"))
    assert step(epsilon=50.0).plan(only, Goal()).table.columns == ["town"]


def test_rehearsals_repeat_and_others_do_not(naive):
    table = people()
    mixed = sf.Table(table.to_polars().sample(fraction=1, shuffle=True, seed=3), table.schema)
    seeded = [step(holdout=0.2).plan(t, Goal(seed=Seed(5))) for t in (table, table, mixed)]
    assert seeded[0].table.equals(seeded[1].table) and seeded[0].table.equals(seeded[2].table)
    assert seeded[0].public["epsilon"] is None and "rehearsal" in seeded[0].warnings[0]
    fresh = [step().plan(table, Goal(seed=Seed.fresh())) for _ in range(2)]
    assert not fresh[0].table.equals(fresh[1].table) and fresh[0].public["certified"]


def test_a_holdout_takes_whole_persons_out_before_anything_is_counted(naive, monkeypatch):
    frame = people(300).to_polars().with_columns(who=pl.Series([str(i // 3) for i in range(300)]))
    seen = []
    monkeypatch.setattr(PrivateTable, "_count_cells", _noting(PrivateTable._count_cells, seen))
    plan = step(holdout=0.3, rows_per_person=3).plan(described(frame), Goal())
    held = plan.held_out
    assert 40 < len(held) < 150 and set(np.bincount(held // 3, minlength=100)) == {0, 3}
    assert seen[0] == 300 - len(held)
    assert "who" not in plan.table.columns


def _noting(counted, seen):
    def count(self, clique):
        found = counted(self, clique)
        seen.append(int(found.sum()))
        return found

    return count


# What is refused, and what is spent from a ledger.

PLAIN = people()
REFUSED = {
    "no bounds": (
        described(PLAIN.to_polars(), age=sf.Attribute(("quasi",), kind="numeric")),
        {},
        SchemaError,
        "bounds",
    ),
    "no domain": (
        described(PLAIN.to_polars(), town=sf.Attribute(("quasi",))),
        {},
        SchemaError,
        "domain",
    ),
    "other": (PLAIN, {"other": {"town": "zed"}}, ParameterError, "must be a value of its domain"),
    "other number": (PLAIN, {"other": {"age": 70}}, ParameterError, "within its bounds"),
    "bins of words": (PLAIN, {"bins": {"town": 3}}, ParameterError, "for columns of numbers"),
    "unknown column": (PLAIN, {"decimals": {"agee": 2}}, SchemaError, "agee"),
    "persons": (
        described(PLAIN.to_polars().with_columns(who=pl.lit("x"))),
        {},
        SchemaError,
        "rows_per_person",
    ),
    "no persons": (PLAIN, {"rows_per_person": 2}, SchemaError, "role person"),
    "few rounds": (PLAIN, {"method": "aim", "rounds": 3}, ParameterError, "one more is needed"),
    "workload": (PLAIN, {"method": "aim", "workload": [["town", "zip"]]}, SchemaError, "zip"),
    "leaves": (PLAIN, {"leaves": ["town"]}, SchemaError, "hierarchy"),
    "many decimals": (PLAIN, {"decimals": {"age": 12}}, ParameterError, "decimals"),
    "ledger": (PLAIN, {"ledger": "nowhere.jsonl"}, ParameterError, "ledger .* does not exist"),
}


@pytest.mark.parametrize(("table", "options", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_before_anything_is_spent(table, options, error, said, naive, monkeypatch):
    monkeypatch.setattr(PrivateTable, "_spend", lambda *_: pytest.fail("something was spent"))
    with pytest.raises(error, match=said):
        step(**options).plan(table, Goal())


@pytest.mark.parametrize(
    "options",
    [
        {"workload": 2},
        {"rounds": 9},
        {"bins": 0},
        {"epsilon": 0},
        {"delta": 0},
        {"method": "aim", "workload": 0},
    ],
)
def test_parameters_that_mean_nothing(options):
    with pytest.raises(ParameterError):
        step(**options)


def test_several_columns_without_a_domain_are_told_at_once():
    bare = described(
        PLAIN.to_polars(), town=sf.Attribute(("quasi",)), work=sf.Attribute(("quasi",))
    )
    with pytest.raises(SchemaError) as caught:
        step().plan(bare, Goal())
    assert len(caught.value.problems) == 2 and "'a'" not in str(caught.value)


def test_a_table_and_answers_share_a_ledger(naive, tmp_path):
    file = tmp_path / "ledger.jsonl"
    table = people(2000)
    asking = sf.dp.session(table, budget=sf.dp.Budget(2.0, delta=1e-6), ledger=file)
    asking.count(rho=0.01)
    made = step(ledger=str(file))
    made.plan(table, Goal())
    with Ledger.at(file).hold() as book:
        assert book.asked[-1].startswith("synthesize_privately: mst, ε = 1")
        assert float(book.spending.rho) == pytest.approx(0.01 + float(made.rho))
    with pytest.raises(BudgetExceeded, match="would exceed"):
        step(ledger=str(file), epsilon=1.7).plan(table, Goal())
    with pytest.raises(ParameterError, match="rehearsal"):
        made.plan(table, Goal(seed=Seed(3)))
    exactly = Ledger.start(
        tmp_path / "one.jsonl", Terms("people", sf.dp.Budget(1.0, delta=1e-6), Relation())
    )
    step(ledger=str(exactly.path)).plan(table, Goal())  # a budget is enough for itself
    with pytest.raises(BudgetExceeded):
        step(ledger=str(exactly.path), epsilon=0.01).plan(table, Goal())
    changed = Ledger.start(
        tmp_path / "two.jsonl",
        Terms("people", sf.dp.Budget(1.0), Relation(neighbours="change_one")),
    )
    with pytest.raises(ParameterError, match="being replaced"):
        step(ledger=str(changed.path)).plan(table, Goal())


def test_missing_extras_are_named_before_anything_is_spent(monkeypatch):
    monkeypatch.setattr(PrivateTable, "_spend", lambda *_: pytest.fail("something was spent"))
    monkeypatch.setattr(model_fits.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"sfumato\[synthetic\]"):
        step().plan(people(), Goal())
    monkeypatch.setattr(
        "sfumato.methods.steps.synthesis.private_synthesis.require_fitting", lambda: None
    )

    def lost(name):
        raise ImportError(name)

    monkeypatch.setattr("sfumato.errors.importlib.import_module", lost)
    with pytest.raises(MissingExtra, match=r"sfumato\[dp\]"):
        step().plan(people(), Goal())


def test_recipes_come_back():
    recipe = sf.Recipe(
        people().schema,
        (sf.KAnonymity(1),),
        (step(other={"town": "a"}, workload=[["town", "age"]], method="aim"),),
    )
    assert recipes.parse(recipes.dump(recipe)) == recipe


# The process that fits.

READY = (
    "import sys; sys.path.insert(0, {folder!r}); import worker; out, ask = sys.stdout.buffer,"
    " sys.stdin.buffer\n"
)
DYING = {
    "late": (
        "worker.receive(ask); import time; time.sleep(60)",
        {"seconds": 0.5},
        "more than the allowed 0.5 seconds",
    ),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", {}, "ran out of memory"),
    "gone": ("raise SystemExit(7)", {}, "exit code 7"),
    "memory": (
        "worker.receive(ask); worker.send(out, {'failed': 'X', 'memory': True})",
        {},
        "ran out of memory",
    ),
    "error": (
        "worker.receive(ask); worker.send(out, {'failed': 'TypeError', 'memory': False})",
        {},
        "TypeError",
    ),
}


@pytest.mark.parametrize(("script", "options", "said"), DYING.values(), ids=DYING)
def test_a_process_that_dies_is_an_error_with_a_name(script, options, said, tmp_path, monkeypatch):
    folder = model_fits.worker.__file__.rpartition("worker.py")[0]
    file = tmp_path / "dying.py"
    file.write_text(READY.format(folder=folder) + script)
    monkeypatch.setattr(model_fits.worker, "__file__", str(file))
    with pytest.raises(FittingFailed, match=said), model_fits.ModelWorker({"a": 2}, **options):
        pass


def test_the_process_ends_whatever_ends_the_block(tmp_path, monkeypatch):
    folder = model_fits.worker.__file__.rpartition("worker.py")[0]
    file = tmp_path / "waiting.py"
    file.write_text(
        READY.format(folder=folder)
        + "worker.receive(ask); worker.send(out, {'ready': True}); ask.read()"
    )
    monkeypatch.setattr(model_fits.worker, "__file__", str(file))
    made = model_fits.ModelWorker({"a": 2})

    def interrupted():
        with made:
            assert made._process.poll() is None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert made._process.poll() is not None
    file.write_text(
        READY.format(folder=folder) + "worker.receive(ask); worker.send(out, {'missing': 'mbi'})"
    )
    with pytest.raises(MissingExtra, match="synthetic"), model_fits.ModelWorker({"a": 2}):
        pass
