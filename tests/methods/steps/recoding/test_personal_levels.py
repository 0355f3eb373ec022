"""Personal privacy: every value at the level its person asked for, and no coarser."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, SchemaError

POLICIES = ("a", "b", "c")


def table(zips, policies=None):
    columns = {"zip": zips, **({"policy": policies} if policies is not None else {})}
    frame = pl.DataFrame(
        columns,
        schema_overrides=(
            {"zip": pl.String, "policy": pl.String} if policies else {"zip": pl.String}
        ),
    )
    dataset = sf.read(frame).with_roles(
        quasi="zip", **({"drop": "policy"} if policies is not None else {})
    )
    return dataset.with_hierarchies(zip=sf.mask_right(3))


def raised(step, dataset):
    return step.apply(dataset, step.plan(dataset, Goal())).column("zip").to_list()


@given(
    st.lists(
        st.tuples(
            st.none() | st.text("0123456789", min_size=3, max_size=3), st.sampled_from(POLICIES)
        ),
        min_size=1,
        max_size=12,
    ),
    st.dictionaries(st.sampled_from(POLICIES), st.integers(0, 3), min_size=3, max_size=3),
    st.integers(0, 2),
)
def test_row_by_row_by_the_definition(rows, own, least):
    dataset = table([z for z, _ in rows], [p for _, p in rows])
    step = sf.PersonalLevels(
        levels={"zip": least}, own={p: {"zip": level} for p, level in own.items()}, by="policy"
    )

    def wanted(value, level):
        if level == 3:
            return "*"
        return None if value is None else value[: 3 - level] + "*" * level

    expected = [wanted(z, max(least, own[p])) for z, p in rows]
    assert raised(step, dataset) == expected


def test_levels_for_everybody_need_no_policies():
    assert raised(sf.PersonalLevels({"zip": 1}), table(["123", "145"])) == ["12*", "14*"]


def test_values_that_are_coarser_already_stay():
    assert raised(sf.PersonalLevels({"zip": 1}), table(["1**", "145"])) == ["1**", "14*"]


def test_level_zero_changes_nothing_not_even_the_type():
    dataset = sf.read(pl.DataFrame({"age": [1, 2]})).with_roles(quasi="age")
    step = sf.PersonalLevels({"age": 0})
    assert step.apply(dataset, step.plan(dataset, Goal())).column("age").dtype == pl.Int64


def test_columns_of_any_role_can_be_raised():
    dataset = sf.read(pl.DataFrame({"illness": ["flu", "HIV"]})).with_roles(sensitive="illness")
    dataset = dataset.with_hierarchies(illness=sf.tree({"*": {"virus": ["flu", "HIV"]}}))
    step = sf.PersonalLevels({"illness": 1})
    made = step.apply(dataset, step.plan(dataset, Goal()))
    assert made.column("illness").to_list() == ["virus", "virus"]
    assert [str(r) for r in made.schema["illness"].roles] == ["sensitive"]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (sf.PersonalLevels({"zip": 4}), "its hierarchy ends at level 3"),
        (sf.PersonalLevels({"zap": 1}), "has no column 'zap'"),
        (
            sf.PersonalLevels(own={"a": {"zip": 1}}, by="policy"),
            "1 of 2 rows have no policy that is listed",
        ),
    ],
)
def test_what_does_not_fit_is_refused_without_values(step, told):
    with pytest.raises(SchemaError, match=told) as refused:
        step.plan(table(["123", "145"], ["a", "zzz"]), Goal())
    assert "zzz" not in str(refused.value) and "123" not in str(refused.value)


@pytest.mark.parametrize(
    "fields",
    [{"own": {"a": {}}}, {"by": "policy"}, {"levels": {"zip": -1}}, {"levels": {"zip": True}}],
)
def test_parameters(fields):
    with pytest.raises(ParameterError):
        sf.PersonalLevels(**fields)
    with pytest.raises(ParameterError, match="cannot be generalised itself"):
        sf.PersonalLevels(own={"a": {"policy": 1}}, by="policy")


def test_without_a_hierarchy_there_is_nowhere_to_go():
    dataset = sf.read(pl.DataFrame({"zip": ["1"]})).with_roles(quasi="zip")
    with pytest.raises(SchemaError, match="ends at level 0"):
        sf.PersonalLevels({"zip": 1}).plan(dataset, Goal())


def test_an_empty_table_stays_empty():
    assert raised(sf.PersonalLevels(own={"a": {"zip": 1}}, by="policy"), table([], [])) == []
    assert raised(sf.PersonalLevels({"zip": 1}), table([])) == []


def test_the_plan_names_no_policies_and_no_values():
    step = sf.PersonalLevels(own={"ann": {"zip": 1}}, by="policy")
    told = step.plan(table(["123"], ["ann"]), Goal()).describe()
    assert told["personal_levels"] == {"everybody": {}, "policies": 1}
    assert "ann" not in str(told) and "12*" not in str(told)


def test_frames_of_other_kinds():
    import pandas as pd

    frame = pd.DataFrame({"zip": ["123", None], "policy": ["a", "a"]})
    dataset = (
        sf.read(frame).with_roles(quasi="zip", drop="policy").with_hierarchies(zip=sf.mask_right(3))
    )
    step = sf.PersonalLevels(own={"a": {"zip": 1}}, by="policy")
    assert raised(step, dataset) == ["12*", None]
