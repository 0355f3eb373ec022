"""What a certificate shows of a recipe: every field that can hold text was looked at, and those
with data values are kept.
"""

from __future__ import annotations

import dataclasses
import json
import typing

import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core import registry

FREE_OF_VALUES = {
    # names of columns
    "axis",
    "counts",
    "split",
    "by",
    "columns",
    "combinations",
    "label",
    "order",
    "outcome",
    "predictors",
    "quasi",
    "sensitive",
    "within",
    "weight",
    "column",
    "carry",
    "geography",
    "keep",
    "match",
    "members",
    "risk",
    "similar",
    "subsets",
    "among",
    "of",
    "version",
    # columns, and numbers or levels for them
    "importance",
    "levels",
    "weights",
    "bounds",
    "bins",
    "decimals",
    "leaves",
    "workload",
    "grid",
    # words of the method, names chosen for what is released, and paths
    "objective",
    "domain",
    "locale",
    "format",
    "encoding",
    "delimiter",
    "other",
    "top_label",
    "bottom_label",
    "population",
    "today",
    "char",
    "mark",
    "separators",
    "unit",
    "pad",
    # a threshold (a number or a date) that the released table shows as a label
    "top",
    "bottom",
}
"""Fields that hold text and no value of a person; a field of another name that can hold text must
be decided about.
"""


def text_inside(annotation: object) -> bool:
    """Whether a type can hold free text (words of a fixed list are none)."""
    if annotation in (str, object, typing.Any) or getattr(annotation, "__name__", "") == "Path":
        return True
    if typing.get_origin(annotation) is typing.Literal:
        return False
    supertype = getattr(annotation, "__supertype__", None) or getattr(annotation, "__value__", None)
    return any(
        text_inside(part)
        for part in (*typing.get_args(annotation), *([supertype] if supertype else []))
    )


def fields_with_text():
    for family in ("models", "steps", "utility", "hierarchies"):
        for name, cls in registry.family(family).items():
            for field in dataclasses.fields(cls):
                if text_inside(cls.__pydantic_fields__[field.name].annotation):
                    yield pytest.param(cls, field.name, id=f"{family}-{name}-{field.name}")


def test_the_search_finds_fields():
    found = {(one.values[0].name, one.values[1]) for one in fields_with_text()}
    assert {
        ("alpha_k_anonymity", "values"),
        ("tree", "nested"),
        ("count", "where"),
        ("pram", "matrix"),
    } <= found
    assert ("suppression", "what") not in found
    assert {field for _, field in found} >= FREE_OF_VALUES


@pytest.mark.parametrize(("cls", "field"), list(fields_with_text()))
def test_a_field_that_can_hold_values_is_kept_by_the_owner(cls, field):
    assert field in getattr(cls, "secret", ()) or field in FREE_OF_VALUES


@pytest.mark.parametrize("family", ["models", "steps", "utility", "hierarchies"])
def test_what_is_kept_is_a_field(family):
    for cls in registry.family(family).values():
        assert set(getattr(cls, "secret", ())) <= {
            field.name for field in dataclasses.fields(cls)
        }, cls.name


def shy_release(tmp_path):
    people = sf.examples.hospital(rows=400)
    values = tuple(sorted({str(v) for v in people.column("diagnosis").drop_nulls().to_list()}))[:2]
    meet = [sf.AlphaKAnonymity("diagnosis", alpha=0.9, k=2, values=values)]
    sf.anonymize(people, meet, [sf.GlobalRecoding(budget=0.2)], seed=1).write(tmp_path / "out")
    return values, tmp_path / "out"


def test_the_values_a_promise_protects_are_not_published(tmp_path):
    values, folder = shy_release(tmp_path)
    shared = "".join(
        (folder / "share" / name).read_text(encoding="utf-8")
        for name in ("certificate.json", "report.html")
    )
    assert not [value for value in values if value in shared] and recipes.KEPT in shared
    lock = json.loads((folder / "owner" / "lock.json").read_text(encoding="utf-8"))
    assert lock["recipe"]["meet"][0]["alpha_k_anonymity"]["values"] == list(values)


def test_a_promise_with_kept_values_is_open_until_the_owner_shows_them(tmp_path):
    _, folder = shy_release(tmp_path)
    alone = sf.verify(folder / "share")
    assert not alone.holds
    assert "1 of 1 promise needs the original" in alone.headline
    full = sf.verify(
        folder / "share", original=sf.examples.hospital(rows=400), owner=folder / "owner"
    )
    assert full.holds and {claim.status for claim in full.claims} == {"holds"}
