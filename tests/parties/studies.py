"""Studies for tests: four hospitals with the ages of the worked example, their keys, and a signed
file.
"""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
from pathlib import Path

import polars as pl

import sfumato as sf
from sfumato.core.budget import Budget
from sfumato.core.declared import Relation
from sfumato.core.ledger import Ledger, Terms
from sfumato.core.recipe_files import write_yaml
from sfumato.parties.keys import Keys, new_keys
from sfumato.parties.study import read_study, sign
from sfumato.release.verify import verify

NAMES = ("hospital_a", "hospital_b", "hospital_c", "hospital_d")
AGES = ([71, 64, 80], [55, 62], [90, 77, 68, 59], [45])
MEAN = {"mean": {"column": "age", "bounds": ["0", "120"]}}


def free_ports(count):
    """Ports that nobody uses: the system names them, all held until all are named."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def tables():
    """The table of every hospital."""
    return [sf.read(pl.DataFrame({"age": ages})) for ages in AGES]


def keys_in(folder: Path, names=NAMES):
    """The keys of every hospital, each in a folder of its own; made where there are none."""
    return [
        Keys(folder / name, name) if (folder / name).exists() else new_keys(folder / name, name)
        for name in names
    ]


def document(folder: Path, names=NAMES, **changes):
    """A study as plain data."""
    ports = free_ports(len(names))
    parties = [
        {
            "name": keys.name,
            "number": number,
            "address": f"127.0.0.1:{ports[number]}",
            "dataset": f"patients of {keys.name}",
            "ledger_id": f"patients of {keys.name}",
            **keys.entry(),
        }
        for number, keys in enumerate(keys_in(folder, names))
    ]
    plain = {
        "study": 1,
        "id": "0123456789abcdef" * 2,
        "question": MEAN,
        "protocol": {"name": "shamir"},
        "records_at_most": 1000,
        "limits": {"connect": 30, "step": 30, "total": 120, "bytes": 10_000_000},
        "parties": parties,
        **changes,
    }
    return {key: value for key, value in plain.items() if value is not None}


def written(folder: Path, plain, *, name="study.yaml", signers=None):
    """The study in a file, signed by all or by some."""
    path = folder / name
    path.write_text(write_yaml(plain))
    for keys in keys_in(folder, [party["name"] for party in plain["parties"]]):
        if signers is None or keys.name in signers:
            sign(path, keys.signing)
    return path


def a_study(folder: Path, **changes):
    """A signed study of the four hospitals."""
    return read_study(written(folder, document(folder, **changes)))


def ledger_of(folder: Path, name: str, epsilon=2.0):
    """A ledger for the rows of one hospital."""
    path = folder / name / "patients.ledger"
    if not path.exists():
        Ledger.start(path, Terms(f"patients of {name}", Budget(epsilon), Relation()))
    return path


def spent(folder: Path, name: str):
    """What a hospital's ledger says was spent."""
    with Ledger.at(folder / name / "patients.ledger").hold() as book:
        return float(book.spending.epsilon), book.spending.answers


def statuses(certificate, study):
    """What ``verify`` finds of the result of a study, written to a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        file.write_text(json.dumps(certificate))
        return {claim.status for claim in verify(file, original=study).claims}
