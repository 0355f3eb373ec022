"""Rules of what may leave: each refuses what it is for, and nothing is sent before."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Declined, ReleaseRefused, UnreadableInput
from sfumato.parties.control import Answered, AskedTogether, Rules, row_marks, rows_between
from sfumato.parties.kinds import question_from
from sfumato.parties.together import together

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
    assert answer["counts"] == {"1": 10, "5": 0, "9": 14, "7": 0}
    where = {"x": ["5"]}
    with pytest.raises(ReleaseRefused, match=r"few_records|small_cells"):
        together(
            tables([5.0], [5.0], [5.0]), {"count": {"where": where}}, rules=Rules(least_records=4, least_parties=2)
        )


@pytest.mark.parametrize(
    ("parties", "dominated"),
    [
        ([[100.0] * 5, [100.0] * 5, [100.0] * 5], False),
        ([[1000.0, 1, 1, 1], [900.0, 1, 1, 1], [1.0, 1, 1, 1]], True),  # two records, the rest is 10 of 1910
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
        assert together(tables(*parties), SUM, records_at_most=1000)["sum"] == sum(map(sum, parties))
    assert together(tables(*parties), SUM, noise={"epsilon": "1"}, records_at_most=1000)  # the budget replaces the rule


def asked(people, parties=("a", "b", "c", "d"), question=MEAN, *, noisy=False):
    return AskedTogether.of(question_from(question), parties, "visits", people, KEY, noisy=noisy)


def test_the_same_question_gets_the_stored_answer(tmp_path):
    store, people = Answered(tmp_path), tables([float(i) for i in range(50)])[0]
    store.record(asked(people), {"mean": 3.0}, "study")
    again = Answered(tmp_path)
    assert again.stored(asked(people)) == {"mean": 3.0}
    assert again.stored(asked(people, ("a", "b", "c"))) is None
    shuffled = tables([float(i) for i in reversed(range(50))])[0]
    assert again.stored(asked(shuffled)) == {"mean": 3.0}  # the order of rows is nothing
    assert again.stored(asked(tables([1.0])[0])) is None


def test_differencing(tmp_path):
    store, rules = Answered(tmp_path), Rules()
    numbers = [float(i) for i in range(50)]
    store.record(asked(tables(numbers)[0]), {"mean": 3.0}, "study")
    with pytest.raises(ReleaseRefused, match="parties that differ by 1"):
        store.require_new(asked(tables(numbers)[0], ("a", "b", "c")), rules)
    with pytest.raises(ReleaseRefused, match="differ in fewer than 10"):
        store.require_new(asked(tables(numbers[:-3])[0]), rules)
    store.require_new(asked(tables(numbers[:-20])[0]), rules)
    store.require_new(asked(tables(numbers[:-3])[0], noisy=True), rules)


def test_nested_filters(tmp_path):
    store, rules = Answered(tmp_path), Rules()
    people = sf.read(pl.DataFrame({"x": [float(i) for i in range(60)], "town": ["A"] * 50 + ["B"] * 5 + ["C"] * 5}))

    def about(*towns):
        where = {"town": list(towns)}
        return asked(people, question={"mean": {"column": "x", "bounds": ["0", "1000"], "where": where}})

    store.record(about("A"), {"mean": 1.0}, "study")
    with pytest.raises(ReleaseRefused, match="differencing"):
        store.require_new(about("A", "B"), rules)
    store.require_new(about("A", "B", "C"), rules)  # ten rows between


def test_equations_and_few_own(tmp_path):
    store, people = Answered(tmp_path), tables([float(i) for i in range(10)])[0]
    for i in range(5):
        question = {"mean": {"column": "x", "bounds": ["0", str(1000 + i)]}}
        store.require_new(asked(people, question=question), Rules())
        store.record(asked(people, question=question), {"mean": 1.0}, "study")
    with pytest.raises(ReleaseRefused, match="equations"):
        store.require_new(asked(people), Rules())
    with pytest.raises(Declined, match="few_own"):
        store.require_new(asked(people), Rules(least_own=11))


def test_a_changed_store_is_noticed(tmp_path):
    store, people = Answered(tmp_path), tables([1.0, 2.0])[0]
    store.record(asked(people), {"mean": 1.0}, "study")
    store.record(asked(people, ("a", "b", "x", "y", "z")), {"mean": 1.5}, "study")
    assert (tmp_path / "answered.jsonl").stat().st_mode & 0o077 == 0
    lines = (tmp_path / "answered.jsonl").read_text().splitlines()
    (tmp_path / "answered.jsonl").write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(UnreadableInput, match="not as it was written"):
        store.stored(asked(people))


def test_marks_count_equal_rows():
    people = tables([1.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    one, other = (row_marks(question_from(MEAN), some, KEY) for some in people)
    assert rows_between(one, other) == 2 and rows_between(one, one) == 0
    assert rows_between(one, row_marks(question_from(MEAN), people[0], b"other key")) == 6
