"""Rules of what may leave: each refuses what it is for, and nothing is sent before."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Declined, ReleaseRefused, UnreadableInput
from sfumato.parties.channel import Network
from sfumato.parties.control import AnswerStore, AskedTogether, Rules, row_marks, rows_between
from sfumato.parties.kinds import question_from
from sfumato.parties.one_process import together
from sfumato.parties.protocols import Shamir
from sfumato.parties.question import Meeting

MEAN = {"mean": {"column": "x", "bounds": ["0", "1000"]}}
SUM = {"sum": {"column": "x", "bounds": ["0", "1000"]}}
KEY = b"k" * 32


def tables(*parties):
    return [sf.read(pl.DataFrame({"x": some}, schema={"x": pl.Float64})) for some in parties]


def test_few_records_and_few_contributors():
    with pytest.raises(ReleaseRefused, match="few_records"):
        together(tables([1.0] * 3, [2.0] * 3, [3.0] * 3), MEAN)
    with pytest.raises(ReleaseRefused, match="few_contributors"):
        together(tables([1.0] * 9, [2.0] * 9, []), MEAN)
    assert together(tables([1.0] * 9, [2.0] * 9, [3.0]), MEAN)["count"] == 19


def test_two_parties():
    with pytest.raises(ReleaseRefused, match="two_parties"):
        together(tables([1.0] * 9, [2.0] * 9), MEAN)


@pytest.mark.parametrize("protocol", ["additive", "shamir"])
def test_small_cells_are_left_out(protocol):
    people = tables([1.0] * 6 + [5.0], [1.0] * 4 + [9.0] * 9, [9.0] * 5 + [5.0])
    axis = {"column": "x", "domain": ["1", "5", "9", "7"]}
    answer = together(people, {"histogram": {"axis": axis}}, protocol=protocol)
    assert answer["counts"] == {"1": 10, "5": None, "9": 14, "7": None}
    where = {"x": ["5"]}
    with pytest.raises(ReleaseRefused, match=r"few_records|small_cells"):
        together(
            tables([5.0], [5.0], [5.0]),
            {"count": {"where": where}},
            rules=Rules(least_records=4, least_parties=2),
        )


@pytest.mark.parametrize(
    ("parties", "dominated"),
    [
        ([[100.0] * 5, [100.0] * 5, [100.0] * 5], False),
        (
            [[1000.0, 1, 1, 1], [900.0, 1, 1, 1], [1.0, 1, 1, 1]],
            True,
        ),  # two records, the rest is 10 of 1910
        ([[1000.0] * 9, [900.0] * 9, [1.0] * 9], True),  # two parties
        ([[1000.0, 200.0] + [10.0] * 4, [50.0] * 9, [300.0] * 2 + [20.0] * 9], False),
    ],
)
def test_dominance(parties, dominated):
    def plainly():
        """The rule by its definition, over ordered pairs of records and of parties."""
        everyone = sorted((v for some in parties for v in some), reverse=True)
        sums = sorted((sum(some) for some in parties), reverse=True)
        total = sum(sums)
        return any(total - u - w < 0.1 * u for u, w in [everyone[:2], sums[:2]])

    assert plainly() == dominated
    if dominated:
        with pytest.raises(ReleaseRefused, match="dominance"):
            together(tables(*parties), SUM, records_at_most=1000)
    else:
        assert together(tables(*parties), SUM, records_at_most=1000)["sum"] == sum(
            map(sum, parties)
        )
    assert together(
        tables(*parties), SUM, noise={"epsilon": "1"}, records_at_most=1000
    )  # the budget replaces the rule


def asked(people, parties=("a", "b", "c", "d"), question=MEAN, *, noisy=False):
    return AskedTogether.of(question_from(question), parties, "visits", people, KEY, noisy=noisy)


def test_the_same_question_gets_the_stored_answer(tmp_path):
    store, people = AnswerStore(tmp_path), tables([float(i) for i in range(50)])[0]
    store.record(asked(people), {"mean": 3.0}, "study")
    again = AnswerStore(tmp_path)
    assert again.stored(asked(people)) == {"mean": 3.0}
    assert again.stored(asked(people, ("a", "b", "c"))) is None
    shuffled = tables([float(i) for i in reversed(range(50))])[0]
    assert again.stored(asked(shuffled)) == {"mean": 3.0}  # the order of rows is nothing
    assert again.stored(asked(tables([1.0])[0])) is None


def test_differencing(tmp_path):
    store, rules = AnswerStore(tmp_path), Rules()
    numbers = [float(i) for i in range(50)]
    store.record(asked(tables(numbers)[0]), {"mean": 3.0}, "study")
    with pytest.raises(ReleaseRefused, match="parties that differ by 1"):
        store.require_new(asked(tables(numbers)[0], ("a", "b", "c")), rules)
    with pytest.raises(ReleaseRefused, match="differ in fewer than 10"):
        store.require_new(asked(tables(numbers[:-3])[0]), rules)
    store.require_new(asked(tables(numbers[:-20])[0]), rules)
    store.require_new(asked(tables(numbers[:-3])[0], noisy=True), rules)


def test_nested_filters(tmp_path):
    store, rules = AnswerStore(tmp_path), Rules()
    people = sf.read(
        pl.DataFrame(
            {"x": [float(i) for i in range(60)], "town": ["A"] * 50 + ["B"] * 5 + ["C"] * 5}
        )
    )

    def about(*towns):
        where = {"town": list(towns)}
        return asked(
            people, question={"mean": {"column": "x", "bounds": ["0", "1000"], "where": where}}
        )

    store.record(about("A"), {"mean": 1.0}, "study")
    with pytest.raises(ReleaseRefused, match="differencing"):
        store.require_new(about("A", "B"), rules)
    store.require_new(about("A", "B", "C"), rules)  # ten rows between


def test_equations_and_few_own(tmp_path):
    store, people = AnswerStore(tmp_path), tables([float(i) for i in range(10)])[0]
    for i in range(5):
        question = {"mean": {"column": "x", "bounds": ["0", str(1000 + i)]}}
        store.require_new(asked(people, question=question), Rules())
        store.record(asked(people, question=question), {"mean": 1.0}, "study")
    with pytest.raises(ReleaseRefused, match="equations"):
        store.require_new(asked(people), Rules())
    with pytest.raises(Declined, match="few_own"):
        store.require_new(asked(people), Rules(least_own=11))


def test_a_changed_store_is_noticed(tmp_path):
    store, people = AnswerStore(tmp_path), tables([1.0, 2.0])[0]
    store.record(asked(people), {"mean": 1.0}, "study")
    store.record(asked(people, ("a", "b", "x", "y", "z")), {"mean": 1.5}, "study")
    assert (tmp_path / "answered.jsonl").stat().st_mode & 0o077 == 0
    lines = (tmp_path / "answered.jsonl").read_text().splitlines()
    (tmp_path / "answered.jsonl").write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(UnreadableInput, match="was changed after it was written"):
        store.stored(asked(people))


def test_marks_count_equal_rows():
    people = tables([1.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    one, other = (row_marks(some, KEY) for some in people)
    assert rows_between(one, other) == 2 and rows_between(one, one) == 0
    assert rows_between(one, row_marks(people[0], b"other key")) == 6


def test_few_contributors_are_those_with_a_number():
    """A party whose records have no number adds nothing; of two that do, each would know the
    other's sum.
    """
    people = [
        sf.read(pl.DataFrame({"x": some}, schema={"x": pl.Float64}))
        for some in ([1.0] * 9, [2.0] * 9, [None] * 9)
    ]
    for question in (MEAN, {"histogram": {"axis": {"column": "x", "edges": ["0", "5"]}}}):
        with pytest.raises(ReleaseRefused, match="few_contributors"):
            together(people, question)


def test_more_records_than_the_study_says_are_refused():
    people = tables([1.0] * 30, [2.0] * 30, [3.0] * 30)
    with pytest.raises(ReleaseRefused, match=r"'many_records'.*this party alone"):
        together(people, MEAN, records_at_most=29)
    with pytest.raises(ReleaseRefused, match=r"'many_records'.*all together"):
        together(people, MEAN, records_at_most=89)
    for most in (90, 2**31 - 2, 2**40):
        assert together(people, "count", records_at_most=most)["count"] == 90


def test_dominance_is_not_lifted_by_a_bound_below_zero():
    people = tables([1000.0, 1, 1, 1], [900.0, 1, 1, 1], [1.0, 1, 1, 1])
    with pytest.raises(ReleaseRefused, match="dominance"):
        together(
            people, {"sum": {"column": "x", "bounds": ["-0.001", "1000"]}}, records_at_most=1000
        )


X = {"column": "x", "bounds": ["0", "1000"]}
NUMBERS = [float(i) for i in range(60)]


def towns(numbers=NUMBERS, odd=0):
    """Sixty records in two towns, some of which are in a third one."""
    town = ["A"] * 30 + ["B"] * (30 - odd) + ["C"] * odd
    return sf.read(
        pl.DataFrame({"x": numbers, "y": [60 - n for n in numbers], "town": town[: len(numbers)]})
    )


@pytest.mark.parametrize(
    ("first", "second", "people", "later"),
    [
        pytest.param(
            {"mean": X},
            {"mean": {**X, "bounds": ["0", "58.5"]}},
            towns(),
            None,
            id="bounds that clip one record",
        ),
        pytest.param(
            {"mean": X},
            {"variance": {**X, "scale": 4}},
            towns(),
            towns(NUMBERS[:-1]),
            id="another statistic, a row less",
        ),
        pytest.param(
            {"mean": X},
            {"mean": {**X, "scale": 4, "bounds": ["0", "1001"]}},
            towns(),
            towns(NUMBERS[:-1]),
            id="other bounds, a row less",
        ),
        pytest.param(
            {"count": {}},
            {"count": {"where": {"town": ["A", "B"]}}},
            towns(odd=1),
            None,
            id="a count and its complement",
        ),
        pytest.param(
            {"histogram": {"axis": {"column": "x", "edges": ["0", "30", "60"]}}},
            {"histogram": {"axis": {"column": "x", "edges": ["0", "31", "60"]}}},
            towns(),
            None,
            id="an edge moved by one record",
        ),
        pytest.param(
            {"histogram": {"axis": {"column": "x", "edges": ["0", "30", "60"]}}},
            {"quantiles": {"axis": {"column": "x", "edges": ["0", "29", "60"]}}},
            towns(),
            None,
            id="quantiles after a histogram",
        ),
        pytest.param(
            {"mean": X},
            {
                "linear_regression": {
                    "outcome": "y",
                    "outcome_bounds": ["0", "100"],
                    "predictors": {"x": ["0", "1000"]},
                }
            },
            towns(),
            towns(NUMBERS[:-1]),
            id="a regression, a row less",
        ),
    ],
)
def test_answers_that_could_be_subtracted(tmp_path, first, second, people, later):
    store = AnswerStore(tmp_path)
    store.record(asked(people, question=first), {"count": 1}, "study")
    with pytest.raises(ReleaseRefused, match="differencing"):
        store.require_new(asked(later or people, question=second), Rules())


def test_answers_that_tell_nothing_of_each_other(tmp_path):
    store, people = AnswerStore(tmp_path), towns(odd=10)
    store.record(asked(people, question={"mean": X}), {"mean": 1.0}, "study")
    store.require_new(asked(people, question={"variance": {**X, "scale": 4}}), Rules())
    store.require_new(
        asked(people, question={"mean": {**X, "bounds": ["0", "30"]}}), Rules()
    )  # thirty are clipped
    store.require_new(asked(people, question={"mean": {**X, "where": {"town": ["A"]}}}), Rules())
    store.require_new(
        asked(towns(NUMBERS[:-1]), question={"mean": {"column": "y", "bounds": ["0", "9"]}}),
        Rules(),
    )


def test_other_parties_are_noticed_whatever_is_asked_of_the_column(tmp_path):
    store = AnswerStore(tmp_path)
    store.record(asked(towns(), question={"mean": X}), {"mean": 1.0}, "study")
    with pytest.raises(ReleaseRefused, match="parties that differ by 1"):
        store.require_new(
            asked(towns(), ("a", "b", "c"), question={"variance": {**X, "bounds": ["0", "1001"]}}),
            Rules(),
        )


def test_an_answer_with_noise_is_not_told_for_one_without(tmp_path):
    store = AnswerStore(tmp_path)
    store.record(asked(towns(), noisy=True), {"mean": 1.0}, "study")
    assert store.stored(asked(towns())) is None and store.stored(asked(towns(), noisy=True)) == {
        "mean": 1.0
    }


def test_what_may_have_been_opened_counts_though_we_never_heard_it(tmp_path):
    store = AnswerStore(tmp_path)
    store.opening(asked(towns()), Rules(), "study")
    store.opening(asked(towns()), Rules(), "study")  # again, after a failure
    assert store.stored(asked(towns())) is None
    with pytest.raises(ReleaseRefused, match="differencing"):
        store.opening(asked(towns(NUMBERS[:-1])), Rules(), "another")
    assert len((tmp_path / "answered.jsonl").read_text().splitlines()) == 1


def test_marks_that_were_changed_or_lost_are_noticed(tmp_path):
    store = AnswerStore(tmp_path)
    store.record(asked(towns()), {"mean": 1.0}, "study")
    [rows] = tmp_path.glob("*.rows")
    rows.write_bytes(rows.read_bytes()[:-8])
    with pytest.raises(UnreadableInput, match="was changed after it was written"):
        store.require_new(asked(towns(NUMBERS[:-1])), Rules())
    rows.unlink()
    with pytest.raises(UnreadableInput, match="was changed after it was written"):
        store.require_new(asked(towns(NUMBERS[:-1])), Rules())


def test_nothing_of_the_data_shows_in_representations():
    secret = 98765.0
    people = tables([secret] * 12, [1.0], [2.0])
    question = question_from({"sum": {"column": "x", "bounds": ["0", "100000"]}})
    shown = repr(asked(people[0])) + repr(question.magnitudes(people[0], 100))
    meeting = Meeting(Network(3).channel(0), Shamir(), 1, noise={0: np.array([98765])})
    assert "98765" not in shown + repr(meeting)


def test_a_store_of_another_version_is_not_taken_for_an_empty_one(tmp_path):
    store, people = AnswerStore(tmp_path), tables([1.0, 2.0])[0]
    (tmp_path / "answered.jsonl").write_text('{"answered": "x", "parties": ["a"], "hash": "0"}\n')
    with pytest.raises(UnreadableInput, match="another version"):
        store.require_new(asked(people), Rules())
