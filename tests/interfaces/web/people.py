"""A small invented table for tests of the stages, with markup in a name and in values, and its
recipe.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

JOB = 'job <b>"x"</b>'
JOBS = ("nurse", "cook", '"smith"', "<img src=x onerror=alert(1)>", "teacher, school")
RECIPE = """\
sfumato: 1
columns:
  name: {role: drop}
  age: {role: quasi, kind: numeric, hierarchy: {intervals: [5, 10, 20]}}
  sex: {role: quasi, hierarchy: suppress}
  zip: {role: quasi, hierarchy: {mask_right: {length: 4}}}
  'job <b>"x"</b>': {role: quasi, hierarchy: suppress}
  illness: {role: sensitive}
meet:
  - k_anonymity: {k: 5}
steps:
  - global_recoding: {budget: 0.05}
"""


def people(rows: int = 400) -> pl.DataFrame:
    """The same people every time."""
    draw = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "name": [f"P{row}" for row in range(rows)],
            "age": draw.normal(45, 16, rows).clip(18, 95).astype(int),
            "sex": draw.choice(["m", "f"], rows),
            "zip": [
                f"{part}{end:02d}"
                for part, end in zip(
                    draw.choice([10, 11, 20], rows), draw.integers(0, 100, rows), strict=True
                )
            ],
            JOB: draw.choice(JOBS, rows),
            "illness": draw.choice(["flu", "asthma", "cancer", "none"], rows),
        }
    )


def written(folder: Path, rows: int = 400) -> tuple[Path, Path]:
    """The table and its recipe as files."""
    table, recipe = folder / "people.csv", folder / "people.yaml"
    people(rows).write_csv(table)
    recipe.write_text(RECIPE, encoding="utf-8")
    return table, recipe
