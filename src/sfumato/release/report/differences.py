"""Where numbers of a release may surprise people who know another tool."""

from __future__ import annotations

from sfumato.core.fields import Fields

WILDCARD = (
    "Missing values match everything here, as in sdcMicro; ARX counts them as a value of their "
    "own, and reports other class sizes."
)
BY_MODEL = {
    "l_diversity": (
        "Entropy l-diversity compares e^H with l with a tolerance of 1e-9; ARX, without one,"
        " rejects some classes that meet it with equality."
    ),
    "delta_disclosure": (
        "A value that is absent from a class breaks δ-disclosure here unless the recipe says"
        " absent: skip; ARX and pycanon skip it, and ARX takes logarithms to base 2."
    ),
    "t_closeness": (
        "The reference distribution is that of the original table; tools that use the released "
        "one report smaller distances after suppression."
    ),
    "population_uniqueness": (
        "The slide negative binomial estimate follows the derivation, not the equations of ARX."
    ),
    "beta_likeness": (
        "β-likeness takes the largest gain over all values, as in the paper; pycanon takes, for"
        " enhanced β, the largest gain of any value with the limit of any other."
    ),
}
BY_STEP = {
    "global_recoding": (
        "Loss counts every leaf of a hierarchy, whether it occurs or not, and suppressed records at"
        " the top, like ARX."
    ),
    "suppression": (
        "Cells to suppress are chosen greedily over all records, and proved least with method"
        " exact; sdcMicro goes key by key and usually suppresses more."
    ),
    "add_noise": (
        "alpha is a share of the variance; sdcMicro's noise is 100·√alpha for additive, and"
        " 100·alpha for correlated and restr."
    ),
    "microaggregate": (
        "Groups are formed on z-scores and ties are broken by the content of the rows, so row order"
        " does not matter."
    ),
    "pram": "The diagonal is what the recipe says; sdcMicro draws it at random.",
    "rank_swap": "p is a share of the records; sdcMicro groups 5 % at both ends first.",
}
ATTACKED = (
    "Attacks are compared with guessing, or with the same release without the person's own "
    "record; rates of other tools often lack that control."
)


def differences_of(certificate: Fields) -> list[str]:
    """The sentences that concern this release."""
    differences = []
    if "wildcard" in certificate.get("missing_rule", {}).values():
        differences.append(WILDCARD)
    for section, said_of in (("meet", BY_MODEL), ("steps", BY_STEP)):
        for spec in certificate["recipe"].get(section, []):
            name = spec if isinstance(spec, str) else next(iter(spec), "")
            if name in said_of and said_of[name] not in differences:
                differences.append(said_of[name])
    if not certificate.get("attacks"):
        return differences
    return [*differences, ATTACKED]
