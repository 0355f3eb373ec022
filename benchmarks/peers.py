"""What peers do with a table, run by the Python that has them:
``python peers.py PACKAGE job.json told.json``.

Nothing of ours is imported here. Each function takes a job and gives CPU seconds of the work itself
and what came out of it.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any


def pycanon(file: str, quasi: list[str], text: str, number: str) -> dict[str, Any]:
    """All models of pycanon on one table."""
    import pandas as pd
    from pycanon import anonymity

    table = pd.read_csv(file, keep_default_na=False)
    started = time.process_time()
    values = {
        "k": anonymity.k_anonymity(table, quasi),
        "distinct l": anonymity.l_diversity(table, quasi, [text]),
        "alpha": anonymity.alpha_k_anonymity(table, quasi, [text])[0],
        "t, equal": anonymity.t_closeness(table, quasi, [text]),
        "beta, basic": anonymity.basic_beta_likeness(table, quasi, [text]),
    }
    values = {name: float(value) for name, value in values.items()}
    anonymity.entropy_l_diversity(table, quasi, [text])
    anonymity.recursive_c_l_diversity(table, quasi, [text])
    anonymity.t_closeness(table, quasi, [number])
    anonymity.delta_disclosure(table, quasi, [text])
    anonymity.enhanced_beta_likeness(table, quasi, [text])
    return {"seconds": time.process_time() - started, "values": values}


def anonypy(file: str, numeric: list[str], k: int) -> dict[str, Any]:
    """Mondrian of anonypy: the number of the part each row is in."""
    import pandas as pd
    from anonypy.mondrian import Mondrian

    frame = pd.read_csv(file, keep_default_na=False)
    for name in frame.columns:
        if name not in numeric:
            frame[name] = frame[name].astype("category")
    started = time.process_time()
    parts = Mondrian(frame, list(frame.columns)).partition(k)
    seconds, part_of = time.process_time() - started, [0] * len(frame)
    for number, part in enumerate(parts):
        for row in part:
            part_of[int(row)] = number
    return {"seconds": seconds, "part_of": part_of}


def synthpop(file: str, numeric: list[str], draws: int, out: str) -> dict[str, Any]:
    """Several tables of py-synthpop with its defaults: the best seconds of one, and the files they
    are in.
    """
    import pandas as pd
    from synthpop import Synthpop

    frame = pd.read_csv(file, keep_default_na=False)
    types = {name: "int" if name in numeric else "category" for name in frame.columns}
    frame = frame.astype({name: "category" for name in frame.columns if name not in numeric})
    seconds, files = [], []
    for seed in range(draws):
        started = time.process_time()
        maker = Synthpop(seed=seed)
        maker.fit(frame.copy(), types)
        made = maker.generate(len(frame))
        seconds.append(time.process_time() - started)
        files.append(str(Path(out) / f"drawn{seed}.csv"))
        made.to_csv(files[-1], index=False)
    return {"seconds": min(seconds), "files": files}


def recordlinkage(one: str, two: str, truth: list[int], blocks: list[str]) -> dict[str, Any]:
    """Blocks, exact comparison, expectation and maximisation; of each person's candidates the
    best.
    """
    import pandas as pd
    import recordlinkage as rl

    register, released = (pd.read_csv(file, dtype=str) for file in (one, two))
    started = time.process_time()
    index = rl.Index()
    for name in blocks:
        index.block(name)
    pairs = index.index(register, released)
    compare = rl.Compare()
    for name in register.columns:
        compare.exact(name, name, label=name)
    features = compare.compute(pairs, register, released)
    classifier = rl.ECMClassifier()
    classifier.fit(features)
    best = classifier.prob(features).groupby(level=0).idxmax()
    right = sum(truth[i] == j for i, j in best)
    return {"recall": right / len(truth), "seconds": time.process_time() - started}


def splink(one: str, two: str, truth: list[int], blocks: list[str]) -> dict[str, Any]:
    """The same by splink on DuckDB."""
    import pandas as pd
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    tables = [pd.read_csv(file, dtype=str) for file in (one, two)]
    names = list(tables[0].columns)
    for table in tables:
        table["unique_id"] = range(len(table))
    started = time.process_time()
    settings = SettingsCreator(
        link_type="link_only",
        blocking_rules_to_generate_predictions=[block_on(name) for name in blocks],
        comparisons=[cl.ExactMatch(name) for name in names],
        retain_intermediate_calculation_columns=False,
    )
    api = DuckDBAPI()
    both = [
        api.register(t, dataset_display_name=n) for t, n in zip(tables, ("one", "two"), strict=True)
    ]
    linker = Linker(both, settings, log_level="ERROR")
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    for name in blocks[:2]:
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(name))
    found = linker.inference.predict(threshold_match_probability=0.0).as_pandas_dataframe()
    swapped = found["source_dataset_l"] != "one"
    left = found["unique_id_l"].where(~swapped, found["unique_id_r"])
    right = found["unique_id_r"].where(~swapped, found["unique_id_l"])
    ranked = pd.DataFrame({"i": left, "j": right, "w": found["match_weight"]}).sort_values(
        "w", ascending=False, kind="stable"
    )
    best = ranked.drop_duplicates("i")
    correct = sum(truth[int(i)] == int(j) for i, j in zip(best["i"], best["j"], strict=True))
    return {"recall": correct / len(truth), "seconds": time.process_time() - started}


PEERS = {one.__name__: one for one in (pycanon, anonypy, recordlinkage, splink, synthpop)}
SOLD_AS = {"synthpop": "py-synthpop"}
"""Packages that PyPI has under another name."""

if __name__ == "__main__":
    _, package, asked, told = sys.argv
    job = json.loads(Path(asked).read_text(encoding="utf-8"))
    sys.path.pop(0)  # the folder of this file, whose names are not those of packages
    found = {
        "version": f"{package} {version(SOLD_AS.get(package, package))}",
        **PEERS[package](**job),
    }
    Path(told).write_text(json.dumps(found), encoding="utf-8")
