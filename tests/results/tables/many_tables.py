"""Very many small tables of every kind, published and audited by an auditor that knows nothing of
our code.

``python -m tests.results.tables.many_tables 0 2000`` says how many held, and what fell.
"""

from __future__ import annotations

import collections
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.errors import ReleaseRefused, Unsatisfiable
from tests.results.tables.joint_auditor import Asked, wrong_of, wrong_of_rounded

KINDS = {
    "threshold": sf.Threshold,
    "dominance": sf.Dominance,
    "p_percent": sf.PPercent,
    "pq": sf.PQ,
    "all_equal": sf.AllEqual,
    "group_disclosure": sf.GroupDisclosure,
}
VALUES = {"r": ["na", "nb", "sa"], "s": ["y", "z"], "d": ["u", "v", "w"]}


def rules_of(draw, measure, names):
    """Rules and their parameters, one or two."""
    few = ("threshold", {"t": int(draw.choice([2, 3, 4])), "zeros": bool(draw.random() < 0.05)})
    group = (
        [("group_disclosure", {"column": names[-1]})]
        if len(names) > 1 and draw.random() < 0.15
        else []
    )
    if measure != "sum(x)":
        return [few, *group]
    colluders = int(draw.choice([1, 1, 2]))
    found = [
        [few],
        [("p_percent", {"p": float(draw.choice([10, 30])), "colluders": colluders})],
        [("pq", {"p": 10.0, "q": float(draw.choice([40, 80])), "colluders": colluders})],
        [("dominance", {"n": int(draw.choice([1, 2])), "k": float(draw.choice([70, 90]))})],
        [few, ("all_equal", {})],
    ]
    return [*found[int(draw.integers(len(found)))], *group]


def records_of(draw, names, measure):
    """A few records, some of them without a value; one person may have several."""
    count = int(draw.integers(3, 12))
    columns = {
        name: (
            draw.choice(VALUES[name], count, p=draw.dirichlet(np.ones(len(VALUES[name])))).tolist()
        )
        for name in names
    }
    amount = draw.choice(
        [draw.integers(0, 6, count).astype(float), draw.lognormal(2, 1.2, count).round(1)]
    )
    negatives = measure == "sum(x)" and draw.random() < 0.12
    amount = amount * np.where(negatives & (draw.random(count) < 0.3), -1.0, 1.0)
    gone = draw.random(count) < draw.choice([0.0, 0.0, 0.0, 0.15])
    columns["x"] = [
        None if lost and measure == "sum(x)" else one
        for one, lost in zip(amount.tolist(), gone, strict=True)
    ]
    columns["who"] = draw.integers(0, max(2, count // 2), count).tolist()
    columns["w"] = draw.choice([1.0, 2.5], count).tolist()
    return pl.DataFrame(
        columns, schema_overrides={**dict.fromkeys(names, pl.String), "x": pl.Float64}
    ), bool(negatives)


def published(number, folder):
    """What happened to the table with this number, and what an auditor finds wrong."""
    draw = np.random.default_rng(number)
    names = [
        str(one) for one in draw.permutation(list(VALUES))[: int(draw.choice([1, 2, 2, 2, 3]))]
    ]
    measure = str(draw.choice(["count", "count", "rows", "sum(x)", "sum(x)", "sum(x)"]))
    frame, negatives = records_of(draw, names, measure)
    rules = rules_of(draw, measure, names)
    unit = "who" if measure != "count" and draw.random() < 0.3 else None
    weight = "w" if measure == "sum(x)" and draw.random() < 0.15 else None
    missing = bool(measure == "sum(x)" and draw.random() < 0.2)
    trees = {"r": sf.mask_right(2)} if draw.random() < 0.6 else {}
    methods = ["auto", "heuristic", "heuristic", "heuristic", "heuristic", "exact"]
    method = str(draw.choice(methods + (["rounding", "perturb"] if measure == "count" else [])))
    suppressed = method in ("auto", "heuristic", "exact")
    asked = {"zeros": str(draw.choice(["known", "known", "free"]))}
    if suppressed and draw.random() < 0.25:
        asked |= {"slide": float(draw.choice([1.3, 2.0, 4.0]))}
    if suppressed and draw.random() < 0.15:
        asked |= {"prior": float(draw.choice([100, 300]))}
    table = sf.tabulate(
        frame,
        names,
        measure,
        options=sf.CountOptions(
            hierarchies=trees,
            weight=weight,
            negatives="absolute" if negatives else "refuse",
            missing_counts=missing,
        ),
        unit=unit,
    )
    judged = table.sensitive(*(KINDS[name](**values) for name, values in rules))
    try:
        made = judged.protect(method, options=sf.ProtectOptions(**asked))
    except Unsatisfiable:
        return f"{method} cannot", []
    except ReleaseRefused as error:
        return f"{method} refused", [] if not suppressed else [str(error)]
    made.write(folder / str(number))
    told = Asked(
        folder / str(number) / "share", rules, {}, asked.get("slide", 0.0), asked.get("prior")
    )
    if not suppressed:
        base = made.options["base"]
        return f"{method} holds", wrong_of_rounded(frame.to_dicts(), told, names, base=base)
    return f"{method} holds" if made.hidden.any() else "nothing hidden", wrong_of(
        frame.to_dicts(),
        [told],
        names,
        unit=unit,
        weight=weight,
        missing_counts=missing,
        negatives=negatives,
    )


def main(first, last):
    """Publish many and say what fell."""
    counts, started = collections.Counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, last):
            word, wrong = published(number, Path(folder))
            counts[word if not wrong else f"WRONG {word}"] += 1
            for one in wrong[:3]:
                print(number, one, flush=True)
    print(dict(counts), f"{time.process_time() - started:.1f} CPU s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
