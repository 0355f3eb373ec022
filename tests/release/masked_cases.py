"""Every step that masks, with parameters that work on a small table about patients or on one about
households.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files as recipes
from sfumato.core.encoding import encode
from sfumato.core.recipe import Recipe
from sfumato.core.table import Table

SEED = "c0ffee11d15ea5ec0ffee11d15ea5e77"
"""Long enough not to be a rehearsal, and easy to look for."""
KEY = "a key that nobody may ever see 0123456789"
"""What the environment variable OFFICE_KEY holds in these tests."""
PATIENTS = (
    "patient_name",
    "age",
    "sex",
    "zip",
    "admission_date",
    "diagnosis",
    "cost",
    "length_of_stay",
)
HOMES = (
    "household",
    "region",
    "household_size",
    "age",
    "sex",
    "education",
    "income",
    "health",
    "weight",
)
WEIGHTS = {
    "weight": [
        {"implies": name, "because": "weights follow it"} for name in ("region", "household_size")
    ]
}
"""Survey weights differ by region and by the size of the household: they tell both."""
EDUCATION = {"no certificate": "school", "lower secondary": "school", "upper secondary": "school"}
SEXES = {"female": {"female": 0.8125, "male": 0.1875}, "male": {"male": 0.8125, "female": 0.1875}}


@dataclasses.dataclass(frozen=True)
class Case:
    """A step as a recipe writes it, the table it runs on, and texts that must stay with the
    owner.
    """

    table: str
    step: dict[str, Any]
    secret: tuple[str, ...] = ()


CASES = {
    "sample": Case("homes", {"fraction": 0.5}),
    "top_bottom_coding": Case(
        "homes", {"columns": ["income"], "top_quantile": 0.9, "replacement": "mean"}
    ),
    "outlier_coding": Case("homes", {"columns": ["income", "age"], "share": 0.1}),
    "recode": Case(
        "homes",
        {"columns": ["education"], "mapping": EDUCATION, "unmapped": "other", "other": "beyond"},
        ("no certificate",),
    ),
    "hide_rules": Case(
        "homes",
        {"rules": ["sex=female -> health=good"], "support": 5, "confidence": 0.25},
        ("good",),
    ),
    "follow": Case("patients", {"columns": {"length_of_stay": "age"}}),
    "round": Case("homes", {"columns": ["income"], "base": 500, "method": "random"}),
    "shift_dates": Case("patients", {"columns": ["admission_date"], "days": 30}),
    "add_noise": Case(
        "homes",
        {"columns": ["income", "age"], "alpha": 0.3, "method": "kim", "keep_integers": True},
    ),
    "authorised": Case("asked", {"by": "consent", "allowed": ["all uses", "research"]}),
    "personal_levels": Case(
        "asked",
        {
            "levels": {"zip": 1},
            "own": {"all uses": {}, "research": {"zip": 2}, "care": {"age": 1}},
            "by": "consent",
        },
    ),
    "pseudonymize": Case(
        "patients", {"columns": ["patient_name"], "key": {"env": "OFFICE_KEY"}}, (KEY, "OFFICE_KEY")
    ),
    "rank_swap": Case("homes", {"columns": ["income", "age"], "p": 0.0625}, ("0.0625",)),
    "swap_data": Case(
        "homes", {"columns": ["health"], "keep": ["sex"], "rate": 0.4375}, ("0.4375",)
    ),
    "swap_similar": Case(
        "homes", {"columns": ["health"], "by": "income", "k": 3, "reach": 777.0625}, ("777.0625",)
    ),
    "swap_households": Case(
        "homes",
        {
            "geography": ["region"],
            "risk": ["age", "sex"],
            "similar": [["household_size"], []],
            "rate": 0.3125,
        },
        ("0.3125",),
    ),
    "swap_across": Case(
        "homes", {"columns": ["income"], "match": ["age", "sex"], "rate": 0.8125}, ("0.8125",)
    ),
    "shuffle_values": Case(
        "homes", {"columns": ["income", "health"], "predictors": ["age"], "within": []}
    ),
    "pram": Case(
        "homes", {"columns": ["sex"], "matrix": {"sex": SEXES}, "within": []}, ("0.8125", "0.1875")
    ),
    "synthesize": Case(
        "homes",
        {
            "min_leaf": 5,
            "within": [],
            "rules": ["age < 16 => education = no certificate"],
            "learn_rules": True,
        },
        ("no certificate",),
    ),
    "microaggregate": Case("patients", {"columns": ["age", "admission_date"], "k": 3}),
    "t_closeness_microaggregation": Case(
        "patients", {"sensitive": "length_of_stay", "t": 0.3, "k": 3, "quasi": ["age"]}
    ),
    "bucketize": Case(
        "patients", {"sensitive": ["diagnosis"], "t": 4, "k": 3, "quasi": ["age", "sex"]}
    ),
    "insensitive_microaggregation": Case(
        "patients",
        {
            "columns": ["length_of_stay"],
            "k": 5,
            "epsilon": 1,
            "bounds": {"length_of_stay": [0, 99]},
        },
    ),
    "randomized_response": Case(
        "patients", {"columns": ["sex"], "epsilon": 1, "domain": {"sex": ["female", "male"]}}
    ),
    "laplace_noise": Case(
        "patients",
        {
            "columns": ["length_of_stay"],
            "epsilon": 1,
            "bounds": {"length_of_stay": [0, 99]},
            "unit": {"length_of_stay": 1},
        },
    ),
    "hybrid_microdata": Case("patients", {"columns": ["age", "length_of_stay"], "k": 6}),
    "synthesize_privately": Case("declared", {"epsilon": 5, "delta": 1e-6, "bins": 5}),
    "safe_k_anonymization": Case("brief", {"epsilon": 1, "k": 2, "levels": {"age": 2}}),
}
"""By the name of the step. A step that is registered must be here, or below."""
RECODING = frozenset(
    {
        "global_recoding",
        "local_recoding",
        "mondrian",
        "k_member",
        "bottom_up_generalization",
        "k_optimize",
        "top_down_specialization",
        "suppression",
    }
)
"""Steps that generalise or suppress until a promise holds; they are tested where they are."""


@cache
def table_of(name: str, seed: int = 5) -> Table:
    """A small table: ``patients``, one row each; ``brief``, two columns of it; ``declared``, these
    with what is publicly known of them; ``asked``, patients and a consent; ``homes``.
    """
    if name == "homes":
        return _with(examples.survey(rows=150, seed=seed), HOMES)
    patients = _with(examples.hospital(rows=120, seed=seed), PATIENTS)
    if name == "patients":
        return patients
    if name == "brief":
        return _with(patients, ("age", "sex"))
    if name == "declared":
        brief = _with(patients, ("age", "sex"))
        known = brief.schema.replace("age", bounds=(0, 110)).replace(
            "sex", domain=("female", "male")
        )
        return Table(brief.to_polars(), known, brief.source)
    consent = pl.Series(
        "consent", np.array(["all uses", "research", "care"])[np.arange(len(patients)) % 3]
    )
    frame = patients.to_polars().with_columns(consent)
    attribute = sf.Attribute(("drop",))
    return Table(
        frame, sf.Schema({**patients.schema.attributes, "consent": attribute}), patients.source
    )


def _with(dataset: Table, names: tuple[str, ...]) -> Table:
    return dataset.drop([name for name in dataset.columns if name not in names])


def recipe_of(case: str, **others: Any) -> Recipe:
    """The recipe of a case, or of several steps and promises in its place."""
    table = table_of(CASES[case].table)
    columns = recipes.to_dict(Recipe(table.schema))["columns"]
    plain = {
        "sfumato": 1,
        "columns": columns,
        "meet": [{"k_anonymity": 1}],
        "steps": [{case: CASES[case].step}],
    }
    if CASES[case].table == "homes":
        plain["accept"] = WEIGHTS
    if case == "synthesize":
        plain["limits"] = {"recognised_members": 1}  # of so few people nobody can tell
    return recipes.from_dict({**plain, **others})


def multiset(dataset: Table) -> list[tuple[str, ...]]:
    """The rows as sorted tuples of labels, whatever the frame; times at midnight are dates, whole
    floats integers.
    """
    columns = []
    for name in sorted(dataset.columns):
        encoded = encode(dataset.column(name))
        texts = [
            "-" if t is None else t.removesuffix(" 00:00:00").removesuffix(".0")
            for t in encoded.labels
        ]
        columns.append([texts[c] for c in encoded.codes])
    return sorted(zip(*columns, strict=True))


def leaves(value: Any) -> Iterator[Any]:
    """Everything that plain data holds at its ends, and the keys on the way."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


COUNTED = frozenset({"household_size", "sex", "weight", "consent"})
"""Columns whose values are words or counts that a document may use for other reasons."""


@cache
def values_of_people(name: str) -> tuple[frozenset[str], frozenset[float]]:
    """The texts, and the numbers too odd to be counts, of a table about people."""
    table = table_of(name)
    texts, numbers = set(), set()
    for column in table.columns:
        values = table.column(column).drop_nulls()
        if column in COUNTED:
            continue
        if values.dtype.is_numeric():
            numbers |= {float(v) for v in values if v > len(table)}
        else:
            texts |= {str(v) for v in values if len(str(v)) > 4}
    return frozenset(texts), frozenset(numbers)


def told_of_people(document: Any, table: str) -> list[Any]:
    """The leaves of plain data, or the words of a text, that are values of people."""
    texts, numbers = values_of_people(table)
    words = "|".join(re.escape(text) for text in sorted(texts)) or r"\b\B"  # or nothing at all
    pattern = re.compile(rf"(?<![\w.])({words})(?![\w.])")
    if isinstance(document, str):
        return pattern.findall(document)
    parts = list(leaves(json.loads(json.dumps(document))))
    said = [leaf for leaf in parts if isinstance(leaf, str) and pattern.search(leaf)]
    return said + [leaf for leaf in parts if type(leaf) in (int, float) and float(leaf) in numbers]
