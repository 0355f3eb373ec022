"""How long data may be kept, as policies write it."""

from __future__ import annotations

import datetime
import re
from typing import Literal

from sfumato.policy.places import Place
from sfumato.policy.policy import Retention

UNITS: dict[str, Literal["day", "month", "year"]] = {
    "day": "day", "days": "day", "month": "month", "months": "month", "year": "year", "years": "year",
}  # fmt: skip
TEXTS = ("head", "headerList", "header", "desc", "descriptionList", "description")


def read_retention(place: Place) -> Retention:
    """The retention of a purpose; what cannot be read has expired."""
    place.only("type", "pointInTime", *TEXTS)
    kind = re.sub(r"[^a-z]", "", place.text("type", default="indefinite").lower())
    if kind in ("indefinite", ""):
        return Retention()
    if kind == "fixeddate":
        return Retention("fixed_date", date=_date(place))
    if kind != "afterpurpose":
        place.error("unknown_retention", "retention must be indefinite, afterPurpose or fixedDate", "type")
        return Retention("fixed_date", date=datetime.date.min)
    amount, unit = _duration(place)
    return Retention("after_purpose", amount=amount, unit=unit)


def _duration(place: Place) -> tuple[int | None, Literal["day", "month", "year"]]:
    point = place.at("pointInTime")
    if point is not None and isinstance(point.value, dict):
        amount, unit = point.text("value"), point.text("type", default="day").lower()
    else:
        found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", place.text("pointInTime", default="0").lower() or "0")
        amount, unit = found.groups() if found else ("?", "")
    if not re.fullmatch(r"\d{1,6}", amount) or (unit or "day") not in UNITS:
        place.error(
            "unreadable_duration", "a duration is a number of days, months or years, like '30 days'", "pointInTime"
        )
        return None, "day"
    return int(amount), UNITS[unit or "day"]


def _date(place: Place) -> datetime.date:
    said = place.text("pointInTime")
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%SZ"):
        try:
            return datetime.datetime.strptime(said, form).date()
        except ValueError:
            continue
    place.error("unreadable_date", "a fixed date must be written like 2030-12-31", "pointInTime")
    return datetime.date.min
