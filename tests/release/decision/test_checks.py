"""What a folder alone shows of a decision: forged sections that say more than the file does."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.release.decision.checks import SHOWN
from sfumato.release.decision.collect import collect_evidence
from sfumato.release.decision.decide import decide
from sfumato.release.decision.record import write_decision
from sfumato.release.decision.terms import terms_of_context
from sfumato.release.manifest import FILE, REPORT
from sfumato.release.sealing import seal_certificate

SEED = "c0ffee11d15ea5ec0ffee11d15ea5e77"
Section = dict[str, Any]


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small release of classes, with its decision."""
    draw = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 60, 200),
            "sex": draw.choice(["f", "m"], 200).tolist(),
            "ill": draw.choice(["flu", "cold", "gout"], 200).tolist(),
        }
    )
    table = sf.read(frame).with_roles(quasi=["age", "sex"], sensitive=["ill"])
    table = table.with_hierarchies(age=sf.intervals(10, 20), sex=sf.suppress())
    folder = tmp_path_factory.mktemp("decided") / "out"
    sf.anonymize(table, [sf.KAnonymity(5)], [sf.GlobalRecoding()], seed=SEED).write(folder)
    terms = terms_of_context(
        recipient="researchers",
        contract="yes",
        sensitivity="low",
        population=10**6,
        first_release="it is",
    )
    evidence = collect_evidence(folder, table, terms=terms, seed=1)
    write_decision(folder, decide(terms, evidence), terms=terms, evidence=evidence)
    (folder / "share" / REPORT).unlink()
    return folder / "share"


def shown(share: Path, change: Callable[[Section], object]) -> str:
    """What the folder shows of a decision that was edited and sealed again."""
    certificate = json.loads((share / FILE).read_text())
    honest = copy.deepcopy(certificate)
    change(certificate["decision"])
    try:
        seal_certificate(share, certificate, None)
        [status] = [claim.status for claim in sf.verify(share).claims if claim.name == SHOWN]
    finally:
        seal_certificate(share, honest, None)
    return status


def test_an_honest_decision_is_what_the_file_shows(decided: Path) -> None:
    assert shown(decided, lambda section: None) == "holds"


@pytest.mark.parametrize(
    "file",
    [
        {"smallest_class": 500},
        {"classes": 1},
        {"persons": 150, "smallest_class": 150},
        {"persons": 150, "classes": 1},
        {"persons": 10_000},
    ],
)
def test_persons_whom_the_file_does_not_name_make_no_class_larger(
    decided: Path, file: dict[str, int]
) -> None:
    """There are no more persons in a class than records, whoever counts them."""
    assert shown(decided, lambda section: section["file"].update(file)) == "fails"


def test_a_kind_that_there_is_not_frees_from_nothing(decided: Path) -> None:
    assert shown(decided, lambda section: section.update(kinds=["classesx"])) == "fails"
