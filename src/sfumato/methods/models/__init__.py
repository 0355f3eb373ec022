"""Promises; those of one ground share a file. A new one is added here and nowhere else."""

from __future__ import annotations

from typing import Any

from sfumato.core.parameters import Members

ALL = Members(
    __name__,
    {
        "k_anonymity": "k_anonymity:KAnonymity",
        "p_sensitive": "l_diversity:PSensitive",
        "l_diversity": "l_diversity:LDiversity",
        "alpha_k_anonymity": "l_diversity:AlphaKAnonymity",
        "t_closeness": "t_closeness:TCloseness",
        "delta_disclosure": "beta_likeness:DeltaDisclosure",
        "beta_likeness": "beta_likeness:BetaLikeness",
        "stochastic_t_closeness": "stochastic_t_closeness:StochasticTCloseness",
        "k_map": "population:KMap",
        "delta_presence": "population:DeltaPresence",
        "k_on_subsets": "subsets:KOnSubsets",
        "k_on_combinations": "subsets:KOnCombinations",
        "maximum_risk": "risk_thresholds:MaximumRisk",
        "average_risk": "risk_thresholds:AverageRisk",
        "records_at_risk": "risk_thresholds:RecordsAtRisk",
        "expected_reidentifications": "risk_thresholds:ExpectedReidentifications",
        "population_uniqueness": "risk_thresholds:PopulationUniqueness",
        "one_k_anonymity": "concealment:OneKAnonymity",
        "k_one_anonymity": "concealment:KOneAnonymity",
        "k_k_anonymity": "concealment:KKAnonymity",
        "k_concealment": "concealment:KConcealment",
        "k_confusion": "confusion:KConfusion",
        "hidden_rules": "hidden_rules:HiddenRules",
    },
)


def __getattr__(name: str) -> Any:
    return ALL.called(name)
