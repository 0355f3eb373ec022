"""A decision in writing: read back, verified, and found out where it was edited."""

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
from sfumato.errors import ParameterError, SfumatoError, UnreadableInput
from sfumato.release.decision import Tier, decide
from sfumato.release.decision.collect import collect_evidence
from sfumato.release.decision.record import DECISION_FILE, read_decision, write_decision
from sfumato.release.manifest import FILE
from sfumato.release.sealing import seal_certificate
from sfumato.release.verify import verify
from tests.release.decision.evidence_cases import terms

RECIPE = """
columns:
  age: {role: quasi, kind: numeric}
  sex: quasi
  diagnosis: sensitive
meet: [{k_anonymity: {k: 11}}]
steps: [mondrian]
"""


def people(rows: int = 240) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + (7 * i) % 60 for i in range(rows)],
            "sex": ["f" if i % 2 else "m" for i in range(rows)],
            # Most have the usual one: the majority of a class seldom hangs on one record.
            "diagnosis": random.Random(1).choices(["d0", "d1", "d4"], [85, 8, 7], k=rows),
        }
    )


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A release with its decision, and the original it was made from."""
    folder = tmp_path_factory.mktemp("decided")
    original, recipe, out = folder / "people.csv", folder / "recipe.yaml", folder / "out"
    people().write_csv(original)
    recipe.write_text(RECIPE)
    sf.run(sf.read(original), recipe, seed="ab" * 16).write(out)
    context = terms(not_known={"sex": "an example"})
    evidence = collect_evidence(out, sf.read(original), terms=context, seed=3)
    # A release without a tier could not be forged into a lower one.
    assert decide(context, evidence).tier is not Tier.NONE
    write_decision(out, decide(context, evidence), terms=context, evidence=evidence)
    return out, original


@pytest.fixture
def copied(decided: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    shutil.copytree(decided[0], tmp_path / "out")
    return tmp_path / "out", decided[1]


def statuses(folder: Path, original: Path | None = None) -> dict[str, str]:
    """Status of the claims about the decision."""
    options: dict[str, Any] = {}
    if original is not None:
        options = {"original": sf.read(original), "owner": folder / "owner"}
    verification = verify(folder / "share", **options)
    return {c.name: c.status for c in verification.claims if c.section == "decision"}


def test_evidence_is_the_same_again(decided: tuple[Path, Path]) -> None:
    out, original = decided
    record = read_decision(out)
    assert record.follows
    again = collect_evidence(out, sf.read(original), terms=record.terms, seed=3)
    assert again == record.evidence
    assert decide(record.terms, again) == record.decision.decided


def test_share_alone_asks_for_the_owner_and_the_whole_verifies(
    decided: tuple[Path, Path],
) -> None:
    out, original = decided
    alone = statuses(out)
    assert alone["decision: what the file shows"] == "holds"
    assert alone["decision follows from terms and evidence"] == "needs original"
    beside = statuses(out, original)
    assert set(beside.values()) == {"holds"}
    assert len(beside) == 3


def test_attack_figures_stay_with_the_owner(decided: tuple[Path, Path]) -> None:
    out, _ = decided
    section = json.loads((out / "share" / FILE).read_text())["decision"]
    assert "evidence" not in section
    assert section["terms"]["not_known"] == {"sex": "an example"}
    assert section["owner_digest"] == read_decision(out).digest
    shared = (out / "share" / FILE).read_text()
    colleague = read_decision(out).evidence.attack("linkage", "colleague")
    assert colleague is not None and colleague.figure is not None
    assert str(colleague.figure.value) not in json.dumps(section)
    assert '"attacks"' not in shared


def test_published_evidence_can_be_decided_by_anybody(copied: tuple[Path, Path]) -> None:
    out, _ = copied
    record = read_decision(out)
    write_decision(
        out,
        record.decision,
        terms=record.terms,
        evidence=record.evidence,
        publish_attacks=True,
    )
    assert statuses(out)["decision: what the file shows"] == "holds"
    edit_section(out, lambda section: section["evidence"].update(attacks=[]))
    assert statuses(out)["decision: what the file shows"] == "fails"


def test_no_other_decision_is_written(decided: tuple[Path, Path]) -> None:
    out, _ = decided
    record = read_decision(out)
    better = record.decision.from_dict({**record.decision.to_dict(), "notes": ["all is well"]})
    with pytest.raises(ParameterError, match="not the one"):
        write_decision(out, better, terms=record.terms, evidence=record.evidence)


# Forgeries, sealed again as whoever has the folder can.


def edit_section(out: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    certificate = json.loads((out / "share" / FILE).read_text())
    edit(certificate["decision"])
    seal_certificate(out / "share", certificate, None)


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "tier": lambda s: s.update(tier="publication" if s["tier"] != "publication" else "internal"),
    "harm": lambda s: s.update(harm="medium"),
    "requested tier": lambda s: s["terms"].update(requested="internal"),
    "assumption": lambda s: s["terms"].update(not_known={}),
    "first release": lambda s: s["terms"].update(first_release="another reason"),
    "kinds": lambda s: s.update(kinds=["drawn"]),
    "smallest class": lambda s: s["file"].update(smallest_class=s["file"]["smallest_class"] + 1),
    "classes": lambda s: s["file"].update(classes=s["file"]["classes"] + 1),
    "records": lambda s: s["file"].update(records=s["file"]["records"] + 1),
    "digest": lambda s: s.update(owner_digest="0" * 64),
}


@pytest.mark.parametrize("name", sorted(FORGERIES))
def test_an_edited_section_is_found_out(copied: tuple[Path, Path], name: str) -> None:
    out, original = copied
    edit_section(out, FORGERIES[name])
    assert "fails" in statuses(out, original).values()


@pytest.mark.parametrize("name", ["harm", "smallest class", "classes", "records"])
def test_the_file_alone_contradicts_some_forgeries(copied: tuple[Path, Path], name: str) -> None:
    out, _ = copied
    edit_section(out, FORGERIES[name])
    assert statuses(out)["decision: what the file shows"] == "fails"


def test_an_edited_record_of_the_owner_is_found_out(copied: tuple[Path, Path]) -> None:
    out, original = copied
    file = out / "owner" / DECISION_FILE
    document = json.loads(file.read_text())
    document["decision"]["tier"] = "internal"
    file.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    assert statuses(out, original)["decision follows from terms and evidence"] == "fails"


def test_made_up_evidence_is_found_out_by_trying_again(copied: tuple[Path, Path]) -> None:
    """Everything fits together, but the attacks do not come out so."""
    out, original = copied
    record = read_decision(out)
    document = record.evidence.to_dict()
    for entry in document["attacks"]:
        if entry["figure"] is not None:
            entry["figure"].update(value=0.0, low=0.0, high=0.0)
    evidence = type(record.evidence).from_dict(document)
    write_decision(out, decide(record.terms, evidence), terms=record.terms, evidence=evidence)
    claims = statuses(out, original)
    assert claims["decision follows from terms and evidence"] == "holds"
    assert claims["decision: the evidence, against the original"] == "fails"


def test_an_attack_left_out_is_unknown_and_found_out(copied: tuple[Path, Path]) -> None:
    out, original = copied
    record = read_decision(out)
    document = record.evidence.to_dict()
    document["attacks"] = [e for e in document["attacks"] if e["intruder"] != "prosecutor"]
    evidence = type(record.evidence).from_dict(document)
    decision = decide(record.terms, evidence)
    assert decision.tier is Tier.NONE
    write_decision(out, decision, terms=record.terms, evidence=evidence)
    assert statuses(out, original)["decision: the evidence, against the original"] == "fails"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"sfumato_decision": 1, "sfumato_decision": 1}']
)
def test_a_record_that_is_none_is_refused(copied: tuple[Path, Path], text: str) -> None:
    out, _ = copied
    (out / "owner" / DECISION_FILE).write_text(text)
    with pytest.raises(UnreadableInput):
        read_decision(out)


def test_no_value_of_a_person_in_record_or_section(decided: tuple[Path, Path]) -> None:
    out, _ = decided
    text = (out / "owner" / DECISION_FILE).read_text()
    assert not [value for value in ("d0", "d1", "d4") if f'"{value}"' in text]


def test_only_tables_are_decided_on(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError):
        collect_evidence(tmp_path / "none", sf.read(people()), terms=terms())
