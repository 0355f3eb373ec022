"""What a report says of attacks: the strongest first, what they exceed, and what is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.core import registry
from sfumato.core.attack import USUAL_RATE, Attack
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import label_of, words_of
from sfumato.core.words import count_of, inflect, join_words, percent

MOST_AT_ONCE = 6
"""So many findings are told at once; the others are behind a click."""


def attack_label(finding: Fields) -> str:
    """The attack of a finding, with its parameters as a recipe writes them.

    >>> attack_label({"attack": "suda", "parameters": {"most": 3}})
    'suda: {most: 3}'
    """
    return label_of(finding["attack"], finding.get("parameters") or {})


def attack_words(finding: Fields) -> str:
    """The attack of a finding in words."""
    return words_of(finding["attack"], finding.get("parameters") or {})


def rank_attacks(attacks: Fields) -> list[Document]:
    """What was tried, strongest first: what goes beyond a limit of the recipe, then by what it
    surely has over guessing.

    That is the lower end of the rate less what guessing gives, in points: 100 % beside a guess of
    99.99 % is hardly anything. Of two that are as strong, who finds people comes before who learns
    a value of theirs.

    >>> sure = {"exceeds": True, "limit": None, "interval": None}
    >>> skewness = {**sure, "attack": "skewness", "value": 1.0, "baseline": 0.9999}
    >>> linkage = {**sure, "attack": "linkage", "value": 0.4, "baseline": 0.01}
    >>> [one["attack"] for one in rank_attacks({"tried": [skewness, linkage]})]
    ['linkage', 'skewness']
    """
    findings: Sequence[Document] = attacks.get("tried", [])
    return sorted(
        findings, key=lambda t: (not exceeds_limit(t), -_gain(t), _learns_a_value(t), -t["value"])
    )


def unknown_attacks(attacks: Fields | None) -> list[Document]:
    """What could not be tried although it might succeed; whatever is not said to have nothing to
    attack is unknown.

    >>> inapplicable = {"attack": "composition", "status": "does not apply"}
    >>> unknown_attacks({"skipped": [{"attack": "linkage"}, inapplicable]})
    [{'attack': 'linkage'}]
    """
    return [
        attempt
        for attempt in (attacks or {}).get("skipped", [])
        if attempt.get("status") != "does not apply"
    ]


def conclusion(attacks: Fields) -> str:
    """How many of the attacks go too far, and how many are unknown: the one is never said without
    the other.

    >>> tried = [{"exceeds": False, "limit": None, "threshold": 0.2}]
    >>> conclusion({"tried": tried, "skipped": [{"attack": "linkage"}]})
    'The only attack tried does not go beyond the usual 20 %; 1 attack is unknown.'
    """
    sentence = "; ".join(outcomes(attacks))
    if not sentence:
        return ""
    return f"{sentence[:1].upper()}{sentence[1:]}."


def outcomes(attacks: Fields) -> list[str]:
    """The clauses about attacks: beyond a limit of the recipe, beyond the usual, and unknown.

    *Allowed* is said of limits only; where nobody set one, attacks are compared with a usual rate.
    """
    findings = attacks.get("tried", [])
    over = sum(exceeds_limit(attack) for attack in findings)
    beyond = sum(bool(attack["exceeds"]) for attack in findings) - over
    clauses = []
    if over:
        verb = inflect(over, "goes", "go")
        clauses.append(f"{count_of(over, 'attack')} {verb} further than the recipe allows")
    if beyond:
        verb = inflect(beyond, "goes", "go")
        clauses.append(f"{count_of(beyond, 'attack')} {verb} beyond {_usual_rate(findings)}")
    if not findings:
        clauses.append("no attack could be tried")
    elif not clauses:
        far = f"beyond {_usual_rate(findings)}"
        if all(attack["limit"] is not None for attack in findings):
            far = "further than the recipe allows"
        if len(findings) == 1:
            clauses.append(f"the only attack tried does not go {far}")
        else:
            clauses.append(f"none of {len(findings)} attacks goes {far}")
    unknown = len(unknown_attacks(attacks))
    if unknown:
        clauses.append(f"{count_of(unknown, 'attack')} {inflect(unknown, 'is', 'are')} unknown")
    return clauses


def exceeds_limit(finding: Fields) -> bool:
    """Whether an attack goes further than a limit that the recipe sets."""
    return bool(finding["exceeds"] and finding.get("limit") is not None)


def beyond_what(finding: Fields) -> str:
    """What an attack goes beyond, for a reader who may not know of limits.

    >>> beyond_what({"limit": 0.1, "threshold": 0.2})
    'More than the recipe allows'
    >>> beyond_what({"limit": None, "threshold": 0.2})
    'Beyond the usual 20 %'
    """
    if finding["limit"] is not None:
        return "More than the recipe allows"
    return f"Beyond {_usual_rate([finding])}"


def _usual_rate(findings: Iterable[Fields]) -> str:
    """The rate that attacks without a limit are compared with; *usual* where nobody asked for
    another.
    """
    rates = sorted({attack["threshold"] for attack in findings if attack["limit"] is None})
    shares = join_words(map(percent, rates))
    if rates == [USUAL_RATE]:
        return f"the usual {shares}"
    return f"the {shares} asked for"


def success_limit(finding: Fields) -> float:
    """The rate of success up to which an attack is allowed: the recipe's limit, or what guessing
    and the threshold leave.

    >>> success_limit({"limit": 0.1, "threshold": 0.2})
    0.1
    >>> success_limit({"limit": None, "threshold": 0.2, "baseline": 0.5})
    0.6
    """
    if finding["limit"] is not None:
        return float(finding["limit"])
    guess = finding["baseline"] or 0.0
    return float(guess + finding["threshold"] * (1 - guess))


def strongest_attack(attacks: Fields | None) -> Document | None:
    """The worst of what exceeds what is allowed; None where nothing does."""
    return next((finding for finding in rank_attacks(attacks or {}) if finding["exceeds"]), None)


def _gain(finding: Fields) -> float:
    """What an attack surely has over guessing, in points; what differs by less than a billionth is
    the same.
    """
    if finding.get("interval"):
        low = finding["interval"][0]
    else:
        low = finding["value"]
    return round(float(low) - float(finding.get("baseline") or 0.0), 9)


def _learns_a_value(finding: Fields) -> bool:
    member = registry.find_class("risk", finding["attack"])
    return member is not None and issubclass(member, Attack) and member.learns == "attribute"
