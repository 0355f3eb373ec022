"""The tables of the races: reference tables beside the repository, and generated ones."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from race import Skip

import sfumato as sf
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.methods.hierarchies import HierarchyFile
from sfumato.release.release import Release

REFERENCE = Path(
    os.environ.get("SFUMATO_REFERENCE_DATA")
    or Path(__file__).resolve().parents[2] / "shared" / "data"
)
TIMES = "measured on 17 November 2026 on a quiet machine of 2 cores"
"""When and where the stored figures of peers were measured; that the table is the same shows in
ARX's optimum or sdcMicro's rare records.
"""
EARLIER = "measured on 16 November 2026 on a machine of 2 cores"
"""The same for peers that were not measured again since, on a slower day."""
SAME_SIZE = f"{EARLIER}; the record of the peer tells the size of its table and not its values"
"""The same where nothing that was stored can show that the values were the same, too."""
ADULT = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "salary-class",
)
ADULT_9 = (*ADULT, "occupation")
FARS = ("iage", "ideathday", "ideathmon", "ihispanic", "iinjury", "irace", "isex")
KEYS = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age")


def reference(*parts: str) -> Path:
    """A file of the reference data, or a reason to skip the race."""
    if not (path := REFERENCE.joinpath(*parts)).exists():
        raise Skip("the reference data are not on this machine")
    return path


@functools.cache
def coded(name: str, columns: tuple[str, ...]) -> Table:
    """A table of ARX's (``adult`` or ``fars_int``), all text, with its hierarchy files: all columns
    are quasi-identifiers.
    """
    file = reference(name, f"{name}.csv")
    frame = pl.read_csv(file, separator=";", infer_schema=False).select(columns)
    files = {c: HierarchyFile(str(file.with_name(f"{name}_hierarchy_{c}.csv"))) for c in columns}
    return Table(
        frame, Schema({c: Attribute((Role.QUASI,), hierarchy=file) for c, file in files.items()})
    )


def arx(file: str, label: str) -> dict[str, Any]:
    """What ARX found: score, suppressed records, nodes of the lattice."""
    results = json.loads(reference("reference", file).read_text(encoding="utf-8"))["results"]
    return next(result for result in results if result["label"] == label)


@functools.cache
def people(rows: int) -> Table:
    """The generated table of six quasi-identifiers in the types a user's file has: text and 64-bit
    numbers.
    """
    table = sf.examples.large(rows)
    frame = table.to_polars()
    text = [
        pl.col(n).cast(pl.String)
        for n, kind in frame.schema.items()
        if kind in (pl.Enum, pl.Categorical)
    ]
    whole = [pl.col(n).cast(pl.Int64) for n, kind in frame.schema.items() if kind.is_integer()]
    return dataclasses.replace(table, frame=frame.with_columns(*text, *whole))


@functools.cache
def released(rows: int) -> Release:
    """The generated table with k = 5, recoded globally, at most 5 % suppressed."""
    return sf.anonymize(people(rows), [sf.KAnonymity(5)], [sf.GlobalRecoding(budget=0.05)], seed=1)


def survey_keys(rows: int, keys: Sequence[str], redrawn: float) -> Table:
    """Records of a household survey drawn with replacement, each cell redrawn from its column with
    some chance.
    """
    file = reference("survey", "testdata.csv")
    base, rng = pl.read_csv(file, infer_schema_length=10_000).select(keys), np.random.default_rng(0)
    chosen, drawn = rng.integers(0, len(base), rows), {}
    for name in keys:
        values = base[name].to_numpy()
        others = values[rng.integers(0, len(base), rows)]
        drawn[name] = np.where(rng.random(rows) < redrawn, others, values[chosen])
    return Table(pl.DataFrame(drawn)).with_roles(quasi=list(keys))


def smallest_class(frame: pl.DataFrame, columns: Sequence[str]) -> int:
    """Records in the smallest class, counted by polars and not by us."""
    return int(frame.group_by(columns).len()["len"].min() or 0)


@functools.cache
def folder() -> Path:
    """A folder that is gone when the process ends."""
    place = tempfile.TemporaryDirectory(prefix="race")
    _KEPT.append(place)
    return Path(place.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


if (
    __name__ == "__main__"
):  # make bench BENCH=tables: both kinds of tables, whose scripts have other names
    import outputs
    import relations

    outputs.main(outputs.RECORDS)
    relations.main()
