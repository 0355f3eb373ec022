"""Eleven attained values of a table in one pass, beside pycanon.

make bench BENCH=judge ARGS='--peers venv/bin/python'

k; distinct, entropy and recursive l; α; t by equal and by ordered distance; δ strict and with
absent values skipped; basic and enhanced β. Compared are those that pycanon works out by their
definition.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import polars as pl
from race import Options, Ours, Race, Theirs, ask_peer, at, best_of, growth, once, script
from tables import SAME_SIZE, folder, people, reference

import sfumato as sf

QUASI = (
    "sex",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "salary-class",
)


def models(text: str, number: str) -> dict[str, str]:
    """What is asked of a table with a word and a number to protect."""
    return {
        "k": "k_anonymity",
        "distinct l": f"l_diversity:{text}",
        "entropy l": f"l_diversity:{text},kind=entropy",
        "recursive l": f"l_diversity:{text},kind=recursive,c=3",
        "alpha": f"alpha_k_anonymity:{text}",
        "t, equal": f"t_closeness:{text}",
        "t, ordered": f"t_closeness:{number},distance=ordered",
        "delta": f"delta_disclosure:{text}",
        "delta, skipping": f"delta_disclosure:{text},absent=skip",
        "beta, basic": f"beta_likeness:{text}",
        "beta, enhanced": f"beta_likeness:{text},kind=enhanced",
    }


@once
def adult() -> sf.Table:
    """Adult with a word and a number to protect."""
    return sf.read(reference("adult", "adult.csv")).with_roles(
        quasi=QUASI, sensitive=("occupation", "age")
    )


@once
def released() -> sf.Table:
    """Adult in which every class has five records or more."""
    table = adult().with_hierarchies(**{name: sf.suppress() for name in QUASI})
    return sf.anonymize(table, [sf.KAnonymity(5)], [sf.GlobalRecoding(budget=0.05)], seed=1).dataset


def judged(table: sf.Table, text: str, number: str, times: int) -> Ours:
    """Judge all at once; k and l are counted by polars as well."""
    asked = models(text, number)
    cpu, wall, verdicts = best_of(
        times,
        lambda fresh: sf.judge(fresh, list(asked.values())),
        lambda: dataclasses.replace(table),
    )
    values = {name: verdict.attained for name, verdict in zip(asked, verdicts, strict=True)}
    classes = (
        table.to_polars()
        .group_by(table.schema.quasi)
        .agg(pl.len().alias("k"), pl.col(text).n_unique().alias("l"))
    )
    right = (values["k"], values["distinct l"]) == (classes["k"].min(), classes["l"].min())
    return Ours(cpu, right, f"k {values['k']:g}, l {values['distinct l']:g}", wall, result=values)


def theirs(table: Callable[[], sf.Table]) -> Callable[[Options], Theirs]:
    """Pycanon on the same table."""

    def asked(options: Options) -> Theirs:
        file = folder() / "judged.csv"
        table().to_polars().write_csv(file, null_value="missing")
        told = ask_peer(
            options, "pycanon", file=str(file), quasi=QUASI, text="occupation", number="age"
        )
        return Theirs(told["version"], told["seconds"], result=told["values"])

    return asked


def same(ours: Ours, peer: Theirs) -> bool:
    """Whether the values that have one definition are equal."""
    return all(
        abs(ours.result[name] - value) <= 1e-6 * max(1.0, abs(value))
        for name, value in peer.result.items()
    )


@once
def grown(rows: int) -> Ours:
    """The generated table, five quasi-identifiers."""
    table = people(rows).with_roles(
        quasi=("sex", "zip", "nationality", "marital_status", "education")
    )
    return judged(table.with_roles(sensitive=("illness", "age")), "illness", "age", 3)


CHECK = "k and l as polars counts them; k, l, α, t and β as pycanon says"
RACES = (
    Race(
        "judge released Adult, 11 values",
        CHECK,
        lambda _: judged(released(), "occupation", "age", 15),
        theirs(released),
        Theirs("pycanon 1.3.6", 10.4, SAME_SIZE),
        same,
        aim=0.01,
    ),
    Race(
        "judge Adult, 11 values",
        CHECK,
        lambda _: judged(adult(), "occupation", "age", 10),
        theirs(adult),
        Theirs("pycanon 1.3.6", 132.7, SAME_SIZE),
        same,
        slow_peer=True,
    ),
    Race("judge 10⁶ rows, 11 values", "k and l as polars counts them", at(10**6, grown)),
    Race("growth of judging", "k and l as polars counts them", growth(grown), unit="n^", aim=1.1),
)

if __name__ == "__main__":
    script(__file__)
