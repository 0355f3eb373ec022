"""Certificates that nobody signed, edited and sealed again: what an edit may not pass off as
checked.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import UnreadableInput
from sfumato.release.signatures import digest_of

Edit = Callable[[dict[str, Any]], Any]


def forged(share: Path, folder: Path, edit: Edit) -> Path:
    """A copy of a shared folder whose certificate was edited, sealed again, and has no page that
    could contradict it.
    """
    copy = folder / "forged"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(share, copy)
    certificate = json.loads((copy / "certificate.json").read_text())
    certificate["files"].pop("report.html", None)
    (copy / "report.html").unlink(missing_ok=True)
    edit(certificate)
    certificate["digest"] = digest_of(certificate)
    (copy / "certificate.json").write_text(json.dumps(certificate))
    return copy


def exit_code(share: Path, folder: Path, edit: Edit) -> int:
    try:
        return sf.verify(forged(share, folder, edit)).exit_code
    except UnreadableInput:
        return 5


@pytest.fixture(scope="module")
def accounted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("accounted")
    stream = random.Random(4)
    people = sf.read(
        pl.DataFrame({"x": [float(stream.randint(0, 60)) for _ in range(60)]})
    ).with_roles(quasi=["x"])
    step = sf.InsensitiveMicroaggregate(["x"], k=10, epsilon=1, bounds={"x": (0, 60)})
    sf.anonymize(people, [sf.KAnonymity(1)], [step]).write(folder / "out")
    return folder / "out" / "share"


def _set_certified(value: Any, epsilon: Any) -> Edit:
    return lambda c: c["differential_privacy"].update(certified=value, epsilon=epsilon)


@pytest.mark.parametrize("certified", [False, None, [], 0, "no"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_an_epsilon_that_is_not_called_certified_is_not_passed_over(
    accounted: Path, tmp_path: Path, certified: Any, epsilon: float
) -> None:
    assert exit_code(accounted, tmp_path, _set_certified(certified, epsilon)) in (1, 5)


@pytest.mark.parametrize("junk", [None, "1", [], {}, True])
@pytest.mark.parametrize("part", ["epsilon", "delta", "certified", "steps"])
def test_what_is_no_epsilon_is_refused_and_is_no_bug(
    accounted: Path, tmp_path: Path, part: str, junk: Any
) -> None:
    def edit(certificate: dict[str, Any]) -> None:
        certificate["differential_privacy"][part] = junk

    assert exit_code(accounted, tmp_path, edit) in (
        (7,) if part == "certified" and junk is True else (1, 5)
    )


def test_an_epsilon_in_the_plan_needs_the_section_that_answers_for_it(
    accounted: Path, tmp_path: Path
) -> None:
    def smaller(certificate: dict[str, Any]) -> None:
        del certificate["differential_privacy"]
        certificate["recipe"]["steps"][0]["insensitive_microaggregation"]["epsilon"] = 0.01
        certificate["plan"][0]["epsilon"] = 0.01

    assert exit_code(accounted, tmp_path, smaller) == 1
    assert exit_code(accounted, tmp_path, lambda c: c.pop("differential_privacy")) == 1
    none = {"certified": False, "epsilon": None, "delta": None}
    assert (
        exit_code(accounted, tmp_path, lambda c: c["differential_privacy"].update(none)) == 7
    )  # it says less

    def other_step(certificate: dict[str, Any]) -> None:
        certificate["differential_privacy"].update(none)
        certificate["differential_privacy"]["steps"][0]["epsilon"] = 0.01

    assert exit_code(accounted, tmp_path, other_step) == 1


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    stream = random.Random(3)
    ages = [stream.randint(20, 60) for _ in range(200)]
    table = pl.DataFrame(
        {"age": ages, "diagnosis": [stream.choice(["flu", "cold", "ill"]) for _ in ages]}
    )
    people = (
        sf.read(table)
        .with_roles(quasi=["age"], sensitive=["diagnosis"])
        .with_hierarchies(age=sf.intervals(5, 10))
    )
    sf.anonymize(people, [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.1)]).write(folder / "out")
    assert sf.verify(folder / "out" / "share").holds
    return folder / "out" / "share"


@pytest.mark.parametrize(
    "said",
    [
        {"looked_for": "everything there is"},
        {"compared": 400},
        {"unknown": -1},
        {"unknown": 400},
        {"accepted": ["diagnosis"]},
        {"accepted": [{"columns": ["diagnosis"], "implies": "age"}]},
        {"note": "no column shows a statistic"},
    ],
)
def test_what_was_looked_for_between_columns_is_what_a_run_says(
    plain: Path, tmp_path: Path, said: dict[str, Any]
) -> None:
    assert "implied" in json.loads((plain / "certificate.json").read_text())
    assert exit_code(plain, tmp_path, lambda c: c["implied"].update(said)) in (1, 5)


@pytest.mark.parametrize("limits", [["linkage"], [{"linkage": {"at_most": 0.1}}], "linkage", 3])
def test_limits_that_are_none_fail_and_are_no_bug(plain: Path, tmp_path: Path, limits: Any) -> None:
    assert exit_code(plain, tmp_path, lambda c: c["recipe"].update(limits=limits)) == 1


def test_an_epsilon_of_a_step_that_accounts_for_none_fails(plain: Path, tmp_path: Path) -> None:
    assert exit_code(plain, tmp_path, lambda c: c["plan"][0].update(epsilon=0.1)) == 1


def _closeness(certificate: dict[str, Any], t: float) -> None:
    """Promise closeness of the diagnosis as the released table has it."""
    said = {
        "model": "t_closeness",
        "holds": True,
        "attained": certificate["verdicts"][-1]["attained"],
        "required": t,
    }
    certificate["recipe"]["meet"][-1] = {"t_closeness": {"sensitive": "diagnosis", "t": t}}
    certificate["verdicts"][-1].update(said)


def _closely(table: pl.DataFrame, steps: list[Any], out: Path) -> Path:
    people = (
        sf.read(table)
        .with_roles(quasi=["age"], sensitive=["diagnosis"])
        .with_hierarchies(age=sf.intervals(20))
    )
    released = sf.TCloseness("diagnosis", t=0.9, reference="released")
    sf.anonymize(people, [sf.KAnonymity(2), released], steps, seed=5).write(out)
    return out / "share"


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    stream = random.Random(8)
    rows = [(stream.randint(20, 59), stream.choice("xyzz")) for _ in range(200)]
    return pl.DataFrame(rows, schema=["age", "diagnosis"], orient="row")


@pytest.mark.parametrize("masked", [None, {}])
def test_a_column_that_a_step_of_the_recipe_changed_is_not_as_it_was(
    patients: pl.DataFrame, tmp_path: Path, masked: Any
) -> None:
    """The plan was edited to say nothing of the column that post-randomisation changed: closeness
    to the original is unknown.
    """
    share = _closely(
        patients,
        [sf.GlobalRecoding(), sf.Pram(["diagnosis"], retain=0.5, invariant="none")],
        tmp_path / "o",
    )

    def edit(certificate: dict[str, Any]) -> None:
        _closeness(certificate, 0.8)
        if masked is None:
            del certificate["plan"][1]["masked"]
        else:
            certificate["plan"][1]["masked"] = masked

    assert exit_code(share, tmp_path, edit) in (1, 7)


def test_records_that_a_sample_left_out_are_counted(patients: pl.DataFrame, tmp_path: Path) -> None:
    """A share of 0.3 was drawn, and the certificate was edited to say that nobody is missing."""
    share = _closely(patients, [sf.Sample(fraction=0.3), sf.GlobalRecoding()], tmp_path / "o")

    def edit(certificate: dict[str, Any]) -> None:
        _closeness(certificate, 0.8)
        for part in ("utility", "story", "implied"):
            certificate.pop(part, None)
        certificate["suppressed_records"] = 0
        for plan in certificate["plan"]:
            if "suppressed_records" in plan:
                plan["suppressed_records"] = 0

    assert exit_code(share, tmp_path, edit) in (1, 7)
    assert sf.verify(share).holds
