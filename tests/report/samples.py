"""A certificate and an owner's record written by hand, with numbers small enough to check by eye."""

from __future__ import annotations

import copy
from typing import Any

K = 3
SIZES = {"3": 2, "4": 1, "12": 1}  # 6 + 4 + 12 = 22 records in 4 classes

_CERTIFICATE: dict[str, Any] = {
    "sfumato_certificate": 1,
    "created": "2026-03-01T08:30:00+00:00",
    "data": {
        "file": "data.csv",
        "sha256": "ab" * 32,
        "format": "csv",
        "rows": 22,
        "columns": ["age", "sex", "illness", "ward"],
    },
    "input_commitment": {"value": "cd" * 32, "scheme": "HMAC-SHA-256 of the input's SHA-256"},
    "recipe": {
        "sfumato": 1,
        "columns": {
            "patient_name": {"role": "direct"},
            "age": {"role": "quasi", "kind": "numeric", "hierarchy": {"intervals": {"widths": [5, 10, 20]}}},
            "sex": {"role": "quasi", "hierarchy": {"suppress": {}}},
            "illness": {"role": "sensitive"},
            "ward": {"role": "plain"},
        },
        "meet": [{"k_anonymity": {"k": K}}],
        "steps": [{"global_recoding": {"budget": 0.05}}],
    },
    "roles": {"age": ["quasi"], "sex": ["quasi"], "illness": ["sensitive"], "ward": ["plain"]},
    "missing_rule": {"age": "category", "sex": "category"},
    "verdicts": [
        {
            "model": "k_anonymity",
            "promise": "3-anonymity",
            "holds": True,
            "attained": 3,
            "required": K,
            "failing_classes": 0,
            "failing_records": 0,
            "missing_rule": "category",
            "sentence": "everyone shares the quasi-identifiers with at least 2 other records",
        }
    ],
    "classes": {
        "count": 4,
        "smallest": 3,
        "sizes": SIZES,
        "risks": {"prosecutor_risk": 1 / 3, "marketer_risk": 4 / 22, "records_at_risk": 10 / 22, "unique_records": 0.0},
    },
    "plan": [
        {
            "step": "global_recoding",
            "kind": "column recoding",
            "levels": {"age": {"level": 2, "top": 4}, "sex": {"level": 0, "top": 1}},
            "suppressed_records": 1,
            "suppressed_classes": 1,
        }
    ],
    "dropped_columns": ["patient_name"],
    "suppressed_records": 1,
    "shuffled": True,
    "rehearsal": False,
    "versions": {"python": "3.11.7", "sfumato": "0.1.0", "numpy": "2.4.6"},
    "digest": "ef" * 32,
}


def _measure(name: str, value: float) -> dict[str, Any]:
    return {"name": name, "value": value, "better": "lower", "meaning": f"meaning of {name}", "interval": None}


def certificate() -> dict[str, Any]:
    """A certificate that may be changed freely."""
    return copy.deepcopy(_CERTIFICATE)


def owner_record() -> dict[str, Any]:
    """The owner's record that goes with it."""
    common = {"persons": None, "missing_rule": "category", "verdicts": []}
    before = {
        "name": "clinic-register.csv",
        "records": 23,
        "classes": 17,
        "smallest_class": 1,
        "unique_records": 13,
        "measures": [
            _measure("prosecutor_risk", 1.0),
            _measure("marketer_risk", 17 / 23),
            _measure("records_at_risk", 1.0),
            _measure("unique_records", 13 / 23),
        ],
        "contributions": {"age": 0.5625, "sex": 0.0027},
        "exposing_sets": [{"columns": ["age"], "unique_records": 9}],
        "class_sizes": {"1": 13, "2": 2, "3": 2},  # 13 + 4 + 6 = 23 records
        **common,
    }
    after = {
        "name": "clinic-register.csv",
        "records": 22,
        "classes": 4,
        "smallest_class": 3,
        "unique_records": 0,
        "measures": [_measure(name, value) for name, value in _CERTIFICATE["classes"]["risks"].items()],
        "contributions": {"age": 0.0, "sex": 0.0},
        "exposing_sets": [],
        "class_sizes": SIZES,
        **common,
    }
    columns = [
        ("patient_name", ["direct"], "dropped: it identifies people directly", None, None, 23, None),
        ("age", ["quasi"], "generalised to level 2 of 4", 2, 4, 19, 6),
        ("sex", ["quasi"], "kept exact (level 0 of 1)", 0, 1, 2, 2),
        ("illness", ["sensitive"], "released as it is", None, None, 7, 7),
        ("ward", ["plain"], "released as it is", None, None, 5, 5),
    ]
    keys = ("name", "roles", "action", "level", "top", "distinct_before", "distinct_after")
    return {
        "certificate": certificate(),
        "input": {"name": "clinic-register.csv", "sha256": "98" * 32, "rows": 23},
        "notes": ["the delimiter was found to be a semicolon"],
        "before": before,
        "after": after,
        "columns": [dict(zip(keys, column, strict=True)) for column in columns],
        "scores": {"loss": 0.4321},
        "effort": [
            {
                "step": "global_recoding",
                "objective": "loss",
                "score": 0.4321,
                "lattice_nodes": 9871,
                "nodes_looked_at": 654,
            }
        ],
    }


def empty_certificate() -> dict[str, Any]:
    """Nothing was promised, nothing released, nobody is in it."""
    empty = certificate()
    empty["data"] |= {"rows": 0, "columns": []}
    empty |= {"roles": {}, "missing_rule": {}, "verdicts": [], "plan": [], "dropped_columns": []}
    empty["recipe"] = {"sfumato": 1, "columns": {}, "meet": [], "steps": []}
    empty["classes"] = {"count": 0, "smallest": None, "sizes": {}, "risks": {}}
    return empty


def empty_record() -> dict[str, Any]:
    """The owner's record of an empty table."""
    record = owner_record() | {
        "certificate": empty_certificate(),
        "notes": [],
        "columns": [],
        "scores": {},
        "effort": [],
    }
    for assessed in (record["before"], record["after"]):
        assessed |= {"records": 0, "classes": 0, "smallest_class": None, "unique_records": 0}
        assessed |= {"measures": [], "contributions": {}, "exposing_sets": [], "class_sizes": {}}
    return record


def renamed(document: Any, names: dict[str, str]) -> Any:
    """A document with columns renamed wherever they occur, as a key or as a value."""
    if isinstance(document, dict):
        return {names.get(key, key): renamed(value, names) for key, value in document.items()}
    if isinstance(document, list):
        return [renamed(value, names) for value in document]
    return names.get(document, document) if isinstance(document, str) else document
