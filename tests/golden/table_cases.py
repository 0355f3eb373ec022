"""Golden cases of one table: means, promises, formats, engines, databases, and the commands about a
release.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tests.golden.case import SEED, Case
from tests.golden.tables import TABLES, write_table

INTERVALS = {"intervals": {"widths": [5, 10, 20]}}
HOSPITAL: dict[str, Any] = {
    "patient_name": "drop",
    "age": {"role": "quasi", "kind": "numeric", "hierarchy": INTERVALS},
    "sex": {"role": "quasi", "hierarchy": "suppress"},
    "zip": {"role": "quasi", "hierarchy": {"mask_right": {"length": 5}}},
    "admission_date": {
        "role": "quasi",
        "kind": "date",
        "hierarchy": {"dates": {"levels": ["month", "quarter", "year"]}},
    },
    "diagnosis": "sensitive",
    "cost": {"role": "sensitive", "kind": "numeric"},
    "length_of_stay": {"role": "keep", "kind": "numeric"},
}
SCHOOLS = [
    "no certificate",
    "lower secondary",
    "upper secondary",
    "vocational training",
    "bachelor",
    "master",
    "doctorate",
]
REGIONS = {
    "*": {"North": ["Coast", "Plain"], "Centre": ["Capital", "Hills"], "South": ["Valley", "Alps"]}
}
SURVEY: dict[str, Any] = {
    "household": {"role": "household"},
    "region": {"role": ["quasi", "stratum"], "hierarchy": {"tree": {"nested": REGIONS}}},
    "household_size": {
        "role": "quasi",
        "kind": "numeric",
        "hierarchy": {"intervals": {"widths": [2, 4]}},
    },
    "age": {"role": "quasi", "kind": "numeric", "hierarchy": INTERVALS},
    "sex": {"role": "quasi", "hierarchy": "suppress"},
    "education": {
        "role": "quasi",
        "kind": "ordinal",
        "order": SCHOOLS,
        "hierarchy": {"order": {"values": SCHOOLS, "sizes": [2, 4]}},
    },
    "income": {"role": "sensitive", "kind": "numeric"},
    "health": {
        "role": "sensitive",
        "kind": "ordinal",
        "order": ["very bad", "bad", "fair", "good", "very good"],
    },
    "weight": {"role": "weight", "kind": "numeric"},
}
VISITS: dict[str, Any] = {
    **HOSPITAL,
    "insurance_number": "drop",
    "email": "drop",
    "nationality": "keep",
    "marital_status": {"role": "quasi", "hierarchy": {"frequency": {"keep": [3]}}},
    "occupation": "keep",
    "ward": "keep",
}
BRIEF = {
    "age": HOSPITAL["age"] | {"bounds": [0, 110]},
    "sex": {"role": "quasi", "hierarchy": "suppress", "domain": ["female", "male"]},
}
COLUMNS = {
    "patients": HOSPITAL,
    "asked": {**HOSPITAL, "consent": "drop"},
    "brief": BRIEF,
    "numbers": {name: HOSPITAL[name] for name in ("age", "length_of_stay", "cost")},
    "homes": SURVEY,
    "visits": VISITS,
}
ACCEPTED = {
    "weight": [
        {"implies": name, "because": "weights follow it"} for name in ("region", "household_size")
    ]
}
K_3 = {"k_anonymity": {"k": 3}}
NO_PROMISE = {"k_anonymity": {"k": 1}}
RUN = ("-r", "recipe.yaml", "-o", "out", "--seed", SEED, "--attack", "0", "--json")
EPSILON = {
    "safe_k_anonymization",
    "insensitive_microaggregation",
    "laplace_noise",
    "randomized_response",
    "synthesize_privately",
}
"""Steps that account for an ε draw from the system, whatever the seed, unless it is short: a
rehearsal.
"""
REHEARSAL = "7"
VERIFY = ("verify", "out/share", "--owner", "out/owner", "--json", "--original")


def write_recipe(folder: Path, recipe: Mapping[str, Any], name: str = "recipe.yaml") -> None:
    """Write a recipe; JSON is YAML."""
    (folder / name).write_text(json.dumps(recipe, indent=1), encoding="utf-8")


def _write_inputs(
    folder: Path, *, table: str, file: str, recipe: Mapping[str, Any], population: bool
) -> None:
    write_table(TABLES[table](), folder / file)
    write_recipe(folder, recipe)
    if population:
        write_table(pl.concat([TABLES[table](), TABLES[table]()]), folder / "population.csv")


def table_case(
    table: str,
    steps: Sequence[Any],
    meet: Sequence[Any] = (NO_PROMISE,),
    *,
    file: str = "table.csv",
    options: Sequence[str] = (),
    verified: bool = True,
    population: bool = False,
    more: Sequence[tuple[str, ...]] = (),
    **sections: Any,
) -> Case:
    """A table in a file, released as a recipe says and verified with its original."""
    recipe = {
        "sfumato": 1,
        "columns": COLUMNS[table],
        "meet": list(meet),
        "steps": list(steps),
        **sections,
    }
    if table == "homes":
        recipe["accept"] = ACCEPTED
    people = ("--population", "population.csv") if population else ()
    accounted = (
        ("--seed", REHEARSAL) if any(name in EPSILON for step in steps for name in step) else ()
    )
    commands = [("run", file, *RUN, *options, *people, *accounted)]
    if verified:
        commands.append((*VERIFY, file, *people))
    prepare = functools.partial(
        _write_inputs, table=table, file=file, recipe=recipe, population=population
    )
    return Case(prepare, (*commands, *more))


GLOBAL = {"global_recoding": {"suppress": "tuple", "budget": 0.1}}
RECODING = {
    "global recoding": table_case(
        "patients",
        [GLOBAL],
        [K_3],
        more=[("check", "out/share/data.csv", "-r", "recipe.yaml", "--json")],
    ),
    "global recoding without suppression": table_case(
        "patients", [{"global_recoding": {"suppress": "none"}}], [K_3]
    ),
    "global recoding of fixed levels": table_case(
        "patients",
        [{"global_recoding": {"budget": 0.9, "levels": {"age": 2, "zip": [3, 5]}}}],
        [K_3],
    ),
    "global recoding by discernibility": table_case(
        "patients", [{"global_recoding": {"budget": 0.2, "objective": "discernibility"}}], [K_3]
    ),
    "global recoding by incognito": table_case(
        "patients", [{"global_recoding": {"budget": 0.1, "algorithm": "incognito"}}], [K_3]
    ),
    "local recoding": table_case(
        "patients", [{"local_recoding": {"suppress": "tuple", "budget": 0.1}}], [K_3]
    ),
    "mondrian": table_case("patients", [{"mondrian": {}}], [K_3]),
    "mondrian, relaxed": table_case(
        "patients", [{"mondrian": {"mode": "relaxed"}}], [{"k_anonymity": {"k": 5}}]
    ),
    "k-member": table_case("patients", [{"k_member": {}}], [K_3]),
    "k-optimize": table_case("brief", [{"k_optimize": {"budget": 0.1}}], [K_3]),
    "bottom-up generalization": table_case(
        "patients", [{"bottom_up_generalization": {"label": "diagnosis"}}], [K_3]
    ),
    "top-down specialization": table_case(
        "patients", [{"top_down_specialization": {"label": "diagnosis"}}], [K_3]
    ),
    "suppressed records": table_case(
        "brief", [{"suppression": {"what": "tuple", "budget": 0.9}}], [K_3]
    ),
    "suppressed cells": table_case(
        "brief", [{"suppression": {"what": "cell", "budget": 0.9}}], [K_3]
    ),
}
PROMISES = {
    "l-diversity": table_case(
        "patients", [GLOBAL], [K_3, {"l_diversity": {"sensitive": "diagnosis", "l": 2}}]
    ),
    "t-closeness": table_case(
        "patients",
        [{"global_recoding": {"budget": 0.2}}],
        [{"t_closeness": {"sensitive": "cost", "t": 0.4}}],
    ),
    "alpha-k and p-sensitive": table_case(
        "homes",
        [{"global_recoding": {"budget": 0.2}}],
        [
            {"alpha_k_anonymity": {"sensitive": "health", "alpha": 0.8, "k": 3}},
            {"p_sensitive": {"sensitive": "health", "p": 2, "k": 3}},
        ],
    ),
    "subsets and maximum risk": table_case(
        "brief",
        [{"global_recoding": {"budget": 0.3}}],
        [{"k_on_subsets": {"k": 2, "size": 1}}, {"maximum_risk": {"threshold": 0.5}}],
    ),
    "k-map": table_case("patients", [GLOBAL], [{"k_map": {"k": 4}}], population=True),
    "limits and contract": table_case(
        "patients",
        [GLOBAL],
        [K_3],
        limits={"prosecutor_risk": 0.5, "homogeneity": 1.0, "linkage": 1.0},
        contract=[
            {"loss": {"at_most": 0.99}},
            {"means": {"columns": ["length_of_stay"], "at_most": 0.9}},
        ],
    ),
    "promise that cannot be kept": table_case(
        "brief",
        [{"suppression": {"what": "tuple", "budget": 0.0}}],
        [{"k_anonymity": {"k": 60}}],
        verified=False,
    ),
    "promise that does not hold": table_case(
        "brief",
        [{"round": {"columns": ["age"], "base": 5}}],
        [{"k_anonymity": {"k": 60}}],
        verified=False,
    ),
}
FEMALE = {"female": {"female": 0.8125, "male": 0.1875}, "male": {"male": 0.8125, "female": 0.1875}}
SCHOOL = {"no certificate": "school", "lower secondary": "school", "upper secondary": "school"}
OWN_LEVELS = {"all uses": {}, "research": {"zip": 2}, "care": {"age": 1}}
MASKING = {
    "sample": table_case("homes", [{"sample": {"fraction": 0.5}}]),
    "top coding": table_case(
        "homes",
        [
            {
                "top_bottom_coding": {
                    "columns": ["income"],
                    "top_quantile": 0.9,
                    "replacement": "mean",
                }
            }
        ],
    ),
    "recode": table_case(
        "homes",
        [
            {
                "recode": {
                    "columns": ["education"],
                    "mapping": SCHOOL,
                    "unmapped": "other",
                    "other": "beyond",
                }
            }
        ],
    ),
    "hide rules": table_case(
        "homes",
        [
            {
                "hide_rules": {
                    "rules": ["sex=female -> health=good"],
                    "support": 5,
                    "confidence": 0.25,
                }
            }
        ],
    ),
    "follow": table_case(
        "patients",
        [
            {"global_recoding": {"levels": {"age": 2}, "budget": 1.0}},
            {"follow": {"columns": {"length_of_stay": "age"}}},
        ],
    ),
    "round": table_case(
        "homes", [{"round": {"columns": ["income"], "base": 500, "method": "random"}}]
    ),
    "shift dates": table_case(
        "patients", [{"shift_dates": {"columns": ["admission_date"], "days": 30}}]
    ),
    "noise": table_case(
        "homes",
        [
            {
                "add_noise": {
                    "columns": ["income", "age"],
                    "alpha": 0.3,
                    "method": "kim",
                    "keep_integers": True,
                }
            }
        ],
    ),
    "authorised": table_case(
        "asked", [{"authorised": {"by": "consent", "allowed": ["all uses", "research"]}}]
    ),
    "personal levels": table_case(
        "asked", [{"personal_levels": {"levels": {"zip": 1}, "own": OWN_LEVELS, "by": "consent"}}]
    ),
    "pseudonyms": table_case(
        "patients", [{"pseudonymize": {"columns": ["patient_name"], "key": {"env": "OFFICE_KEY"}}}]
    ),
    "rank swapping": table_case(
        "homes", [{"rank_swap": {"columns": ["income", "age"], "p": 0.0625}}]
    ),
    "data swapping": table_case(
        "homes", [{"swap_data": {"columns": ["health"], "keep": ["sex"], "rate": 0.4375}}]
    ),
    "swapping of similar": table_case(
        "homes",
        [{"swap_similar": {"columns": ["health"], "by": "income", "k": 3, "reach": 777.0625}}],
    ),
    "swapping of households": table_case(
        "homes",
        [
            {
                "swap_households": {
                    "geography": ["region"],
                    "risk": ["age", "sex"],
                    "similar": [["household_size"], []],
                    "rate": 0.3125,
                }
            }
        ],
    ),
    "swapping across tables": table_case(
        "homes",
        [{"swap_across": {"columns": ["income"], "match": ["age", "sex"], "rate": 0.8125}}],
        population=True,
    ),
    "shuffling": table_case(
        "homes",
        [
            {
                "shuffle_values": {
                    "columns": ["income", "health"],
                    "predictors": ["age"],
                    "within": [],
                }
            }
        ],
    ),
    "pram": table_case(
        "homes", [{"pram": {"columns": ["sex"], "matrix": {"sex": FEMALE}, "within": []}}]
    ),
    "microaggregation": table_case(
        "patients", [{"microaggregate": {"columns": ["age", "admission_date"], "k": 3}}]
    ),
    "t-close microaggregation": table_case(
        "patients",
        [
            {
                "t_closeness_microaggregation": {
                    "sensitive": "length_of_stay",
                    "t": 0.3,
                    "k": 3,
                    "quasi": ["age"],
                }
            }
        ],
    ),
    "insensitive microaggregation": table_case(
        "patients",
        [
            {
                "insensitive_microaggregation": {
                    "columns": ["length_of_stay"],
                    "k": 5,
                    "epsilon": 1,
                    "bounds": {"length_of_stay": [0, 99]},
                }
            }
        ],
    ),
    "randomized response": table_case(
        "patients",
        [
            {
                "randomized_response": {
                    "columns": ["sex"],
                    "epsilon": 1,
                    "domain": {"sex": ["female", "male", "diverse"]},
                    "prior": {"sex": [0.5, 0.4, 0.1]},
                }
            }
        ],
    ),
    "laplace noise": table_case(
        "patients",
        [
            {"global_recoding": {"budget": 0.1}},
            {
                "laplace_noise": {
                    "columns": ["length_of_stay"],
                    "epsilon": 1,
                    "bounds": {"length_of_stay": [0, 99]},
                    "unit": {"length_of_stay": 1},
                }
            },
        ],
        meet=[{"k_anonymity": {"k": 3}}],
    ),
    "hybrid microdata": table_case(
        "patients", [{"hybrid_microdata": {"columns": ["age", "length_of_stay"], "k": 6}}]
    ),
    "bucketization": table_case(
        "patients",
        [{"bucketize": {"sensitive": ["diagnosis"], "t": 4, "k": 3, "quasi": ["age", "sex"]}}],
    ),
    "safe k-anonymization": table_case(
        "brief", [{"safe_k_anonymization": {"epsilon": 1, "k": 2, "levels": {"age": 2}}}]
    ),
}
MEMBERS = {"recognised_members": 1}
"""Of so few people nobody can tell who was among those that the rows were learnt from."""
SYNTHESIS = {
    "synthesis by trees": table_case(
        "homes",
        [
            {
                "synthesize": {
                    "min_leaf": 5,
                    "within": [],
                    "rules": ["age < 16 => education = no certificate"],
                }
            }
        ],
        limits=MEMBERS,
    ),
    "synthesis by copula": table_case(
        "numbers", [{"synthesize": {"method": "copula"}}], limits=MEMBERS
    ),
    "synthesis of some columns": table_case(
        "patients", [{"synthesize": {"columns": ["diagnosis", "cost"], "min_leaf": 5}}]
    ),
    "private synthesis": table_case(
        "brief",
        [{"synthesize_privately": {"epsilon": 5, "delta": 1e-6, "bins": 5}}],
        limits=MEMBERS,
        verified=False,
    ),
}
FORMATS = {
    **{
        f"from {file.rpartition('.')[2]}": table_case("patients", [GLOBAL], [K_3], file=file)
        for file in (
            "table.tsv",
            "table.parquet",
            "table.arrow",
            "table.jsonl",
            "table.xlsx",
            "table.sav",
            "table.dta",
        )
    },
    **{
        f"to {word}": table_case(
            "patients", [{"mondrian": {}}], [K_3], options=("--format", word), verified=False
        )
        for word in ("parquet", "arrow", "jsonl", "excel", "spss", "stata", "sas")
    },
    "to csv that is defused, unshuffled": table_case(
        "patients", [GLOBAL], [K_3], options=("--defuse", "--no-shuffle")
    ),
    "into a database": table_case(
        "patients",
        [GLOBAL],
        [K_3],
        options=("--into", "sqlite:///released.db", "--into-table", "visits"),
    ),
}


def _write_parts(folder: Path, *, recipe: Mapping[str, Any]) -> None:
    (folder / "parts").mkdir()
    frame = TABLES["visits"]()
    for number in range(3):
        frame.slice(100 * number, 100).write_parquet(folder / "parts" / f"part-{number}.parquet")
    write_recipe(folder, recipe)


def engine_case(engine: str, steps: Sequence[Any], *, service: bool = False) -> Case:
    """A table in three parts of Parquet that an engine holds, released in parts."""
    meet = [K_3, {"l_diversity": {"sensitive": "diagnosis", "l": 2}}]
    recipe = {"sfumato": 1, "columns": VISITS, "meet": meet, "steps": list(steps)}
    commands = (("run", "parts", *RUN, "--engine", engine), (*VERIFY, "parts"))
    if service:
        commands = (
            ("run", "@/parts", *(word.replace("out", "@/out") for word in RUN), "--engine", engine),
        )
    return Case(functools.partial(_write_parts, recipe=recipe), commands, service=service)


LARGE = {
    "global recoding": [{"global_recoding": {"budget": 0.2}}],
    "mondrian": [{"mondrian": {}}],
    "masking": [
        {"sample": {"fraction": 0.9}},
        {"round": {"columns": ["cost"], "base": 10}},
        {"add_noise": {"columns": ["length_of_stay"], "alpha": 0.2, "method": "uncorrelated"}},
        {"global_recoding": {"budget": 0.3}},
    ],
}
ENGINES = {
    f"{engine}: {name}": engine_case(engine, steps, service=engine == "spark")
    for engine in ("polars", "duckdb", "spark")
    for name, steps in LARGE.items()
}


def _write_for_commands(folder: Path) -> None:
    recipe = {"sfumato": 1, "columns": HOSPITAL, "meet": [K_3], "steps": [GLOBAL]}
    _write_inputs(folder, table="patients", file="table.csv", recipe=recipe, population=False)


COMMANDS = {
    "evaluate, attack, assess and explain": Case(
        _write_for_commands,
        (
            ("run", "table.csv", *RUN),
            ("evaluate", "out", "--original", "table.csv", "--certify", "--json"),
            (
                "attack",
                "out",
                "--original",
                "table.csv",
                "--attack",
                "homogeneity",
                "--attack",
                "linkage",
                "--attack",
                "suda",
                "--certify",
                "--json",
            ),
            ("assess", "table.csv", "-r", "recipe.yaml", "--json"),
            ("verify", "out/share", "--json"),
            (*VERIFY, "table.csv"),
        ),
    ),
    "an earlier release applied to new rows": Case(
        _write_for_commands,
        (
            ("run", "table.csv", *RUN),
            ("run", "table.csv", "--like", "out", "-o", "again", "--seed", SEED, "--json"),
        ),
    ),
}
TABLE_CASES = {**RECODING, **PROMISES, **MASKING, **SYNTHESIS, **FORMATS, **ENGINES, **COMMANDS}
