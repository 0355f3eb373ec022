"""Random tables and random recipes: a release that keeps its promise, or one of our errors. Nothing
else.
"""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import recipe_files as recipes

NAMES = st.sampled_from(["age", "zip", "sex", "Größe", "a b", "x:y", "'q'", "no", "1"])
CELLS = st.one_of(
    st.none(),
    st.integers(-5, 120),
    st.text(max_size=4),
    st.floats(allow_nan=True, allow_infinity=True, width=32),
    st.sampled_from(["M", "F", "20-24", "*", "537**", "2024-02-30", "2024-02-29", ""]),
)
HIERARCHIES = st.sampled_from(
    [
        None,
        "suppress",
        {"intervals": {"widths": [5, 10]}},
        {"mask_right": {"length": 4}},
        {"frequency": {"keep": [2, 1]}},
        {"dates": {}},
        {"tree": {"nested": {"*": {"sex": ["M", "F"]}}, "other": "rest"}},
    ]
)
ROLES = st.sampled_from(
    [
        "quasi",
        "quasi",
        "quasi",
        "sensitive",
        "keep",
        "drop",
        "person",
        "stratum",
        ["quasi", "sensitive"],
    ]
)


@st.composite
def tables(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(0, 12))
    columns = {}
    for name in names:
        cells = draw(st.lists(CELLS, min_size=rows, max_size=rows))
        whole = all(c is None or isinstance(c, int) for c in cells)
        columns[name] = pl.Series(
            name, cells if whole else [None if c is None else str(c) for c in cells]
        )
    return pl.DataFrame(columns)


@st.composite
def recipe_for(draw, columns):
    described = {}
    for name in columns:
        spec = {"role": draw(ROLES)}
        hierarchy = draw(HIERARCHIES)
        if hierarchy is not None:
            spec["hierarchy"] = hierarchy
        if draw(st.booleans()):
            spec["missing"] = "wildcard"
        described[name] = spec
    return {
        "sfumato": 1,
        "columns": described,
        "meet": [{"k_anonymity": {"k": draw(st.integers(1, 6))}}],
        "steps": [{"global_recoding": {"budget": draw(st.sampled_from([0.0, 0.3, 1.0]))}}],
    }


def attempt(table, plan):
    try:
        return sf.run(sf.read(table), recipes.from_dict(plan), seed=1), None
    except sf.errors.SfumatoError as refusal:
        return None, refusal


@pytest.mark.slow
@settings(max_examples=150)
@given(st.data())
def test_run_releases_what_holds_or_refuses_politely(data):
    table = data.draw(tables())
    plan = data.draw(recipe_for(table.columns))
    before = table.clone()
    release, refusal = attempt(table, plan)
    if refusal is not None:
        assert refusal.exit_code in (1, 2, 4) and str(refusal)
    else:
        assert release.holds
        assert all(
            verdict.holds for verdict in sf.check(sf.read(release.data), recipes.from_dict(plan))
        )
    assert table.equals(before, null_equal=True)


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_whatever_is_released_can_be_verified(data, tmp_path_factory):
    table = data.draw(tables())
    plan = data.draw(recipe_for(table.columns))
    release, refusal = attempt(table, plan)
    if refusal is not None:
        return
    folder = tmp_path_factory.mktemp("fuzz") / "out"
    release.write(folder, format="parquet")
    assert sf.verify(folder / "share", original=sf.read(table), owner=folder / "owner").holds
