"""Random tables to publish: one a number, with hierarchies, zeros, negatives, lone and missing
respondents, weights, linked tables.

``python -m tests.results.tables.random_tables 0 5000`` publishes so many, audits each as a
stranger, and tells what fell.
"""

from __future__ import annotations

import collections
import dataclasses
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.errors import ReleaseRefused, Unsatisfiable
from tests.results.tables.stranger import broken

DEEP = {
    0: ["u", "v", "w", "y"],
    2: ["aa", "ab", "ba", "bb", "ca"],
    3: ["aaa", "aab", "aba", "baa", "bba"],
}


@dataclasses.dataclass
class RandomTable:
    """Records and how they are to be published."""

    frame: pl.DataFrame
    by: list
    measure: str
    rules: list
    hierarchies: dict
    unit: str | None
    weight: str | None
    negatives: bool
    missing_counts: bool
    method: str
    zeros: str
    cost: str

    def protect(self):
        table = sf.tabulate(
            self.frame,
            self.by,
            self.measure,
            options=sf.CountOptions(
                hierarchies=self.hierarchies,
                weight=self.weight,
                negatives="absolute" if self.negatives else "refuse",
                missing_counts=self.missing_counts,
            ),
            unit=self.unit,
        )
        kinds = {"threshold": sf.Threshold, "dominance": sf.Dominance, "p_percent": sf.PPercent}
        rules = [kinds[name](**values) for name, values in self.rules]
        return table.sensitive(*rules).protect(
            self.method, options=sf.ProtectOptions(zeros=self.zeros), weight=self.cost
        )

    def broken(self, share):
        return broken(
            share,
            self.frame.to_dicts(),
            self.rules,
            self.measure,
            negatives=self.negatives,
            singles=self.measure.startswith("sum"),
            unit=self.unit,
            weight=self.weight,
            missing_counts=self.missing_counts,
        )


def random_table(number, most=35):
    """The table with this number."""
    draw = np.random.default_rng(number)
    names = list("abc")[: int(draw.choice([1, 2, 2, 2, 3]))]
    depth = {
        name: int(draw.choice([0, 0, 2, 3] if len(names) < 3 else [0, 0, 2])) for name in names
    }
    count = int(draw.integers(4, most))
    kind = str(draw.choice(["count", "rows", "sum(x)", "sum(x)"]))
    columns = {}
    for name in names:
        values = DEEP[depth[name]]
        values = values[: int(draw.integers(2, len(values) + 1))]
        column = draw.choice(values, count, p=draw.dirichlet(np.full(len(values), 0.8))).tolist()
        gone = depth[name] == 0 and draw.random() < 0.2
        columns[name] = [None if gone and draw.random() < 0.08 else value for value in column]
    amount = draw.choice(
        [
            draw.integers(0, 9, count).astype(float),
            draw.lognormal(2, 1.5, count).round(2),
            draw.pareto(1, count).round(1),
        ]
    )
    amount[draw.random(count) < draw.choice([0.0, 0.3])] = 0.0
    negatives = bool(kind == "sum(x)" and draw.random() < 0.2)
    amount = amount * np.where(negatives & (draw.random(count) < 0.3), -1.0, 1.0)
    missing = draw.random(count) < draw.choice([0.0, 0.0, 0.15])
    columns["x"] = [
        None if gone and kind == "sum(x)" else value
        for value, gone in zip(amount.tolist(), missing, strict=True)
    ]
    columns["who"] = draw.integers(0, max(2, int(count * draw.choice([0.3, 0.7]))), count).tolist()
    columns["w"] = draw.choice([1.0, 1.5, 4.0], count).tolist()
    rules = (
        [("threshold", {"t": int(draw.choice([2, 3, 5]))})]
        if kind != "sum(x)"
        else [
            [
                (
                    "p_percent",
                    {"p": float(draw.choice([10, 25])), "colluders": int(draw.choice([1, 1, 2]))},
                )
            ],
            [
                ("threshold", {"t": int(draw.choice([2, 3]))}),
                ("p_percent", {"p": 10.0, "colluders": 1}),
            ],
            [("dominance", {"n": int(draw.choice([1, 2])), "k": float(draw.choice([75, 90]))})],
        ][int(draw.integers(0, 3))]
    )
    linked = len(names) == 3 and draw.random() < 0.6
    return RandomTable(
        pl.DataFrame(columns, schema_overrides=dict.fromkeys(names, pl.String)),
        [names[:2], [names[0], names[2]]] if linked else names,
        kind,
        list(rules),
        {name: sf.mask_right(deep) for name, deep in depth.items() if deep},
        "who" if kind != "count" and draw.random() < 0.5 else None,
        "w" if kind == "sum(x)" and draw.random() < 0.2 else None,
        negatives,
        bool(kind == "sum(x)" and missing.any() and draw.random() < 0.5),
        str(
            draw.choice(
                [
                    "heuristic",
                    "heuristic",
                    "exact" if len(names) < 3 and count < 40 else "auto",
                    "auto",
                ]
            )
        ),
        str(draw.choice(["known", "known", "free"])),
        str(draw.choice(["value", "one", "log"])),
    )


def published(number, folder, most=35):
    """What happened to a table: words, and what a stranger finds wrong."""
    made = random_table(number, most)
    try:
        protected = made.protect()
    except Unsatisfiable:
        return f"{made.method} cannot", []
    except ReleaseRefused as error:
        return f"{made.method} refused", [str(error)]
    written = protected.write(folder / str(number))
    word = "nothing hidden" if not protected.hidden.any() else f"{made.method} holds"
    wrong = made.broken(written / "share")
    if not sf.verify(written / "share", owner=written / "owner").holds:
        wrong = [*wrong, "verify fails"]
    return word, wrong


def main(first, last):
    """Publish many and say what fell."""
    counts, started = collections.Counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, last):
            try:
                word, wrong = published(number, Path(folder))
            except Exception as error:  # noqa: BLE001
                word, wrong = "error", [f"{type(error).__name__}: {error}"]
            counts[word if not wrong else f"WRONG {word}"] += 1
            for one in wrong[:3]:
                print(number, one, flush=True)
            if number % 100 == 99:
                print(
                    number + 1 - first,
                    dict(counts),
                    f"{time.process_time() - started:.0f} CPU s",
                    flush=True,
                )
    print("done", dict(counts))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
