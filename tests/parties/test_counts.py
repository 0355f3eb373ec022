"""Small counts of several parties: no statistic rests on a table with holes, and none tells what is
left out.
"""

from __future__ import annotations

import itertools
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ReleaseRefused
from sfumato.parties.control import AnswerStore, AskedTogether, Rules
from sfumato.parties.kinds import question_from
from sfumato.parties.one_process import together
from tests.oracles import parties as plain

X = {"column": "x", "edges": ["0", "10", "20", "30", "40"]}
SIDES = [{"column": "town", "domain": ["a", "b", "c"]}, {"column": "ill", "domain": ["no", "yes"]}]


def parties_of(rows, count=3):
    """Rows dealt out to parties."""
    return [sf.read(pl.DataFrame(rows[number::count])) for number in range(count)]


def towns(table):
    """Records of a table of towns and illness."""
    return [
        {"town": town, "ill": ill}
        for town, line in zip("abc", table, strict=True)
        for ill, count in zip(("no", "yes"), line, strict=True)
        for _ in range(count)
    ]


def test_chi_square_is_not_computed_from_a_table_with_holes():
    """With 0 for the 9 that are left out it would be 11.3 (p = 0.003); in truth it is 0.47."""
    table = [[60, 12], [60, 12], [60, 9]]
    assert plain.chi_square(table) < 0.5 and plain.chi_square([[60, 12], [60, 12], [60, 0]]) > 11
    people = parties_of(towns(table))
    answer = together(people, {"contingency_table": {"axes": SIDES}})
    assert answer["counts"] == [[60, 12], [60, 12], [60, None]]
    assert answer["chi_square"] is None and answer["df"] is None and "wider bins" in answer["why"]
    whole = together(people, {"contingency_table": {"axes": SIDES}}, rules={"least_records": 9})
    assert (
        whole["chi_square"] == pytest.approx(plain.chi_square(table)) and "why" not in whole.value
    )


def test_with_noise_nothing_is_left_out():
    people = parties_of(towns([[60, 12], [60, 12], [60, 9]]))
    answer = together(people, {"contingency_table": {"axes": SIDES}}, noise={"epsilon": "8"})
    assert None not in itertools.chain(*answer["counts"]) and answer["chi_square"] is not None


def numbers(sizes):
    """Records so that every bin holds so many."""
    return [{"x": 10.0 * place + 5} for place, size in enumerate(sizes) for _ in range(size)]


def test_quantiles_rest_on_bins_none_of_which_is_small():
    answer = together(
        parties_of(numbers([3, 40, 40, 17])), {"quantiles": {"axis": X, "levels": ["0.5"]}}
    )
    assert answer["counts"] == {"[0, 20)": 43, "[20, 40]": 57} and answer["joined"] == 2
    assert answer["quantiles"] == {"0.5": pytest.approx(20 + 20 * 7 / 57)}
    odd = {"column": "x", "edges": ["0", "10", "20", "30"]}
    answer = together(
        parties_of(numbers([1, 20, 20])), {"quantiles": {"axis": odd, "levels": ["0.5"]}}
    )
    assert answer["counts"] == {"[0, 20)": 21, "[20, 30]": 20}
    whole = together(parties_of(numbers([12, 12, 12, 12])), {"quantiles": {"axis": X}})
    assert whole["joined"] == 1 and len(whole["counts"]) == 4


def opened(sizes, least):
    """What everybody sees of quantiles: how often bins were joined, and the counts."""
    told, _ = plain.joined_bins(sizes, [str(number) for number in range(len(sizes) + 1)], least)
    return len(told), tuple(told)


def test_a_joined_bin_tells_nothing_of_its_parts():
    """All ways to fill four bins that look the same, one by one: a bin that was joined may hold
    anything from none to all of it.
    """
    least, most = 3, 12
    ways = {}
    for sizes in itertools.product(range(most + 1), repeat=4):
        if least <= sum(sizes) <= most:
            ways.setdefault(opened(sizes, least), []).append(sizes)
    looked = 0
    for (groups, told), same in ways.items():
        if groups == 4:
            continue
        width = 4 // groups
        for place in range(4):
            held = {sizes[place] for sizes in same}
            assert (min(held), max(held)) == (0, told[place // width])
            looked += 1
    assert looked > 100


@pytest.mark.parametrize("seed", range(12))
def test_quantiles_of_random_parties(seed):
    rng = random.Random(seed)
    edges = [str(number * 10) for number in range(rng.choice([3, 5, 6]))]
    sizes = [rng.choice([0, 1, 4, 9, 10, 25]) for _ in edges[1:]]
    least = rng.choice([2, 5, 10])
    question = {
        "quantiles": {"axis": {"column": "x", "edges": edges}, "levels": ["0.1", "0.5", "0.9"]}
    }
    people = parties_of(rng.sample(rows := numbers(sizes), len(rows))) if sum(sizes) >= 3 else None
    if people is None or sum(sizes) < least:
        return
    told, wider = plain.joined_bins(sizes, edges, least)
    answer = together(people, question, rules={"least_records": least, "least_own": 0})
    assert list(answer["counts"].values()) == told and min(told) >= least
    for level, value in answer["quantiles"].items():
        assert value == pytest.approx(plain.quantile(told, wider, level))


def asked(question):
    people = sf.read(pl.DataFrame(numbers([30, 30, 30, 30])))
    return AskedTogether.of(
        question_from(question), ("a", "b", "c"), "data", people, b"key", noisy=False
    )


HISTOGRAM, QUANTILES = {"histogram": {"axis": X}}, {"quantiles": {"axis": X}}


@pytest.mark.parametrize(
    ("first", "answer", "second", "refused"),
    [
        (HISTOGRAM, {"counts": {"[0, 10)": None, "[10, 20)": 40}}, QUANTILES, True),
        (
            HISTOGRAM,
            {"counts": {"[0, 10)": 0, "[10, 20)": 40}},
            QUANTILES,
            True,
        ),  # as older versions say
        (HISTOGRAM, {"counts": {"[0, 10)": 30, "[10, 20)": 40}}, QUANTILES, False),
        (QUANTILES, {"counts": {"[0, 20)": 60}, "joined": 2}, HISTOGRAM, True),
        (QUANTILES, {"counts": {"[0, 10)": 60}, "joined": 1}, HISTOGRAM, False),
        (
            QUANTILES,
            {"counts": {"[0, 20)": 60}, "joined": 2},
            {"quantiles": {"axis": X, "levels": ["0.3"]}},
            False,
        ),
    ],
)
def test_quantiles_beside_counts_that_leave_some_out_are_refused(
    tmp_path, first, answer, second, refused
):
    store = AnswerStore(tmp_path)
    store.record(asked(first), answer, "study")
    if not refused:
        store.require_new(asked(second), Rules())
        return
    with pytest.raises(ReleaseRefused, match="hides small counts or joins bins"):
        store.require_new(asked(second), Rules())


def test_an_answer_that_never_came_may_have_left_counts_out(tmp_path):
    store = AnswerStore(tmp_path)
    store.opening(asked(HISTOGRAM), Rules(), "study")
    with pytest.raises(ReleaseRefused, match="hides small counts"):
        store.require_new(asked(QUANTILES), Rules())
    store.record(asked(HISTOGRAM), {"counts": {"[0, 10)": 30}}, "study")
    store.require_new(asked(QUANTILES), Rules())
