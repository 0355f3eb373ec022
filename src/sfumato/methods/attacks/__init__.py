"""What intruders try on a release, attacks of one ground in one file. A new one is added here and
nowhere else.
"""

from __future__ import annotations

from typing import Any

from sfumato.core.parameters import Members

ALL = Members(
    __name__,
    {
        "suda": "suda:Suda",
        "individual_risk": "individual_risk:IndividualRisk",
        "population_uniques": "population_uniques:PopulationUniques",
        "log_linear": "log_linear:LogLinear",
        "homogeneity": "inference:Homogeneity",
        "probabilistic_inference": "inference:ProbabilisticInference",
        "background_knowledge": "inference:BackgroundKnowledge",
        "skewness": "inference:Skewness",
        "similarity": "inference:Similarity",
        "composition": "composition:Composition",
        "minimality": "minimality:Minimality",
        "downcoding": "downcoding:Downcoding",
        "interval_disclosure": "interval_disclosure:IntervalDisclosure",
        "unique_in_population": "unique_in_population:UniqueInPopulation",
        "attack_cost": "cost:AttackCost",
        "transparency": "transparency:Transparency",
        "singling_out": "gdpr:SinglingOut",
        "linkability": "gdpr:Linkability",
        "inference": "gdpr:Inference",
        "membership": "gdpr:Membership",
        "copied_records": "synthetic:CopiedRecords",
        "near_copies": "synthetic:NearCopies",
        "recognised_members": "synthetic:RecognisedMembers",
        "closest_record": "synthetic:ClosestRecord",
        "linkage": "linkage.distance_linkage:DistanceLinkage",
        "probabilistic_linkage": "linkage.probabilistic_linkage:ProbabilisticLinkage",
        "other_columns_linkage": "linkage.other_columns:OtherColumnsLinkage",
        "worst_case_linkage": "linkage.learned_linkage:LearnedLinkage",
    },
)


def __getattr__(name: str) -> Any:
    return ALL.called(name)
