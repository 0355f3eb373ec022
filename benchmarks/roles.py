"""What ``sfumato profile`` makes of columns: on names with invented values, and on real tables.

    make bench BENCH=roles                    columns of tests/guidance/profiling/real_columns.py,
                                              and the development half of role_tables.json
    make bench BENCH=roles ARGS=--wrong       and every column whose role is another one
    make bench BENCH=roles ARGS="--part 'held out'"    the other half, measured once at the end
    make bench BENCH=roles ARGS="--part fresh"         tables of later sets (benchmarks/README.md)

A proposal for a real table is *right* where its roles are those that were written down before,
*asked* where it is left to the owner, and *unsafe* where a column that finds people or must not be
learned would be released unchanged, or a column that names or numbers people be anything but
dropped, asked about or used as the number of a person.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import polars as pl

ROLES = ("drop", "quasi", "sensitive", "weight", "person", "stratum", "keep", "ask")

# Roles under which values are released unchanged.
UNCHANGED = frozenset({"keep", "weight", "stratum"})
NUMBERS_OF_PEOPLE = frozenset({"drop", "person", "household"})
AIMS = "aims: at least 80 % right, at most 1 % unsafe, at most six questions a table"


def real_columns() -> Any:
    """The names with invented values that the tests have as well."""
    sys.path.insert(
        0, str(Path(__file__).resolve().parents[1] / "tests" / "guidance" / "profiling")
    )
    return importlib.import_module("real_columns")


def table_of_columns() -> pl.DataFrame:
    """Expected and proposed role of every column with invented values."""
    return pl.DataFrame(
        real_columns().outcomes(), schema=["table", "column", "expected", "proposed"], orient="row"
    )


def counts(outcomes: pl.DataFrame, role: str) -> tuple[int, int, int]:
    """How many columns should have a role, how many were proposed for it, and how many both."""
    expected = outcomes["expected"].str.split("+").list.contains(role)
    proposed = outcomes["proposed"].str.split("+").list.contains(role)
    return int(expected.sum()), int(proposed.sum()), int((expected & proposed).sum())


def show(outcomes: pl.DataFrame) -> None:
    """Print the figures of the columns with invented values."""
    is_unsafe = real_columns().is_unsafe
    unsafe = sum(is_unsafe(e, p) for e, p in outcomes.select("expected", "proposed").iter_rows())
    right = int((outcomes["expected"] == outcomes["proposed"]).sum())
    print(
        f"{outcomes.height} columns in {outcomes['table'].n_unique()} tables: {right} as expected"
        f" ({right / outcomes.height:.1%}), {unsafe} unsafe"
    )
    print(f"{'role':<10}{'should':>8}{'proposed':>10}{'precision':>11}{'recall':>8}")
    for role in ROLES:
        expected, proposed, both = counts(outcomes, role)
        precision = f"{both / proposed:.3f}" if proposed else "-"
        recall = f"{both / expected:.3f}" if expected else "-"
        print(f"{role:<10}{expected:>8}{proposed:>10}{precision:>11}{recall:>8}")


def verdict(expected: tuple[str, ...], proposed: str) -> str:
    """What a proposal is worth for a column that may have some roles.

    >>> verdict(("sensitive",), "keep"), verdict(("quasi", "drop"), "drop")
    ('unsafe', 'right')
    """
    if proposed in expected:
        return "right"
    if proposed == "ask":
        return "asked"
    if set(expected) <= NUMBERS_OF_PEOPLE:
        return "wrong" if proposed in NUMBERS_OF_PEOPLE else "unsafe"
    return "unsafe" if proposed in UNCHANGED else "wrong"


def outcomes_of_tables(part: str) -> tuple[pl.DataFrame, list[str]]:
    """One row per column of the real tables that are there, and the names of those that are not."""
    from role_tables import read_tables

    from sfumato.guidance.profiling.proposal import propose
    from sfumato.interfaces import api

    rows, absent = [], []
    for table, file in read_tables(part):
        if file is None or not table.columns:
            absent.append(table.name)
            continue
        dataset = api.read(file).in_memory("the benchmark")
        proposal = propose(dataset.to_polars(), dataset.source)
        for name, expected in table.columns.items():
            column = proposal[name]
            proposed = "+".join(column.roles)
            rows.append(
                {
                    "table": table.name,
                    "column": name,
                    "expected": "|".join(expected),
                    "proposed": proposed,
                    "verdict": verdict(expected, proposed),
                    "asked": _asked(proposal, name),
                    "answer": _answer(proposal, name, expected),
                    "rule": column.rule,
                    "questions": len(proposal.questions),
                }
            )
    return pl.DataFrame(rows), absent


def _asked(proposal: Any, name: str) -> str:
    """The role a question proposes for a column; empty where none is asked."""
    for question in proposal.questions:
        if name in question.columns:
            return str(question.role)
    return ""


def _answer(proposal: Any, name: str, expected: tuple[str, ...]) -> str:
    """What a column becomes where every question is answered yes."""
    return verdict(expected, _asked(proposal, name) or "+".join(proposal[name].roles))


def show_tables(outcomes: pl.DataFrame) -> None:
    """Print the figures of the real tables."""
    tables = outcomes["table"].n_unique()
    print(f"\n{outcomes.height:,} columns in {tables} real tables")
    for outcome in ("right", "asked", "wrong", "unsafe"):
        count = int((outcomes["verdict"] == outcome).sum())
        print(f"  {outcome:<8}{count:>6}{count / outcomes.height:>8.1%}")
    answered = int((outcomes["answer"] == "right").sum())
    print(f"  right where every question is answered yes: {answered / outcomes.height:.1%}")
    only = pl.col("expected") == "sensitive"
    protected = pl.col("proposed").str.contains("sensitive")
    columns = outcomes.filter(only)
    print(
        f"  columns that only can be sensitive: {columns.height}, proposed so:"
        f" {columns.filter(protected).height}"
    )
    having = set(outcomes.filter(only)["table"])
    offered = set(outcomes.filter(protected | pl.col("asked").str.contains("sensitive"))["table"])
    missed = sorted(having - offered)
    print(
        f"  tables with sensitive columns where none is proposed so or asked about: {len(missed)}"
        f" {', '.join(missed)}"
    )
    most = outcomes.group_by("table").agg(pl.col("questions").first())["questions"]
    print(f"  questions a table: {most.mean():.1f} on average, {most.max()} at most")
    _show_rules(outcomes)
    print(AIMS)


def _show_rules(outcomes: pl.DataFrame) -> None:
    """How often each rule decided, and what came of it."""
    print(f"  {'rule':<34}{'columns':>8}{'right':>8}{'asked':>8}{'wrong':>8}{'unsafe':>8}")
    table = outcomes.group_by("rule").agg(
        pl.len().alias("columns"),
        *(
            (pl.col("verdict") == outcome).sum().alias(outcome)
            for outcome in ("right", "asked", "wrong", "unsafe")
        ),
    )
    for row in table.sort("columns", descending=True).iter_rows():
        print(f"  {row[0]:<34}" + "".join(f"{figure:>8}" for figure in row[1:]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wrong", action="store_true", help="list columns with another role")
    from role_tables import DEVELOPMENT, PARTS, packages_folder

    parser.add_argument("--part", default=DEVELOPMENT, choices=PARTS, help="tables to measure")
    options = parser.parse_args()
    if options.part == DEVELOPMENT:
        invented = table_of_columns()
        show(invented)
        if options.wrong:
            different = invented.filter(pl.col("expected") != pl.col("proposed"))
            for table, column, expected, proposed in different.iter_rows():
                print(f"  {table}: {column} is {proposed}, should be {expected}")
    if packages_folder() is None:
        print(
            "the real tables are left out: SFUMATO_REFERENCE_DATA names no folder with packages;"
            " see benchmarks/role_tables.py"
        )
        return
    outcomes, absent = outcomes_of_tables(options.part)
    if absent:
        print(f"not there, and left out: {', '.join(absent)}")
    if outcomes.is_empty():
        return
    show_tables(outcomes)
    if options.wrong:
        for row in outcomes.filter(pl.col("verdict") != "right").iter_rows(named=True):
            print(
                f"  {row['verdict']}: {row['table']}: {row['column']} is {row['proposed']}, should"
                f" be {row['expected']} ({row['rule']})"
            )


if __name__ == "__main__":
    main()
