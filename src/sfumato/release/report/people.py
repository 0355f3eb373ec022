"""The two pages of a release of people who are no table: one to share, one to keep, as for tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.core import registry
from sfumato.core.placed import PlacedStep
from sfumato.core.recipe import columns_in_recipe
from sfumato.core.shape import DATA, PEOPLE, Shape
from sfumato.release.report import wording
from sfumato.release.report.attacks import (
    MOST_AT_ONCE,
    attack_label,
    attack_picture,
    conclusion,
    ranked,
    strongest,
    unknown,
)
from sfumato.release.report.curves import curve_pictures
from sfumato.release.report.headline import headline
from sfumato.release.report.measures import best_of, meaning_of, plain_words, title_of
from sfumato.release.report.pages import as_shown, as_yaml, rendered
from sfumato.release.report.pictures import Picture


def public_page(certificate: Mapping[str, Any]) -> str:
    """The report that goes with the released files: what their certificate says, for people."""
    plain = as_shown(certificate)
    measured, shape = plain.get("utility", {}).items(), Shape(plain["shape"])
    return rendered(
        "people_public.html",
        **_shared(plain),
        **_drawn(public_pictures(plain)),
        columns=_columns(plain),
        worth=[(title_of(n, shape), value, best_of(n, shape), meaning_of(n, shape)) for n, value in measured],
        signature=plain.get("signature"),
    )


def owner_page(record: Mapping[str, Any]) -> str:
    """The report that stays with the owner: before and after, and how the result was found."""
    plain = as_shown(record)
    certificate = plain["certificate"]
    was, now = plain["counts_before"], plain["counts_after"]
    measured = (plain.get("utility") or {}).get("measures", [])
    return rendered(
        "people_owner.html",
        **_shared(certificate, plain),
        **_drawn(owner_pictures(plain)),
        record=plain,
        counts=[(name.replace("_", " "), was.get(name), now.get(name)) for name in dict.fromkeys([*was, *now])],
        columns=_columns(certificate),
        both=_before_and_after(plain),
        worth=[(title_of(m["name"], Shape(certificate["shape"])), m) for m in measured],
        efforts=wording.steps_taken({"plan": plain["effort"]}),
        scores=wording.facts(plain["scores"]),
    )


def public_pictures(certificate: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of the page that goes with the released files: nothing of the original."""
    attacks = certificate.get("attacks")
    return _there({**curve_pictures(None, attacks), "attacks": attack_picture(attacks) if attacks else None})


def owner_pictures(record: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of the page that stays with the owner: before and after."""
    attacks = _attacks_of(record)
    curves = curve_pictures(record.get("before"), attacks)
    return _there({**curves, "attacks": attack_picture(attacks) if attacks else None})


def _attacks_of(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What attacks found in the release: its certificate tells it, or the owner keeps it."""
    found: dict[str, Any] | None = record["certificate"].get("attacks") or record.get("attacks")
    return found


def _drawn(pictures: Mapping[str, Picture]) -> dict[str, Any]:
    curves = [picture for name, picture in pictures.items() if name != "attacks"]
    return {"curves": curves, "bars": pictures.get("attacks")}


def _there(drawn: Mapping[str, Picture | None]) -> dict[str, Picture]:
    return {name: picture for name, picture in drawn.items() if picture is not None}


def _shared(certificate: Mapping[str, Any], record: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What both pages tell."""
    recipe = as_yaml(certificate["recipe"])
    attacks = certificate.get("attacks") if record is None else _attacks_of(record)
    if attacks is not None:  # a name may mean another thing for tables
        shape = Shape(certificate["shape"])
        tried = [{**one, "words": plain_words(one["attack"], shape, one.get("parameters"))} for one in attacks["tried"]]
        attacks = {**attacks, "tried": tried}
    found = ranked(attacks) if attacks else []
    return {
        "attacks": attacks,
        "findings": (found[:MOST_AT_ONCE], found[MOST_AT_ONCE:]),
        "strongest": strongest(attacks),
        "unknown_attacks": unknown(attacks),
        "attacks_conclusion": conclusion(attacks) if attacks else "",
        "certificate": certificate,
        "headline": headline(certificate),
        "files": list(_written(certificate).values()),
        "formulas": [told for one in _written(certificate).values() if (told := wording.formulas(one))],
        "reading": wording.reading(certificate),
        "steps": steps_told(certificate),
        "recipe": recipe,
        "recipe_lines": len(recipe.splitlines()),
    }


def steps_told(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each step with what it did: in a sentence where it has one, else its single facts."""
    shape, told = Shape(certificate["shape"]), list[tuple[str, str]]()
    for plan, (step, facts) in zip(certificate["plan"], wording.steps_taken(certificate), strict=True):
        placed = registry.is_placed("steps", plan["step"], plan, shape)
        title = f"{step} in {plan['table']}" if placed else step
        single = "; ".join(f"{term}: {text}" for term, text in facts)
        told.append((title, _story(plan, shape) or single))
    return told


def _story(plan: Mapping[str, Any], shape: Shape) -> str | None:
    """What a step did, in its own words; None where it has none, or the plan was edited."""
    placed = registry.is_placed("steps", plan["step"], plan, shape)
    member = PlacedStep if placed else registry.family("steps", shape).get(plan["step"])
    try:
        story: str | None = None if member is None else member.story(plan)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return story


def _columns(certificate: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Every column of the original: its name, its role, and whether it is released."""
    described, written, rows = (
        columns_in_recipe(certificate["recipe"]),
        _written(certificate),
        list[tuple[str, str, str]](),
    )
    shape = Shape(certificate["shape"])
    for table, columns in described.items():
        released = written.get(table, {}).get("columns", {})
        for name, spec in columns.items():
            roles = [spec["role"]] if isinstance(spec["role"], str) else spec["role"]
            full = f"{table}.{name}" if "tables" in certificate else name
            plan = [step for step in certificate["plan"] if step.get("table", table) == table]
            placed = [step for step in plan if registry.is_placed("steps", step["step"], step, shape)]
            rows.append((full, wording.role_names(roles), _fate(name, roles, released, plan, placed)))
    return list(dict.fromkeys(rows))


def _written(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a certificate says of each table that was written."""
    several: Mapping[str, Any] | None = certificate.get("tables")
    return {name: certificate[name] for name in (DATA, PEOPLE) if name in certificate} if several is None else several


def _fate(
    name: str,
    roles: list[str],
    released: Mapping[str, Any],
    plan: list[Mapping[str, Any]],
    placed: list[Mapping[str, Any]],
) -> str:
    """What became of a column; ``placed`` are those of the steps that were carried out in its table."""
    if "direct" in roles:
        return "dropped: it names people by itself"
    if name not in released:
        return "not released"
    if "unit" in roles:
        return "people have new numbers"
    if "key" in roles:
        return "replaced by pseudonyms"
    place = wording.levels_of(plan).get(name)
    if place is not None:
        return wording.level_words(*place)
    means = [wording.humanised(step["step"]) for step in placed if "levels" not in step]
    changed = bool(means) and "quasi" in roles
    return f"released, changed where {' and '.join(means)} had to" if changed else "released"


def _before_and_after(record: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """What each attack reaches before and after, and what that would be; where there is no rate, whether it is unknown."""
    shape, reports = Shape(record["certificate"]["shape"]), (record.get("before"), _attacks_of(record))
    before, after = ((found or {}).get("tried", []) for found in reports)
    attacks: dict[str, Mapping[str, Any]] = {}
    for one in (*after, *before, *(blind for found in reports for blind in unknown(found))):
        attacks.setdefault(attack_label(one), one)
    rows = []
    for label, one in attacks.items():
        rates = [_rate(label, found) for found in reports]
        rows.append((label, plain_words(one["attack"], shape, one.get("parameters")), rates[0], rates[1]))
    return rows


def _rate(label: str, found: Mapping[str, Any] | None) -> str:
    for one in (found or {}).get("tried", []):
        if attack_label(one) == label:
            return wording.percent(one["value"])
    said = [one.get("status", "unknown") for one in (found or {}).get("skipped", []) if attack_label(one) == label]
    return said[0] if said else "not tried"
