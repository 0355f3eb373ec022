"""Processes that ask and die, and processes that ask at once; run by test_ledger.py in a process of
its own.

Everything is imported once and then forked, so a hundred processes cost little. The children use
neither polars nor other threads. A killed child is killed as by ``kill -9``: nothing is flushed,
nothing is caught.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from pathlib import Path

import polars as pl

import sfumato as sf
from sfumato.core import ledger
from sfumato.core.ledger import Ledger
from sfumato.errors import BudgetExceeded
from sfumato.results.queries import question_plan
from sfumato.results.queries.session import Session

TABLE = sf.dp.session(
    sf.read(pl.DataFrame({"age": [1.0, 2.0]})), budget=1.0, bounds={"age": (0, 9)}
).table
WRITE, FSYNC, LINK = os.write, os.fsync, os.link


def terms(budget: float) -> ledger.Terms:
    """What the ledgers here are for."""
    return ledger.Terms("people", sf.dp.Budget(budget), ledger.Relation())


class Killer:
    """Kills the process at the n-th of the points it passes: around every write, sync and link, and
    inside writes.
    """

    def __init__(self, at: int, tell: int) -> None:
        self.left = at
        self.tell = tell

    def point(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def write(self, file, data):
        self.point()
        if self.left == 0:  # die in the middle of the line
            WRITE(file, bytes(data)[: len(data) // 2])
        self.point()
        if self.left == 0:  # die with all but the last byte written
            WRITE(file, bytes(data)[:-1])
        self.point()
        done = WRITE(file, data)
        self.point()
        return done

    def around(self, function):
        def call(*arguments):
            self.point()
            done = function(*arguments)
            self.point()
            return done

        return call

    def install(self) -> None:
        os.write, os.fsync, os.link = self.write, self.around(FSYNC), self.around(LINK)
        drawn = question_plan.PlannedQuestion.with_noise

        def draw(plan):
            WRITE(self.tell, b"drawn ")
            self.point()
            return drawn(plan)

        question_plan.PlannedQuestion.with_noise = draw


def forked(work) -> tuple[int, str]:
    """Run some work in a child; how it ended and what it said through a pipe."""
    listen, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(listen)
        try:
            work(tell)
        finally:
            os._exit(0)
    os.close(tell)
    return child, listen


def heard(listen: int) -> str:
    said = b""
    while part := os.read(listen, 4096):
        said += part
    os.close(listen)
    return said.decode()


def kill_while_asking(folder: Path) -> list[dict]:
    """One entry a point: what the child got out, and what the ledger says afterwards."""
    found = []
    for at in range(200):
        path = folder / f"asking{at}.ledger"
        Ledger.start(path, terms(1.0))

        def ask(tell, path=path, at=at):
            session = Session(TABLE, Ledger.at(path))
            Killer(at, tell).install()
            answer = session.count(epsilon=0.25)
            WRITE(tell, f"released {answer.value}".encode())

        child, listen = forked(ask)
        said, (_, status) = heard(listen), os.waitpid(child, 0)
        session = Session(TABLE, Ledger.at(path))
        spent = session.spent
        again = session.count(epsilon=0.25)
        found.append(
            {
                "killed": os.WIFSIGNALED(status),
                "said": said,
                "spent": spent,
                "again": again.value,
                "repeated": again.repeated,
                "spent_at_the_end": session.spent,
            }
        )
        if not os.WIFSIGNALED(status):
            break
    return found


def kill_while_starting(folder: Path) -> list[dict]:
    found = []
    for at in range(200):
        path = folder / f"starting{at}.ledger"

        def start(tell, path=path, at=at):
            Killer(at, tell).install()
            Ledger.start(path, terms(1.0))

        child, listen = forked(start)
        heard(listen)
        _, status = os.waitpid(child, 0)
        there = path.exists()
        found.append({"killed": os.WIFSIGNALED(status), "there": there})
        if there:
            Ledger.at(path)  # whole, or this fails
        if not os.WIFSIGNALED(status):
            break
    return found


def race(folder: Path, *, same: bool) -> dict:
    """Ten processes, five questions each, a budget for twenty; all the same questions or all
    different ones.
    """
    path = folder / f"race{same}.ledger"
    Ledger.start(path, terms(2.0))

    def ask(number):
        def work(tell):
            session = Session(TABLE, Ledger.at(path))
            for question in range(5):
                limit = float(question if same else 10 * number + question + 10)
                try:
                    answer = session.where("age", "<=", limit).count(epsilon=0.1)
                    WRITE(tell, f"{limit}={answer.value} ".encode())
                except BudgetExceeded:
                    WRITE(tell, b"refused ")

        return work

    running = [forked(ask(number)) for number in range(10)]
    said = [heard(listen).split() for _, listen in running]
    for child, _ in running:
        os.waitpid(child, 0)
    session = dataclasses.replace(Session(TABLE, Ledger.at(path)))
    return {"said": said, "spent": session.spent, "paid": len(session.history)}


if __name__ == "__main__":
    TABLE.numbers("age")  # read once, before forking
    place = Path(sys.argv[1])
    result = {
        "asking": kill_while_asking(place),
        "starting": kill_while_starting(place),
        "different": race(place, same=False),
        "same": race(place, same=True),
    }
    print(json.dumps(result))
