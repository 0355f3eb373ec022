"""Forms: every class of every family of tables has one, what it shows makes the same object again,
and errors stand at their field.
"""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from pydantic import Field

from sfumato.core import registry
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.schema import Attribute, Schema
from sfumato.errors import SfumatoError
from sfumato.interfaces.web.forms import FormError, FormField, form_of, placed, read_form, shown
from sfumato.methods.hierarchies import Dates, GroupedNumbers, Like, Order, TableHierarchy, Tree
from sfumato.methods.models import (
    AlphaKAnonymity,
    KAnonymity,
    KOnCombinations,
    LDiversity,
    TCloseness,
)
from sfumato.methods.steps import (
    GlobalRecoding,
    Microaggregate,
    Pram,
    Pseudonymize,
    RankSwap,
    ShiftDates,
    Suppress,
)
from sfumato.methods.utility import CountError

CLASSES = [(family, name) for family in registry.FAMILIES for name in registry.family(family)]
SCHEMA = Schema(
    {"age": Attribute(("quasi",)), "ill": Attribute(("sensitive",)), "cost": Attribute(("keep",))}
)
EXAMPLES = 50 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 2
"""Of each class: there are hundreds of them, so that every kind of field has many."""
COLUMN = st.sampled_from(["age", "ill", 'a "b" <i>', "no", "1"])
WORD = st.one_of(COLUMN, st.text(min_size=1, max_size=4))


def numbers(field: FormField) -> st.SearchStrategy[Any]:
    low, high = field.low, field.high
    if field.whole:
        return st.integers(
            math.ceil(low or 0), (low or 0) + 40 if high is None else math.floor(high)
        )
    edges = {"exclude_min": field.open_low, "exclude_max": field.open_high and high is not None}
    return st.floats(low or 0.0, (low or 0) + 40.0 if high is None else high, **edges)


def entered(field: FormField) -> st.SearchStrategy[Any]:
    """What a person may enter in a field."""
    words = st.sampled_from([choice.value for choice in field.choices] or ["x"])
    by_kind = {
        "switch": st.booleans(),
        "segments": words,
        "select": words,
        "many": st.lists(words, min_size=1, unique=True),
        "number": numbers(field),
        "share": numbers(field),
        "column": COLUMN,
        "columns": st.lists(COLUMN, min_size=1, max_size=3, unique=True),
        "mapping": st.dictionaries(COLUMN, st.integers(1, 3), max_size=2),
        "numbers": st.lists(st.integers(1, 4), min_size=1, max_size=2).map(_multiples),
        "multiples": st.lists(st.integers(1, 4), min_size=1, max_size=2).map(_multiples),
        "texts": st.lists(WORD, min_size=1, max_size=3, unique=True),
        "text": WORD,
        "path": st.just("file.csv"),
        "date": st.just("2024-02-29"),
        "yaml": st.one_of(
            st.none(),
            st.integers(1, 3),
            st.lists(st.lists(COLUMN, min_size=1, max_size=2), min_size=1),
        ),
    }
    strategy = by_kind[field.kind]
    return strategy if field.required else st.one_of(st.just(field.default), strategy)


def _multiples(parts: list[int]) -> list[int]:
    return [part * 2**place for place, part in enumerate(sorted(parts), 1)]


def as_typed(field: FormField) -> Any:
    """What the widget of a field holds: text, rows, or what is chosen."""
    if field.kind == "mapping":
        return field.rows
    if field.kind in ("columns", "many"):
        return None if field.value is None else list(field.chosen)
    return field.value if field.kind == "switch" else field.text


@pytest.mark.parametrize(
    ("family", "name"), CLASSES, ids=[f"{family}-{name}" for family, name in CLASSES]
)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_what_a_form_shows_makes_the_same_object_again(
    family: str, name: str, data: st.DataObject
) -> None:
    cls = registry.family(family)[name]
    fields = form_of(cls, SCHEMA)
    values = {field.name: data.draw(entered(field), label=field.name) for field in fields}
    try:
        made = read_form(cls, values)
    except FormError as error:
        named = set(error.problems)
    else:
        comes_back(made)
        return
    assert named, "an error says what is wrong"
    assert named <= {field.name for field in fields} | {""}


def comes_back(made: Any) -> None:
    cls = type(made)
    again = form_of(made, SCHEMA)
    assert read_form(cls, {field.name: field.value for field in again}) == made
    assert read_form(cls, {field.name: as_typed(field) for field in again}) == made


@pytest.mark.parametrize(
    "made",
    [
        Tree({"all": {"warm": ["red", "7"], "cold": ["a: b", "null"]}}),
        TableHierarchy([["a", "x", "*"], ["b", "x", "*"]]),
        Dates(["month", "year"], format="%d.%m.%Y"),
        Like(["1000 → 1*** → *"]),
        Order(["no", "1", " b"], sizes=[2]),
        GroupedNumbers("ill", cuts=[[1, 2.5], [1]]),
        GlobalRecoding(budget=0.041, weights={"age": 0.1}, levels={"age": (1, 3), "ill": 2}),
        Pram(
            ["ill"], matrix={"ill": {"a": {"a": 0.9, "b": 0.1}, "b": {"b": 1.0}}}, invariant="none"
        ),
        Pseudonymize(["name"], key={"env": "KEY"}),
        RankSwap(["age"], p=0.1, within=[]),
        Microaggregate(["cost"], k=3, within=["ill"]),
        ShiftDates(["born"], days=30, earliest="2001-02-03"),
        Suppress("cell", combinations=[["age", "ill"], ["age"]]),
        AlphaKAnonymity("ill", alpha=0.5, k=2, values=["a\nb", "c"]),
        KOnCombinations(3, combinations=[["age"], ["age", "ill"]]),
        CountError({"age": [20, 30], "ill": "7"}),
    ],
    ids=lambda made: made.name,
)
def test_what_is_hard_to_enter_comes_back(made: Any) -> None:
    comes_back(made)


@pytest.mark.parametrize(
    ("family", "name"), CLASSES, ids=[f"{family}-{name}" for family, name in CLASSES]
)
def test_defaults_are_what_an_untouched_form_makes(family: str, name: str) -> None:
    cls = registry.family(family)[name]
    fields = form_of(cls)
    lacking = [
        field.name
        for field in fields
        if field.required and not (field.kind == "texts" and not field.least)
    ]
    untouched = {field.name: as_typed(field) for field in fields}
    if not lacking:
        try:
            made = cls()
        except SfumatoError:
            with pytest.raises(FormError):
                read_form(cls, untouched)
        else:
            assert read_form(cls, untouched) == made
        return
    with pytest.raises(FormError) as caught:
        read_form(cls, untouched)
    assert caught.value.problems == dict.fromkeys(lacking, "must be given")


@pytest.mark.parametrize(
    ("family", "name"), CLASSES, ids=[f"{family}-{name}" for family, name in CLASSES]
)
def test_every_field_has_help(family: str, name: str) -> None:
    for field in form_of(registry.family(family)[name]):
        assert field.help, f"{family}: {name}.{field.name} says nothing about itself"


def test_kinds_follow_the_declaration() -> None:
    @parameters
    class Everything:
        name = "everything"
        on: Annotated[bool, Field(description="a switch")] = False
        few: Annotated[Literal["a", "b"], Field(description="a few words")] = "a"
        maybe: Annotated[
            Literal["a", "b", "c", "d"] | None, Field(description="one more with nothing")
        ] = None
        whole: Annotated[int, Field(ge=2, le=9, description="between")] = 3
        share: Annotated[float, Field(gt=0, le=1, description="of records")] = 0.041
        free: Annotated[float | None, Field(description="anything")] = None
        columns: Annotated[tuple[str, ...] | None, COLUMNS, Field(description="some")] = None
        weights: Annotated[dict[str, float], COLUMNS, Field(description="by column")] = Field(
            default_factory=dict
        )
        widths: Annotated[tuple[float, ...], Field(description="several")] = (5, 10)
        file: Annotated[Path | None, Field(description="where")] = None

    fields = {field.name: field for field in form_of(Everything, SCHEMA)}
    assert {name: field.kind for name, field in fields.items()} == {
        "on": "switch",
        "few": "segments",
        "maybe": "select",
        "whole": "number",
        "share": "share",
        "free": "number",
        "columns": "columns",
        "weights": "mapping",
        "widths": "numbers",
        "file": "path",
    }
    assert fields["whole"].slider == (2, 9, 1)
    assert fields["share"].slider == (0.01, 1, 0.01)
    assert fields["free"].slider is None
    assert fields["share"].text == "4.1"
    assert fields["widths"].text == "5, 10"
    assert [choice.value for choice in fields["columns"].choices] == ["age", "ill", "cost"]
    made = read_form(
        Everything, {"share": "7.3 %", "weights": [("age", "2"), ("", "")], "widths": "1 2;3"}
    )
    assert made == Everything(share=0.073, weights={"age": 2}, widths=(1, 2, 3))


def test_columns_of_the_role_come_first() -> None:
    sensitive = form_of(LDiversity("ill", l=3), SCHEMA)[0]
    assert next((choice.value, choice.group) for choice in sensitive.choices) == (
        "ill",
        "sensitive",
    )
    assert sensitive.single
    both = Schema({"race": Attribute(("quasi", "sensitive")), **SCHEMA.attributes})
    first = form_of(LDiversity("ill", l=3), both)[0].choices
    assert [choice.value for choice in first] == [
        "ill",
        "race",
        "age",
        "cost",
    ]  # what is known as well has nothing to hide
    assert read_form(LDiversity, {"sensitive": ["ill"], "l": "3"}) == LDiversity("ill", l=3)
    assert read_form(LDiversity, {"sensitive": ["ill", "age"], "l": 3}) == LDiversity(
        ("ill", "age"), l=3
    )


@pytest.mark.parametrize(
    ("cls", "values", "where", "says"),
    [
        (KAnonymity, {"k": "0"}, "k", "should be greater than or equal to 1"),
        (KAnonymity, {"k": "many"}, "k", "should be a number"),
        (KAnonymity, {"k": ""}, "k", "must be given"),
        (GlobalRecoding, {"budget": "a lot"}, "budget", "should be a number of percent"),
        (GlobalRecoding, {"budget": "140"}, "budget", "should be at most 100 %"),
        (
            AlphaKAnonymity,
            {"sensitive": "ill", "k": "2", "alpha": "0"},
            "alpha",
            "should be more than 0 %",
        ),
        (
            GlobalRecoding,
            {"weights": [("age", "1"), ("age", "2")]},
            "weights",
            "names something twice",
        ),
        (GlobalRecoding, {"weights": [("age", " ")]}, "weights", "has a row without a value"),
        (GlobalRecoding, {"weights": [("age", "[1")]}, "weights", "not valid YAML"),
        (TCloseness, {"sensitive": "ill", "t": "-1"}, "t", "greater than or equal to 0"),
        (LDiversity, {"sensitive": [], "l": 3}, "sensitive", "must be given"),
    ],
)
def test_an_error_stands_at_its_field(
    cls: Any, values: dict[str, Any], where: str, says: str
) -> None:
    with pytest.raises(FormError) as caught:
        read_form(cls, values)
    assert list(caught.value.problems) == [where]
    assert says in caught.value.problems[where]


def test_an_error_about_several_fields_stands_by_itself() -> None:
    with pytest.raises(FormError) as caught:
        read_form(LDiversity, {"sensitive": "ill", "l": 3, "kind": "recursive"})
    assert set(caught.value.problems) <= {"", "c"}
    assert placed("K: x and y do not go together", "K", ["k"]) == {"": "x and y do not go together"}


def test_what_was_entered_is_never_quoted() -> None:
    for cls, values in ((KAnonymity, {"k": "Miller"}), (GlobalRecoding, {"budget": "Miller"})):
        with pytest.raises(FormError) as caught:
            read_form(cls, values)
        assert "Miller" not in str(caught.value)


@given(share=st.floats(0, 1))
def test_percent_are_exact(share: float) -> None:
    field = dataclasses.replace(form_of(GlobalRecoding)[1], value=share)
    assert field.kind == "share"
    assert read_form(GlobalRecoding, {"budget": shown(field, share)}).budget == share
