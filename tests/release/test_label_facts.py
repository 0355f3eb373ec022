"""What certificates say of labels: counted again from the file, and false where it is edited."""

from __future__ import annotations

import itertools
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.label_facts import MOST_LABELS, describe_labels
from sfumato.release.report.wording import labels_in_words
from sfumato.release.signatures import digest_of

RANGES = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(0, 9)), min_size=1, max_size=6, unique=True
)


def table_of(labels):
    return sf.read(pl.DataFrame({"x": labels})).with_roles(quasi="x")


@given(RANGES)
def test_widths_and_overlap_are_those_of_the_ranges(ranges):
    labels = [f"[{low}, {low + width}]" for low, width in ranges]
    facts = describe_labels(table_of([*labels, "*"]), {"x": "numeric"})["x"]
    assert facts["labels"] == len(set(labels)) + 1
    assert facts["narrowest"] == min(width for _, width in ranges) + 1
    assert facts["widest"] == max(width for _, width in ranges) + 1
    # More than an end in common.
    assert facts["overlap"] == any(
        max(a, b) < min(a + v, b + w) or (a <= b <= a + v and v and b + w <= a + v and w == 0)
        for (a, v), (b, w) in itertools.permutations(ranges, 2)
        if (a, v) != (b, w) and not (w == 0 and b in (a, a + v))
    ) or any(a < b < a + v for (a, v), (b, w) in itertools.permutations(ranges, 2) if w == 0)


def test_days_periods_categories_and_values():
    days = ["2024-01", "2024-02-01..2024-02-10", "2024-02-10"]
    facts = describe_labels(table_of(days), {"x": "date"})["x"]
    assert facts == {"labels": 3, "scale": "date", "narrowest": 1, "widest": 31, "overlap": True}
    assert labels_in_words(facts) == "3 labels: ranges of 1 to 31 days, which overlap"
    assert describe_labels(table_of(["a", "{a, b}"]), {})["x"] == {"labels": 2}
    numbers = sf.read(pl.DataFrame({"x": [1, 2]})).with_roles(quasi="x")
    assert describe_labels(numbers, {"x": "numeric"}) == {}
    many = [f"{value}-{value + 1}" for value in range(MOST_LABELS + 1)]
    assert describe_labels(table_of(many), {"x": "numeric"})["x"] == {"labels": MOST_LABELS + 1}


@pytest.mark.parametrize(
    ("field", "value"), [("labels", 3), ("narrowest", 77.0), ("widest", 99.0), ("overlap", None)]
)
def test_edited_facts_fail(tmp_path, field, value):
    roles = {"quasi": ["age", "sex"]}
    people = sf.examples.hospital(rows=200).to_polars().select("age", "sex")
    release = sf.anonymize(people, "k_anonymity:4", "mondrian", roles=roles, seed=1)
    share = release.write(tmp_path / "out") / "share"
    file = share / "certificate.json"
    certificate = json.loads(file.read_text())
    facts = certificate["labels"]["age"]
    facts[field] = not facts["overlap"] if value is None else value
    del certificate["digest"]
    certificate["digest"] = digest_of(certificate)
    file.write_text(json.dumps(certificate))
    claims = {claim.name: claim.status for claim in sf.verify(share).claims}
    assert claims["labels of recoded columns"] == "fails"
