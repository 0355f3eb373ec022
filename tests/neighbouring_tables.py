"""Recipes that account for an ε, and pairs of tables that differ in one record, however odd: what
no record may decide.

Written from the specification alone: a released type, label, layout or error follows from the
recipe. The accounted step is made to release the records that both tables have, and no other: then
nothing at all that is shared may differ.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import registry
from sfumato.core.choices import required_fields
from sfumato.core.recipe import Agreement, Recipe
from sfumato.core.schema import Attribute, Schema
from sfumato.errors import InternalError, SfumatoError
from sfumato.methods.steps.recoding.safe_k_anonymization import SafeAnonymize

NUMBERS: list[Any] = [20, 21, 25, 29, 30, 34]
WORDS: list[Any] = ["ant", "bee", "cat"]
STAGES: list[Any] = ["low", "mid", "top"]
DAYS: list[Any] = ["2020-01-05", "2020-03-09", "2021-07-31"]
CODES: list[Any] = ["537", "539", "440"]
ODD_NUMBERS: list[Any] = [
    20.5,
    -3,
    0,
    1e6,
    1e300,
    float("nan"),
    float("inf"),
    None,
    "n/a",
    "",
    "20,5",
    "1,234",
    " 20",
    "020",
    True,
    2**70,
    -0.0,
    "20-24",
    1e-320,
]
ODD_WORDS: list[Any] = [
    None,
    "",
    "dog",
    "ant ",
    "ANT",
    7,
    7.0,
    7.5,
    "1.50",
    "01",
    'a,"b',
    "a\nb",
    "x" * 40000,
    "nul\0",
    True,
    "=1+1",
    "é",
    float("nan"),
    "*",
    "a b c d e f g h i j",
]
ODD_DAYS: list[Any] = [
    None,
    "",
    "2020-02-30",
    "2020-01-05 13:45:00",
    "5.1.2020",
    "soon",
    datetime.date(2020, 1, 5),
    datetime.datetime(2020, 1, 5, 1, 2),
    20200105,
]


@dataclasses.dataclass(frozen=True)
class Column:
    """What a column usually holds, what odd records hold, and how a recipe may describe it."""

    usual: list[Any]
    odd: list[Any]
    attributes: list[dict[str, Any]]


TREE = sf.tree({"*": {"small": ["ant", "bee"], "large": ["cat"]}})
KINDS = {
    "number": Column(
        NUMBERS,
        ODD_NUMBERS,
        [
            {"kind": "numeric"},
            {"kind": "numeric", "bounds": (0, 100)},
            {"kind": "numeric", "hierarchy": sf.intervals(5, 10, 20)},
            {"kind": "numeric", "hierarchy": sf.intervals(5, 10, lower=0, upper=120)},
            {"kind": "numeric", "hierarchy": sf.intervals(2.5, 5), "bounds": (0, 90)},
            {"kind": "nominal"},
            {"kind": "nominal", "hierarchy": sf.suppress()},
        ],
    ),
    "word": Column(
        WORDS,
        ODD_WORDS,
        [
            {"kind": "nominal"},
            {"kind": "nominal", "hierarchy": sf.suppress()},
            {"kind": "nominal", "hierarchy": TREE},
            {"kind": "nominal", "domain": ("ant", "bee", "cat")},
            {"kind": "nominal", "hierarchy": TREE, "domain": ("ant", "bee", "cat")},
        ],
    ),
    "stage": Column(
        STAGES,
        ODD_WORDS,
        [
            {"kind": "ordinal", "order": ("low", "mid", "top")},
            {"kind": "ordinal", "order": ("low", "mid", "top"), "hierarchy": sf.suppress()},
        ],
    ),
    "day": Column(
        DAYS,
        ODD_DAYS,
        [
            {"kind": "date"},
            {"kind": "date", "hierarchy": sf.dates("month", "year")},
            {"kind": "nominal"},
        ],
    ),
    "code": Column(
        CODES,
        [*ODD_WORDS, 537, 53, "53*", "5371"],
        [
            {"kind": "nominal", "hierarchy": sf.mask_right(3)},
            {"kind": "nominal", "hierarchy": sf.mask_right(3, pad="0")},
            {"kind": "nominal"},
        ],
    ),
}
POLICIES = ["strict", "open"]
METRICS = [cls() for cls in registry.utility_metrics().values() if not required_fields(cls)]
"""Every utility that a contract may report without a word: what it finds stays with the owner, and
ends no run.
"""


@dataclasses.dataclass(frozen=True)
class Case:
    """A recipe and two tables of records; ``common`` are the rows that both have, by their place in
    each.
    """

    recipe: Recipe
    tables: tuple[list[dict[str, Any]], list[dict[str, Any]]]
    common: tuple[list[int], list[int]]
    source: str
    target: str
    exact: bool

    def told(self) -> str:
        """The case in a line, for whoever must find what is wrong."""
        steps = [registry.write(step) for step in self.recipe.steps]
        columns = {
            n: (str(a.kind), getattr(a.hierarchy, "name", None))
            for n, a in self.recipe.schema.attributes.items()
        }
        odd = [
            row
            for table, rows in zip(self.tables, self.common, strict=True)
            for i, row in enumerate(table)
            if i not in rows
        ]
        return f"{self.source} → {self.target}: {columns} {steps} {str(odd)[:200]}"


def _pick(stream: np.random.Generator, values: list[Any]) -> Any:
    return values[int(stream.integers(len(values)))]


def _before(
    stream: np.random.Generator,
    names: list[str],
    kinds: dict[str, str],
    schema: dict[str, Attribute],
) -> list[Any]:
    """Steps before the accounted one, each of which works on every record by itself."""
    steps: list[Any] = []
    policy = False
    for name in names:
        choice = int(stream.integers(7))
        raised = schema[name].hierarchy is not None
        if choice == 0 and kinds[name] == "number":
            steps.append(sf.Round([name], base=_pick(stream, [2.5, 5, 1, 0.1])))
        elif choice == 1 and kinds[name] == "number":
            ends = _pick(stream, [{"top": 21.5}, {"bottom": 20}, {"top": 30, "bottom": 20.5}])
            steps.append(
                sf.TopBottomCoding(
                    [name], replacement=_pick(stream, ["threshold", "label"]), **ends
                )
            )
        elif choice == 1 and kinds[name] == "stage":
            steps.append(
                sf.TopBottomCoding(
                    [name], top="top", replacement=_pick(stream, ["threshold", "label"])
                )
            )
        elif choice == 2 and kinds[name] == "number":
            steps.append(sf.Recode([name], breaks=[20, 25.5, 30]))
        elif choice == 3 and kinds[name] in ("word", "number"):
            mapping = (
                {"ant": "small", "bee": "small"}
                if kinds[name] == "word"
                else {20: "young", 21: "young"}
            )
            steps.append(
                sf.Recode([name], mapping=mapping, unmapped=_pick(stream, ["error", "other"]))
            )
        elif choice == 4 and raised:
            steps.append(sf.PersonalLevels({name: 1}))
        elif choice == 5 and raised and not policy:
            policy = True
            steps.append(sf.PersonalLevels(own={"strict": {name: 1}, "open": {}}, by="policy"))
    return [steps[i] for i in stream.permutation(len(steps)).tolist()]


def _accounted(
    stream: np.random.Generator,
    names: list[str],
    kinds: dict[str, str],
    schema: dict[str, Attribute],
) -> tuple[Any, bool]:
    numbers = [name for name in names if kinds[name] == "number"]
    if numbers and stream.random() < 0.2:
        bounds = dict.fromkeys(numbers, (0.0, 100.0))
        return sf.InsensitiveMicroaggregate(numbers, k=2, epsilon=1.0, bounds=bounds), False
    levels = {
        n: int(stream.integers(2))
        for n in names
        if schema[n].hierarchy is not None and stream.random() < 0.7
    }
    return (
        sf.SafeAnonymize(1.0, k=2, levels={n: level for n, level in levels.items() if level}),
        True,
    )


def _after(stream: np.random.Generator, names: list[str]) -> list[Any]:
    """Steps after the accounted one: whatever they do, they see nothing but its output."""
    one = _pick(stream, names)
    choices = [
        sf.GlobalRecoding(budget=0.5),
        sf.LocalRecoding(),
        sf.Mondrian(),
        sf.KMember(),
        sf.Suppress("cell"),
        sf.Sample(0.5),
        sf.SwapData([one], rate=0.5),
        sf.RankSwap([one], p=0.3),
        sf.Pram([one], retain=0.7),
        sf.AddNoise([one], 0.3),
        sf.Round([one], base=7, method="random"),
        sf.TopBottomCoding([one], top_quantile=0.8),
        sf.Microaggregate([one], k=2),
        sf.Recode([one], mapping={"ant": "1", "bee": "2", "20": "2"}, unmapped="keep"),
        sf.Synthesize(),
    ]
    return [_pick(stream, choices)] if stream.random() < 0.4 else []


def _record(
    stream: np.random.Generator, names: list[str], kinds: dict[str, str], *, odd: bool
) -> dict[str, Any]:
    made = {}
    for name in names:
        column = KINDS[kinds[name]]
        made[name] = _pick(stream, column.odd if odd and stream.random() < 0.7 else column.usual)
    policy = _pick(stream, [*POLICIES, None, "other"]) if odd else _pick(stream, POLICIES)
    return made | {"policy": policy}


def case_of(number: int) -> Case:
    """The case of a number."""
    stream = np.random.default_rng(number)
    chosen = [_pick(stream, list(KINDS)) for _ in range(int(stream.integers(1, 4)))]
    kinds = {f"{kind}{i}": kind for i, kind in enumerate(chosen)}
    names = list(kinds)
    schema = {n: Attribute(("quasi",), **_pick(stream, KINDS[kinds[n]].attributes)) for n in names}
    accounted, whole = _accounted(stream, names, kinds, schema)
    later = _after(stream, names) if whole else []
    steps = [*_before(stream, names, kinds, schema), accounted, *later]
    schema["policy"] = Attribute(("drop",))
    contract = (Agreement(_pick(stream, METRICS), at_most=1e9),) if stream.random() < 0.3 else ()
    recipe = Recipe(Schema(schema), (sf.KAnonymity(1),), tuple(steps), contract=contract)
    usual = [_record(stream, names, kinds, odd=False) for _ in range(int(stream.integers(2, 9)))]
    neighbour = _record(stream, names, kinds, odd=True)
    same = list(range(len(usual)))
    # One record more; always so before later steps, whose coins are dealt by the number of a record
    # among equal ones.
    if whole and (later or stream.random() < 0.5):
        tables, common = (usual, [*usual, neighbour]), (same, same)
    else:  # one record is another
        place = int(stream.integers(len(usual)))
        others = [i for i in same if i != place]
        tables, common = (usual, [*usual[:place], neighbour, *usual[place + 1 :]]), (others, others)
    source = _pick(stream, ["csv", "polars", "pandas", "parquet", "arrow"])
    if (
        source == "csv"
        # a text with NUL is no text: how a file is cut into cells is an assumption of the
        # certificate
    ):
        neighbour.update({name: "dog" for name, value in neighbour.items() if value == "nul\0"})
    return Case(recipe, tables, common, source, _pick(stream, ["csv", "parquet"]), whole)


# The tables as users have them: types are those that one record decides.


def _typed(values: list[Any]) -> pl.Series:
    try:
        return pl.Series(values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        numbers = all(
            v is None or (isinstance(v, int | float) and not isinstance(v, bool)) for v in values
        )
        if numbers:
            return pl.Series([None if v is None else float(v) for v in values], dtype=pl.Float64)
        return pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)


def given(case: Case, records: list[dict[str, Any]], folder: Path) -> Any:
    """A table of the case's source."""
    columns = {key: [record[key] for record in records] for key in case.recipe.schema.attributes}
    if case.source == "pandas":
        import pandas as pd

        return pd.DataFrame(columns)
    frame = pl.DataFrame({key: _typed(values) for key, values in columns.items()})
    if case.source == "polars":
        return frame
    file = folder / f"people.{case.source}"
    if case.source == "parquet":
        frame.write_parquet(file)
    elif case.source == "arrow":
        frame.write_ipc(file)
    else:
        _as_text(columns).write_csv(file)
    return str(file)


def _as_text(columns: dict[str, list[Any]]) -> pl.DataFrame:
    texts = {
        key: [None if v is None else str(v) for v in values] for key, values in columns.items()
    }
    return pl.DataFrame({key: pl.Series(values, dtype=pl.String) for key, values in texts.items()})


# What a run shows besides the values of its accounted step.

SEED = "0123456789abcdef0123456789abcdef"
"""What steps after the accounted one draw from; it draws from the system."""
CHANGES = re.compile(r"[0-9a-f]{32,}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?[^\s<\"]*")
"""Digests and moments, which no two runs have alike."""


@dataclasses.dataclass(frozen=True)
class Shown:
    """How a run ended, the form of its data, and all that is shared of it besides the values of
    random noise.
    """

    ended: str
    form: dict[str, Any]
    shared: dict[str, Any]


def shown(case: Case, which: int, folder: Path) -> Shown:
    """Run the recipe on one of the two tables, write the release and look at its files."""
    out = folder / f"out{which}"
    try:
        data = sf.read(given(case, case.tables[which], folder), recipe=case.recipe)
        release = sf.run(
            data, case.recipe, seed=SEED, options=sf.RunOptions(shuffle=False, format=case.target)
        )
        release.write(out, format=case.target)
    except SfumatoError as error:
        if isinstance(error, InternalError):
            raise
        return Shown(f"{type(error).__name__}: {error}", {}, {})
    certificate = json.loads((out / "share" / "certificate.json").read_text())
    file = out / "share" / certificate["data"]["file"]
    form = {k: v for k, v in certificate["data"].items() if k not in ("rows", "sha256", "formulas")}
    form |= {
        "certified": certificate["differential_privacy"]["certified"],
        "types": release.released.to_polars().schema,
    }
    if case.target == "parquet":
        form["file"] = pl.read_parquet_schema(file)
    else:
        text = file.read_bytes()
        form |= {"header": text.split(b"\n")[0], "returns": text.count(b"\r\n"), "bom": text[:3]}
    pages = {
        page.name: CHANGES.sub("", page.read_text())
        for page in sorted((out / "share").glob("*.[jh]*"))
    }
    return Shown("released", form, {**pages, "data": file.read_bytes()} if case.exact else {})


def compared(case: Case, folder: Path) -> tuple[Shown, Shown]:
    """What is shown of both tables, of which the accounted step releases the same records."""
    found = []
    for which in (0, 1):
        rows = np.array(case.common[which], dtype=np.int64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                SafeAnonymize, "_rows", lambda self, dataset, fixed, draws, rows=rows: rows
            )
            found.append(shown(case, which, folder))
    return found[0], found[1]
