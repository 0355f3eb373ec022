"""Local recoding beside ARX's, and Mondrian beside anonypy's, on Adult: seconds and loss.

make bench BENCH=local ARGS='--peers venv/bin/python'
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import polars as pl
from race import Options, Ours, Race, Theirs, ask_peer, best_of, growth, once, script
from tables import ADULT, ADULT_9, FARS, SAME_SIZE, TIMES, coded, folder, reference

import sfumato as sf
from sfumato.core.step import Goal
from sfumato.methods.models import KAnonymity

K = 10
MONDRIAN = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
)


def local(name: str, columns: tuple[str, ...], loss: float) -> Callable[[Options], Ours]:
    """Recode locally with k = 5; the loss is below ARX's."""

    def measured(_: Options) -> Ours:
        table, step, goal = coded(name, columns), sf.LocalRecoding(), Goal((KAnonymity(5),))
        cpu, wall, plan = best_of(
            3, lambda fresh: step.plan(fresh, goal), lambda: dataclasses.replace(table)
        )
        verdict = sf.judge(step.apply(table, plan), [KAnonymity(5)])[0]
        return Ours(
            cpu, verdict.holds and plan.score <= loss, f"loss {plan.score:.4f}, ARX {loss}", wall
        )

    return measured


@once
def bare() -> sf.Table:
    """Adult without hierarchies: a cell is a range of numbers or a set of values, as the packages
    have it.
    """
    people = sf.read(reference("adult", "adult.csv"))
    return people.drop([c for c in people.columns if c not in MONDRIAN]).with_roles(quasi=MONDRIAN)


def mondrian(_: Options) -> Ours:
    """Cut Adult."""
    cpu, wall, plan = best_of(
        5,
        lambda fresh: sf.Mondrian().plan(fresh, Goal((KAnonymity(K),))),
        lambda: dataclasses.replace(bare()),
    )
    verdict = sf.judge(sf.Mondrian().apply(bare(), plan), [KAnonymity(K)])[0]
    return Ours(cpu, verdict.holds, f"loss {plan.score:.4f}", wall, result=plan.score)


def anonypy(options: Options) -> Theirs:
    """Anonypy cuts the same table."""
    file, frame = folder() / "mondrian.csv", bare().to_polars().select(MONDRIAN)
    frame.write_csv(file)
    told = ask_peer(options, "anonypy", file=str(file), numeric=["age"], k=K)
    return Theirs(told["version"], told["seconds"], result=loss_of(frame, told["part_of"]))


def loss_of(frame: pl.DataFrame, part_of: list[int]) -> float:
    """Mean over cells of what a part leaves open: (values − 1)/(all values − 1), for numbers width
    over the table's width.
    """
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    sets = [name for name in frame.columns if name not in numbers]
    wide = [
        (pl.col(n).max() - pl.col(n).min()) / (frame[n].max() - frame[n].min()) for n in numbers
    ]  # type: ignore[operator]
    wide += [(pl.col(n).n_unique() - 1) / (frame[n].n_unique() - 1) for n in sets]
    parts = (
        frame.with_columns(part=pl.Series(part_of))
        .group_by("part")
        .agg(pl.len(), lost=pl.mean_horizontal(wide))
    )
    return float((parts["len"] * parts["lost"]).sum() / len(frame))


@once
def grown(rows: int) -> Ours:
    """Mondrian on a table whose rows are nearly all different."""
    table = sf.examples.large(rows, distinct="many")
    cpu, wall, plan = best_of(1, lambda _: sf.Mondrian().plan(table, Goal((KAnonymity(K),))))
    verdict = sf.judge(sf.Mondrian().apply(table, plan), [KAnonymity(K)])[0]
    return Ours(cpu, verdict.holds, f"loss {plan.score:.4f}", wall)


def against_arx(
    task: str, name: str, columns: tuple[str, ...], loss: float, seconds: float
) -> Race:
    """A race with ARX's local transformation, 100 rounds."""
    check = f"the release keeps k = 5 and loses no more than ARX's ({loss})"
    return Race(
        task,
        check,
        local(name, columns, loss),
        stored=Theirs("ARX 3.9.2", seconds, TIMES),
        times=1.0,
    )


RACES = (
    against_arx("local recoding, Adult-8", "adult", ADULT, 0.0329, 0.70),
    against_arx("local recoding, Adult-9", "adult", ADULT_9, 0.0589, 3.44),
    against_arx("local recoding, fars", "fars_int", FARS, 0.0208, 1.15),
    Race(
        "Mondrian, Adult-8, k = 10",
        "the release keeps k = 10 and loses no more than anonypy's",
        mondrian,
        anonypy,
        Theirs("anonypy 0.2.1", 40.0, SAME_SIZE),
        lambda ours, theirs: ours.result <= theirs.result + 1e-9,
        times=1.0,
    ),
    Race(
        "growth of Mondrian, distinct rows",
        "the release keeps k = 10",
        growth(grown),
        unit="n^",
        aim=1.1,
    ),
)

if __name__ == "__main__":
    script(__file__)
