"""A released column that copies a quasi-identifier: refused, accepted by name, followed, seen by
verify and by the linkage attacks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.errors import ReleaseRefused
from sfumato.guidance.profiling.yaml_text import recipe_text
from sfumato.release.signatures import digest_of
from tests.release.report.samples import draw_page

N = 3000
RNG = np.random.default_rng(1)
ACCOUNTS = RNG.poisson(11, N)
LOANS = pl.DataFrame(
    {
        "accounts": ACCOUNTS,
        "state": RNG.integers(0, 30, N).astype(str),
        "age": RNG.integers(18, 90, N),
        "lines": np.where(RNG.random(N) < 0.98, ACCOUNTS, RNG.poisson(11, N)),
        "balance": np.exp(RNG.normal(9, 1, N)).round(2),
        "rate": RNG.normal(10, 3, N).round(2),
    }
)
ACCEPT = {"lines": {"implies": "accounts", "because": "the recipient has both"}}
STEPS: dict[str, Any] = {"local": sf.Mondrian(), "global": sf.GlobalRecoding(budget=0.05)}


def loans(table: pl.DataFrame = LOANS, **roles: Any) -> sf.Table:
    said = {"quasi": ["accounts", "state", "age"], "keep": ["lines", "balance", "rate"], **roles}
    described = sf.read(table).with_roles(**said).with_kinds(accounts="numeric", age="numeric")
    return described.with_hierarchies(
        accounts=sf.intervals(3, 6), age=sf.intervals(10, 20), state=sf.suppress()
    )


def released(
    *more: Any, step: str = "local", table: sf.Table | None = None, **options: Any
) -> sf.Release:
    people = loans() if table is None else table
    return sf.anonymize(
        people,
        sf.KAnonymity(5),
        [STEPS[step], *more],
        seed=1,
        options=sf.AnonymizeOptions(**options),
    )


@pytest.fixture(scope="module")
def accepted() -> sf.Release:
    return released(accept=ACCEPT)


def test_a_copy_is_refused_with_names_and_figures() -> None:
    with pytest.raises(ReleaseRefused, match="lines nearly determines accounts") as refused:
        released()
    message = str(refused.value)
    assert "accept: {COLUMN" in message and "finds" in message and "instead of" in message
    assert "balance" not in message and "rate" not in message


@pytest.mark.parametrize("role", ["sensitive", "weight", "keep"])
def test_the_role_of_the_copy_does_not_matter(role: str) -> None:
    roles = {"keep": ["balance", "rate"], role: ["lines"]}
    if role == "keep":
        roles = {"keep": ["balance", "rate", "lines"]}
    with pytest.raises(ReleaseRefused, match="lines"):
        released(table=loans(LOANS.with_columns(pl.col("lines") + 1.0), **roles))


def test_a_pseudonym_that_is_one_to_one_with_a_quasi_identifier_is_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OFFICE_KEY", "a key that nobody may see 0123456789")
    table = LOANS.select("accounts", "state", "age", "balance").with_columns(
        office=pl.col("accounts").cast(pl.String)
    )
    people = loans(table, keep=["balance"], drop=["office"])
    step = sf.Pseudonymize(["office"], key={"env": "OFFICE_KEY"})
    with pytest.raises(ReleaseRefused, match=r"office (nearly )?determines accounts"):
        sf.anonymize(people, sf.KAnonymity(5), [step, sf.Mondrian()], seed=1)


def test_what_is_accepted_passes_and_is_named_without_figures(
    accepted: sf.Release, tmp_path: Path
) -> None:
    assert accepted.holds
    assert any(
        "accepted: lines nearly determines accounts" in warning for warning in accepted.warnings
    )
    assert any(
        "k = 5 holds on the quasi-identifiers; with the accepted columns" in w
        for w in accepted.warnings
    )
    accepted.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out/share/certificate.json").read_text())
    assert certificate["recipe"]["accept"] == ACCEPT
    told = certificate["implied"]
    assert told["accepted"] == [{"columns": ["lines"], "implies": "accounts"}]
    assert set(told) == {"compared", "unknown", "accepted"}
    report = (tmp_path / "out/share/report.html").read_text()
    assert "Accepted: lines reveals more of accounts than the released label." in report
    owner = json.loads((tmp_path / "out/owner/release.json").read_text())
    assert owner["implied"]["found"][0]["columns"] == ["lines"]


def test_accepting_another_pair_does_not_help() -> None:
    with pytest.raises(ReleaseRefused, match="lines nearly determines accounts"):
        released(accept={"balance": {"implies": "accounts", "because": "agreed"}})


def test_an_acceptance_of_nothing_is_told() -> None:
    release = released(
        accept={"rate": {"implies": "age", "because": "agreed"}}, table=loans().drop(["lines"])
    )
    assert any(
        "accept names relations that were not found" in warning for warning in release.warnings
    )


def test_a_sum_is_refused_and_accepted_by_all_of_its_columns() -> None:
    rng = np.random.default_rng(2)
    parts = np.exp(rng.normal(6, 1, (N, 3))).round(0)
    table = pl.DataFrame(
        {
            "total": parts.sum(axis=1),
            "sex": rng.choice(["f", "m"], N),
            **{f"p{i}": parts[:, i] for i in range(3)},
        }
    )
    people = sf.read(table).with_roles(quasi=["total", "sex"], keep=["p0", "p1", "p2"])
    people = people.with_kinds(total="numeric").with_hierarchies(
        total=sf.intervals(500, 2000), sex=sf.suppress()
    )

    def run(columns: tuple[str, ...]) -> sf.Release:
        accept = {name: {"implies": "total", "because": "agreed"} for name in columns}
        return sf.anonymize(
            people,
            sf.KAnonymity(5),
            sf.GlobalRecoding(budget=0.1, levels={"total": (1, 2)}),
            options=sf.AnonymizeOptions(accept=accept),
            seed=1,
        )

    for few in ((), ("p0",), ("p0", "p1")):
        with pytest.raises(ReleaseRefused, match=r"p\d \+ p\d \+ p\d"):
            run(few)
    assert run(("p0", "p1", "p2")).holds


# verify


def test_verify_with_the_original_sees_what_the_certificate_does_not_accept(
    accepted: sf.Release, tmp_path: Path
) -> None:
    accepted.write(tmp_path / "out")
    share, owner = tmp_path / "out/share", tmp_path / "out/owner"
    name = "released columns beside the labels, against the original"

    def claims() -> dict[str, Any]:
        found = sf.verify(share, original=loans(), owner=owner)
        return {claim.name: claim for claim in found.claims}

    assert (
        claims()[name].status == "holds" and "accepted: lines → accounts" in claims()[name].detail
    )
    body = json.loads((share / "certificate.json").read_text())
    del body["recipe"]["accept"]
    body["implied"]["accepted"] = []
    body.pop("digest")
    page = draw_page(body)
    (share / "report.html").write_text(page, encoding="utf-8")
    body["files"]["report.html"] = _entry(share / "report.html")
    body["digest"] = digest_of(body)
    (share / "certificate.json").write_text(json.dumps(body))
    assert claims()[name].status == "fails"
    assert "lines → accounts" in claims()[name].detail


def _entry(file: Path) -> dict[str, Any]:
    import hashlib

    data = file.read_bytes()
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def test_verify_says_what_was_looked_for(tmp_path: Path) -> None:
    release = released(table=loans().drop(["lines"]))
    release.write(tmp_path / "out")
    found = sf.verify(
        tmp_path / "out/share", original=loans().drop(["lines"]), owner=tmp_path / "out/owner"
    )
    claim = next(c for c in found.claims if c.name.startswith("released columns beside"))
    assert claim.status == "holds" and "found none of these kinds" in claim.detail
    assert "no dependence" not in claim.detail


# ε


def test_where_an_epsilon_is_accounted_for_nothing_is_refused_or_published(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": RNG.integers(20, 80, 400), "sex": RNG.choice(["f", "m"], 400)})
    table = table.with_columns(copy=pl.col("age"))
    people = (
        sf.read(table).with_roles(quasi=["age", "sex"], keep=["copy"]).with_kinds(age="numeric")
    )
    people = people.with_hierarchies(age=sf.intervals(20, 40), sex=sf.suppress())
    safe = sf.SafeAnonymize(epsilon=1, k=3, levels={"age": 1})
    release = sf.anonymize(people, sf.KAnonymity(3), [safe])
    assert any("copy" in warning for warning in release.warnings), "the owner is told"
    release.write(tmp_path / "out")
    certificate = json.loads((tmp_path / "out/share/certificate.json").read_text())
    assert "implied" not in certificate


# following


# attacks


def test_linkage_by_quasi_identifiers_uses_what_accepted_columns_imply(
    accepted: sf.Release,
) -> None:
    without = released(table=loans().drop(["lines"]))
    names = ["linkage", "worst_case_linkage"]
    known, plain = (
        release.attack(only=names, seconds=20, sample=800) for release in (accepted, without)
    )
    for name in names:
        first = next(tried for tried in known.tried if tried.finding.attack == name)
        assert "lines → accounts" in first.finding.sentence
        assert first.finding.value > 1.5 * plain.value(name)
    assert plain.value("linkage") == pytest.approx(without.after.measure("marketer_risk"), abs=0.03)


# engines


def test_a_table_that_an_engine_holds_is_looked_at_in_its_sample(tmp_path: Path) -> None:
    LOANS.write_parquet(tmp_path / "loans.parquet")
    lazy = sf.read(pl.scan_parquet(tmp_path / "loans.parquet")).with_schema(loans().schema)
    with pytest.raises(ReleaseRefused, match="lines nearly determines accounts"):
        released(table=lazy)
    assert released(table=lazy, accept=ACCEPT).implied.public({})["accepted"]


# profile


@pytest.mark.parametrize("name", ["xq7", "diagnosis", "salary"])
def test_profile_proposes_that_a_copy_follows_whatever_it_is_called(
    name: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, 2000)
    table = pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], 2000),
            "zip": rng.integers(10000, 10040, 2000).astype(str),
            name: np.where(rng.random(2000) < 0.97, age, rng.integers(18, 90, 2000)),
            "blood_pressure": rng.normal(120, 20, 2000).round(),
        }
    )
    proposal = sf.profile(sf.read(table))
    assert dict(proposal.follows) == {name: "age"}
    recipe = recipe_files.parse(recipe_text(proposal))
    release = sf.run(sf.read(table, recipe=recipe), recipe, seed=1)
    assert (release.data[name].cast(pl.String) == release.data["age"].cast(pl.String)).all()


def test_profile_drops_what_tells_a_quasi_identifier_only_in_a_sum() -> None:
    rng = np.random.default_rng(4)
    born = rng.integers(1930, 2000, 2000)
    seen = rng.integers(0, 5000, 2000)
    zips = rng.integers(10000, 10040, 2000).astype(str)
    table = pl.DataFrame({"birth_year": born, "zip": zips, "salary": seen, "debt": seen + born})
    proposal = sf.profile(sf.read(table))
    assert not proposal.follows
    gone = [column.name for column in proposal.columns if "drop" in column.roles]
    assert gone in (["salary"], ["debt"])


# random tables


@pytest.mark.parametrize("turn", range(12))
def test_planted_copies_are_refused_and_noise_is_not(turn: int) -> None:
    rng = np.random.default_rng(100 + turn)
    n = int(rng.choice([400, 1500]))
    q = [rng.integers(18, 90, n), rng.poisson(9, n), np.exp(rng.normal(8, 1, n)).round(1)][turn % 3]
    noise = {
        "n1": rng.normal(size=n),
        "n2": rng.integers(0, 500, n),
        "n3": rng.choice(list("abcdef"), n),
    }
    planted = [
        {},
        {"r": 1.8 * q + 32},
        {"r": np.log(q + 1.0)},
        {"r": np.where(rng.random(n) < 0.95, q, rng.permutation(q))},
    ]
    more = planted[turn // 3]
    table = pl.DataFrame({"q": q, "o": rng.integers(0, 8, n).astype(str), **more, **noise})
    people = (
        sf.read(table).with_roles(quasi=["q", "o"], keep=[*more, *noise]).with_kinds(q="numeric")
    )
    if not more:
        assert sf.anonymize(people, sf.KAnonymity(5), sf.Mondrian(), seed=1).holds
        return
    with pytest.raises(ReleaseRefused, match=r"r (nearly )?determines"):
        sf.anonymize(people, sf.KAnonymity(5), sf.Mondrian(), seed=1)


# What a close look at random tables brought to light.

AGES = np.random.default_rng(333).integers(18, 90, 1200)
BORN = np.datetime64("2024-06-30") - (
    AGES * 365.25 + np.random.default_rng(5).random(1200) * 365
).astype(int)


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%Y-%m-%d 13:05:09", "%d.%m.%Y", "%m/%d/%Y"],
    ids=["date", "date and time", "German", "American"],
)
def test_dates_that_are_text_are_looked_at_by_their_parts(form: str) -> None:
    born = pl.Series(BORN).cast(pl.Date).dt.strftime(form)
    table = pl.DataFrame({"age": AGES, "sex": RNG.choice(["f", "m"], 1200), "born": born})
    people = (
        sf.read(table).with_roles(quasi=["age", "sex"], keep=["born"]).with_kinds(age="numeric")
    )
    with pytest.raises(ReleaseRefused, match=r"born (nearly )?determines age"):
        sf.anonymize(people, sf.KAnonymity(10), sf.Mondrian(), seed=1)


def test_that_a_number_is_missing_tells_too() -> None:
    rng = np.random.default_rng(229)
    code = rng.integers(0, 8, 1200)
    told = [f"m{bit}" for bit in range(3)]
    columns = {
        name: np.where(code >> bit & 1 == 1, np.nan, rng.normal(size=1200))
        for bit, name in enumerate(told)
    }
    wards = (np.arange(1200) // 8).astype(str)
    table = pl.DataFrame({"code": code.astype(str), "ward": wards, **columns}, nan_to_null=True)
    people = (
        sf.read(table)
        .with_roles(quasi=["code", "ward"], keep=told)
        .with_hierarchies(code=sf.suppress())
    )
    with pytest.raises(ReleaseRefused, match=r"m0 .* code .*m1 .* code .*m2 .* code"):
        sf.anonymize(people, sf.KAnonymity(5), sf.GlobalRecoding(), seed=1)


def test_a_code_is_a_copy_where_labels_overlap_and_hardly_repeat() -> None:
    rng = np.random.default_rng(403)
    age = 18 + rng.poisson(11, 120)
    names = rng.permutation(1000)
    table = pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], 120),
            "state": rng.integers(0, 20, 120).astype(str),
            "code": [f"X{names[a]}" for a in age],
        }
    )
    people = (
        sf.read(table)
        .with_roles(quasi=["age", "sex", "state"], keep=["code"])
        .with_kinds(age="numeric")
    )
    with pytest.raises(ReleaseRefused, match=r"code (nearly )?determines age"):
        sf.anonymize(people, sf.KAnonymity(3), sf.KMember(), seed=1)
