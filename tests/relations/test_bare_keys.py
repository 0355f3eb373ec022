"""Keys in columns that are none are not released; keys are compared as what they say."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import recipe_files
from sfumato.core.relations import with_keys
from sfumato.core.schema import Schema
from sfumato.core.source import Source
from sfumato.errors import SchemaError
from sfumato.relations.bare import bare_keys
from sfumato.relations.reading import canonical, resolved
from sfumato.relations.tables import Tables

IDS = [f"P{number}" for number in (4711, 4712, 4713, 4714)]


def three(people=None, visits=None, rx=None, ids=IDS):
    """Four people, their visits and what was prescribed; every other column is plain."""
    frames = {
        "people": pl.DataFrame({"pid": ids, **(people or {})}),
        "visits": pl.DataFrame({"vid": [51, 52, 53, 54], "pid": ids[::-1], **(visits or {})}),
        "rx": pl.DataFrame({"vid": [52, 51, 54, 54], **(rx or {})}),
    }
    keys = {"people": ({}, "pid"), "visits": ({"people": "pid"}, "vid"), "rx": ({"visits": "vid"}, None)}
    schemas = {
        name: with_keys(
            name,
            Schema.from_roles({"plain": [c for c in frame.columns if c not in (*keys[name][0].values(), keys[name][1])]}),
            key=keys[name][1],
            belongs_to=keys[name][0] or None,
        )
        for name, frame in frames.items()
    }  # fmt: skip
    return Tables.of(frames, schemas, Source())


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"rx": {"pid": IDS}}, "'rx': column 'pid' holds keys of 'people'"),
        ({"rx": {"doctor": [IDS[0], None, IDS[2], "else"]}}, "'rx': column 'doctor' holds keys of 'people'"),
        ({"visits": {"copy": IDS[::-1]}}, "'visits': column 'copy' holds keys of 'people'"),
        ({"people": {"last": [51, 52, 53, 54]}, "ids": IDS}, None),  # small numbers are keys by chance
        ({"rx": {"patient": [3, 4, 1, 1]}, "ids": [1, 2, 3, 4]}, "'rx': column 'patient' holds keys of 'people'"),
        ({"rx": {"doctor_pid": [4, 4, 1, 9]}, "ids": [1, 2, 3, 4]}, "'rx': column 'doctor_pid' holds keys of 'people'"),
        (
            {"rx": {"doctor": [90210, 77, 4, 4]}, "ids": [4, 90210, 77, 555]},
            "'rx': column 'doctor' holds keys of 'people'",
        ),
        ({"people": {"year": [2001, 2003, 2004, 2002]}, "ids": [2004, 2003, 2002, 2001]}, None),
        ({"rx": {"days": [4, 3, 1, 2]}, "ids": [1, 2, 3, 4]}, None),
        ({"rx": {"pid": [3.0, 1.0, 1.0, 1.0]}, "ids": ["1", "2", "3", "4"]}, "'rx': column 'pid' holds keys"),
        ({"people": {"town": ["a", "b", "c", "d"]}, "ids": ["a", "b", "d", "c"]}, None),
        ({"people": {"age": [1, None, 3, 4]}, "visits": {"ward": [None] * 4}}, None),
    ],
)
def test_a_column_that_holds_keys_is_found(columns, told):
    found = bare_keys(three(**columns).parts)
    assert (not found) if told is None else (len(found) == 1 and told in found[0])
    assert not any(key in sentence for sentence in found for key in IDS)


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
    for role in ("plain", "sensitive", "quasi"):
        said = recipe_files.any_from_dict(read(recipe.format(role=role), "recipe"))
        with pytest.raises(SchemaError, match=r"column 'doctor' holds keys of 'people'.*role direct"):
            sf.run(frames, said, seed=1, seconds=0)
    release = sf.run(
        frames, recipe_files.any_from_dict(read(recipe.format(role="direct"), "recipe")), seed=1, seconds=0
    )
    assert "doctor" not in release.data["visits"].columns


@given(st.integers(-999, 999), st.integers(1, 3))
def test_a_whole_number_with_a_point_is_the_number(number, zeros):
    written = f"{number}.{'0' * zeros}"
    assert canonical(pl.Series([written])).to_list() == [str(number)]
    assert resolved(pl.Series([written, f"0{abs(number)}", f"{number}.5"]), pl.Series([number])).tolist() == [0, -1, -1]


def test_where_every_row_is_an_orphans_nothing_is_read():
    frames = {"people": pl.DataFrame({"pid": ["a"]}), "visits": pl.DataFrame({"pid": ["b", "c"]})}
    schemas = {
        "people": with_keys("people", Schema({}), key="pid"),
        "visits": with_keys("visits", Schema({}), belongs_to={"people": "pid"}, orphans="drop"),
    }
    with pytest.raises(SchemaError, match="table 'visits': no row belongs to anybody"):
        Tables.of(frames, schemas, Source())


# What a cut must not leave behind.


def cut_tables(key, *, split, shuffle=True):
    ids = [f"K-{number}" for number in range(8800, 8840)]
    frames = {
        "people": pl.DataFrame({"pid": ids, "age": list(range(40))}),
        "visits": pl.DataFrame({"vid": [f"V{i}" for i in ids], "pid": ids, "age": list(range(40))}),
    }
    said = f"""
    tables:
      people: {{key: pid, columns: {{age: {{role: plain}}}}}}
      visits: {{key: vid, belongs_to: {{people: pid}}, columns: {{age: {{role: plain}}}}}}
    meet: [{{persons_k_anonymity: {{k: 1}}}}]
    steps: [{{key_pseudonyms: {{split: {str(split).lower()}{key}}}}}]
    """
    recipe = recipe_files.any_from_dict(recipe_files.read_yaml(said, "recipe"))
    return sf.run(frames, recipe, seed=3, shuffle=shuffle, seconds=0).data


def test_a_cut_release_does_not_join_through_one_under_the_same_key_that_is_not_cut(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "0123456789abcdef")
    key = ", key: {env: SOME_KEY}"
    whole, cut, again = cut_tables(key, split=False), cut_tables(key, split=True), cut_tables(key, split=True)
    assert set(whole["people"]["pid"]) == set(cut["people"]["pid"])
    assert not set(whole["visits"]["vid"]) & set(cut["visits"]["vid"])
    assert set(again["visits"]["vid"]) == set(cut["visits"]["vid"])


def test_a_cut_is_not_undone_by_the_order_of_rows():
    tables = cut_tables("", split=True, shuffle=False)
    met = sum(a == b for a, b in zip(tables["people"]["age"], tables["visits"]["age"], strict=True))
    assert met < 10
    together = cut_tables("", split=False, shuffle=False)
    assert together["people"]["age"].to_list() == list(range(40))
