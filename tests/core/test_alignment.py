"""Releases made elsewhere: rows are aligned as somebody says, never silently by their order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.alignment import pair_elsewhere
from sfumato.errors import ParameterError, SchemaError

ROLES = {"drop": ["id"], "quasi": ["age", "zip"], "sensitive": ["illness"]}


def people(rows=200, seed=0):
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"p{number}" for number in draws.permutation(10 * rows)[:rows]],
            "age": draws.integers(18, 90, rows),
            "zip": [f"{number:05d}" for number in draws.integers(100, 160, rows)],
            "illness": draws.choice(["flu", "gout", "burn"], rows),
        }
    )


def described(frame):
    roles = {
        role: [name for name in names if name in frame.columns] for role, names in ROLES.items()
    }
    return sf.read(frame).with_roles(**{role: names for role, names in roles.items() if names})


def copies_among_strangers(original, share=0.2, seed=1):
    """As many rows as the original: columns drawn by themselves, and some people as they are, in no
    order.
    """
    draws = np.random.default_rng(seed)
    rows = len(original)
    drawn = pl.DataFrame(
        {name: original[name].gather(draws.integers(0, rows, rows)) for name in original.columns}
    )
    copied = original[draws.choice(rows, round(share * rows), replace=False)]
    both = pl.concat([drawn[: rows - len(copied)], copied])
    return both[draws.permutation(rows)].drop("id")


# ---------------------------------------------------------------------------------- what was silent


@pytest.mark.parametrize("verb", [sf.attack, sf.evaluate])
def test_equal_heights_are_not_aligned_silently(verb):
    original = described(people())
    with pytest.raises(ParameterError, match=r"name a column .*'order'.*'none'"):
        verb(original, copies_among_strangers(people()))


def test_a_table_beside_itself_needs_nothing_said():
    original = described(people())
    assert sf.attack(original, people(), only="linkage").value("linkage") > 0.9


def test_copies_in_a_table_of_another_tool_are_seen_beside_a_control_group():
    everyone = people(1200)
    original, control = everyone[:800], everyone[800:]
    released = copies_among_strangers(original)
    wanted = ["copied_records", "recognised_members"]
    report = sf.attack(described(original), released, align="none", control=control, only=wanted)
    assert report.value("copied_records") == pytest.approx(0.2, abs=0.01)
    assert report.value("recognised_members") > 0.1
    assert sf.attack(
        described(original), released, align="none", only=wanted
    ).unknown  # without a control nobody can tell
    independent = copies_among_strangers(original, share=0.0)
    clean = sf.attack(described(original), independent, align="none", control=control, only=wanted)
    assert clean.value("recognised_members") < 0.02


# -------------------------------------------------------------------------------------- by a column


@pytest.mark.parametrize("seed", range(60))
def test_rows_are_found_by_their_key_whatever_their_order(seed):
    draws = np.random.default_rng(seed)
    frame = people(int(draws.integers(3, 60)), seed)
    rows = draws.choice(len(frame), int(draws.integers(1, len(frame) + 1)), replace=False)
    pair = pair_elsewhere(described(frame), described(frame[rows].drop("illness")), align="id")
    assert pair.rows.tolist() == rows.tolist()
    assert "id" not in pair.released.columns  # it keeps the score, and is not attacked


def test_keys_that_are_numbers_here_and_text_there():
    frame = pl.DataFrame({"id": [3, 1, 2], "age": [30, 10, 20]})
    other = pl.DataFrame({"id": ["2", "3"], "age": [20, 30]})
    pair = pair_elsewhere(
        sf.read(frame).with_roles(quasi=["age"], drop=["id"]), sf.read(other), align="id"
    )
    assert pair.rows.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda f: f.with_columns(id=pl.lit("p1")),
            "does not identify records: 0 missing and 199 repeated",
        ),
        (
            lambda f: f.with_columns(id=pl.concat_str(pl.lit("q"), pl.col("id"))),
            "200 of 200 records",
        ),
        (lambda f: f.with_columns(id=pl.when(pl.col("age") < 200).then(None)), "200 missing"),
    ],
)
def test_keys_that_do_not_identify_are_refused_without_a_value(change, words):
    frame = people()
    with pytest.raises(SchemaError, match=words) as refused:
        pair_elsewhere(described(frame), described(change(frame)), align="id")
    assert not any(name in str(refused.value) for name in frame["id"].to_list() if len(name) > 3)


def test_a_column_that_is_not_there():
    with pytest.raises(ParameterError, match="has no column 'ids'"):
        pair_elsewhere(described(people()), described(people()), align="ids")


# ----------------------------------------------------------------------------- by order and control


def test_order_counts_where_somebody_says_so():
    frame = people()
    masked = frame.with_columns(age=pl.col("age") // 10 * 10).drop("id")
    assert sf.attack(described(frame), masked, align="order", only="linkage").value("linkage") > 0.5
    with pytest.raises(SchemaError, match="cannot align them"):
        sf.attack(described(frame), masked[:100], align="order")


def test_a_control_group_needs_rows_that_are_nobodys_and_the_same_columns():
    original = described(people())
    with pytest.raises(ParameterError, match="add align 'none'"):
        sf.attack(original, people(), align="order", control=people(seed=1))
    with pytest.raises(SchemaError, match=r"lacks 1 columns of .*: zip"):
        sf.attack(original, people().drop("id"), align="none", control=people(seed=1).drop("zip"))


def test_a_release_of_ours_takes_neither():
    release = sf.anonymize(described(people()), [sf.KAnonymity(2)], [sf.Mondrian()], seed=1)
    with pytest.raises(ParameterError, match="align and control"):
        sf.evaluate(release, align="order")
