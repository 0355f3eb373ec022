"""What a release tells together with those that are registered, beside a count over persons; all
through the file of a register.
"""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.schema import Schema
from sfumato.errors import ParameterError, SchemaError
from sfumato.release.register.memory import Newcomer, Remembered
from sfumato.release.register.released_classes import (
    BY_CONTENT,
    classes_shown,
    person_columns,
    persons_of,
)
from sfumato.release.register.store import start_register

GRID = [(f"p{i}{j}", str(i), str(j), "abc"[(i * j) % 3]) for i in range(5) for j in range(5)]


def table(rows, roles="drop"):
    frame = pl.DataFrame(rows, schema=["id", "a", "b", "d"], orient="row")
    return sf.read(frame).with_schema(
        Schema.from_roles({roles: ["id"], "quasi": ["a", "b"], "sensitive": ["d"]})
    )


def released(original, shows=("a", "b"), keep=None, changes=None):
    """What shows some of the quasi-identifiers of some rows as they are, the others not at all."""
    rows = np.arange(len(original)) if keep is None else np.asarray(keep, dtype=np.int64)
    frame = original.to_polars()[rows.tolist()].drop(
        [c for c in ("a", "b") if c not in shows] + ["id"]
    )
    frame = frame.with_columns(**(changes or {}))
    made = dataclasses.replace(
        sf.read(frame),
        origin=rows,
        schema=original.schema.without(set(original.columns) - set(frame.columns)),
    )
    return TablePair(original, made, rows)


@pytest.fixture
def register(tmp_path):
    with start_register(tmp_path / "releases.db") as held:
        yield held


def registered(register, pair, *, person=(), k=None, private=None, state="released"):
    newcomer = Newcomer.of(register, pair, person=person, private=private)
    told = {"recipient": "x", "folder": register.path, "certificate": "", "digest": "", "k": k}
    with register.turn():
        number = register.plan(newcomer.entry(**told), newcomer.people)
        if state != "planned":
            register.now_is(number, state)
    return number


def test_two_releases_of_a_square_single_everybody_out(register):
    """Each is 5-anonymous; together all 25 stand alone (Ganta, Kasiviswanathan & Smith 2008)."""
    people = table(GRID)
    registered(
        register, released(people, ["a"]), state="planned"
    )  # the process may have died: it counts
    found = Newcomer.of(register, released(people, ["b"])).together()
    assert (found.k, found.k_unknowing, found.alone, found.followed, found.shared) == (
        1,
        1,
        25,
        25,
        25,
    )
    assert found.below == {2: 25, 3: 25, 5: 25, 10: 25}
    assert found.diversity["d"][0] == 1
    kept = Remembered(register).kept(0.5, released(people, ["b"]))
    assert not kept
    assert "25 of 25 (1)" in kept.sentence
    alike = Newcomer.of(register, released(people, ["a"])).together()
    assert (alike.k, alike.alone) == (5, 0)
    assert Remembered(register).kept(0, released(people, ["a"]))


def test_withdrawn_releases_do_not_count_and_a_release_is_not_put_beside_itself(register):
    people = table(GRID)
    registered(register, released(people, ["a"]), state="withdrawn")
    own = registered(register, released(people, ["b"]))
    newcomer = Newcomer.of(register, released(people, ["b"]))
    assert newcomer.together().earlier == (own,)
    assert newcomer.together(besides=[own]).sentences == [
        "no earlier release of the register is about the same people"
    ]


def test_other_people_do_not_matter(register):
    registered(register, released(table(GRID[:10]), ["a"]))
    found = Newcomer.of(register, released(table(GRID[10:]), ["b"])).together()
    assert (found.earlier, found.k, found.alone, found.unknown) == ((), 3, 0, None)


rows = st.lists(
    st.tuples(
        st.integers(0, 6), st.sampled_from("xy"), st.sampled_from("uv"), st.sampled_from("st")
    ),
    min_size=1,
    max_size=9,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(rows, st.sampled_from([("a",), ("b",), ("a", "b")]), st.data()),
        min_size=2,
        max_size=3,
    ),
    st.booleans(),
)
def test_it_is_what_counting_over_persons_gives(tmp_path_factory, tables, whole_rows):
    """Several rows a person, suppressed rows, people who come and go; all releases but the last are
    registered.
    """
    seen, there = [], []
    with start_register(tmp_path_factory.mktemp("register") / "r.db") as held:
        for position, (content, shows, data) in enumerate(tables):
            drawn = (
                tables[0][0] if whole_rows else content
            )  # by whole rows only the same table can be aligned
            original = table(
                [(f"p{i}", *rest) for i, *rest in drawn], "keep" if whole_rows else "drop"
            )
            keep = [i for i in range(len(drawn)) if data.draw(st.integers(0, 3))]
            if not keep:
                keep = [0]
            pair = released(original, shows, keep)
            names = persons_of(original, person_columns(original))
            classes = collections.defaultdict(set)
            for row in keep:
                classes[names[row]].add(tuple(drawn[row]["_ab".index(c)] for c in shows))
            seen.append({name: frozenset(found) for name, found in classes.items()})
            there.append(set(names))
            if position < len(tables) - 1:
                registered(held, pair)
        found = Newcomer.of(held, pair).together()
    old = [s for s, t in zip(seen[:-1], there[:-1], strict=True) if t & there[-1]]
    everybody = set().union(*there)
    pattern = {p: tuple(s.get(p) for s in [seen[-1], *old]) for p in everybody}
    sizes = collections.Counter(pattern.values())
    mine = sorted(seen[-1])
    relevant = set(there[-1]).union(*(t for t in there[:-1] if t & there[-1]))
    fits = {
        p: sum(
            all(None in (x, y) or x == y for x, y in zip(pattern[p], pattern[q], strict=True))
            for q in relevant
        )
        for p in mine
    }
    assert found.people == len(mine)
    assert found.k == min(sizes[pattern[p]] for p in mine)
    assert found.alone == sum(sizes[pattern[p]] == 1 for p in mine)
    assert found.k_unknowing == min(fits.values())
    assert found.shared == sum(any(s.get(p) is not None for s in old) for p in mine)


def test_only_bounds_where_people_are_told_apart_otherwise(register):
    people = table(GRID)
    registered(register, released(people, ["a"]), person=["id", "d"], k=5)
    found = Newcomer.of(register, released(people, ["b"])).together()
    assert "only bounds" in found.unknown
    assert found.bounds == {1: (1, 5)}
    assert any("between 1 and 5 people" in sentence for sentence in found.sentences)
    kept = Remembered(register).kept(1, released(people, ["b"]))
    assert not kept
    assert "unknown" in kept.sentence


def test_whole_rows_of_a_table_that_changed_may_be_the_same_people(register):
    """Nobody is recognised when a column is corrected or added: that is no sign that they are
    others.
    """
    plain = table(GRID, "keep")
    registered(register, released(plain, ["a"]), k=5)
    later = table([(*row[:3], "z") for row in GRID], "keep")
    assert person_columns(later) == ()
    found = Newcomer.of(register, released(later, ["b"])).together()
    assert found.unknown is not None
    assert not Remembered(register).kept(1, released(later, ["b"]))
    assert Newcomer.of(register, released(plain, ["b"])).together().alone == 25
    part = table(GRID[:7], "keep")
    assert Newcomer.of(register, released(part, ["b"])).together().alone == 7
    assert register.standing[0].person == BY_CONTENT


@pytest.mark.parametrize("masked_first", [True, False])
def test_masked_values_leave_only_bounds(register, masked_first):
    people = table(GRID)
    plain, masked = released(people, ["a"]), released(people, ["b"], changes={"b": pl.lit("1")})
    first, second = (masked, plain) if masked_first else (plain, masked)
    registered(register, first, k=5)
    found = Newcomer.of(register, second).together()
    assert (found.bounds, found.earlier) == ({}, ())
    assert "changed or are synthetic" in found.unknown
    assert not Remembered(register).kept(1, second)


def test_a_masked_release_alone_is_no_proof_either(register):
    masked = released(table(GRID), ["b"], changes={"b": pl.lit("1")})
    found = Newcomer.of(register, masked).together()
    assert (found.k, found.alone, found.unknown) == (None, 0, None)
    assert not Remembered(register).kept(1, masked)


def test_drawn_rows_are_nobodys_and_their_people_count(register):
    people = table(GRID)
    frame = people.to_polars().drop("id")
    nobody = np.full(len(frame), -1)
    made = dataclasses.replace(sf.read(frame), origin=nobody, schema=people.schema.without(["id"]))
    drawn = TablePair(people, made, nobody)
    assert set(classes_shown(drawn).tolist()) == {-1}
    spent = {"certified": True, "epsilon": 0.5, "delta": 1e-9}
    registered(register, drawn, private=spent)
    found = Newcomer.of(register, drawn, private=spent).together()
    assert found.people == 25
    assert (found.epsilon, found.delta, found.mixed) == (1.0, pytest.approx(2e-9), False)
    assert any("adds up to 1" in sentence for sentence in found.sentences)
    beside = Newcomer.of(register, released(people, ["a"])).together()
    assert (beside.epsilon, beside.mixed) == (0.5, True)
    assert any("no joint ε is claimed" in sentence for sentence in beside.sentences)


def test_budgets_add_up_per_group_of_people(register):
    """Releases on other persons do not add; who may be in a release (told apart otherwise) counts
    as in it.
    """
    spent = {"certified": True, "epsilon": 0.5, "delta": None}
    registered(register, released(table(GRID[:10]), ["a"]), private=spent)
    registered(register, released(table(GRID[10:]), ["a"]), private={**spent, "epsilon": 0.25})
    some = Newcomer.of(register, released(table(GRID[5:15]), ["a"]), private=spent).together()
    assert some.epsilon == 1.0
    late = Newcomer.of(register, released(table(GRID[12:15]), ["a"]), private=spent).together()
    assert late.epsilon == 0.75
    registered(
        register,
        released(table(GRID[:10]), ["a"]),
        person=["id", "d"],
        private={**spent, "epsilon": 2.0},
    )
    assert (
        Newcomer.of(register, released(table(GRID[12:15]), ["a"]), private=spent).together().epsilon
        == 2.75
    )
    rehearsal = {"certified": False, "epsilon": 9.0}
    assert Newcomer.of(register, released(table(GRID), ["a"]), private=rehearsal).epsilon is None


def test_rows_without_an_identifier_are_people_of_their_own(register):
    some = [(None if number < 6 else name, *rest) for number, (name, *rest) in enumerate(GRID)]
    found = Newcomer.of(register, released(table(some), ["a"])).together()
    assert found.people == 25
    with pytest.raises(SchemaError, match="every value is missing"):
        Newcomer.of(register, released(table([(None, *rest) for _, *rest in GRID]), ["a"]))


def test_persons_are_the_same_whatever_the_type_of_their_column(register):
    numbers = [(number, *rest) for number, (_, *rest) in enumerate(GRID)]
    registered(register, released(table(numbers), ["a"]))
    words = [(str(number), *rest) for number, *rest in numbers]
    assert Newcomer.of(register, released(table(words), ["b"])).together().alone == 25


def test_row_order_does_not_matter(register):
    registered(register, released(table(GRID), ["a"]))
    forth = Newcomer.of(register, released(table(GRID), ["b"])).together()
    back = Newcomer.of(register, released(table(GRID[::-1]), ["b"])).together()
    assert forth.to_dict() == back.to_dict()


def test_columns_that_are_not_there(register):
    with pytest.raises((SchemaError, ParameterError), match="nothing"):
        Newcomer.of(register, released(table(GRID), ["a"]), person=["nothing"])
