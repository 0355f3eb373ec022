"""Blur the people, keep the picture, and prove it.

Names are loaded when they are first used, so that ``import sfumato`` stays light.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "sfumato.guidance.recommendation.recommend": ("recommend",),
    "sfumato.guidance.comparison": ("Comparison",),
    "sfumato.methods.formulas.choice_of_k": ("choose_k",),
    "sfumato.methods.formulas.combined_copies": ("combine",),
    "sfumato.core.table": ("Table",),
    "sfumato.core.recipe": ("Agreement", "Recipe"),
    "sfumato.core.schema": ("Attribute", "Schema"),
    "sfumato.core.model": ("Verdict",),
    "sfumato.methods.formulas.transition": ("estimate_frequencies",),
    "sfumato.release.evaluation": ("Evaluation",),
    "sfumato.release.attack_report": ("AttackReport",),
    "sfumato.policy.people": ("Policies",),
    "sfumato.policy.policy": ("Policy",),
    "sfumato.release.release": ("Release",),
    "sfumato.interfaces.readers": (
        "read_baskets",
        "read_graph",
        "read_paths",
        "read_data",
        "read_tables",
    ),
    "sfumato.interfaces.api": (
        "anonymize",
        "assess",
        "attack",
        "check",
        "compare",
        "evaluate",
        "integral_privacy",
        "judge",
        "profile",
        "read",
        "run",
        "verify",
        "why_alone",
    ),
    "sfumato.methods.models": (
        "AlphaKAnonymity",
        "AverageRisk",
        "BetaLikeness",
        "DeltaDisclosure",
        "DeltaPresence",
        "ExpectedReidentifications",
        "HiddenRules",
        "KAnonymity",
        "KConcealment",
        "KConfusion",
        "KKAnonymity",
        "KMap",
        "KOnCombinations",
        "KOnSubsets",
        "KOneAnonymity",
        "LDiversity",
        "MaximumRisk",
        "OneKAnonymity",
        "PSensitive",
        "PopulationUniqueness",
        "RecordsAtRisk",
        "StochasticTCloseness",
        "TCloseness",
    ),
    "sfumato.methods.attacks": (
        "AttackCost",
        "BackgroundKnowledge",
        "ClosestRecord",
        "Composition",
        "CopiedRecords",
        "DistanceLinkage",
        "Downcoding",
        "Homogeneity",
        "IndividualRisk",
        "Inference",
        "IntervalDisclosure",
        "LearnedLinkage",
        "Linkability",
        "LogLinear",
        "Membership",
        "Minimality",
        "NearCopies",
        "OtherColumnsLinkage",
        "PopulationUniques",
        "ProbabilisticInference",
        "ProbabilisticLinkage",
        "RecognisedMembers",
        "Similarity",
        "SinglingOut",
        "Skewness",
        "Suda",
        "Transparency",
        "UniqueInPopulation",
    ),
    "sfumato.methods.steps": (
        "AddNoise",
        "Authorised",
        "BottomUpGeneralization",
        "Bucketize",
        "Follow",
        "GlobalRecoding",
        "HideRules",
        "HybridMicrodata",
        "InsensitiveMicroaggregate",
        "KMember",
        "KOptimize",
        "LocalRecoding",
        "Microaggregate",
        "Mondrian",
        "PersonalLevels",
        "Pram",
        "Pseudonymize",
        "RankSwap",
        "Recode",
        "Round",
        "SafeAnonymize",
        "Sample",
        "ShiftDates",
        "ShuffleValues",
        "Suppress",
        "SwapAcross",
        "SwapData",
        "SwapHouseholds",
        "SwapSimilar",
        "Synthesize",
        "SynthesizePrivately",
        "TClosenessMicroaggregate",
        "TopBottomCoding",
        "TopDownSpecialization",
    ),
    "sfumato.methods.utility": (
        "Accuracy",
        "Ambiguity",
        "AverageClassSize",
        "Classification",
        "Completeness",
        "Consistency",
        "Correlations",
        "Covariances",
        "Discernibility",
        "Eigenvalues",
        "Height",
        "KullbackLeibler",
        "Loss",
        "Means",
        "NonUniformEntropy",
        "NormalisedCertaintyPenalty",
        "NormalisedClassSize",
        "CountError",
        "Precision",
        "PredictiveAccuracy",
        "Propensity",
        "Quantiles",
        "QueryWorkload",
        "RecordSquaredError",
        "RegressionOverlap",
        "RuleSideEffects",
        "SquaredError",
        "StandardisedError",
        "SumOfSquares",
        "TableDistance",
        "Timeliness",
        "Uniqueness",
        "Validity",
    ),
    "sfumato.methods.hierarchies": (
        "classification",
        "dates",
        "frequency",
        "grouped",
        "hierarchy_file",
        "intervals",
        "like",
        "mask_left",
        "mask_right",
        "order",
        "suppress",
        "tree",
        "read_hierarchy",
        "write_hierarchy",
    ),
    "sfumato.results.integral": ("MeanOf", "RegressionOf", "StumpOf", "TreeOf"),
    "sfumato.results.integral.integral_privacy": ("IntegralPrivacy",),
    "sfumato.results.tables.rules": (
        "AllEqual",
        "Dominance",
        "GroupDisclosure",
        "PPercent",
        "PQ",
        "Threshold",
    ),
    "sfumato.results.tables.table": ("MagnitudeTable", "tabulate"),
    "sfumato.results.tables.protected_table": ("ProtectedTable",),
    "sfumato.results.checking.check": ("check_output",),
    "sfumato.results.checking.session": ("OutputSession", "output_session"),
    "sfumato.results.checking.verdict": ("OutputRules", "OutputVerdict"),
    "sfumato.parties.one_process": ("JointAnswer", "together"),
    "sfumato.parties.noise": ("JointNoise",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_MODULES = {
    "baskets": "sfumato.data.baskets",
    "dp": "sfumato.results.queries",
    "errors": "sfumato.errors",
    "examples": "sfumato.data.examples",
    "graphs": "sfumato.data.graphs",
    "paths": "sfumato.data.paths",
    "relations": "sfumato.data.relational",
    "vault": "sfumato.methods.steps.pseudonyms.vault",
}
"""Public names that are whole modules, and where they are."""

__all__ = sorted([*_HOME_OF, *_MODULES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = _import_part(_MODULES[name])
    elif name in _HOME_OF:
        value = getattr(_import_part(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    globals()[name] = value
    return value


def _import_part(module: str) -> Any:
    from sfumato.errors import import_part

    return import_part(module)


def __dir__() -> list[str]:
    return __all__
