"""The two pages of a release: one to share, one to keep. Each is a single file that needs no network and no script."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.report import wording
from sfumato.report.differences import differences_of
from sfumato.report.maps import attack_picture, card_picture, gone_bars, pair_map
from sfumato.report.pictures import class_size_histogram, column_levels, risk_bars
from sfumato.report.scatter import loss_risk_map

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_CONTRIBUTIONS = 12
MOST_TRADE_OFFS = 10
TABLES = "For every two columns, the share of records in another cell of their table than before; larger squares are larger shares."
ASSOCIATIONS = "For every two columns, the change of Cramér's V, which is 0 for independent columns and 1 where one determines the other."
KEY_FIGURES = (
    ("records", "records"),
    ("persons", "persons"),
    ("classes", "classes"),
    ("smallest class", "smallest_class"),
    ("unique records", "unique_records"),
)


def public_page(certificate: Mapping[str, Any]) -> str:
    """The report that goes with the released file: what its certificate says, for people."""
    plain = _as_json(certificate)
    classes, k = plain["classes"], wording.promised_k(plain)
    counted = wording.members(plain, (classes["sizes"], plain["data"]["rows"]))
    return rendered(
        "public.html",
        **_shared(plain),
        histogram=class_size_histogram(classes["sizes"], k, counted=counted),
        columns=wording.column_stories(plain),
        steps=wording.steps_taken(plain),
        risks=[
            (wording.risk_name(name), value, wording.RISKS.get(name, "")) for name, value in classes["risks"].items()
        ],
        signature=plain.get("signature"),
        utility=[(wording.humanised(n), v, _best(n)) for n, v in plain.get("utility", {}).items()],
        preserved=[kept for step in plain["plan"] for kept in step.get("preserved", [])],
    )


def owner_page(record: Mapping[str, Any]) -> str:
    """The report that stays with the owner: before and after, what gave people away, how the result was found."""
    plain = _as_json(record)
    certificate, before, after = plain["certificate"], plain["before"], plain["after"]
    k = wording.promised_k(certificate)
    counted = wording.members(certificate, *((a["class_sizes"], a["records"]) for a in (before, after)))
    was, now = ({m["name"]: m["value"] for m in assessed["measures"]} for assessed in (before, after))
    contributions = list(before["contributions"].items())
    return rendered(
        "owner.html",
        **_shared(certificate),
        record=plain,
        figures=[(term, before[key], after[key]) for term, key in KEY_FIGURES if before[key] is not None],
        risk_picture=risk_bars(was, now, None if k is None else 1 / k),
        risks=[
            (wording.risk_name(m["name"]), was.get(m["name"], 0), m["value"], m["meaning"]) for m in after["measures"]
        ],
        histogram=class_size_histogram(after["class_sizes"], k, before["class_sizes"], counted=counted),
        columns=plain["columns"],
        contributions=_with_widths(contributions[:MOST_CONTRIBUTIONS]),
        more_contributions=max(0, len(contributions) - MOST_CONTRIBUTIONS),
        exposures=[("before", before["exposing_sets"]), ("after", after["exposing_sets"])],
        efforts=wording.steps_taken({"plan": plain["effort"]}),
        scores=wording.facts(plain["scores"]),
        **_choice(plain.get("alternatives")),
        **_told(plain),
    )


def _told(record: Mapping[str, Any]) -> dict[str, Any]:
    """The owner's sections about columns, utility and what masking kept."""
    story = record.get("story") or {"cards": [], "maps": {"columns": []}, "suppressed_cells": {}}
    maps = story["maps"]
    moved = [b - a for a, b in zip(maps.get("association_before", []), maps.get("association_after", []), strict=True)]
    return {
        "cards": [(card, card_picture(card)) for card in story["cards"] if card["bins"]],
        "sampled": story.get("sampled", False),
        "worth": record.get("utility", {}).get("measures", []),
        "association_map": pair_map(maps["columns"], moved, ASSOCIATIONS, signed=True) if moved else None,
        "gone_picture": gone_bars(story["suppressed_cells"]),
        "preserved": record.get("preserved", []),
        "warnings": record.get("warnings", []),
    }


def _best(name: str) -> str:
    """Which way a utility is better, for the public page."""
    higher = ("completeness", "uniqueness", "timeliness", "validity", "accuracy", "consistency", "predictive_accuracy")
    return "1 is best" if name in higher or name == "regression_overlap" else "0 is best"


def _choice(alternatives: Mapping[str, Any] | None) -> dict[str, Any]:
    """The section about other nodes: nothing where no step chose from a lattice."""
    if alternatives is None:
        return {"alternatives": None}
    return {
        "alternatives": alternatives,
        "objective": wording.humanised(alternatives["objective"]),
        "choice_picture": loss_risk_map(alternatives),
        "trade_off": [(_moves(one, alternatives), one) for one in _spread(alternatives["trade_off"], MOST_TRADE_OFFS)],
    }


def _moves(option: Mapping[str, Any], alternatives: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The columns whose level differs from that of the chosen node: its level there, and here."""
    chosen = alternatives["chosen"]["levels"]
    return [(column, chosen[column], level) for column, level in option["levels"].items() if level != chosen[column]]


def _spread(options: Sequence[Any], most: int) -> list[Any]:
    """At most so many of a list, evenly spread, the first and the last among them."""
    if len(options) <= most:
        return list(options)
    return [options[round(i * (len(options) - 1) / (most - 1))] for i in range(most)]


def _shared(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What both pages tell. The picture of the levels is equal on both, so it is rendered once."""
    recipe = _yaml(certificate["recipe"])
    maps = certificate.get("story", {}).get("maps", {"columns": [], "table_distance": []})
    attacks = certificate.get("attacks")
    return {
        "attacks": attacks,
        "attack_picture": attack_picture(attacks) if attacks else None,
        "table_map": pair_map(maps["columns"], maps["table_distance"], TABLES),
        "differences": differences_of(certificate),
        "certificate": certificate,
        "headline": wording.headline(certificate),
        "levels": column_levels(certificate["plan"]),
        "missing": wording.missing_rules(certificate),
        "recipe": recipe,
        "recipe_lines": len(recipe.splitlines()),
    }


def _with_widths(contributions: Sequence[tuple[str, float]]) -> list[tuple[str, float, float]]:
    """Contributions with the length of their bar in percent of the largest."""
    largest = max((share for _, share in contributions), default=0) or 1
    return [(column, share, round(100 * share / largest, 1)) for column, share in contributions]


def _as_json(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as its file would hold it, so that a page can be made again from the file alone."""
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain


def _yaml(document: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 88
    buffer = io.StringIO()
    yaml.dump(document, buffer)
    return buffer.getvalue()


def rendered(template: str, **facts: Any) -> str:
    """A page made from a template."""
    return _environment().get_template(template).render(**facts)


@functools.lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("sfumato.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": wording.number,
        "percent": wording.percent,
        "score": wording.score,
        "moment": wording.moment,
        "roles": wording.role_names,
        "inline": _inline,
    }
    return made


def _inline(svg: str) -> str:
    """An SVG as part of a page: HTML needs no namespace, and the page's ``role="img"`` speaks for the whole."""
    from markupsafe import Markup

    start = svg.index(">")
    opening = (
        svg[:start]
        .replace(' xmlns="http://www.w3.org/2000/svg"', "")
        .replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    )
    # Vega escapes every text it writes; tests hold hostile column names against it.
    return Markup(opening + ' aria-hidden="true" focusable="false"' + svg[start:])  # noqa: S704
