"""A population as a table of counts promises what the same people as records do."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.evidence import gather
from sfumato.core.population import each_person
from sfumato.errors import ParameterError, SchemaError

cells = st.tuples(st.sampled_from("abc"), st.sampled_from("xy"))
populations = st.dictionaries(cells, st.integers(0, 4), min_size=1)


def census_of(counts):
    rows = [(area, sex, n) for (area, sex), n in counts.items()]
    names = {"area": pl.String, "sex": pl.String, "people": pl.Int64}
    return pl.DataFrame(rows, schema=names, orient="row")


@given(populations, st.lists(cells, min_size=1, max_size=8), st.booleans())
def test_counts_are_people(counts, rows, coarse):
    """Oracle: everybody is listed, one row a person."""
    census = census_of(counts)
    people = [cell for cell, n in counts.items() for _ in range(n)]
    listed = pl.DataFrame(people, schema={"area": pl.String, "sex": pl.String}, orient="row")
    frame = pl.DataFrame(rows, schema={"area": pl.String, "sex": pl.String}, orient="row")
    table = sf.read(frame).with_roles(quasi=["area", "sex"])
    if coarse:
        table = table.with_hierarchies(area=sf.suppress())
    for counted, plain in (
        (sf.KMap(2, counts="people"), sf.KMap(2)),
        (
            sf.DeltaPresence(low=0.1, high=0.7, counts="people"),
            sf.DeltaPresence(low=0.1, high=0.7),
        ),
    ):
        one = sf.judge(table, counted, population=sf.read(census))[0]
        other = sf.judge(table, plain, population=sf.read(listed))[0]
        assert (one.holds, one.attained, one.records) == (
            other.holds,
            other.attained,
            other.records,
        )
        # The kernel of judging, without the verb around it, counts alike.
        direct = counted.judge(gather(table, [counted], population=sf.Table(census)))
        assert (direct.holds, direct.attained) == (other.holds, other.attained)


def test_a_recipe_with_a_census_table(tmp_path):
    people = sf.examples.hospital(rows=300)
    census = people.to_polars().group_by("age", "sex").len("people")
    census.with_columns(pl.col("people") * 20).write_csv(tmp_path / "census.csv")
    table = people.with_roles(
        keep=["zip", "nationality", "marital_status", "occupation", "admission_date"]
    )
    model = sf.KMap(15, population=str(tmp_path / "census.csv"), counts="people")
    release = sf.anonymize(table, model, sf.GlobalRecoding(budget=0.1))
    assert all(release.verdicts)
    assert release.verdicts[0].attained >= 15


@pytest.mark.parametrize("wrong", [[1.5, 2], [-1, 2], [None, 2], ["some", "2"]])
def test_counts_must_be_whole(wrong):
    census = sf.Table(pl.DataFrame({"area": ["a", "b"], "people": wrong}))
    with pytest.raises(SchemaError, match="whole number of zero or more") as caught:
        each_person(census, "people")
    assert "some" not in str(caught.value).replace("some.csv", "")


def test_two_columns_are_refused():
    table = sf.read(pl.DataFrame({"area": ["a"]})).with_roles(quasi=["area"])
    models = [sf.KMap(2, counts="n"), sf.DeltaPresence(low=0, high=1, counts="m")]
    with pytest.raises(ParameterError, match="2 different columns"):
        sf.judge(table, models, population=sf.read(pl.DataFrame({"area": ["a"], "n": [1]})))
    with pytest.raises(ParameterError, match="leave one out"):
        sf.KMap(2, counts="n", fraction=0.1)
