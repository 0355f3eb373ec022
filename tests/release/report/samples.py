"""A certificate and an owner's record written by hand, with numbers small enough to check by
eye.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from sfumato.release.report.page_html import render_page
from sfumato.release.report.pages import describe_owner_page, describe_shared_page
from sfumato.release.sealing import describe_certificate

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
            "patient_name": {"role": "drop"},
            "age": {
                "role": "quasi",
                "kind": "numeric",
                "hierarchy": {"intervals": {"widths": [5, 10, 20]}},
            },
            "sex": {"role": "quasi", "hierarchy": {"suppress": {}}},
            "illness": {"role": "sensitive"},
            "ward": {"role": "keep"},
        },
        "meet": [{"k_anonymity": {"k": K}}],
        "steps": [{"global_recoding": {"budget": 0.05}}],
    },
    "roles": {"age": ["quasi"], "sex": ["quasi"], "illness": ["sensitive"], "ward": ["keep"]},
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
        "risks": {
            "prosecutor_risk": 1 / 3,
            "marketer_risk": 4 / 22,
            "records_at_risk": 10 / 22,
            "unique_records": 0.0,
        },
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
    return {
        "name": name,
        "value": value,
        "better": "lower",
        "meaning": f"meaning of {name}",
        "interval": None,
    }


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
        "measures": [
            _measure(name, value) for name, value in _CERTIFICATE["classes"]["risks"].items()
        ],
        "contributions": {"age": 0.0, "sex": 0.0},
        "exposing_sets": [],
        "class_sizes": SIZES,
        **common,
    }
    columns = [
        ("patient_name", ["drop"], "dropped: its role is drop", None, None, 23, None),
        ("age", ["quasi"], "generalised to level 2 of 4", 2, 4, 19, 6),
        ("sex", ["quasi"], "kept exact (level 0 of 1)", 0, 1, 2, 2),
        ("illness", ["sensitive"], "released unchanged", None, None, 7, 7),
        ("ward", ["keep"], "released unchanged", None, None, 5, 5),
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


def tried(intruder: str = "prosecutor", attack: str = "linkage", **facts: Any) -> dict[str, Any]:
    """One attack as a certificate tells it."""
    found = {
        "intruder": intruder,
        "knows": ["age", "sex"],
        "threshold": 0.2,
        "limit": None,
        "exceeds": False,
        "attack": attack,
        "value": 0.125,
        "interval": None,
        "baseline": None,
        "victims": 4,
        "weights": {},
        "details": {},
        "sentence": "an intruder links some people",
    } | facts
    guess = found["baseline"] or 0.0
    return {"beyond_guessing": max(0.0, (found["value"] - guess) / (1 - guess)), **found}


def attacks(*entries: dict[str, Any], skipped: int = 0) -> dict[str, Any]:
    """What intruders found, as a certificate tells it."""
    left = [
        {"intruder": "journalist", "attack": f"attack_{i}", "reason": "it needs a population"}
        for i in range(skipped)
    ]
    return {
        "records": 22,
        "looked_for": 22,
        "tried": list(entries),
        "skipped": left,
        "seconds": 0.5,
    }


def story(columns: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """An owner's story: per column its bins, of which the last got half of the first in the
    release.
    """
    columns = (
        {"age": ["0–9", "10–19"], "sex": ["female", "male"], "ward": ["a", "b", "missing"]}
        if columns is None
        else columns
    )
    cards = []
    for name, bins in columns.items():
        before = [1 / len(bins)] * len(bins)
        after = (
            [before[0] / 2, *before[1:-1], before[-1] + before[0] / 2] if len(bins) > 1 else before
        )
        cards.append(
            {"column": name, "roles": ["quasi"], "loss": 0.25, "distance": 0.125, "bins": bins}
        )
        cards[-1] |= {"before": before, "after": after}
    pairs = len(cards) * (len(cards) - 1) // 2
    maps = {
        "columns": list(columns),
        "table_distance": [(i + 1) / (pairs + 1) for i in range(pairs)],
    }
    maps |= {
        "association_before": [0.5] * pairs,
        "association_after": [0.5 + 0.3 * (-1) ** i for i in range(pairs)],
    }
    gone = {name: i / (len(cards) + 1) for i, name in enumerate(columns)}
    return {"cards": cards, "maps": maps, "suppressed_cells": gone, "sampled": False}


def full_record() -> dict[str, Any]:
    """The owner's record with everything that newer certificates tell: story, attacks, utilities,
    limits, contract.
    """
    from sfumato.release.story import public_story

    record, told = owner_record(), story()
    measures = [
        _measure("loss", 0.25),
        _measure("means", 0.01),
        _measure("accuracy", 0.75) | {"better": "higher"},
    ]
    kept = {
        "holds": True,
        "refuses": True,
        "sentence": "the mean of age is off by 1.0%, at most 5.0% is allowed",
    }
    found = attacks(
        tried(
            value=0.5,
            interval=[0.4, 0.6],
            baseline=0.1,
            exceeds=True,
            sentence="by choosing the nearest record",
        ),
        tried("neighbour", "homogeneity", value=0.0),
        skipped=2,
    )
    record["certificate"] |= {
        "story": public_story(told),
        "attacks": found,
        "contract": [kept],
        "limits": [],
    }
    record["certificate"]["utility"] = {m["name"]: m["value"] for m in measures}
    return record | {
        "story": told,
        "utility": {"measures": measures},
        "warnings": ["a warning"],
        "preserved": [],
    }


def public_page(certificate: dict[str, Any], *, panel: bool = False) -> str:
    """The page that goes with the released files, as HTML; without the panel that checks them,
    which has tests of its own.
    """
    page = describe_shared_page(certificate)
    return render_page(dataclasses.replace(page, checks=page.checks and panel))


def owner_page(record: dict[str, Any]) -> str:
    """The page that stays with the owner, as HTML."""
    return render_page(describe_owner_page(record))


def draw_page(certificate: dict[str, Any]) -> str:
    """The page that belongs to a certificate, sealed or not, as HTML."""
    return render_page(describe_certificate(certificate))
