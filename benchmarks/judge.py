"""All attained values of a table in one pass, against pycanon in the same run.

    make bench BENCH=judge                               sfumato alone, or with pycanon where it can be imported
    make bench BENCH=judge ARGS='--peer peer/bin/python' pycanon in an environment of its own (it pins other libraries)

Eleven numbers (k; distinct, entropy and recursive l; α; t by equal and by ordered distance; δ strict and with absent
values skipped; basic and enhanced β) of Adult where the reference data are on this machine, of a generated table of the
same size otherwise, and of one with a million rows. Seconds are CPU seconds of the work itself, all threads together,
on a table in memory: ours warm, best of several, pycanon's once. pycanon is asked on tables of at most ``--peer-rows`` rows.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import sfumato as sf

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "data"
ADULT = ("sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class")
GENERATED = ("sex", "zip", "nationality", "marital_status", "education")

PEER = """
import json, sys, time
import pandas as pd
from pycanon import anonymity
file, quasi, text, number = json.loads(sys.argv[1])
table = pd.read_csv(file, keep_default_na=False)
asked = {
    "k": lambda: anonymity.k_anonymity(table, quasi),
    "distinct l": lambda: anonymity.l_diversity(table, quasi, [text]),
    "entropy l": lambda: anonymity.entropy_l_diversity(table, quasi, [text]),
    "recursive l": lambda: anonymity.recursive_c_l_diversity(table, quasi, [text]),
    "alpha": lambda: anonymity.alpha_k_anonymity(table, quasi, [text])[0],
    "t, equal": lambda: anonymity.t_closeness(table, quasi, [text]),
    "t, ordered": lambda: anonymity.t_closeness(table, quasi, [number]),
    "delta": lambda: anonymity.delta_disclosure(table, quasi, [text]),
    "beta, basic": lambda: anonymity.basic_beta_likeness(table, quasi, [text]),
    "beta, enhanced": lambda: anonymity.enhanced_beta_likeness(table, quasi, [text]),
}
found = {}
for name, ask in asked.items():
    started = time.process_time()
    value = ask()
    plain = [float(part) for part in value] if isinstance(value, tuple) else float(value)
    found[name] = (plain, time.process_time() - started)
print(json.dumps(found))
"""

NOTES = {
    "entropy l": "cut down to a whole number by pycanon",
    "recursive l": "pycanon: its own (c, l), from counts sorted upwards; ours: l for c = 3",
    "delta": "pycanon skips the values a class lacks; by the definition they make it infinite",
    "beta, enhanced": "pycanon mixes the limits of different values",
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A table to measure on, and the columns that are looked at: quasi-identifiers, a word and a number to protect."""

    name: str
    people: sf.Dataset
    text: str
    number: str


def main() -> None:
    """Measure every case that this machine has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", default=sys.executable, help="the Python that has pycanon")
    parser.add_argument("--peer-rows", type=float, default=1e5, help="pycanon is not asked on larger tables")
    parser.add_argument("--rows", type=float, default=1e6, help="rows of the large table")
    arguments = parser.parse_args()
    can = imports_pycanon(arguments.peer)
    if not can:
        print(f"(pycanon skipped: {arguments.peer} cannot import it; --peer names a Python that can)")
    for case in cases(int(arguments.rows)):
        values, seconds = ours(case)
        peer = None
        if can and len(case.people) <= arguments.peer_rows:
            peer = theirs(case, arguments.peer)
        tell(case, values, seconds, peer)


def imports_pycanon(python: str) -> bool:
    """Whether a Python has pycanon."""
    try:
        return subprocess.run([python, "-c", "import pycanon"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def cases(rows: int) -> Iterator[Case]:
    """Adult, as it is and released with k = 5; then a large generated table."""
    file = REFERENCE / "adult" / "adult.csv"
    if file.is_file():
        adult = described(sf.read(file), ADULT, "occupation", "age")
        yield Case(f"Adult, {len(ADULT)} quasi-identifiers", adult, "occupation", "age")
        yield Case("Adult released, k = 5", released(adult), "occupation", "age")
    else:
        print("(Adult skipped: the reference data are not on this machine)")
        yield generated(30_000)
    yield generated(rows)


def described(table: sf.Dataset, quasi: tuple[str, ...], *sensitive: str) -> sf.Dataset:
    """A table with roles, and without the columns that nobody looks at."""
    kept = table.drop([name for name in table.columns if name not in (*quasi, *sensitive)])
    return kept.with_roles(quasi=quasi, sensitive=sensitive)


def released(table: sf.Dataset) -> sf.Dataset:
    """A release of the table in which every class has five records or more."""
    hierarchies = {name: sf.suppress() for name in table.schema.quasi}
    step = sf.GlobalRecoding(budget=0.05)
    return sf.anonymize(table.with_hierarchies(**hierarchies), [sf.KAnonymity(5)], [step], seed=1).dataset


def generated(rows: int) -> Case:
    """The generated table, in the types a file has."""
    frame = sf.examples.large(rows).to_polars()
    text = [pl.col(n).cast(pl.String) for n, kind in frame.schema.items() if kind == pl.Enum]
    table = described(sf.read(frame.with_columns(*text)), GENERATED, "illness", "age")
    return Case(f"generated, {len(GENERATED)} quasi-identifiers", table, "illness", "age")


def ours(case: Case) -> tuple[dict[str, float | None], float]:
    """The attained values, and the seconds of judging all of them: the best of several on a table not counted yet."""
    asked = {
        "k": "k_anonymity",
        "distinct l": f"l_diversity:{case.text}",
        "entropy l": f"l_diversity:{case.text},kind=entropy",
        "recursive l": f"l_diversity:{case.text},kind=recursive,c=3",
        "alpha": f"alpha_k_anonymity:{case.text}",
        "t, equal": f"t_closeness:{case.text}",
        "t, ordered": f"t_closeness:{case.number},distance=ordered",
        "delta": f"delta_disclosure:{case.text}",
        "delta, skipping": f"delta_disclosure:{case.text},absent=skip",
        "beta, basic": f"beta_likeness:{case.text}",
        "beta, enhanced": f"beta_likeness:{case.text},kind=enhanced",
    }
    best = float("inf")
    for _ in range(10 if len(case.people) < 1e5 else 4):  # the first one loads the compiled loops
        fresh = dataclasses.replace(case.people)
        started = time.process_time()
        verdicts = sf.judge(fresh, list(asked.values()))
        best = min(best, time.process_time() - started)
    return dict(zip(asked, (verdict.attained for verdict in verdicts), strict=True)), best


def theirs(case: Case, python: str) -> dict[str, tuple[float | list[float], float]]:
    """What pycanon finds, and the seconds of each number, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        case.people.to_polars().write_csv(file, null_value="missing")
        job = json.dumps([str(file), list(case.people.schema.quasi), case.text, case.number])
        done = subprocess.run([python, "-c", PEER, job], capture_output=True, text=True, check=True)
    return {name: (value, seconds) for name, (value, seconds) in json.loads(done.stdout).items()}


def tell(
    case: Case,
    values: dict[str, float | None],
    seconds: float,
    peer: dict[str, tuple[float | list[float], float]] | None,
) -> None:
    """Print what was found, side by side."""
    print(f"\n{case.name}: {len(case.people):,} rows")
    for name, value in values.items():
        other = written(peer[name][0]) if peer and name in peer else ""
        note = NOTES.get(name, "") if other else ""
        print(f"  {name:<16}{written(value):>12}{other:>16}   {note}".rstrip())
    print(f"  {'seconds':<16}{seconds:>12.4f}", end="")
    if peer:
        total = sum(spent for _, spent in peer.values())
        print(f"{total:>16.2f}   {total / seconds:,.0f} times as long", end="")
    print(flush=True)


def written(value: float | list[float] | None) -> str:
    """A value in a column."""
    if isinstance(value, list):
        return "(" + ", ".join(written(part) for part in value) + ")"
    return "–" if value is None else f"{value:.5g}"


if __name__ == "__main__":
    main()
