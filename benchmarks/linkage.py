"""Record linkage of 5,000 × 5,000 records beside recordlinkage and splink, and of noisy numbers:
seconds and recall.

make bench BENCH=linkage ARGS='--peers venv/bin/python'

FEBRL 4: who is whom is known, so that recall is the share of people linked to their own record. The
peers get candidate pairs from blocks of equal surname, postcode or date of birth, the usual choice,
and keep each person's best candidate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from race import Options, Ours, Race, Theirs, ask_peer, best_of, once, script
from tables import EARLIER, folder, reference

import sfumato as sf
from sfumato.core.attack import Attack, Intruder, Scene
from sfumato.core.pair import TablePair
from sfumato.core.schema import Attribute, Kind, Missing, Role, Schema
from sfumato.core.table import Table

BLOCKS = ["surname", "postcode", "date_of_birth"]
RECALL = 0.9978
Files = tuple[pl.DataFrame, pl.DataFrame, np.ndarray]


@once
def febrl() -> Files:
    """Originals, corrupted copies, and which original each copy is of."""
    tables = [
        pl.read_csv(reference("linkage", f"febrl4{part}.csv"), infer_schema=False).rename(str.strip)
        for part in "ab"
    ]
    ours, theirs = (t.with_columns(pl.all().str.strip_chars().replace("", None)) for t in tables)
    number = {key.split("-")[1]: i for i, key in enumerate(ours["rec_id"])}
    truth = np.array([number[key.split("-")[1]] for key in theirs["rec_id"]])
    return ours.drop("rec_id"), theirs.drop("rec_id"), truth


@once
def points(rows: int) -> Files:
    """Six correlated numbers and a noisy copy."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(rows, 6)) @ rng.normal(size=(6, 6))
    y = x + 0.05 * x.std(axis=0) * rng.normal(size=x.shape)
    names = [f"x{k}" for k in range(6)]
    return pl.DataFrame(x, schema=names), pl.DataFrame(y, schema=names), np.arange(rows)


def linked(
    attack: Attack, files: Callable[[], Files], least: float, times: int
) -> Callable[[Options], Ours]:
    """Link a file to a register."""

    def measured(_: Options) -> Ours:
        released, register, truth = files()
        kind = Kind.NUMERIC if released.dtypes[0].is_numeric() else Kind.NOMINAL
        schema = Schema(
            {n: Attribute((Role.QUASI,), kind, missing=Missing.WILDCARD) for n in released.columns}
        )

        def scene() -> Scene:
            table = Table(released, schema)
            return Scene(
                TablePair.of(table, table),
                Intruder(Table(register), tuple(register.columns), truth),
                seconds=3600,
            )

        cpu, wall, finding = best_of(times, attack.attack, scene)
        return Ours(
            cpu, finding.value >= least, f"recall {finding.value:.4f}", wall, result=finding.value
        )

    return measured


def peer(package: str) -> Callable[[Options], Theirs]:
    """The same files for a package."""

    def asked(options: Options) -> Theirs:
        released, register, truth = febrl()
        files = {"one": str(folder() / "register.csv"), "two": str(folder() / "released.csv")}
        register.write_csv(files["one"])
        released.write_csv(files["two"])
        told = ask_peer(options, package, **files, truth=truth.tolist(), blocks=BLOCKS)
        return Theirs(told["version"], told["seconds"], result=told["recall"])

    return asked


def febrl_race(task: str, package: str, name: str, seconds: float, aim: float | None) -> Race:
    """Probabilistic linkage of FEBRL beside a package."""
    ours = linked(sf.ProbabilisticLinkage(), febrl, RECALL, 5)
    return Race(
        task,
        f"recall is at least {RECALL}",
        ours,
        peer(package),
        Theirs(name, seconds, EARLIER),
        aim=aim,
    )


NUMBERS = (
    linked(sf.ProbabilisticLinkage(), lambda: points(10_000), 0.9, 1),
    linked(sf.DistanceLinkage(), lambda: points(10_000), 0.9, 1),
)
RACES = (
    febrl_race("linkage, FEBRL 5k × 5k", "recordlinkage", "recordlinkage 0.16", 1.36, 0.25),
    febrl_race("linkage, FEBRL 5k × 5k, again", "splink", "splink 5.0", 4.28, None),
    Race("probabilistic linkage, 10⁴ numbers", "recall is at least 0.9", NUMBERS[0]),
    Race("distance linkage, 10⁴ numbers", "recall is at least 0.9", NUMBERS[1]),
)

if __name__ == "__main__":
    script(__file__)
