"""Bounds before data, by the values of a sensitive column alone."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
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
