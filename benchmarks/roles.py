"""What ``sfumato profile`` makes of column names and value shapes of real tables: precision and
recall of every role.

    make bench BENCH=roles                 the table of columns in
    tests/guidance/profiling/real_columns.py make bench BENCH=roles ARGS='--wrong'  and every column
    whose role is another one than it should be

A column is *unsafe* where people could be found by it because of what was proposed: a name or
number of a person that is neither dropped nor asked about, or something others can know that would
be released as it is. There must be none.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl

ROLES = ("drop", "quasi", "sensitive", "weight", "person", "stratum", "keep", "ask")


def table_of_columns() -> pl.DataFrame:
    """Expected and proposed role of every column."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "profile"))
    from real_columns import outcomes

    return pl.DataFrame(
        outcomes(), schema=["table", "column", "expected", "proposed"], orient="row"
    )


def counts(found: pl.DataFrame, role: str) -> tuple[int, int, int]:
    """How many columns should have a role, how many were proposed for it, and how many both."""
    expected = found["expected"].str.split("+").list.contains(role)
    proposed = found["proposed"].str.split("+").list.contains(role)
    return int(expected.sum()), int(proposed.sum()), int((expected & proposed).sum())


def show(found: pl.DataFrame) -> None:
    """Print the figures."""
    from real_columns import is_unsafe

    unsafe = sum(is_unsafe(e, p) for e, p in found.select("expected", "proposed").iter_rows())
    right = int((found["expected"] == found["proposed"]).sum())
    print(
        f"{found.height} columns in {found['table'].n_unique()} tables: {right} as expected"
        f" ({right / found.height:.1%}), {unsafe} unsafe"
    )
    print(f"{'role':<10}{'should':>8}{'proposed':>10}{'precision':>11}{'recall':>8}")
    for role in ROLES:
        expected, proposed, both = counts(found, role)
        precision = f"{both / proposed:.3f}" if proposed else "-"
        recall = f"{both / expected:.3f}" if expected else "-"
        print(f"{role:<10}{expected:>8}{proposed:>10}{precision:>11}{recall:>8}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--wrong", action="store_true", help="list the columns whose role is another one"
    )
    asked = parser.parse_args()
    found = table_of_columns()
    show(found)
    if asked.wrong:
        for table, column, expected, proposed in found.filter(
            pl.col("expected") != pl.col("proposed")
        ).iter_rows():
            print(f"  {table}: {column} is {proposed}, should be {expected}")


if __name__ == "__main__":
    main()
