"""From a step's settings to pseudonyms: the one place that knows all methods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.errors import ParameterError
from sfumato.methods.steps.pseudonyms.pseudonyms import Pseudonymize
from tests.methods.steps.pseudonyms.test_pseudonyms import (
    ENV,
    GOAL,
    KEY,
    _key,  # noqa: F401 - a fixture
    pseudonyms,
    table,
)
from tests.oracles.pseudonyms import keyed_code, permuted


@given(
    st.lists(st.text(max_size=6), min_size=1, max_size=6, unique=True),
    st.sampled_from(["", "study", "ü"]),
)
def test_keyed_is_what_the_definition_says(names, domain):
    names = [n.encode("utf-8", "ignore").decode() for n in names]
    made = pseudonyms(Pseudonymize("name", key=ENV, domain=domain), table(names))
    quoted = [n.replace("\x1f", "\x1f\x1f") for n in names]
    assert made == [keyed_code(KEY.encode(), domain, name) for name in quoted]
    short = pseudonyms(
        Pseudonymize("name", key=ENV, domain=domain, encoding="hex", length=11), table(names)
    )
    assert short == [keyed_code(KEY.encode(), domain, name, 11, encoding="hex") for name in quoted]


def test_keyed_against_a_number_computed_elsewhere():
    """printf '=Ann' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf 'sfumato
    pseudonym\\0' | openssl dgst … KEY).
    """
    made = pseudonyms(Pseudonymize("name", key=ENV, encoding="hex", length=64), table(["Ann"]))
    assert made == ["859d2009e4ca7495e74d354eb628e4536853552fb98a25fae2ab5fdd65779c6e"]


@pytest.mark.parametrize("length", [4, 5])
def test_codes_that_are_too_short_are_refused(length):
    people = table([str(n) for n in range(20_000)])
    with pytest.raises(ParameterError, match=rf"share a pseudonym .* raise length above {length}"):
        Pseudonymize("name", key=ENV, length=length, encoding="hex").plan(people, GOAL)


def test_random_codes_are_drawn_again_until_free():
    people = table([str(n) for n in range(20_000)])
    made = pseudonyms(Pseudonymize("name", method="random_table", length=4, encoding="hex"), people)
    assert len(set(made)) == 20_000
    with pytest.raises(ParameterError, match="do not fit into codes of length"):
        pseudonyms(
            Pseudonymize("name", method="random_table", length=4, encoding="hex"),
            table([str(n) for n in range(40_000)]),
        )


@pytest.mark.parametrize("method", ["counter", "random_table"])
def test_drawn_codes_follow_the_seed_and_the_place(method):
    people, step = table([str(n) for n in range(100)]), Pseudonymize("name", method=method)
    made = pseudonyms(step, people)
    assert pseudonyms(step, people) == made
    assert pseudonyms(step, people, Goal(seed=Seed(2 << 100))) != made
    assert pseudonyms(step, people, Goal(seed=Seed(1 << 100), place=1)) != made
    assert made != sorted(made), "100 in order: once in 100! runs"
    assert any("seed is short" in w for w in step.plan(people, Goal(seed=Seed(7))).warnings)


def test_counter_counts_from_one():
    assert sorted(
        pseudonyms(Pseudonymize("name", method="counter"), table(["c", "a", "b", "a"]))
    ) in (
        [1, 1, 2, 3],
        [1, 2, 2, 3],
        [1, 2, 3, 3],
    )


def test_forms_are_kept():
    made = pseudonyms(
        Pseudonymize("name", method="format_preserving", key=ENV, domain="d"),
        table(["123-45-6789", "Ann"]),
    )
    assert made == [permuted(KEY.encode(), "d", "123-45-6789"), permuted(KEY.encode(), "d", "Ann")]


def test_tiny_forms_are_told():
    plan = Pseudonymize("name", method="format_preserving", key=ENV).plan(table(["-", "--"]), GOAL)
    assert "values equal their pseudonyms" in plan.warnings[0]
