"""Processes that register and die at every point, and processes that register at once; run by
test_store.py in a process of its own.

A child that dies does so as by ``kill -9``: before and after every write, sync and renaming, and
inside of every write.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np

from sfumato.release.register.store import RegisteredPeople, open_register, start_register

WRITE = os.write
ENTRY = {
    "created": "",
    "recipient": "x",
    "source": "t.csv",
    "certificate": "",
    "input": "",
    "person": ["id"],
    "people": 400,
}
ENTRY |= {
    "records": 400,
    "k": 2,
    "classes": True,
    "epsilon": None,
    "delta": None,
    "folder": "out",
    "note": "",
}


def people(register):
    hashes = np.sort(register.hashed([f"person {i}" for i in range(400)]))
    return RegisteredPeople(hashes, np.arange(400, dtype=np.int64) // 2)


def registering(path, at, pipe):
    """Plan and confirm a release, and die at point number ``at``; the pipe is told how far it
    came.
    """
    register = open_register(path, key=path.with_name("base.db.key"))
    known = people(register)
    left = [at]

    def point():
        if left[0] == 0:
            os._exit(9)
        left[0] -= 1

    def around(function):
        def call(*arguments, **options):
            point()
            result = function(*arguments, **options)
            point()
            return result

        return call

    def write(file, data):
        for size in (0, 1, len(data) // 2, len(data) - 1):
            if left[0] == 0:
                WRITE(file, bytes(data)[:size])
            point()
        result = WRITE(file, data)
        point()
        return result

    os.write, os.fsync, Path.replace = write, around(os.fsync), around(Path.replace)
    with register.turn():
        number = register.plan(ENTRY, known)
    WRITE(pipe, b"p")
    point()
    with register.turn():
        register.now_is(number, "released", certificate="c")
    WRITE(pipe, b"r")
    os._exit(0)


def crashes(folder):
    killed, left, wrong = 0, [], []
    base = folder / "base.db"
    start_register(base).close()
    for at in range(400):
        path = Path(shutil.copy(base, folder / f"{at}.db"))
        os.environ["XDG_STATE_HOME"] = str(folder / f"state of {at}")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            registering(path, at, writer)
        os.close(writer)
        status = os.waitpid(child, 0)[1]
        said = os.read(reader, 9).decode()
        os.close(reader)
        with open_register(path, key=folder / "base.db.key") as held:  # checks the whole chain
            state = held.entries[0].state if held.entries else "nothing"
            whole = not held.entries or len(held.people(1).hashes) == 400
        left.append(state)
        allowed = {"": {"nothing", "planned"}, "p": {"planned", "released"}, "pr": {"released"}}[
            said
        ]
        if state not in allowed or not whole:
            wrong.append([at, said, state])
        code = os.waitstatus_to_exitcode(status)
        if code != 9:
            wrong += [[at, "exit", code]] if code else []
            break
        killed += 1
    return {"killed": killed, "left": sorted(set(left)), "wrong": wrong}


def one_only(path):
    """Register unless somebody else did: what a run with a limit does."""
    with open_register(path) as register:
        known = people(register)
        with register.turn():
            if register.standing:
                return 1
            register.plan(ENTRY, known)
    return 0


def many(path):
    with open_register(path) as register:
        known = people(register)
        for _ in range(10):
            with register.turn():
                register.plan(ENTRY, known)
    return 0


def forked(function, path, times=8):
    children = []
    for _ in range(times):
        child = os.fork()
        if child == 0:
            os._exit(function(path))
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def races(folder):
    path = folder / "race.db"
    start_register(path).close()
    codes = forked(one_only, path)
    with open_register(path) as register:
        standing = len(register.standing)
    forked(many, path)
    with open_register(path) as register:
        appended = len(register.standing) - standing
    return {
        "let": codes.count(0),
        "standing": standing,
        "others": codes.count(1),
        "appended": appended,
        "chain": "fits",
    }


if __name__ == "__main__":
    os.environ["XDG_STATE_HOME"] = str(Path(sys.argv[2]) / "state")
    print(json.dumps({"crashes": crashes, "races": races}[sys.argv[1]](Path(sys.argv[2]))))
