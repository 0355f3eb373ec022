"""A certificate that was edited and sealed again, digests and page made anew: what the folder alone
tells is noticed.
"""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import json
import os
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import UnreadableInput
from sfumato.release.signatures import digest_of
from tests.release.report.samples import draw_page

MIXED = random.Random(1)
AGES = [20 + place % 15 for place in range(58)] + [90, 90]
TABLE = pl.DataFrame(
    {
        "name": [f"N{place}" for place in range(60)],
        "age": AGES,
        "sex": ["F", "M"] * 30,
        "ill": MIXED.sample(["flu", "cold", "burn"] * 20, 60),
        "cost": MIXED.sample([100.5 + place * place for place in range(60)], 60),
    }
)


def people() -> sf.Table:
    roles = {"drop": ["name"], "quasi": ["age", "sex"], "sensitive": ["ill"], "keep": ["cost"]}
    return (
        sf.read(TABLE)
        .with_roles(**roles)
        .with_hierarchies(age=sf.intervals(2, 4, 8), sex=sf.suppress())
    )


def made(folder: Path, format: str = "csv", **options: Any) -> Path:  # noqa: A002
    promises = [
        sf.KAnonymity(4),
        sf.LDiversity("ill", l=2),
        sf.TCloseness("ill", t=0.9, reference="released"),
    ]
    limits = {"marketer_risk": 0.9, "linkage": 0.9}
    contract = [sf.Agreement(sf.Means(["cost"]), at_most=0.5)]
    release = sf.anonymize(
        people(),
        promises,
        [sf.GlobalRecoding(budget=0.2, levels={"age": (1, 3)})],
        limits=limits,
        options=sf.AnonymizeOptions(contract=contract),
        seed=1,
    )
    return release.write(folder, format=format, **options) / "share"


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    return made(
        tmp_path_factory.mktemp("accounted") / "out",
        options=sf.WriteOptions(pictures=True),
        attack=2,
    )


@pytest.fixture
def share(released, tmp_path) -> Path:
    return shutil.copytree(released, tmp_path / "share")


def said(share: Path) -> dict[str, Any]:
    return json.loads((share / "certificate.json").read_text(encoding="utf-8"))


def sealed(share: Path, certificate: dict[str, Any], *, page: bool = True) -> sf.Verification:
    """What is found of a folder whose certificate is another one, which a careful hand put
    there.
    """
    body = copy.deepcopy(certificate)
    body["data"]["sha256"] = hashlib.sha256((share / body["data"]["file"]).read_bytes()).hexdigest()
    if page and "report.html" in body["files"]:
        (share / "report.html").write_text(draw_page(body), encoding="utf-8")
    for name in body["files"]:
        content = (share / name).read_bytes()
        body["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    whole = {**body, "digest": digest_of(body)}
    (share / "certificate.json").write_text(json.dumps(whole), encoding="utf-8")
    return sf.verify(share)


def failing(found: sf.Verification) -> set[str]:
    return {claim.name for claim in found.claims if claim.status == "fails"}


def test_the_hand_itself_is_not_noticed(share):
    found = sealed(share, said(share))
    assert found.headline == "not all verified: 1 of 5 promises needs the original" and not failing(
        found
    )
    assert {"report", "columns match the recipe", "marketer_risk"} <= {
        claim.name for claim in found.claims if claim.status == "holds"
    }


def test_what_is_certified_holds_with_the_original_too(released):
    found = sf.verify(released, original=people(), owner=released.parent / "owner")
    assert found.holds and not failing(found)


COLUMNS, STEPS = "columns match the recipe", "steps"
LIES: dict[str, tuple[str, Any]] = {
    "a role": (COLUMNS, lambda c: c["recipe"]["columns"]["cost"].update(role="sensitive")),
    "a role twice": (COLUMNS, lambda c: c["roles"]["age"].append("quasi")),
    "a column the recipe does not know": (COLUMNS, lambda c: c["recipe"]["columns"].pop("cost")),
    "a column that nobody left out": (
        COLUMNS,
        lambda c: c["recipe"]["columns"].update(home={"role": "keep"}),
    ),
    "dropped columns": (COLUMNS, lambda c: c["dropped_columns"].append("home")),
    "missing values that match everything": (
        COLUMNS,
        lambda c: c["missing_rule"].update(sex="wildcard"),
    ),
    "a rule for missing values left out": (COLUMNS, lambda c: c["missing_rule"].pop("sex")),
    "no recipe": ("recipe", lambda c: c["recipe"]["columns"]["age"].update(kind="tall")),
    "a recipe of another version": ("recipe", lambda c: c["recipe"].update(sfumato=7)),
    "another step": (STEPS, lambda c: c["plan"][0].update(step="mondrian")),
    "a step more": (
        STEPS,
        lambda c: c["recipe"]["steps"].append({"round": {"columns": ["cost"], "base": 5}}),
    ),
    "no levels": (STEPS, lambda c: c["plan"][0].pop("levels")),
    "a level left out": (STEPS, lambda c: c["plan"][0]["levels"].pop("age")),
    "a level that the recipe rules out": (
        STEPS,
        lambda c: c["recipe"]["steps"][0]["global_recoding"]["levels"].update(age=[0, 0]),
    ),
    "records of the plan": (
        STEPS,
        lambda c: c["plan"][0].update(suppressed_records=3, suppressed_classes=1),
    ),
    "a budget that was not kept": (
        STEPS,
        lambda c: c["recipe"]["steps"][0]["global_recoding"].update(budget=0.01),
    ),
    "records in no class": (STEPS, lambda c: c["plan"][0].update(suppressed_classes=0)),
    "records": (STEPS, lambda c: c.update(suppressed_records=c["suppressed_records"] + 1)),
    "a level above": ("levels", lambda c: c["plan"][0]["levels"]["sex"].update(level=1)),
    "levels there are not": ("levels", lambda c: c["plan"][0]["levels"]["age"].update(top=9)),
    "another hierarchy": (
        "levels",
        lambda c: c["recipe"]["columns"]["age"].update(
            hierarchy={"intervals": {"widths": [3, 9, 27]}}
        ),
    ),
    "a verdict": ("4-anonymity", lambda c: c["verdicts"][0].update(holds=False)),
    "an attained value": ("4-anonymity", lambda c: c["verdicts"][0].update(attained=9)),
    "a required value": ("4-anonymity", lambda c: c["verdicts"][0].update(required=3)),
    "failing classes": ("4-anonymity", lambda c: c["verdicts"][0].update(failing_classes=1)),
    "failing records": ("4-anonymity", lambda c: c["verdicts"][0].update(failing_records=1)),
    "the rule of a verdict": (
        "4-anonymity",
        lambda c: c["verdicts"][0].update(missing_rule="wildcard"),
    ),
    "whom a verdict is about": ("4-anonymity", lambda c: c["verdicts"][0].update(of_persons=False)),
    "the model of a verdict": ("4-anonymity", lambda c: c["verdicts"][0].update(model="k_map")),
    "a promise about nothing": (
        "2-diversity of wealth",
        lambda c: c["recipe"]["meet"][1]["l_diversity"].update(sensitive="wealth"),
    ),
    "a limit on a risk": ("marketer_risk", lambda c: c["limits"][0].update(value=0.01)),
    "a limit that is kept": ("marketer_risk", lambda c: c["limits"][0].update(holds=False)),
    "a limit that is only reported": (
        "marketer_risk",
        lambda c: c["limits"][0].update(refuses=False),
    ),
    "a limit that was not kept": ("linkage", lambda c: c["limits"][1].update(value=0.95)),
    "another contract": ("contract", lambda c: c["contract"][0].update(limit=0.1)),
    "a contract without one": ("contract", lambda c: c["contract"].clear()),
    "the value of a contract": ("contract", lambda c: c["contract"][0].update(value=0.6)),
    "completeness": ("utility", lambda c: c["utility"].update(completeness=0.5)),
    "uniqueness": ("utility", lambda c: c["utility"].update(uniqueness=0.001)),
    "the loss of a column that nobody touched": (
        "pictures",
        lambda c: c["story"]["cards"][-1].update(loss=0.5),
    ),
    "the role of a picture": ("pictures", lambda c: c["story"]["cards"][0].update(roles=["keep"])),
    "cells that are gone": ("pictures", lambda c: c["story"]["suppressed_cells"].update(cost=0.9)),
    "an attack that comes to nothing": (
        "attacks",
        lambda c: c["attacks"]["tried"][0].update(beyond_guessing=0.9),
    ),
    "an attack that is not exceeded": (
        "attacks",
        lambda c: next(t for t in c["attacks"]["tried"]).update(
            exceeds=not c["attacks"]["tried"][0]["exceeds"]
        ),
    ),
    "a risk that nobody measures": (
        "class sizes and risks",
        lambda c: c["classes"]["risks"].update(harm=0.0),
    ),
}


@pytest.mark.parametrize(("name", "lie"), LIES.values(), ids=LIES)
def test_a_lie_that_the_folder_contradicts(share, name, lie):
    certificate = said(share)
    lie(certificate)
    assert name in failing(sealed(share, certificate))


@pytest.mark.parametrize(
    "lie",
    [
        lambda c: c.update(created="yesterday"),
        lambda c: c["input_commitment"].update(value="none"),
        lambda c: c["input_commitment"].update(scheme="MD5"),
        lambda c: c.update(sfumato_certificate=1),
        lambda c: c.update(audited_by="the authority"),
        lambda c: c["verdicts"][0].update(sentence="nobody can be found"),
        lambda c: c["verdicts"][0].update(promise="400-anonymity"),
        lambda c: c["verdicts"][0].pop("failing_classes"),
        lambda c: c["limits"][0].update(sentence="no risk at all"),
        lambda c: c["attacks"]["tried"][0].update(sentence="nobody was found"),
    ],
)
def test_a_certificate_that_is_none(share, lie):
    certificate = said(share)
    lie(certificate)
    with pytest.raises(UnreadableInput):
        sealed(share, certificate)


def rewritten(share: Path, change: Any) -> None:
    rows = list(
        csv.reader(io.StringIO((share / "data.csv").read_text(encoding="utf-8"), newline=""))
    )
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([rows[0], *map(change, rows[1:])])
    (share / "data.csv").write_text(out.getvalue(), encoding="utf-8")


def test_values_that_no_level_holds(share):
    """Every class stays as large as it was; only the hierarchy tells."""
    rewritten(share, lambda row: [f"group {row[0]}", *row[1:]])
    assert failing(sealed(share, said(share))) == {"levels", "labels of recoded columns"}


def test_words_in_the_place_of_amounts(share):
    certificate = said(share)
    certificate["data"]["form"]["types"]["cost"] = "text"
    rewritten(share, lambda row: [*row[:-1], "dear"])
    assert failing(sealed(share, certificate)) == {"numbers"}


@pytest.mark.parametrize(
    "name", ["names.csv", "pictures/names.csv", "pictures/more/x.png", "report2.html", ".hidden"]
)
def test_a_file_that_no_promise_is_about(share, name):
    certificate = said(share)
    (share / name).parent.mkdir(exist_ok=True)
    (share / name).write_text("Ada\n")
    certificate["files"][name] = {}
    assert failing(sealed(share, certificate)) == {"tables judged"}


@pytest.mark.parametrize("name", ["report.html", "pictures/descriptions.txt"])
def test_a_page_that_says_something_else(share, name):
    text = (share / name).read_text(encoding="utf-8")
    (share / name).write_text(text + "<!-- Ada -->", encoding="utf-8")
    assert status_of_page(sealed(share, said(share), page=False)) == "needs original"


def test_a_picture_of_something_else(share):
    certificate = said(share)
    (share / "pictures" / "ada.png").write_bytes((share / "pictures" / "levels.png").read_bytes())
    certificate["files"]["pictures/ada.png"] = {}
    assert status_of_page(sealed(share, certificate)) == "needs original"


def status_of_page(found: sf.Verification) -> str:
    """A page that was drawn otherwise is never said to hold, and is no failure of the
    certificate.
    """
    assert not failing(found)
    return {claim.name: claim.status for claim in found.claims}["report"]


def test_a_signed_page_is_drawn_again(tmp_path):
    from sfumato.release.signatures import new_key

    new_key(tmp_path / "office.pem")
    found = sf.verify(made(tmp_path / "out", sign=tmp_path / "office.pem"))
    assert not failing(found) and {c.name: c.status for c in found.claims}["report"] == "holds"


def test_metadata_of_a_parquet_file(tmp_path):
    share = made(tmp_path / "out", format="parquet")
    assert not failing(sealed(share, said(share)))
    pl.read_parquet(share / "data.parquet").write_parquet(
        share / "data.parquet", metadata={"names": "Ada"}
    )
    assert failing(sealed(share, said(share))) == {"nothing beside the table"}


def test_more_than_a_sheet_in_a_workbook(tmp_path):
    pytest.importorskip("xlsxwriter")
    share = made(tmp_path / "out", format="excel")
    assert not failing(sealed(share, said(share)))
    with zipfile.ZipFile(share / "data.xlsx", "a") as book:
        book.writestr("xl/comments1.xml", "<Ada/>")
    assert failing(sealed(share, said(share))) == {"nothing beside the table"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_among_the_parts_is_not_waited_for(tmp_path):
    TABLE.drop("name").write_parquet(tmp_path / "in.parquet")
    table = sf.read(tmp_path / "in.parquet", engine="polars").with_schema(
        people().drop(["name"]).schema
    )
    share = (
        sf.anonymize(table, [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.2)]).write(
            tmp_path / "out"
        )
        / "share"
    )
    assert sf.verify(share).holds
    os.mkfifo(share / "data" / "part-9.parquet")
    assert {"folder", "readable data"} <= failing(sf.verify(share))
