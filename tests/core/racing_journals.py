"""Processes that write one journal at once; run by test_journal.py in a process of its own.

Each of eight processes takes a coin forty times where one of the two hundred is left, as who spends
from a budget, and dies now and then inside a write, as by ``kill -9``; another process takes its
place.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from sfumato.core.journal import Journal
from tests.core.test_journal import COINS, Coin, Purse

WRITE = os.write


def dying(file, data):
    WRITE(file, bytes(data)[: len(data) // 2])
    os._exit(9)


def take_coins(path, number, start):
    """Take coins until none is left or forty turns are over; die inside of every seventh write."""
    journal = Journal(path, COINS)
    told = os.open(path.with_name(f"told {number}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for turn in range(start, 40):
        with journal.turn():
            if len(journal.of_type(Coin)) == journal.of_type(Purse)[0].coins:
                continue
            if turn % 7 == number % 7 and turn > start:
                os.write = dying
            journal.append(Coin(f"{number} {turn}"))
        WRITE(told, f"{number} {turn}\n".encode())


def process(path, number, start):
    child = os.fork()
    if child == 0:
        try:
            take_coins(path, number, start)
        finally:
            os._exit(0)
    return child


def race(path):
    Journal(path, COINS).start(Purse(200))
    running = {process(path, number, 0): (number, 0) for number in range(8)}
    deaths = 0
    while running:
        child, status = os.wait()
        number, start = running.pop(child)
        if os.waitstatus_to_exitcode(status) == 9:
            deaths += 1
            running[process(path, number, start + 7)] = (number, start + 7)
    taken = [coin.taken_by for coin in Journal(path, COINS).read().of_type(Coin)]
    told = [
        line
        for number in range(8)
        for line in path.with_name(f"told {number}").read_text().splitlines()
    ]
    return {"deaths": deaths, "taken": taken, "told": told}


if __name__ == "__main__":
    print(json.dumps(race(Path(sys.argv[1]))))
