"""The one headline of a release: promises, limits, attacks and what is unknown in one sentence, on
pages and in the terminal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from sfumato.core.blocks import Block, VerdictBlock
from sfumato.core.words import inflect
from sfumato.release.report.attacks import outcomes, over_limit, unknown

State = Literal["holds", "mixed", "broken", "open"]
NOT_ATTACKED = "Not attacked yet: run `sfumato attack` before sharing."


@dataclasses.dataclass(frozen=True)
class Headline:
    """The verdict on everything at once, and how it is said.

    ``broken``: a promise, a limit or an agreement of the recipe is not kept. ``mixed``: they are,
    but attacks go beyond the usual, or are unknown. ``open``: nothing was promised. ``holds``:
    nothing speaks against the release.
    """

    state: State
    text: str

    def blocks(self) -> Sequence[Block]:
        """The headline as the verdict on the whole."""
        holds = {"holds": True, "broken": False}.get(self.state)
        return [VerdictBlock(holds, self.text, headline=True)]


def headline(record: Mapping[str, Any]) -> Headline:
    """The headline of a certificate, or of anything with its ``verdicts``, ``limits``, ``contract``
    and ``attacks``.

    >>> headline({"verdicts": [{"holds": True}, {"holds": False}], "attacks": None}).text
    '1 of 2 promises does not hold; not attacked yet'
    >>> one = {"value": 0.9, "exceeds": True, "limit": None, "threshold": 0.2}
    >>> headline({"verdicts": [{"holds": True}], "attacks": {"tried": [one, one], "skipped": [{}, {}, {}]}})
    Headline(state='mixed', text='Every promise holds; 2 attacks go beyond the usual 20 %; 3 attacks are unknown')
    """
    attacks = record.get("attacks")
    clauses = [_promised(record), *_bounds(record), *(outcomes(attacks) or _untried(record))]
    return Headline(_state(record, attacks), "; ".join(clauses))


def _state(record: Mapping[str, Any], attacks: Mapping[str, Any] | None) -> State:
    bounds = [*(record.get("limits") or ()), *(record.get("contract") or ())]
    broken = [one for one in bounds if not one["holds"]]
    if any(not v["holds"] for v in record["verdicts"]) or any(
        b.get("refuses", True) for b in broken
    ):
        return "broken"
    tried = (attacks or {}).get("tried", [])
    if any(map(over_limit, tried)) or any(one.get("limit") is not None for one in unknown(attacks)):
        return "broken"
    if broken or unknown(attacks) or any(one["exceeds"] for one in tried):
        return "mixed"
    return "holds" if record["verdicts"] or _is_private(record) else "open"


def _promised(record: Mapping[str, Any]) -> str:
    """Whether the promises hold; where the only one is an ε, what it is."""
    if record["verdicts"] or not _is_private(record):
        return promises_told(record["verdicts"])
    private = record["differential_privacy"]
    return f"ε = {private['epsilon']:g}, δ = {private['delta']:g} for {private['unit_of_privacy']}"


def _is_private(record: Mapping[str, Any]) -> bool:
    return bool((record.get("differential_privacy") or {}).get("certified"))


def _untried(record: Mapping[str, Any]) -> list[str]:
    """That nobody tried is said too; a release with a certified ε tells of no attacks, tried or
    not.
    """
    return [] if _is_private(record) else ["not attacked yet"]


def promises_told(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Whether the promises hold, in a clause."""
    broken = sum(not v["holds"] for v in verdicts)
    if not verdicts:
        return "No promise was made"
    if not broken:
        of_file = any(v.get("of_persons") is False for v in verdicts)
        held = (
            f"{verdicts[0]['promise']} holds"
            if len(verdicts) == 1 and "promise" in verdicts[0]
            else "Every promise holds"
        )
        return f"{held} of the file, not of persons" if of_file else held
    if len(verdicts) == 1:
        return f"{verdicts[0].get('promise', 'The promise')} does not hold"
    return f"{broken} of {len(verdicts)} promises {inflect(broken, 'does', 'do')} not hold"


def _bounds(record: Mapping[str, Any]) -> Iterator[str]:
    """What the recipe limits, and what had to survive: only where it says so."""
    for key, word in (("limits", "limit"), ("contract", "agreement")):
        given = record.get(key) or ()
        broken = sum(not one["holds"] for one in given)
        if broken:
            yield (
                f"{broken} of {len(given)} {inflect(len(given), word)}"
                f" {inflect(broken, 'is', 'are')} not kept"
            )
        elif given:
            yield f"every {word} is kept"
