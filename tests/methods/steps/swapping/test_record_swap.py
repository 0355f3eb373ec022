"""Targeted record swapping: who must change places does, households stay whole, areas keep their
profiles.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.exchange_tables import PLAIN, kept, run
from tests.oracles import exchange as oracle

SCHEMA = Schema(
    {
        "h": Attribute((Role.HOUSEHOLD,)),
        **dict.fromkeys(["land", "town", "size", "tenure", "trait", "grid"], PLAIN),
    }
)


def census(sizes, towns, traits, tenures):
    """Households by the size, town and tenure of each and the trait of every member; two towns a
    land.
    """
    of = np.repeat(np.arange(len(sizes)), sizes)
    town = np.array(towns)[of]
    return Table(
        pl.DataFrame(
            {
                "h": of,
                "land": [f"l{t // 2}" for t in town],
                "town": [f"t{t}" for t in town],
                "size": np.array(sizes)[of],
                "tenure": np.array(tenures)[of],
                "trait": traits[: len(of)],
                "grid": [f"g{t}{h}" for t, h in zip(town, of, strict=True)],
            }
        ),
        SCHEMA,
    )


@st.composite
def censuses(draw):
    n = draw(st.integers(1, 14))
    some = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    sizes = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    traits = draw(st.lists(st.integers(0, 4), min_size=sum(sizes), max_size=sum(sizes)))
    return census(sizes, draw(some), traits, [t % 2 for t in draw(some)])


def large(homes=3000, seed=1):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, homes)
    return census(
        sizes,
        rng.integers(0, 6, homes),
        rng.integers(0, 60, sizes.sum()),
        rng.integers(0, 2, homes),
    )


def areas_and_profiles(dataset):
    homes = dataset.to_polars().unique("h")
    return Counter(homes.select("land", "town", "size").rows())


@given(censuses(), st.integers(1, 4), st.floats(0, 1), st.integers(0, 20))
def test_households_stay_whole_and_areas_keep_their_profiles(table, k, rate, seed):
    step = sf.SwapHouseholds(
        ["land", "town"], risk=["trait"], similar=[["size"]], k=k, rate=rate, carry=["grid"]
    )
    plan, made = run(step, table, seed)
    homes = made.to_polars().group_by("h").agg(pl.all().n_unique())
    assert homes.select(pl.max_horizontal(pl.col("land", "town", "grid").max())).item() == 1
    assert areas_and_profiles(made) == areas_and_profiles(table)
    assert kept(plan, "households per area").exactly
    assert (
        made.to_polars()
        .select("h", "size", "tenure", "trait")
        .equals(table.to_polars().select("h", "size", "tenure", "trait"))
    )
    old = {row[0]: row[1:] for row in table.to_polars().select("h", "town", "grid").rows()}
    new = {row[0]: row[1:] for row in made.to_polars().select("h", "town", "grid").rows()}
    moved = {h for h in old if old[h][1] != new[h][1]}
    at_home = {place: h for h, place in old.items()}
    assert all(new[at_home[new[h]]] == old[h] for h in moved), (
        "places are exchanged, so doing it twice restores them"
    )
    assert all(old[h][0] != new[h][0] for h in moved), "a donor lives elsewhere"
    assert len(moved) == plan.owner["exchanged"]


def test_all_at_risk_change_places_where_donors_abound():
    table = large()
    step = sf.SwapHouseholds(["land", "town"], risk=["trait"], similar=[["size"]], k=12, rate=0)
    plan, made = run(step, table)
    rows = [
        (h, (a, b), t)
        for h, a, b, t in table.to_polars().select("h", "land", "town", "trait").rows()
    ]
    risky = oracle.levels_at_risk(rows, 12)
    assert 20 < len(risky) == plan.owner["at_risk"]
    old, new = (dict(t.to_polars().select("h", "town").rows()) for t in (table, made))
    moved = {h for h in old if old[h] != new[h]}
    assert set(risky) <= moved
    assert plan.owner["without_donor"] == {"land": 0, "town": 0}
    assert len(moved) == plan.owner["exchanged"] <= 2 * len(risky)
    land = dict(table.to_polars().select("town", "land").rows())
    assert all(land[old[h]] != land[new[h]] for h, level in risky.items() if level == 0)


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_the_rate_is_reached(rate):
    table = large()
    plan, _ = run(
        sf.SwapHouseholds(["land", "town"], risk=["trait"], similar=[["size"]], k=1, rate=rate),
        table,
    )
    # six quotas are rounded at random, each by less than one exchange of two households
    assert abs(plan.owner["exchanged"] - rate * 3000) <= 12
    assert plan.owner["exchanges_short_of_rate"] == 0


def test_less_similar_donors_are_the_second_choice():
    table = census([1, 1, 1], [0, 2, 2], [0, 1, 1], [0, 0, 1])
    step = sf.SwapHouseholds(
        ["town"], risk=["trait"], similar=[["size", "tenure"], ["size"]], k=2, rate=0
    )
    plan, made = run(step, table)
    assert made.column("town").to_list() == [
        "t2",
        "t0",
        "t2",
    ], "the donor with the same tenure is taken"
    assert kept(plan, "households per area").columns == ("town", "size", "tenure")
    other = census([1, 1, 1], [0, 2, 2], [0, 1, 1], [0, 1, 1])
    plan, made = run(step, other)
    assert sorted(made.column("town").to_list()[1:]) == ["t0", "t2"]
    assert kept(plan, "households per area").columns == ("town", "size")
    assert kept(plan, "households per area").exactly


def test_households_without_a_donor_are_counted():
    table = census([2, 1, 1], [0, 2, 2], [0, 0, 1, 1], [0, 0, 0])
    plan, made = run(
        sf.SwapHouseholds(["land", "town"], risk=["trait"], similar=[["size"]], k=3, rate=0.9),
        table,
    )
    assert plan.owner["without_donor"]["land"] == 3
    assert "3 household(s) at risk in 'land' found no donor" in plan.warnings[0]
    assert "missing to reach the rate" in plan.warnings[1]
    assert made.column("town").equals(table.column("town"))


def test_households_that_lack_an_area_stay():
    table = large(200)
    gone = table.column("h") < 20
    table = table.with_columns({"town": table.column("town").set(gone, None)})
    plan, made = run(
        sf.SwapHouseholds(["land", "town"], risk=["trait"], similar=[["size"]], k=1, rate=1), table
    )
    assert (made.column("town").is_null() == table.column("town").is_null()).all()
    assert made.column("land").filter(gone).equals(table.column("land").filter(gone))
    assert "have no area" in plan.warnings[-1]


def test_rate_and_k_are_not_told():
    plan, _ = run(
        sf.SwapHouseholds(["town"], risk=["trait"], similar=[["size"]], k=7, rate=0.1), large(200)
    )
    assert set(sf.SwapHouseholds.secret) == {"k", "rate"}
    assert plan.public == {}


def test_wrong_input():
    step = sf.SwapHouseholds(["town"], risk=["trait"], similar=[["size"]])
    table = large(20)
    with pytest.raises(SchemaError, match="give their column role household"):
        run(step, table.with_schema(Schema({**SCHEMA.attributes, "h": Attribute((Role.PERSON,))})))
    with pytest.raises(SchemaError, match="members of a household must agree in trait"):
        run(sf.SwapHouseholds(["town"], risk=["size"], similar=[["trait"]]), large(50))
    with pytest.raises(SchemaError, match="no column 'village'"):
        run(sf.SwapHouseholds(["village"], risk=["trait"], similar=[["size"]]), table)
    with pytest.raises(ParameterError, match="cannot be in geography and in similar"):
        sf.SwapHouseholds(["town"], risk=["trait"], similar=[["town"]])
    with pytest.raises(ParameterError, match="rate should be less than or equal to 1"):
        sf.SwapHouseholds(["town"], risk=["trait"], similar=[["size"]], rate=1.5)
    with pytest.raises(ParameterError, match="similar"):
        sf.SwapHouseholds(["town"], risk=["trait"], similar=[])
