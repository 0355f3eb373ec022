"""Golden cases of people who are more than a row: baskets, paths, a graph, several tables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.table_cases import GLOBAL, RUN, VERIFY, write_recipe
from tests.golden.tables import (
    write_baskets,
    write_clinic,
    write_graph,
    write_paths,
    write_purchases,
)

ITEMS = {
    "tree": {
        "nested": {"*": {"P": {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"]}, "C": ["c1", "c2"]}}
    }
}
TEN = {
    "shape": "baskets",
    "columns": {"name": "drop", "person": "person", "item": {"role": "item", "hierarchy": ITEMS}},
}
PRODUCTS = {
    "*": {f"group {group}": [f"p{3 * group + at:02d}" for at in range(3)] for group in range(4)}
}
PURCHASES = {
    "shape": "baskets",
    "columns": {
        "customer": "person",
        "product": {"role": "item", "hierarchy": {"tree": {"nested": PRODUCTS}}},
        "age": {
            "role": "quasi",
            "kind": "numeric",
            "hierarchy": {"intervals": {"widths": [10, 20, 40]}},
        },
        "region": {"role": "quasi", "hierarchy": "suppress"},
    },
}
CITY = {
    "shape": "paths",
    "columns": {
        "person": "person",
        "time": "time",
        "x": {"role": "place", "kind": "numeric"},
        "y": {"role": "place", "kind": "numeric"},
        "income": "sensitive",
    },
}
MEMBERS = {"id": "person", "name": "drop", "sex": "quasi", "ill": "sensitive"}
CLUB = {
    "shape": "graph",
    "columns": {"person": {"role": "from"}, "friend": {"role": "to"}},
    "people": {"file": "people.csv", "columns": MEMBERS},
}
COAST = {
    "tree": {
        "nested": {"*": {"coast": ["harbour", "cliffs"], "inland": ["hills", "river", "plain"]}}
    }
}
CLINIC = {
    "tables": {
        "people": {
            "file": "people.csv",
            "key": "person_id",
            "columns": {
                "person_id": "drop",
                "name": "drop",
                "age": {
                    "role": "quasi",
                    "kind": "numeric",
                    "hierarchy": {"intervals": {"widths": [10, 20, 40]}},
                },
                "sex": {"role": "quasi", "hierarchy": "suppress"},
                "region": {"role": "quasi", "hierarchy": COAST},
                "diagnosis": "sensitive",
            },
        },
        "visits": {
            "key": "visit_id",
            "belongs_to": {"people": "person_id"},
            "columns": {
                "ward": {"role": "quasi", "hierarchy": "suppress"},
                "month": {
                    "role": "quasi",
                    "kind": "numeric",
                    "hierarchy": {"intervals": {"widths": [3, 6]}},
                },
                "cost": {"role": "keep", "kind": "numeric"},
            },
        },
        "prescriptions": {
            "file": "rx.csv",
            "belongs_to": {"visits": "visit_id"},
            "orphans": "drop",
            "columns": {
                "drug": "sensitive",
                "days": {"role": "keep", "kind": "numeric", "missing_values": [99]},
            },
        },
    }
}


def _write_inputs(
    folder: Path, *, write: Callable[[Path], None], recipe: Mapping[str, Any]
) -> None:
    data = folder / "data"
    data.mkdir()
    write(data)
    write_recipe(data, recipe)


def shaped_case(
    write: Callable[[Path], None],
    file: str,
    described: Mapping[str, Any],
    meet: Sequence[Any],
    steps: Sequence[Any],
    *,
    options: Sequence[str] = (),
    more: Sequence[tuple[str, ...]] = (),
    **sections: Any,
) -> Case:
    """People in files below ``data``, released as a recipe says and verified with the originals;
    intruders get no time.
    """
    recipe = {"sfumato": 1, **described, "meet": list(meet), "steps": list(steps), **sections}
    words = [word.replace("recipe.yaml", "data/recipe.yaml") for word in RUN]
    commands = [("run", file, *words, *options), (*VERIFY, file)]
    return Case(functools.partial(_write_inputs, write=write, recipe=recipe), (*commands, *more))


ten = functools.partial(shaped_case, write_baskets, "data/baskets.csv", TEN)
purchases = functools.partial(shaped_case, write_purchases, "data/baskets.csv", PURCHASES)
paths = functools.partial(shaped_case, write_paths, "data/paths.csv", CITY)
graph = functools.partial(shaped_case, write_graph, "data/friends.csv", CLUB)
clinic = functools.partial(shaped_case, write_clinic, "data", CLINIC)
KM = {"km_anonymity": {"k": 2, "m": 2}}
RULES = {"rules": ["a1 -> b2", "b1 -> c1"], "support": 2, "confidence": 0.3}
AFTER = [
    ("check", "out/share/data.csv", "-r", "data/recipe.yaml", "--json"),
    ("evaluate", "out", "--original", "data/baskets.csv", "--json"),
    (
        "attack",
        "out",
        "--original",
        "data/baskets.csv",
        "--attack",
        "known_items",
        "--attack",
        "rare_items",
        "--certify",
        "--json",
    ),
]
BASKETS = {
    "item recoding": ten(
        [KM],
        ["item_recoding"],
        limits={"known_items": 1.0},
        contract=[{"item_ncp": {"at_most": 0.9}}],
        more=AFTER,
    ),
    "item recoding, written as Parquet": ten(
        [KM], ["item_recoding"], options=("--format", "parquet")
    ),
    "basket partition": ten([{"basket_k_anonymity": {"k": 2}}], ["basket_partition"]),
    "block recoding": ten([KM], [{"block_recoding": {"size": 5}}]),
    "suppressed items": ten(
        [{"hkp_coherence": {"h": 0.8, "k": 2, "p": 2, "private": ["c2"]}}], ["suppress_items"]
    ),
    "suppressed items, rho": ten(
        [{"rho_uncertainty": {"rho": 0.7, "sensitive": ["c1"]}}], ["suppress_items"]
    ),
    "disassociation": ten([{"disassociated_km": {"k": 2, "m": 2}}], ["disassociation"]),
    "hidden rules": ten([{"hidden_rules": RULES}], [{"hide_rules": {"method": "exact"}}]),
    "grouped recoding": purchases(
        [{"k_km_anonymity": {"k": 3, "m": 2}}], [{"grouped_recoding": {"size": 20}}]
    ),
}
CELLS = {"path_recoding": {"cell": 500, "budget": 0.2}}
PATHS = {
    "recoding and suppression": paths(
        [{"lkc_privacy": {"k": 3, "l": 2}}], [CELLS, "point_suppression"]
    ),
    "suppression alone": paths(
        [{"km_anonymity": {"k": 2, "m": 1}}],
        [{"path_recoding": {"cell": 1000, "time_width": "6h", "budget": 0.5}}, "point_suppression"],
    ),
    "visits": paths([{"km_visits": {"k": 1, "m": 2}}], ["collapse_repeats", CELLS]),
    "time shift": paths([{"km_visits": {"k": 1, "m": 1}}], [{"time_shift": {}}]),
}
GRAPH = {
    "degrees": graph([{"k_degree": {"k": 3}}], [{"degree_anonymization": {"k": 3}}]),
    "degrees with deletions": graph(
        [{"k_degree": {"k": 2, "with_attributes": True}}],
        [{"degree_anonymization": {"k": 2, "deletions": True, "with_attributes": True}}],
    ),
    "neighbour sets": graph(
        [{"k_neighbour_sets": {"k": 2}}, {"h_refinement_k": {"k": 2, "rounds": 2}}],
        [{"neighbour_set_blowup": {"k": 2}}],
    ),
    "neighbourhoods": graph(
        [{"k_neighbourhood": {"k": 2}}], [{"neighbourhood_anonymization": {"k": 2}}]
    ),
}


def placed(table: str, step: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A step in one of several tables."""
    ((name, fields),) = step.items()
    return {name: {**fields, "table": table, **more}}


PEOPLE_AND_VISITS = [
    {"k_anonymity": {"k": 3, "table": "people"}},
    {"k_anonymity": {"k": 4, "table": "visits"}},
]
RECODED = [placed("people", GLOBAL), placed("visits", GLOBAL)]
ANY = {"persons_k_anonymity": {"k": 2, "knows": "any", "facts": 1}}
OWN = {"persons_l_diversity": {"sensitive": "people.diagnosis", "l": 2, "knows": "own"}}
DROPPED = placed(
    "visits",
    {"suppression": {"what": "tuple", "budget": 0.9}},
    aim=[{"k_anonymity": {"k": 2}}],
    drop="people",
)
TABLES = {
    "placed steps": clinic(
        PEOPLE_AND_VISITS,
        [{"cap_rows": {"table": "visits", "at_most": 3}}, *RECODED, "key_pseudonyms"],
        contract=[{"means": {"columns": ["cost"], "table": "visits", "at_most": 0.9}}],
    ),
    "placed noise": clinic(
        PEOPLE_AND_VISITS[:1],
        [
            placed("people", GLOBAL),
            placed("visits", {"add_noise": {"columns": ["cost"], "alpha": 0.2}}),
        ],
    ),
    "people dropped with their rows": clinic(
        PEOPLE_AND_VISITS[:1], [DROPPED, placed("people", GLOBAL)]
    ),
    "persons known by any fact": clinic(
        [ANY, OWN],
        [
            placed("people", GLOBAL),
            {"cap_rows": {"table": "visits", "at_most": 2}},
            placed("visits", GLOBAL, aim=[{"k_anonymity": {"k": 20}}]),
            "trim_rows",
            {"suppress_persons": {"budget": 0.5}},
        ],
    ),
    "even counts": clinic(
        [{"persons_k_anonymity": {"k": 2, "knows": "counts"}}],
        [
            placed("people", GLOBAL),
            {"drop_people": {"table": "visits", "more_than": 6}},
            {"even_counts": {"budget": 0.95}},
            {"suppress_persons": {"budget": 0.9}},
        ],
    ),
    "coarse counts": clinic(
        PEOPLE_AND_VISITS[:1],
        [
            placed("people", GLOBAL),
            {"coarsen_counts": {"table": "visits", "to": [1, 2, 4]}},
            {"key_pseudonyms": {"split": True}},
        ],
        options=("--format", "parquet"),
    ),
}
SHAPED_CASES = {
    f"{shape}: {name}": case
    for shape, cases in {
        "baskets": BASKETS,
        "paths": PATHS,
        "graph": GRAPH,
        "tables": TABLES,
    }.items()
    for name, case in cases.items()
}
