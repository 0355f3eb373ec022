"""Record linkage of 5,000 × 5,000 records against recordlinkage and splink in the same run, and of 10⁵ × 10⁵ alone.

    make bench BENCH=linkage                        with the peers that can be imported; without reference data, generated
    make bench BENCH=linkage ARGS='--rows 100000'   the large files only

FEBRL 4 (or a generated table with errors): who is whom is known, so that recall is the share of people linked to their own
record. recordlinkage and splink need candidate pairs: blocks of equal surname, postcode or date of birth, the usual choice;
then expectation and maximisation, and of each person's candidates the best. Ours compare everybody with everybody.
Seconds are CPU seconds of linking, tables in memory; ours warm (kernels compiled), theirs as they come.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.attacks import DistanceLinkage, ProbabilisticLinkage
from sfumato.core.attack import Attack, Intruder, Scene
from sfumato.core.dataset import Dataset
from sfumato.core.pair import Pair
from sfumato.core.schema import Attribute, Kind, Missing, Role, Schema

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "data" / "linkage"
NAMES = ("given_name", "surname", "address_1", "suburb")
BLOCKS = ("surname", "postcode", "date_of_birth")


def febrl() -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Originals, corrupted copies, and which original each copy is of."""
    tables = [pl.read_csv(REFERENCE / f"febrl4{part}.csv", infer_schema=False).rename(str.strip) for part in "ab"]
    ours, theirs = (t.with_columns(pl.all().str.strip_chars().replace("", None)) for t in tables)
    number = {key.split("-")[1]: i for i, key in enumerate(ours["rec_id"])}
    truth = np.array([number[key.split("-")[1]] for key in theirs["rec_id"]])
    return ours.drop("rec_id"), theirs.drop("rec_id"), truth


def generated(rows: int) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """People with eight categories, and a copy of each in which every cell is wrong with probability 0.15."""
    rng = np.random.default_rng(1)
    sizes = {
        "surname": 5000,
        "postcode": 1000,
        "date_of_birth": 20_000,
        "given_name": 500,
        "state": 8,
        "sex": 2,
        "job": 50,
    }
    people = {name: rng.integers(0, size, rows).astype(str) for name, size in sizes.items()}
    copies = {name: np.where(rng.random(rows) < 0.15, rng.permutation(v), v) for name, v in people.items()}
    order = rng.permutation(rows)
    return pl.DataFrame(people), pl.DataFrame(copies)[order], order


def points(rows: int) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Six correlated numbers and a noisy copy."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(rows, 6)) @ rng.normal(size=(6, 6))
    y = x + 0.05 * x.std(axis=0) * rng.normal(size=x.shape)
    names = [f"x{k}" for k in range(6)]
    return pl.DataFrame(x, schema=names), pl.DataFrame(y, schema=names), np.arange(rows)


def ours(attack: Attack, released: pl.DataFrame, register: pl.DataFrame, truth: np.ndarray) -> tuple[float, float]:
    """Recall and CPU seconds of one of our attacks."""
    kind = Kind.NUMERIC if released.dtypes[0].is_numeric() else Kind.NOMINAL
    schema = Schema({n: Attribute((Role.QUASI,), kind, missing=Missing.WILDCARD) for n in released.columns})
    table = Dataset(released, schema)
    intruder = Intruder(Dataset(register), tuple(register.columns), truth)
    started = time.process_time()
    finding = attack.attack(Scene(Pair.of(table, table), intruder, seconds=3600))
    return finding.value, time.process_time() - started


def by_recordlinkage(
    released: pl.DataFrame, register: pl.DataFrame, truth: np.ndarray, *, strings: bool = False
) -> tuple[float, float]:
    """Recall and CPU seconds of recordlinkage: blocks, exact comparison (or of names as strings), ECM, best candidate."""
    import pandas as pd
    import recordlinkage

    one, two = pd.DataFrame(register.to_dict(as_series=False)), pd.DataFrame(released.to_dict(as_series=False))
    started = time.process_time()
    index = recordlinkage.Index()
    for name in BLOCKS:
        index.block(name)
    pairs = index.index(one, two)
    compare = recordlinkage.Compare()
    for name in register.columns:
        if strings and name in NAMES:
            compare.string(name, name, method="jarowinkler", threshold=0.85, label=name)
        else:
            compare.exact(name, name, label=name)
    features = compare.compute(pairs, one, two)
    classifier = recordlinkage.ECMClassifier()
    classifier.fit(features)
    scores = classifier.prob(features)
    best = scores.groupby(level=0).idxmax()
    right = sum(truth[i] == j for i, j in best)
    return right / len(truth), time.process_time() - started


def by_splink(released: pl.DataFrame, register: pl.DataFrame, truth: np.ndarray) -> tuple[float, float]:
    """Recall and CPU seconds of splink on DuckDB: blocks, exact comparison, EM, best candidate."""
    import pandas as pd
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    one, two = (pd.DataFrame(t.to_dict(as_series=False)) for t in (register, released))
    for table in (one, two):
        table["unique_id"] = np.arange(len(table))
    started = time.process_time()
    settings = SettingsCreator(
        link_type="link_only",
        blocking_rules_to_generate_predictions=[block_on(name) for name in BLOCKS],
        comparisons=[cl.ExactMatch(name) for name in register.columns],
        retain_intermediate_calculation_columns=False,
    )
    api = DuckDBAPI()
    linker = Linker(
        [api.register(one, dataset_display_name="one"), api.register(two, dataset_display_name="two")],
        settings,
        log_level="ERROR",
    )
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    for name in BLOCKS[:2]:
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(name))
    found = linker.inference.predict(threshold_match_probability=0.0).as_pandas_dataframe()
    flipped = found["source_dataset_l"] != "one"
    left = found["unique_id_l"].where(~flipped, found["unique_id_r"]).to_numpy()
    right = found["unique_id_r"].where(~flipped, found["unique_id_l"]).to_numpy()
    order = np.argsort(-found["match_weight"].to_numpy(), kind="stable")
    people, first = np.unique(left[order], return_index=True)
    correct = int((truth[people] == right[order][first]).sum())
    return correct / len(truth), time.process_time() - started


PEERS: dict[str, Callable[[pl.DataFrame, pl.DataFrame, np.ndarray], tuple[float, float]]] = {
    "recordlinkage": by_recordlinkage,
    "recordlinkage, names as strings": partial(by_recordlinkage, strings=True),
    "splink": by_splink,
}


def main() -> None:
    """Run and print a line a tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=0, help="only generated files of so many rows")
    rows = parser.parse_args().rows
    attacks = (DistanceLinkage(), ProbabilisticLinkage())
    if rows:
        for title, make in (("categories with errors", generated), ("numbers with noise", points)):
            files = make(rows)
            for attack in attacks:
                ours(attack, *make(300))
                recall, seconds = ours(attack, *files)
                print(
                    f"{title}, {rows:,} × {rows:,}: {attack.name:22} recall {recall:.4f}  {seconds:8.2f} s CPU",
                    flush=True,
                )
        return
    files = febrl() if REFERENCE.is_dir() else generated(5000)
    best = []
    for attack in attacks:
        ours(attack, *generated(300))
        recall, seconds = ours(attack, *files)
        best.append((recall, seconds))
        print(f"sfumato {attack.name:22} recall {recall:.4f}  {seconds:8.2f} s CPU", flush=True)
    for name, ask in PEERS.items():
        if not importlib.util.find_spec(name.split(",")[0]):
            print(f"{name:30} is not installed")
            continue
        recall, seconds = ask(*files)
        ratios = ", ".join(f"{seconds / ours_seconds:.1f}×" for _, ours_seconds in best)
        print(f"{name:30} recall {recall:.4f}  {seconds:8.2f} s CPU  (takes {ratios} as long)", flush=True)


if __name__ == "__main__":
    main()
