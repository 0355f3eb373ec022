"""Policies of every language on the page: read, clauses without counterpart first, compiled where
they can be, and held against the release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.core import recipe_files
from sfumato.errors import ParameterError
from sfumato.interfaces.api import read, run
from sfumato.interfaces.web.data_process import Bench
from sfumato.interfaces.web.requests import ComplianceRequest, PolicySource
from sfumato.interfaces.web.tasks import policies
from sfumato.interfaces.web.tasks.made_releases import NotMade
from sfumato.policy.clauses import clauses_of
from sfumato.policy.compile import Use
from sfumato.policy.comply import hold_against
from sfumato.policy.dialects.dialect_detection import write_policy
from sfumato.policy.policy import (
    Anonymization,
    Datum,
    Group,
    Policy,
    PrivacyModel,
    Purpose,
    Recipient,
)
from tests.interfaces.web.browser import NEEDS_BROWSER, Tab, served
from tests.interfaces.web.people import JOB, people

RECIPE = """\
sfumato: 1
columns:
  name: {role: drop}
  age: {role: quasi, kind: numeric, hierarchy: {intervals: [5, 10, 20]}}
  zip: {role: quasi, hierarchy: {mask_right: {length: 4}}}
  illness: {role: sensitive}
meet:
- k_anonymity: {k: 5}
steps:
- global_recoding: {budget: 0.05}
"""
COLUMNS = (
    Datum("name", Group.EI, categories=("identity",)),
    Datum(
        "age",
        Group.QID,
        categories=("demographic",),
        anonymization=Anonymization(minimum=0, maximum=3),
    ),
    Datum(
        "zip",
        Group.QID,
        categories=("location",),
        anonymization=Anonymization(minimum=0, maximum=4),
    ),
    Datum("illness", Group.SD, categories=("health",)),
)
STUDY = Policy(
    "study",
    version="1.0",
    purposes=(
        Purpose(
            "research",
            data=COLUMNS,
            recipients=(Recipient("university"),),
            models=(PrivacyModel("k-Anonymity", ("age", "zip"), (("k", "4"),)),),
        ),
    ),
)
SPECIAL = """ObjectIntersectionOf(
  ObjectSomeValuesFrom(spl:hasData ObjectIntersectionOf(pd:Health kAnonymous DataHasValue(has_k "3"^^xsd:integer)))
  ObjectSomeValuesFrom(spl:hasPurpose dpv:ResearchAndDevelopment))
"""
CONTEXT = {
    "dpv": "https://w3id.org/dpv#",
    "pd": "https://w3id.org/dpv/pd#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
}
DPV = {
    "@context": {**CONTEXT, "sf": "urn:sfumato:vocabulary#"},
    "@graph": [
        {
            "@id": "dpv:study",
            "@type": "dpv:Process",
            "dpv:hasPurpose": {"@id": "dpv:AcademicResearch"},
            "dpv:hasPersonalData": [
                {
                    "@id": f"pd:{name}",
                    "@type": "pd:Health",
                    "sf:column": {"@value": name},
                    "sf:group": group,
                }
                for name, group in (
                    ("name", "EI"),
                    ("age", "QID"),
                    ("zip", "QID"),
                    ("illness", "SD"),
                )
            ],
            "dpv:hasTechnicalOrganisationalMeasure": {"@type": "sf:KAnonymity", "sf:has_k": 7},
            "dpv:hasLegalBasis": "dpv:Consent",
        }
    ],
}
ODRL = {
    "@context": {**CONTEXT, "@vocab": "http://www.w3.org/ns/odrl/2/"},
    "@type": "odrl:Set",
    "@id": "dpv:rights",
    "odrl:permission": [
        {
            "odrl:target": {"@id": "pd:Health"},
            "odrl:action": {"@id": "odrl:use"},
            "odrl:constraint": [
                {
                    "odrl:leftOperand": {"@id": "odrl:purpose"},
                    "odrl:operator": {"@id": "odrl:eq"},
                    "odrl:rightOperand": {"@id": "dpv:AcademicResearch"},
                }
            ],
        }
    ],
}
USES: dict[str, list[tuple[dict[str, str], bool]]] = {
    "ours.json": [
        ({"purpose": "research", "recipient": "university"}, True),
        ({"purpose": "marketing"}, False),
    ],
    "lpl-a.json": [({"purpose": "research", "recipient": "university"}, True)],
    "lpl-b.json": [({"purpose": "research", "recipient": "press"}, False)],
    "lpl.xml": [({"purpose": "research", "recipient": "university"}, True)],
    "special.owl": [
        ({"purpose": "dpv:ResearchAndDevelopment", "categories": "pd:HealthRecord"}, True),
        ({"purpose": "dpv:Marketing", "categories": "pd:HealthRecord"}, False),
    ],
    "dpv.jsonld": [({"purpose": "dpv:AcademicResearch", "categories": "pd:Health"}, False)],
    "odrl.jsonld": [({"purpose": "dpv:AcademicResearch", "categories": "pd:Health"}, True)],
}
"""Files, the uses that are held against them, and whether the 5-anonymous release keeps them; DPV
asks for 7.
"""
COMPILED = ("ours.json", "lpl-a.json", "lpl-b.json", "lpl.xml", "dpv.jsonld")


def files_in(folder: Path) -> dict[str, Path]:
    """The same policy in the languages that prescribe, and three that permit."""
    text = {
        "ours.json": write_policy(STUDY, "ours"),
        "lpl-a.json": write_policy(STUDY, "lpl-a"),
        "lpl-b.json": write_policy(STUDY, "lpl-b"),
        "lpl.xml": write_policy(STUDY, "lpl-xml"),
        "special.owl": SPECIAL,
        "dpv.jsonld": json.dumps(DPV),
        "odrl.jsonld": json.dumps(ODRL),
    }
    for name, words in text.items():
        (folder / name).write_text(words, encoding="utf-8")
    return {name: folder / name for name in text}


def table(folder: Path) -> tuple[Path, Path]:
    people(400).drop(JOB, "sex").write_csv(folder / "people.csv")
    (folder / "people.yaml").write_text(RECIPE)
    return folder / "people.csv", folder / "people.yaml"


def silent(share: float, words: str = "") -> None:
    """Nobody listens."""


@pytest.mark.parametrize("name", USES)
def test_the_page_says_what_the_command_says(name: str, tmp_path: Path) -> None:
    """The verdict on the release that is only made is that on the folder it would become."""
    data, recipe = table(tmp_path)
    bench = Bench(table=read(data))  # type: ignore[arg-type]
    path = files_in(tmp_path)[name]
    found = policies.read_policy(bench, silent, source=PolicySource(str(path)))
    assert (
        bool(found["purposes"]) == (name in COMPILED or name == "odrl.jsonld") and found["language"]
    )
    given: dict[str, Any] = {"key": "1", "within": str(tmp_path), "source": found["source"]}
    with pytest.raises(NotMade):
        policies.comply_policy(bench, silent, request=ComplianceRequest("x"), **given)
    with pytest.raises(ParameterError, match="purpose"):
        policies.comply_policy(bench, silent, request=ComplianceRequest(), **given)
    release = run(bench.data, recipe_files.load(recipe))
    bench.keep("release 1", release)
    release.write(tmp_path / "out")
    for said, holds in USES[name]:
        held = policies.comply_policy(bench, silent, request=ComplianceRequest(**said), **given)
        kinds = [one for one in said.get("categories", "").split(",") if one]
        use = Use(said["purpose"], said.get("recipient"))
        verdict = hold_against(
            tmp_path / "out" / "share", [str(path)], use, original=bench.data, categories=kinds
        )
        assert {
            name: value for name, value in held.items() if name != "blocks"
        } == verdict.to_dict()
        assert held["holds"] is holds, held
        written = policies.comply_policy(
            bench, silent, request=ComplianceRequest(**said, folder=str(tmp_path / "out")), **given
        )
        assert written["holds"] is holds
    assert not list(tmp_path.glob("sfumato-*")), "the draft is gone"
    with pytest.raises(ParameterError, match="days should be"):
        ComplianceRequest("x", days=-1)


def test_clauses_without_a_counterpart_come_first() -> None:
    told = clauses_of(json.dumps(DPV), "dpv.jsonld")
    assert [one.subject for one in told] == ["legal basis", "kind of data", "purpose", "protection"]
    assert [one.counterpart for one in told] == ["none", "said", "said", "release"]
    kinds, purpose, protection = clauses_of(SPECIAL)
    assert kinds.names == ("pd:Health",) and purpose.words == "dpv:ResearchAndDevelopment"
    assert protection.words == "kAnonymous, has_k at least 3"
    forbids = {**ODRL, "odrl:prohibition": ODRL["odrl:permission"]}
    assert {one.permitted for one in clauses_of(json.dumps(forbids))} == {True, False}


@pytest.fixture(scope="module")
def tab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("policies")
    data, recipe = table(folder)
    files_in(folder)
    with served(folder, data, recipe=recipe) as bench, bench.tab(browser) as opened:
        yield opened


@pytest.mark.service
@NEEDS_BROWSER[1]
@pytest.mark.parametrize("name", USES)
def test_a_policy_is_opened_judged_and_compiled(name: str, tab: Tab) -> None:
    page, path = tab.page, tab.bench.project.parent / name
    tab.go("/policies")
    page.locator("#policy-path").fill(str(path))
    page.locator("#policy-path").press("Tab")
    page.get_by_role("button", name="Open the file").click()
    page.get_by_role("button", name="Compare the release with it").wait_for()
    if name in ("special.owl", "dpv.jsonld", "odrl.jsonld"):
        tab.sees("You have to answer this")
        headings = page.locator(".card h3").all_inner_texts()
        assert headings == sorted(
            headings, key=lambda words: ("No", "Yo", "Th", "Ta", "Go").index(words[:2])
        )
    for said, holds in USES[name]:
        for field, words in {"recipient": "", **said}.items():
            page.locator(f"#comply-{field}").fill(words)
            page.locator(f"#comply-{field}").press("Tab")
        page.get_by_role("button", name="Compare the release with it").click()
        verdict = (
            "keeps what the policy asks for" if holds else "does not keep what the policy asks for"
        )
        page.locator(".headline", has_text=f"The release of version 1 {verdict}").wait_for()
    if name in COMPILED:
        page.get_by_role("button", name="Compile it to a recipe").click()
        page.get_by_text("The recipe it makes").wait_for()
    else:
        assert page.get_by_role("button", name="Compile it to a recipe").count() == (
            name == "odrl.jsonld"
        )
    tab.clean()
