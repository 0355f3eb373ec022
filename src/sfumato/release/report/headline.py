"""The one headline of a release: promises, limits, attacks and what is unknown in one sentence, on
pages and in the terminal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from sfumato.core.blocks import Block, VerdictBlock
from sfumato.core.fields import Fields
from sfumato.core.step import VALUES
from sfumato.core.words import count_of, inflect, number
from sfumato.release.report.attacks import exceeds_limit, outcomes, unknown_attacks

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


def headline(record: Fields) -> Headline:
    """The headline of a certificate, or of anything with its ``verdicts``, ``limits``, ``contract``
    and ``attacks``.

    >>> headline({"verdicts": [{"holds": True}, {"holds": False}], "attacks": None}).text
    '1 of 2 promises does not hold; not attacked yet'
    >>> one = {"value": 0.9, "exceeds": True, "limit": None, "threshold": 0.2}
    >>> attacks = {"tried": [one, one], "skipped": [{}, {}, {}]}
    >>> headline({"verdicts": [{"holds": True}], "attacks": attacks}).text
    'Every promise holds; 2 attacks go beyond the usual 20 %; 3 attacks are unknown'
    """
    attacks = record.get("attacks")
    private = record.get("differential_privacy") or {}
    certified = bool(private.get("certified"))
    if certified and not record["verdicts"]:
        epsilon, delta = number(private["epsilon"]), number(private["delta"])
        clauses = [f"ε = {epsilon}, δ = {delta} for {private['unit_of_privacy']}"]
    else:
        clauses = [promises_told(record["verdicts"])]
    for key, word in (("limits", "limit"), ("contract", "agreement")):
        bounds = record.get(key) or ()
        broken = sum(not bound["holds"] for bound in bounds)
        if broken:
            verb = inflect(broken, "does", "do")
            clauses.append(f"{broken} of {count_of(len(bounds), word)} {verb} not hold")
        elif bounds:
            clauses.append(f"every {word} holds")
    # A release with a certified ε needs no attack, unless it is given other columns; of others it
    # is said that nobody tried.
    if attacks is not None:
        clauses += outcomes(attacks)
    elif not certified or private.get("neighbours") == VALUES:
        clauses.append("not attacked yet")

    # The verdict on everything at once.
    findings = attacks.get("tried", []) if attacks else []
    unknown = unknown_attacks(attacks) if attacks else []
    bounds = [*(record.get("limits") or ()), *(record.get("contract") or ())]
    exceeded = [bound for bound in bounds if not bound["holds"]]
    state: State = "holds" if record["verdicts"] or certified else "open"
    if (
        any(not verdict["holds"] for verdict in record["verdicts"])
        or any(bound.get("refuses", True) for bound in exceeded)
        or any(map(exceeds_limit, findings))
        or any(attack.get("limit") is not None for attack in unknown)
    ):
        state = "broken"
    elif exceeded or unknown or any(attack["exceeds"] for attack in findings):
        state = "mixed"
    return Headline(state, "; ".join(clauses))


def promises_told(verdicts: Sequence[Fields]) -> str:
    """Whether the promises hold, in a clause."""
    broken = sum(not verdict["holds"] for verdict in verdicts)
    if not verdicts:
        return "No promise was made"
    promise = verdicts[0].get("promise")
    if broken and len(verdicts) == 1:
        return f"{promise or 'The promise'} does not hold"
    if broken:
        return f"{broken} of {len(verdicts)} promises {inflect(broken, 'does', 'do')} not hold"
    sentence = "Every promise holds"
    if promise and len(verdicts) == 1:
        sentence = f"{promise} holds"
    if any(verdict.get("of_persons") is False for verdict in verdicts):
        sentence += " of the file, not of persons"
    return sentence
