"""Bounds before data, by the values of a sensitive column alone."""

from __future__ import annotations

import random
from collections.abc import Iterator

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core.evidence import gather
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.errors import ParameterError
from sfumato.release.class_bounds import bound_classes

PEOPLE = sf.Table(pl.DataFrame({"test": ["yes"] * 100 + ["no"] * 9900}))


def test_ten_thousand_people_of_whom_one_percent_are_positive():
    # Sandhu's example: at most 100 classes can be 2-diverse; no value stands out three times as far
    # as the others only if a class has no more than three of it for one of the other.
    answer = bound_classes(PEOPLE, "l_diversity", sensitive=["test"])
    rows = {bound.promise: bound for bound in answer.bounds}
    assert rows["2-diversity of test"].most == 100
    assert rows["2-diversity of test"].without_suppression
    assert rows["recursive (3, 2)-diversity of test"].most == 100
    assert not rows["recursive (3, 2)-diversity of test"].without_suppression
    assert not rows["entropy 2-diversity of test"].without_suppression
    assert rows["3-diversity of test"].most == 0


def test_no_release_has_more_classes_than_its_bound():
    people = examples.hospital(rows=300)
    for model in (sf.LDiversity("diagnosis", l=3), sf.TCloseness("diagnosis", t=0.5)):
        release = sf.anonymize(people, [sf.KAnonymity(2), model], sf.Mondrian())
        bound = bound_classes(people, model.name, models=[model]).bounds[0]
        classes = release.data.select(people.schema.quasi).n_unique()
        assert 1 < classes <= bound.most


def test_what_bounds_nothing_is_refused():
    with pytest.raises(ParameterError, match="no bound on classes is known"):
        bound_classes(PEOPLE, "k_anonymity", sensitive=["test"])
    with pytest.raises(ParameterError, match="name a sensitive column"):
        bound_classes(PEOPLE, "l_diversity")


def partitions(records: list[int]) -> Iterator[list[list[int]]]:
    """All ways to put records into classes."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for classes in partitions(rest):
        yield [[first], *classes]
        for i, others in enumerate(classes):
            yield [*classes[:i], [first, *others], *classes[i + 1 :]]


@pytest.mark.parametrize("seed", range(40))
def test_no_grouping_of_any_small_table_beats_its_bound(seed):
    """Every grouping is judged, with missing values and with several rows a person."""
    draw = random.Random(seed)
    rows = draw.choice([4, 5])
    data = {"s": [draw.choice(["a", "b", None, "c"]) for _ in range(rows)]}
    tree = sf.tree({"*": {"X": ["a", "b"], "Y": ["c"]}})
    attributes = {"s": Attribute((Role.SENSITIVE,), kind=Kind.NOMINAL, hierarchy=tree)}
    if draw.random() < 0.4:
        data["who"] = [f"p{draw.randrange(3)}" for _ in range(rows)]
        attributes["who"] = Attribute((Role.PERSON,))
    model = draw.choice(
        [
            sf.LDiversity("s", l=2),
            sf.LDiversity("s", l=1.5, kind="entropy"),
            sf.LDiversity("s", l=2, kind="recursive", c=1.2),
            sf.PSensitive("s", p=2, k=2),
            sf.AlphaKAnonymity("s", alpha=0.5, k=2),
            sf.TCloseness("s", t=0.2),
            sf.TCloseness("s", t=0.1, distance="hierarchical"),
        ]
    )
    types = {"s": pl.String}
    plain = sf.Table(pl.DataFrame(data, schema_overrides=types), Schema(attributes))
    bound = bound_classes(plain, model.name, models=[model]).bounds[0]
    quasi = {"class": Attribute((Role.QUASI,), kind=Kind.NUMERIC)}
    for classes in partitions(list(range(rows))):
        numbers = [0] * rows
        for number, members in enumerate(classes):
            for record in members:
                numbers[record] = number
        frame = pl.DataFrame({**data, "class": numbers}, schema_overrides=types)
        grouping = sf.Table(frame, Schema({**attributes, **quasi}))
        if model.judge(gather(grouping, [model])).holds:
            assert len(classes) <= bound.most
            assert bound.without_suppression
