"""The decision as its terms are written down, read naively: for every tier a list of conditions."""

from __future__ import annotations

from sfumato.release.decision.evidence import REGISTER, DecisionEvidence, Figure
from sfumato.release.decision.terms import DecisionTerms

TIERS = ("internal", "contract", "publication")
SIZES = {
    "publication": {"low": 11, "medium": 15, "high": 20},
    "contract": {"low": 5, "medium": 5, "high": 11},
    "internal": {"low": 3, "medium": 5, "high": 11},
}
EPSILONS = {"publication": 1, "contract": 3, "internal": 8}


def naive_tier(terms: DecisionTerms, evidence: DecisionEvidence) -> str:
    """The highest tier such that it and all below it hold."""
    granted = "none"
    for tier in TIERS:
        if not all(_conditions(tier, terms, evidence)):
            return granted
        granted = tier
    return granted


def _harm(terms: DecisionTerms) -> str:
    worst = {"low": 0, "medium": 1, "high": 2}.get(terms.sensitivity, 2)
    if terms.population is None or terms.population <= 20_000:
        worst = min(2, worst + 1)
    return ("low", "medium", "high")[worst]


def _small(figure: Figure | None, limit: float) -> bool:
    if figure is None or figure.of == 0 or figure.trials < min(200, figure.of):
        return False
    return figure.high <= limit + 1e-12


def _attack_holds(evidence: DecisionEvidence, name: str, intruder: str, limit: float) -> bool:
    for entry in evidence.attacks:
        if (entry.attack, entry.intruder) == (name, intruder):
            if entry.status == "does not apply":
                return True
            return entry.status == "tried" and _small(entry.figure, limit)
    return False


def _attribute_conditions(
    tier: str, harm: str, column: str, evidence: DecisionEvidence, limit: float
) -> list[bool]:
    entries = [entry for entry in evidence.attributes if entry.column == column]
    if not entries or entries[0].status == "unknown":
        return [False]
    entry = entries[0]
    if entry.status == "does not apply":
        return [True]
    conditions = [_small(entry.risk, limit)]
    if entry.uncommon_people or entry.uncommon_risk is not None:
        conditions.append(_small(entry.uncommon_risk, limit))
    if "classes" in map(str, evidence.kinds):
        certain = entry.certain
        if certain is None:
            return [False]
        share = certain.one_value / max(1, certain.people)
        public = tier == "publication"
        conditions.append(certain.one_value == 0 if public else share <= limit + 1e-12)
        if public and harm == "high" and entry.distinct >= 3:
            conditions.append(certain.two_values == 0)
    return conditions


def _conditions(tier: str, terms: DecisionTerms, evidence: DecisionEvidence) -> list[bool]:
    harm = _harm(terms)
    size = SIZES[tier][harm]
    limit = 1 / size
    kinds = set(map(str, evidence.kinds))
    accounted = "accounted" in kinds
    of_people = bool(kinds & {"classes", "perturbed"})
    found = evidence.dependences
    conditions: list[bool] = []
    attacks: list[tuple[str, str]] = []
    if "classes" in kinds:
        conditions.append(evidence.file is not None and evidence.file.smallest_class >= size)
    if of_people and not accounted:
        attacks += [("linkage", "prosecutor"), ("probabilistic_linkage", "prosecutor")]
        nothing = found is not None and not found.found and found.linkage is None
        passes = found is not None and found.status != "unknown"
        implied = None if found is None else found.linkage
        conditions.append(passes and (nothing or _small(implied, limit)))
    if "perturbed" in kinds and not accounted and tier == "publication":
        attacks.append(("worst_case_linkage", "worst case"))
    if "drawn" in kinds and not accounted:
        attacks += [("copied_records", "prosecutor"), ("near_copies", "prosecutor")]
        attacks.append(("membership", "journalist"))
    for column in evidence.sensitive:
        conditions += _attribute_conditions(tier, harm, column, evidence, limit)
    if of_people:
        accepted = {(name, pair.implies) for pair in terms.accepted for name in pair.columns}
        taken = () if found is None else found.taken_on
        known = [tuple(pair.split(" → ")) in accepted for pair in taken]
        passes = found is not None and found.status != "unknown" and not found.refused
        conditions.append(passes and all(known))
    if of_people and not accounted and tier == "publication":
        attacks += [("linkage", "neighbour"), ("linkage", "colleague")]
    if of_people and not accounted and tier != "internal":
        for name in ("transparency", "minimality", "downcoding"):
            attacks.append((name, "worst case"))
    if tier != "internal":
        conditions += _composition_conditions(terms, evidence, limit)
    checked = evidence.verification
    again = checked is not None and (
        checked.made_again is True or (checked.made_again is None and accounted)
    )
    sound = checked is not None and not checked.failing and not checked.open_promises
    conditions.append(again and sound and checked is not None and checked.with_original)
    if accounted:
        account = evidence.epsilon
        certified = account is not None and account.per_person
        conditions.append(certified and account is not None and account.epsilon <= EPSILONS[tier])
        if account is not None and account.delta:
            people = account.public_people
            conditions.append(people is not None and account.delta <= 1 / (10 * people))
    conditions += [_attack_holds(evidence, name, intruder, limit) for name, intruder in attacks]
    return conditions


def _composition_conditions(
    terms: DecisionTerms, evidence: DecisionEvidence, limit: float
) -> list[bool]:
    conditions = [len(evidence.compositions) >= evidence.earlier]
    about_them = False
    for entry in evidence.compositions:
        if entry.status == "does not apply":
            about_them |= entry.release == REGISTER
            continue
        about_them = True
        conditions.append(entry.status == "tried" and _small(entry.figure, limit))
    conditions.append(about_them or terms.first_release is not None)
    return conditions
