"""Replies at fixed moments, on a clock that moves only when somebody sleeps or works."""

from __future__ import annotations

import contextlib
import math

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.results.queries import Quantum, SessionOptions, SlowReply


def asking(quantum=None, **keywords):
    return sf.dp.session(
        sf.read(pl.DataFrame({"age": [30.0, 40.0]})),
        bounds={"age": (0, 100)},
        options=SessionOptions(name="people", quantum=quantum),
        **keywords,
    )


class FakeClock:
    """A clock that moves only when somebody sleeps or works."""

    def __init__(self):
        self.now = 100.0
        self.alarms = []

    def quantum(self, seconds=1.0):
        return Quantum(seconds, clock=lambda: self.now, sleep=self.sleep, alarm=self.alarms.append)

    def sleep(self, seconds):
        self.now += seconds


@pytest.mark.parametrize(
    ("work", "left", "alarms"),
    [(0.0, 1.0, []), (0.3, 1.0, []), (1.0, 1.0, []), (1.2, 2.0, [2]), (4.5, 5.0, [5])],
)
def test_replies_leave_at_multiples_of_the_quantum(work, left, alarms):
    clock = FakeClock()
    with clock.quantum().reply():
        clock.now += work
    assert clock.now == pytest.approx(100 + left) and clock.alarms == alarms


def test_answers_repetitions_and_refusals_take_the_same_time():
    clock = FakeClock()
    people = asking(budget=0.5, quantum=clock.quantum())
    took = []
    for ask in (
        lambda: people.count(epsilon=0.4),
        lambda: people.count(epsilon=0.4),
        lambda: people.count(epsilon=0.45),
        lambda: people.sql("SELECT COUNT(*) FROM people", epsilon=0.4),
        lambda: people.sql("SELECT nonsense", epsilon=0.4),
    ):
        start = clock.now
        with contextlib.suppress(BudgetExceeded, ParameterError):
            ask()
        took.append(round(clock.now - start, 6))
    assert took == [1.0] * 5


def test_a_sleep_that_wakes_early_is_continued():
    clock = FakeClock()
    quantum = Quantum(1.0, clock=lambda: clock.now, sleep=lambda s: clock.sleep(min(s, 0.3)))
    with quantum.reply():
        pass
    assert clock.now == pytest.approx(101.0)


def test_an_overrun_warns_the_operator_without_data():
    clock = FakeClock()
    quantum = Quantum(1.0, clock=lambda: clock.now, sleep=clock.sleep)
    with pytest.warns(SlowReply, match="took 3 time quanta"), quantum.reply():
        clock.now += 2.5


@pytest.mark.parametrize("seconds", [0, -1.0, math.nan, math.inf, 1e-320, 1e300, "1", True, None])
def test_wrong_quanta(seconds):
    with pytest.raises(ParameterError, match="time quantum"):
        Quantum(seconds)


REFUSED = {
    "no ε": lambda people: people.count(),
    "an ε that is none": lambda people: people.count(epsilon="much"),
    "a negative ε": lambda people: people.sum("age", epsilon=-1),
    "ε and ρ": lambda people: people.mean("age", epsilon=0.1, rho=0.1),
    "too large an ε": lambda people: people.variance("age", epsilon=1e20),
    "no such column": lambda people: people.sum("wage", epsilon=0.1),
    "no bounds": lambda people: people.quantile("wage", epsilon=0.1),
    "no level": lambda people: people.quantile("age", 1.5, epsilon=0.1),
    "no bins": lambda people: people.histogram("age", bins=0, epsilon=0.1),
    "no domain": lambda people: people.histogram("age", epsilon=0.1),
    "sql": lambda people: people.sql("SELECT COUNT(*) FROM people", epsilon=0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_whatever_is_refused_waits_too(name):
    clock = FakeClock()
    people = asking(budget=0.5, quantum=clock.quantum())
    with pytest.raises(sf.errors.SfumatoError):
        REFUSED[name](people)
    assert clock.now == pytest.approx(101)
