"""Where numbers of a release may surprise people who know another tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WILDCARD = (
    "Missing values match everything here, as in sdcMicro; ARX counts them as a value of their own, "
    "and finds other class sizes."
)
BY_MODEL = {
    "l_diversity": "Entropy l-diversity compares e^H with l exactly; ARX rejects some classes that meet it with equality.",
    "delta_disclosure": "A value that is absent from a class breaks δ-disclosure here; ARX and pycanon skip it.",
    "t_closeness": "The reference distribution is that of the original table; tools that take the released one "
    "report smaller distances after suppression.",
    "population_uniqueness": "The slide negative binomial estimate follows the derivation, not the equations of ARX.",
    "beta_likeness": "β-likeness takes the largest gain over all values, as in the paper; pycanon caps it per class.",
}
BY_STEP = {
    "global_recoding": "Loss counts every leaf of a hierarchy, whether it occurs or not, and suppressed records at the top, like ARX.",
    "suppression": "Cell suppression is minimised for all records together; sdcMicro goes key by key and suppresses more.",
    "add_noise": "alpha is a share of the variance; sdcMicro's noise is 100·√alpha.",
    "microaggregate": "Groups are formed on z-scores and ties are broken by the content of the rows, so row order does not matter.",
    "pram": "The diagonal is what the recipe says; sdcMicro draws it at random.",
    "rank_swap": "p is a share of the records; sdcMicro groups 5 % at both ends first.",
}
ATTACKED = (
    "Attacks compare with what guessing, or the same release without the person's own record, would reach; "
    "rates of other tools are often without that control."
)


def differences_of(certificate: Mapping[str, Any]) -> list[str]:
    """The sentences that concern this release."""
    found = []
    if "wildcard" in certificate.get("missing_rule", {}).values():
        found.append(WILDCARD)
    for section, known in (("meet", BY_MODEL), ("steps", BY_STEP)):
        for spec in certificate["recipe"].get(section, []):
            name = spec if isinstance(spec, str) else next(iter(spec), "")
            if name in known and known[name] not in found:
                found.append(known[name])
    return [*found, ATTACKED] if certificate.get("attacks") else found
