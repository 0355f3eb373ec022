"""Words are no part of a certificate: they may change, and whoever writes others into it gains
nothing.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.model import Verdict
from sfumato.release import certificate_words, limit_checks
from sfumato.release.certificate_words import with_words, without_words, words_in
from sfumato.release.report import page_html
from tests.release.test_recipe_checks import made, people, said, sealed


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("words") / "out", attack=2)


def statuses(found: sf.Verification) -> list[tuple[str, bool]]:
    return [(claim.status, claim.promise) for claim in found.claims if claim.name != "report"]


@pytest.fixture
def reworded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version: every model, limit, attack and page is worded otherwise."""

    def wrap(judge: Callable[..., Verdict]) -> Callable[..., Verdict]:
        return lambda self, evidence: dataclasses.replace(
            judge(self, evidence), sentence="in other words", promise="?"
        )

    for model in (sf.KAnonymity, sf.LDiversity, sf.TCloseness):
        title = model.promise.fget  # type: ignore[attr-defined]
        monkeypatch.setattr(model, "judge", wrap(model.judge))
        monkeypatch.setattr(
            model, "promise", property(lambda self, title=title: f"promise of {title(self)}")
        )
    kept = limit_checks._limit_check

    def worded(*arguments: Any) -> Any:
        return dataclasses.replace(kept(*arguments), sentence="in other words")

    monkeypatch.setattr(limit_checks, "_limit_check", worded)
    monkeypatch.setattr(certificate_words, "limit_sentence", lambda *arguments: "in other words")
    monkeypatch.setattr(certificate_words, "finding_sentence", lambda attack: "in other words")
    monkeypatch.setattr(page_html, "render_page", lambda page: "<p>another page</p>")


def test_a_certificate_verifies_whatever_words_a_later_version_has(
    released: Path, request: Any
) -> None:
    """From the folder alone and with the original: the same claims hold, and only the page is
    another one.
    """
    owner = released.parent / "owner"
    before = [sf.verify(released), sf.verify(released, original=people(), owner=owner)]
    assert before[1].holds
    request.getfixturevalue("reworded")
    after = [sf.verify(released), sf.verify(released, original=people(), owner=owner)]
    for earlier, later in zip(before, after, strict=True):
        assert statuses(later) == statuses(earlier)
        assert later.holds == earlier.holds and later.result == "not all verified"
        assert {claim.name: claim.status for claim in later.claims}["report"] == "needs original"
    assert any("in other words" in claim.detail for claim in after[0].claims)


def test_no_section_holds_words(released: Path) -> None:
    certificate = said(released)
    text = json.dumps(certificate)
    assert without_words(certificate) == certificate
    for words in ('"sentence"', '"promise"', '"reason"', '"looked_for": "'):
        assert words not in text
    assert words_in(json.loads((released.parent / "owner" / "release.json").read_text())["words"])[
        "verdicts"
    ]


def test_words_are_made_from_the_fields(released: Path) -> None:
    shown = with_words(said(released))
    assert [verdict["promise"] for verdict in shown["verdicts"]][:2] == [
        "4-anonymity",
        "2-diversity of ill",
    ]
    assert "the recipe allows at most 0.9" in shown["limits"][0]["sentence"]
    assert shown["contract"][0]["sentence"].startswith(
        "means (columns: [cost]) at most 0.5: it is "
    )
    assert all("succeeds in" in attack["sentence"] for attack in shown["attacks"]["tried"])
    edited = said(released)
    edited["limits"][0]["value"] = 0.123
    assert "0.123" in with_words(edited)["limits"][0]["sentence"]


def test_a_page_that_somebody_wrote_is_never_said_to_hold(released: Path, tmp_path: Path) -> None:
    """The certificate is true and was sealed again; the page tells of another release."""
    share = shutil.copytree(released, tmp_path / "share")
    page = (share / "report.html").read_text(encoding="utf-8")
    (share / "report.html").write_text(
        page.replace("4-anonymity", "400-anonymity"), encoding="utf-8"
    )
    claims = {claim.name: claim for claim in sealed(share, said(share), page=False).claims}
    assert (
        claims["report"].status == "needs original"
        and "read the certificate" in claims["report"].detail
    )


FIELDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "holds": lambda c: c["verdicts"][1].update(holds=False),
    "attained": lambda c: c["verdicts"][1].update(attained=c["verdicts"][1]["attained"] + 1),
    "required": lambda c: c["verdicts"][1].update(required=c["verdicts"][1]["required"] + 1),
    "failing_classes": lambda c: c["verdicts"][1].update(failing_classes=3),
    "failing_records": lambda c: c["verdicts"][1].update(failing_records=3),
    "value of a limit": lambda c: c["limits"][0].update(value=c["limits"][0]["value"] / 2),
    "a limit": lambda c: c["limits"][0].update(limit=c["limits"][0]["limit"] / 2),
    "rows": lambda c: c["data"].update(rows=c["data"]["rows"] + 1),
    "a class size": lambda c: c["classes"].update(smallest=c["classes"]["smallest"] + 1),
    "a risk": lambda c: c["classes"]["risks"].update(marketer_risk=0.01),
    "formulas": lambda c: c["data"].update(formulas={"ill": 2}),
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_another_one_fails(released: Path, tmp_path: Path, field: str) -> None:
    share = shutil.copytree(released, tmp_path / "share")
    certificate = said(share)
    FIELDS[field](certificate)
    assert sealed(share, certificate).result == "false"
