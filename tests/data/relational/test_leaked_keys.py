"""Keys in columns that are none are not released; keys are compared as what they say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.core.relations import canonical, with_keys
from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.data.relational.from_tables import resolved
from sfumato.data.relational.leaked_keys import NEAR, KeyChance, at_least, bare_keys
from sfumato.data.relational.tables import RelatedTables
from sfumato.errors import SchemaError

IDS = [f"P{number}" for number in (4711, 4712, 4713, 4714)]


def three(people=None, visits=None, rx=None, ids=IDS):
    """Four people, their visits and what was prescribed; every other column is plain."""
    frames = {
        "people": pl.DataFrame({"pid": ids, **(people or {})}),
        "visits": pl.DataFrame({"vid": [51, 52, 53, 54], "pid": ids[::-1], **(visits or {})}),
        "rx": pl.DataFrame({"vid": [52, 51, 54, 54], **(rx or {})}),
    }
    keys = {
        "people": ({}, "pid"),
        "visits": ({"people": "pid"}, "vid"),
        "rx": ({"visits": "vid"}, None),
    }
    schemas = {
        name: with_keys(
            name,
            Schema.from_roles(
                {
                    "keep": [
                        c
                        for c in frame.columns
                        if c not in (*keys[name][0].values(), keys[name][1])
                    ]
                }
            ),
            key=keys[name][1],
            belongs_to=keys[name][0] or None,
        )
        for name, frame in frames.items()
    }
    return RelatedTables.from_tables(frames, schemas, Source())


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"rx": {"pid": IDS}}, "'rx': column 'pid' holds keys of 'people'"),
        (
            {"rx": {"doctor": [IDS[0], None, IDS[2], "else"]}},
            "'rx': column 'doctor' holds keys of 'people'",
        ),
        ({"visits": {"copy": IDS[::-1]}}, "'visits': column 'copy' holds keys of 'people'"),
        (
            {"people": {"last": [51, 52, 53, 54]}, "ids": IDS},
            None,
        ),  # small numbers are keys by chance
        (
            {"rx": {"patient": [3, 4, 1, 1]}, "ids": [1, 2, 3, 4]},
            "'rx': column 'patient' holds keys of 'people'",
        ),
        (
            {"rx": {"doctor_pid": [4, 4, 1, 9]}, "ids": [1, 2, 3, 4]},
            "'rx': column 'doctor_pid' holds keys of 'people'",
        ),
        (
            {"rx": {"doctor": [90210, 77, 4, 4]}, "ids": [4, 90210, 77, 555]},
            "'rx': column 'doctor' holds keys of 'people'",
        ),
        ({"people": {"year": [2001, 2003, 2004, 2002]}, "ids": [2004, 2003, 2002, 2001]}, None),
        ({"rx": {"days": [4, 3, 1, 2]}, "ids": [1, 2, 3, 4]}, None),
        (
            {"rx": {"pid": [3.0, 1.0, 1.0, 1.0]}, "ids": ["1", "2", "3", "4"]},
            "'rx': column 'pid' holds keys",
        ),
        ({"people": {"town": ["a", "b", "c", "d"]}, "ids": ["a", "b", "d", "c"]}, None),
        ({"people": {"age": [1, None, 3, 4]}, "visits": {"ward": [None] * 4}}, None),
    ],
)
def test_a_column_that_holds_keys_is_found(columns, told):
    found = bare_keys(three(**columns).parts)
    assert (not found) if told is None else (len(found) == 1 and told in found[0])
    assert not any(key in sentence for sentence in found for key in IDS)


def ordinary(name, draws, rows):
    """A column of whole numbers as tables about people have them; none has to do with a key."""
    if name == "income":
        return np.round(
            draws.lognormal(draws.uniform(6, 10), 0.6, rows), -int(draws.integers(0, 3))
        ).astype(int)
    if name == "zip":
        return draws.choice(draws.integers(1_000, 99_999, 400), rows)
    least, most = {"age": (0, 100), "year": (1920, 2027), "count": (0, 40), "points": (0, 20_000)}[
        name
    ]
    return draws.integers(least, most, rows)


def keys_left(draws, people, first, step):
    """Numbers in a row of which some are gone, one by one and in blocks."""
    keys = first + step * np.arange(people)
    stays = draws.random(people) < draws.uniform(0.5, 1)
    stays &= np.repeat(draws.random(people // 5 + 1) < draws.uniform(0.7, 1), 5)[:people]
    stays[: NEAR + 1] = True
    return draws.permutation(keys[stays])


@given(
    st.integers(0, 2**32),
    st.sampled_from(["income", "zip", "age", "year", "count", "points"]),
    st.sampled_from([1, 1, 1, 2, 10]),
    st.sampled_from([0, 1, 1, 1001, 125_024]),
)
def test_ordinary_numbers_are_not_taken_for_keys(seed, name, step, first):
    draws = np.random.default_rng(seed)
    keys = keys_left(draws, int(draws.integers(100, 20_000)), first, step)
    frame = pl.DataFrame({"pid": keys, name: ordinary(name, draws, len(keys))})
    schema = with_keys("people", Schema.from_roles({"keep": [name]}), key="pid")
    assert (
        bare_keys(RelatedTables.from_tables({"people": frame}, {"people": schema}, Source()).parts)
        == []
    )


@given(st.integers(0, 2**32), st.floats(0.6, 1), st.sampled_from([100, 20, 3]))
def test_planted_keys_are_found_though_others_stand_between_them(seed, share, apart):
    draws = np.random.default_rng(seed)
    keys = draws.choice(300 * apart, 300, replace=False) + 10_000
    others = draws.integers(1_000_000, 2_000_000, 300)
    planted = np.where(np.arange(300) < share * 300, draws.permutation(keys), others)
    frame = pl.DataFrame({"pid": keys, "doctor": planted})
    schema = with_keys("people", Schema.from_roles({"keep": ["doctor"]}), key="pid")
    (told,) = bare_keys(
        RelatedTables.from_tables({"people": frame}, {"people": schema}, Source()).parts
    )
    assert "column 'doctor' holds keys of 'people'" in told
    assert "if the similarity is accidental" in told


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 12))
def test_the_bound_is_never_below_the_tail(chances, hits):
    exact = np.ones(1)
    for one in chances:  # how many of the events so far happened
        exact = np.append(exact * (1 - one), 0) + np.append(0, exact * one)
    assert at_least(hits, np.array(chances)) >= exact[hits:].sum() - 1e-12


@given(
    st.lists(st.integers(-60, 60), min_size=1, max_size=40, unique=True),
    st.lists(st.integers(-80, 80), min_size=1, max_size=40, unique=True),
)
def test_the_chance_of_a_number_is_the_share_of_keys_beside_it(keys, values):
    def step(numbers):
        return int(np.gcd.reduce(np.diff(sorted(numbers)))) if len(numbers) > NEAR else 1

    def beside(value, there):
        near = sorted(there, key=lambda key: abs(key - value))[:NEAR]
        apart = np.lcm(step(keys), step(values))
        return min(1, len(near) / max(1, abs(near[-1] - value) / apart)) if near else 0

    grid = [key for key in keys if (key - values[0]) % step(values) == 0]
    expected = [
        max(beside(v, [k for k in grid if k < v]), beside(v, [k for k in grid if k > v]))
        for v in values
    ]
    found = KeyChance.of(pl.Series(map(str, keys))).of_each(pl.Series(map(str, values)))
    assert found.tolist() == pytest.approx(expected)


def test_a_release_with_keys_in_another_column_is_refused_and_one_without_is_made():
    ids = [f"K-{number}" for number in range(8800, 8830)]
    frames = {
        "people": pl.DataFrame({"pid": ids, "sex": ["f", "m"] * 15}),
        "visits": pl.DataFrame({"who": ids, "doctor": ids[5:] + ids[:5]}),
    }
    recipe = """
    tables:
      people: {{key: pid, columns: {{sex: {{role: quasi}}}}}}
      visits: {{belongs_to: {{people: who}}, columns: {{doctor: {{role: {role}}}}}}}
    meet: [{{persons_k_anonymity: {{k: 1}}}}]
    steps: [key_pseudonyms]
    """
    read = recipe_files.read_yaml
    for role in ("keep", "sensitive", "quasi"):
        said = recipe_files.any_from_dict(read(recipe.format(role=role), "recipe"))
        with pytest.raises(SchemaError, match=r"column 'doctor' holds keys of 'people'.*role drop"):
            sf.run(frames, said, seed=1, seconds=0)
    release = sf.run(
        frames,
        recipe_files.any_from_dict(read(recipe.format(role="drop"), "recipe")),
        seed=1,
        seconds=0,
    )
    assert "doctor" not in release.data["visits"].columns


@given(st.integers(-999, 999), st.integers(1, 3))
def test_a_whole_number_with_a_point_is_the_number(number, zeros):
    written = f"{number}.{'0' * zeros}"
    assert canonical(pl.Series([written])).to_list() == [str(number)]
    assert resolved(
        pl.Series([written, f"0{abs(number)}", f"{number}.5"]), pl.Series([number])
    ).tolist() == [0, -1, -1]


def test_where_every_row_is_an_orphans_nothing_is_read():
    frames = {"people": pl.DataFrame({"pid": ["a"]}), "visits": pl.DataFrame({"pid": ["b", "c"]})}
    schemas = {
        "people": with_keys("people", Schema({}), key="pid"),
        "visits": with_keys("visits", Schema({}), belongs_to={"people": "pid"}, orphans="drop"),
    }
    with pytest.raises(SchemaError, match=": no row belongs to a person"):
        RelatedTables.from_tables(frames, schemas, Source())


# What a cut must not leave behind.


def cut_tables(key, *, split, shuffle=True):
    ids = [f"K-{number}" for number in range(8800, 8840)]
    frames = {
        "people": pl.DataFrame({"pid": ids, "age": list(range(40))}),
        "visits": pl.DataFrame({"vid": [f"V{i}" for i in ids], "pid": ids, "age": list(range(40))}),
    }
    said = f"""
    tables:
      people: {{key: pid, columns: {{age: {{role: keep}}}}}}
      visits: {{key: vid, belongs_to: {{people: pid}}, columns: {{age: {{role: keep}}}}}}
    meet: [{{persons_k_anonymity: {{k: 1}}}}]
    steps: [{{key_pseudonyms: {{split: {str(split).lower()}{key}}}}}]
    """
    recipe = recipe_files.any_from_dict(recipe_files.read_yaml(said, "recipe"))
    return sf.run(frames, recipe, seed=3, options=sf.RunOptions(shuffle=shuffle), seconds=0).data


def test_a_cut_release_does_not_join_through_one_under_the_same_key_that_is_not_cut(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "0123456789abcdef")
    key = ", key: {env: SOME_KEY}"
    whole, cut, again = (
        cut_tables(key, split=False),
        cut_tables(key, split=True),
        cut_tables(key, split=True),
    )
    assert set(whole["people"]["pid"]) == set(cut["people"]["pid"])
    assert not set(whole["visits"]["vid"]) & set(cut["visits"]["vid"])
    assert set(again["visits"]["vid"]) == set(cut["visits"]["vid"])


def test_a_cut_is_not_undone_by_the_order_of_rows():
    tables = cut_tables("", split=True, shuffle=False)
    met = sum(a == b for a, b in zip(tables["people"]["age"], tables["visits"]["age"], strict=True))
    assert met < 10
    together = cut_tables("", split=False, shuffle=False)
    assert together["people"]["age"].to_list() == list(range(40))
