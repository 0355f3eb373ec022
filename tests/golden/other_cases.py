"""Golden cases of what is no release of rows: tables of results, outputs of researchers, answers of
several parties; and policies.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf
from tests.golden.canonical import json_text
from tests.golden.case import SEED, Case
from tests.golden.table_cases import GLOBAL, HOSPITAL, K_3, write_recipe
from tests.golden.tables import homes, patients, visits


def _write_visits(folder: Path) -> None:
    visits().write_csv(folder / "visits.csv")


def results_case(what: str, *options: str) -> Case:
    """Counts or sums by columns, protected, written and verified."""
    made = (
        "table",
        "visits.csv",
        what,
        "--protect",
        "-o",
        "out",
        "--seed",
        SEED,
        "--json",
        *options,
    )
    verify = ("verify", "out/share", "--owner", "out/owner", "--json")
    return Case(_write_visits, (made, verify))


RESULTS = {
    "counts": results_case("ward x sex: count", "--threshold", "5"),
    "counts, heuristically": results_case(
        "ward x marital_status: count", "--threshold", "4", "--method", "heuristic"
    ),
    "counts, rounded": results_case(
        "ward x sex: count", "--threshold", "5", "--method", "rounding", "--base", "5"
    ),
    "counts, perturbed": results_case(
        "ward x sex: count", "--threshold", "5", "--method", "perturb", "--base", "11"
    ),
    "sums": results_case(
        "ward x sex: sum(cost)", "--threshold", "5", "--dominance", "2,85", "--p-percent", "10"
    ),
    "sums, adjusted": results_case("ward: sum(cost)", "--threshold", "5", "--method", "cta"),
    "two tables that join": results_case("ward x sex; marital_status: count", "--threshold", "5"),
    "nothing to publish": Case(
        _write_visits,
        (("table", "visits.csv", "ward: count", "--protect", "--threshold", "1000", "--json"),),
    ),
}


def _write_nothing(folder: Path) -> None:
    """These outputs are made of records in memory."""


def _research(folder: Path) -> dict[str, str]:
    """A session of outputs: tables, means, quantiles, a regression, and what is refused."""
    people = visits().with_columns(pl.col("cost").fill_null(0), who=pl.int_range(pl.len()) // 2)
    with sf.output_session(folder / "outputs", people, unit="who", researcher="Ada") as session:
        session.count(["sex"])
        session.mean("cost", by=["sex"])
        session.quantiles("cost", [0.25, 0.5, 0.75], by=["sex"])
        session.regression("cost", ["length_of_stay"])
        shares = people.group_by("ward", maintain_order=True).agg(pl.col("cost").mean())
        session.add(shares.sort("ward"), "Mean cost by ward", tells="mean", comment="table 5")
    return {}


def _checked(folder: Path) -> dict[str, str]:
    """Outputs that are judged alone."""
    people = visits()
    table = people.group_by("sex").agg(pl.len().alias("n"), pl.col("cost").mean()).sort("sex")
    verdicts = {
        "a table with its records": sf.check_output(table, people, by=["sex"]),
        "a table of few": sf.check_output(
            people.group_by("occupation").len().sort("occupation"), people
        ),
        "a table without records": sf.check_output(table),
        "a histogram": sf.check_output(people["age"].to_numpy(), people, column="age"),
    }
    return {name: _plain(verdict.to_dict()) for name, verdict in verdicts.items()}


def _plain(document: Any) -> str:
    return json_text(json.dumps(document, default=str), text_input=True)


DECIDED = ("--because", "the rules hold", "--by", "C. Hecker", "--json")
OUTPUTS = {
    "a session reviewed and released": Case(
        _write_nothing,
        (
            ("outputs", "review", "outputs", "--json"),
            ("outputs", "review", "outputs", "--approve", "passes", *DECIDED),
            ("outputs", "review", "outputs", "--html", "review.html", "--show", "1", "--json"),
            ("outputs", "release", "outputs", "-o", "out", "--partly", "--json"),
            ("outputs", "verify", "out", "--session", "outputs", "--json"),
        ),
        act=_research,
    ),
    "outputs judged alone": Case(_write_nothing, act=_checked),
}

AGES = ([71, 64, 80], [55, 62], [90, 77, 68, 59], [45])
OFFICES = (
    {"age": [23, 24, 47, 68], "sex": ["x", "y", "x", "y"]},
    {"age": [21, 44, 46, 61], "sex": ["x", "x", "y", "y"]},
    {"age": [25, 42, 63, 67], "sex": ["y", "y", "x", "y"]},
)
JOINT = {
    "age": {"role": "quasi", "between": [20, 69], "hierarchy": {"intervals": [10]}},
    "sex": {"role": "quasi", "domain": ["x", "y"]},
}
MEAN = {"mean": {"column": "age", "bounds": ["0", "120"]}}


def _answered(
    folder: Path, *, parts: tuple[dict[str, Any], ...], question: dict[str, Any], protocol: str
) -> dict[str, str]:
    """What several parties find out together: their answer and what it cost, without the digest of
    what was said.
    """
    tables = [sf.read(pl.DataFrame(part)) for part in parts]
    answer = sf.together(tables, question, protocol=protocol)
    told = {
        "value": dict(answer.value),
        "protocol": answer.protocol,
        "messages": answer.cost.messages,
        "estimated": dataclasses.asdict(answer.estimated),
    }
    return {"answer": _plain(told)}


def parties_case(
    parts: tuple[dict[str, Any], ...], question: dict[str, Any], protocol: str
) -> Case:
    """Parties in one process."""
    return Case(
        _write_nothing,
        act=functools.partial(_answered, parts=parts, question=question, protocol=protocol),
    )


NEW_EVERY_TIME = (
    "certificate_sha256",
    "signing_key",
    "session",
    "transcript",
    "digest",
    "public_digest",
)
"""What keys and nonces decide in a result of parties."""


def _studied(folder: Path) -> dict[str, str]:
    """A study from signatures to the result file of every party, without what its keys and nonces
    decide.
    """
    results = {}
    # Imported here, since the other cases do without parties.
    from tests.parties.studies import NAMES, a_study
    from tests.parties.test_conduct import run as run_study

    for party, result in zip(NAMES, run_study(folder, a_study(folder)), strict=True):
        certificate = copy.deepcopy(dict(result.certificate))
        study = certificate["study"]
        for part in (certificate, study, *study["parties"]):
            for name in NEW_EVERY_TIME:
                part.pop(name, None)
        del certificate["signature"], certificate["versions"]
        study["signatures"] = sorted(study["signatures"])
        study["cost"]["measured"] = study["cost"]["measured"]["messages"]
        results[f"result of {party}"] = _plain(certificate)
    shutil.rmtree(folder)
    folder.mkdir()
    return results


HOSPITALS = tuple({"age": ages} for ages in AGES)
PARTIES = {
    "a mean, by Shamir": parties_case(HOSPITALS, MEAN, "shamir"),
    "a mean, added up": parties_case(HOSPITALS, MEAN, "additive"),
    "a study with signatures": Case(_write_nothing, act=_studied),
    "a joint release": parties_case(
        OFFICES, {"release": {"attributes": JOINT, "k": 2, "budget": "0.1"}}, "shamir"
    ),
}
AGE_ROWS = [["25", "20-30", "<50"], ["26", "20-30", "<50"], ["43", "40-50", "<50"]]
ZIP_ROWS = [[f"5371{digit}", "537**", "*"] for digit in range(4)]
STUDY = {
    "sfumato_policy": 1,
    "name": "study",
    "purposes": [
        {
            "name": "research",
            "data": [
                {"name": "Name", "group": "EI", "categories": ["identity"]},
                {
                    "name": "Age",
                    "group": "QID",
                    "categories": ["demographic"],
                    "anonymization": {"minimum": 1, "maximum": 2, "hierarchy": AGE_ROWS},
                },
                {
                    "name": "Zipcode",
                    "group": "QID",
                    "categories": ["location"],
                    "anonymization": {"minimum": 0, "maximum": 2, "hierarchy": ZIP_ROWS},
                },
                {"name": "Disease", "group": "SD", "categories": ["health"]},
            ],
            "recipients": [{"name": "university"}],
            "retention": {"kind": "fixed_date", "date": "2090-12-31"},
            "models": [
                {"name": "k-Anonymity", "data": ["Age", "Zipcode"], "parameters": [["k", "3"]]}
            ],
        }
    ],
}
USE = ("-p", "study.json", "--purpose", "research", "--recipient", "university")


def _write_policy(folder: Path) -> None:
    (folder / "study.json").write_text(json.dumps(STUDY), encoding="utf-8")
    illnesses = ("Flu", "Hepatitis", "Bronchitis")
    rows = [
        (f"Person No {at}", AGE_ROWS[at % 3][0], ZIP_ROWS[at * at % 4][0], illnesses[at * 7 % 3])
        for at in range(24)
    ]
    pl.DataFrame(rows, schema=["Name", "Age", "Zipcode", "Disease"], orient="row").write_csv(
        folder / "people.csv"
    )


POLICIES = {
    "compiled, run and complied with": Case(
        _write_policy,
        (
            ("policy", "lint", "study.json", "--data", "people.csv", "--json"),
            ("policy", "compile", "people.csv", *USE),
            ("policy", "run", "people.csv", *USE, "-o", "out", "--seed", SEED, "--json"),
            ("policy", "comply", "out/share", *USE, "--json"),
            ("policy", "export", "out/share", "--to", "dpv"),
        ),
    ),
    "a preset": Case(
        _write_policy,
        (
            (
                "policy",
                "run",
                "people.csv",
                *USE,
                "-p",
                "preset:sdc_practice_3",
                "-o",
                "out",
                "--seed",
                SEED,
                "--json",
            ),
            ("policy", "comply", "out/share", *USE, "-p", "preset:sdc_practice_3", "--json"),
        ),
    ),
}


def _write_register(folder: Path) -> None:
    patients().write_csv(folder / "table.csv")
    write_recipe(folder, {"sfumato": 1, "columns": HOSPITAL, "meet": [K_3], "steps": [GLOBAL]})
    (folder / "releases.key").write_text("5e" * 32 + "\n", encoding="utf-8")
    (folder / "releases.key").chmod(0o600)


REGISTERED = ("--register", "releases.db", "--register-key", "releases.key")
REGISTER = {
    "two releases of the same people": Case(
        _write_register,
        (
            ("register", "start", "releases.db", "--key", "releases.key"),
            (
                "run",
                "table.csv",
                "-r",
                "recipe.yaml",
                "-o",
                "first",
                "--seed",
                SEED,
                "--json",
                "--to",
                "the press",
                *REGISTERED,
            ),
            (
                "run",
                "table.csv",
                "-r",
                "recipe.yaml",
                "-o",
                "second",
                "--seed",
                "1" + SEED[1:],
                "--json",
                "--to",
                "an office",
                *REGISTERED,
            ),
            ("register", "list", "releases.db", "--key", "releases.key", "--json"),
        ),
    )
}


def _write_homes(folder: Path) -> None:
    homes().write_csv(folder / "homes.csv")
    visits().write_csv(folder / "visits.csv")


LOOKS = {
    "profiles of two tables": Case(
        _write_homes, (("profile", "homes.csv", "--json"), ("profile", "visits.csv", "--json"))
    ),
    "integral results": Case(
        _write_homes,
        (
            (
                "outputs",
                "stable",
                "homes.csv",
                "--mean",
                "age",
                "-k",
                "3",
                "--size",
                "4",
                "--samples",
                "200",
                "--seed",
                "7",
                "--json",
            ),
        ),
    ),
}
OTHER_CASES = {
    f"{kind}: {name}": case
    for kind, cases in {
        "results": RESULTS,
        "outputs": OUTPUTS,
        "parties": PARTIES,
        "policies": POLICIES,
        "register": REGISTER,
        "looks": LOOKS,
    }.items()
    for name, case in cases.items()
}
