"""What the two pages tell of people who are described by more than a row: counts, columns, steps,
attacks before and after.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.core import registry
from sfumato.core.placed import PlacedStep
from sfumato.core.recipe import columns_in_recipe
from sfumato.core.shape import DATA, PEOPLE, Shape
from sfumato.core.words import join_words, percent, plain_name
from sfumato.release.report import wording
from sfumato.release.report.attacks import attack_label, attack_picture, unknown
from sfumato.release.report.curves import curve_pictures
from sfumato.release.report.measures import best_of, meaning_of, plain_words, title_of
from sfumato.release.report.pictures import Picture


def public_facts(certificate: Mapping[str, Any], pictures: Mapping[str, Picture]) -> dict[str, Any]:
    """What the page that goes with the released files tells."""
    measured, shape = certificate.get("utility", {}).items(), Shape(certificate["shape"])
    return {
        **_of_both(certificate),
        **_drawn(pictures),
        "worth": [
            (title_of(n, shape), value, best_of(n, shape), meaning_of(n, shape))
            for n, value in measured
        ],
    }


def owner_facts(record: Mapping[str, Any], pictures: Mapping[str, Picture]) -> dict[str, Any]:
    """What the page that stays with the owner tells: before and after."""
    certificate = record["certificate"]
    was, now = record["counts_before"], record["counts_after"]
    measured = (record.get("utility") or {}).get("measures", [])
    return {
        **_of_both(certificate),
        **_drawn(pictures),
        "counts": [
            (name.replace("_", " "), was.get(name), now.get(name))
            for name in dict.fromkeys([*was, *now])
        ],
        "both": _before_and_after(record),
        "worth": [(title_of(m["name"], Shape(certificate["shape"])), m) for m in measured],
    }


def _of_both(certificate: Mapping[str, Any]) -> dict[str, Any]:
    files = list(_written(certificate).values())
    return {
        "files": files,
        "formulas": [told for section in files if (told := wording.formulas(section))],
        "steps": steps_told(certificate),
        "columns": _columns(certificate),
    }


def public_pictures(certificate: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of the page that goes with the released files: nothing of the original."""
    attacks = certificate.get("attacks")
    return _there(
        {**curve_pictures(None, attacks), "attacks": attack_picture(attacks) if attacks else None}
    )


def owner_pictures(record: Mapping[str, Any]) -> dict[str, Picture]:
    """The pictures of the page that stays with the owner: before and after."""
    attacks = attacks_of(record)
    curves = curve_pictures(record.get("before"), attacks)
    return _there({**curves, "attacks": attack_picture(attacks) if attacks else None})


def attacks_of(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What attacks found in the release: its certificate tells it, or the owner keeps it."""
    found: dict[str, Any] | None = record["certificate"].get("attacks") or record.get("attacks")
    return found


def _drawn(pictures: Mapping[str, Picture]) -> dict[str, Any]:
    curves = [picture for name, picture in pictures.items() if name != "attacks"]
    return {"curves": curves, "bars": pictures.get("attacks")}


def _there(drawn: Mapping[str, Picture | None]) -> dict[str, Picture]:
    return {name: picture for name, picture in drawn.items() if picture is not None}


def steps_told(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each step with what it did: in a sentence where it has one, else its single facts."""
    shape, told = Shape(certificate["shape"]), list[tuple[str, str]]()
    for plan, (step, facts) in zip(
        certificate["plan"], wording.steps_taken(certificate), strict=True
    ):
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
            placed = [
                step for step in plan if registry.is_placed("steps", step["step"], step, shape)
            ]
            rows.append(
                (full, wording.role_names(roles), _fate(name, roles, released, plan, placed))
            )
    return list(dict.fromkeys(rows))


def _written(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a certificate says of each table that was written."""
    several: Mapping[str, Any] | None = certificate.get("tables")
    return (
        {name: certificate[name] for name in (DATA, PEOPLE) if name in certificate}
        if several is None
        else several
    )


def _fate(
    name: str,
    roles: list[str],
    released: Mapping[str, Any],
    plan: list[Mapping[str, Any]],
    placed: list[Mapping[str, Any]],
) -> str:
    """What became of a column; ``placed`` are those of the steps that were carried out in its
    table.
    """
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
    means = [plain_name(step["step"]) for step in placed if "levels" not in step]
    changed = bool(means) and "quasi" in roles
    return f"released, changed where {join_words(means)} had to" if changed else "released"


def _before_and_after(record: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """What each attack reaches before and after, and what that would be; where there is no rate,
    whether it is unknown.
    """
    shape, reports = (
        Shape(record["certificate"]["shape"]),
        (record.get("before"), attacks_of(record)),
    )
    before, after = ((found or {}).get("tried", []) for found in reports)
    attacks: dict[str, Mapping[str, Any]] = {}
    for one in (*after, *before, *(blind for found in reports for blind in unknown(found))):
        attacks.setdefault(attack_label(one), one)
    rows = []
    for label, one in attacks.items():
        rates = [_rate(label, found) for found in reports]
        rows.append(
            (label, plain_words(one["attack"], shape, one.get("parameters")), rates[0], rates[1])
        )
    return rows


def _rate(label: str, found: Mapping[str, Any] | None) -> str:
    for one in (found or {}).get("tried", []):
        if attack_label(one) == label:
            return percent(one["value"])
    said = [
        one.get("status", "unknown")
        for one in (found or {}).get("skipped", [])
        if attack_label(one) == label
    ]
    return said[0] if said else "not tried"
