"""Blur the people, keep the picture, and prove it.

Names are loaded when they are first used, so that ``import sfumato`` stays light.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "sfumato.advice.recommending": ("recommend",),
    "sfumato.comparison": ("Comparison",),
    "sfumato.formulas.choosing_k": ("choose_k",),
    "sfumato.formulas.combining": ("combine",),
    "sfumato.core.dataset": ("Dataset",),
    "sfumato.core.recipe": ("Agreement", "Recipe"),
    "sfumato.core.schema": ("Attribute", "Schema"),
    "sfumato.core.shape": ("ShapedAgreement", "ShapedRecipe"),
    "sfumato.core.model": ("Verdict",),
    "sfumato.formulas.transition": ("estimate_frequencies",),
    "sfumato.evaluation": ("Evaluation",),
    "sfumato.intruders": ("AttackReport",),
    "sfumato.policy.people": ("Policies",),
    "sfumato.policy.policy": ("Policy",),
    "sfumato.release.release": ("Release",),
    "sfumato.release.shaped.opening": ("read_baskets", "read_graph", "read_paths", "read_tables", "shaped"),
    "sfumato.release.shaped.release": ("ShapedRelease",),
    "sfumato.verbs": (
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
    "sfumato.models": (
        "AlphaKAnonymity", "AverageRisk", "BetaLikeness", "DeltaDisclosure", "DeltaPresence",
        "ExpectedReidentifications", "HiddenRules", "KAnonymity", "KConcealment", "KConfusion", "KKAnonymity", "KMap",
        "KOnCombinations", "KOnSubsets", "KOneAnonymity", "LDiversity", "MaximumRisk", "OneKAnonymity",
        "PSensitive", "PopulationUniqueness", "RecordsAtRisk", "StochasticTCloseness", "TCloseness",
    ),
    "sfumato.attacks": (
        "AttackCost", "BackgroundKnowledge", "ClosestRecord", "Composition", "CopiedRecords", "DistanceLinkage", "Downcoding",
        "Homogeneity", "IndividualRisk", "Inference", "IntervalDisclosure", "LearnedLinkage", "Linkability", "LogLinear",
        "Membership", "Minimality", "NearCopies", "OtherColumnsLinkage", "PopulationUniques", "ProbabilisticInference",
        "ProbabilisticLinkage", "RecognisedMembers", "Similarity", "SinglingOut", "Skewness", "Suda", "Transparency", "UniqueInPopulation",
    ),
    "sfumato.steps": (
        "AddNoise", "Authorised", "BottomUpGeneralization", "Bucketize", "Follow", "GlobalRecoding", "HideRules",
        "HybridMicrodata",
        "InsensitiveMicroaggregate", "KMember", "KOptimize", "LocalRecoding", "Microaggregate", "Mondrian",
        "PersonalLevels", "Pram", "Pseudonymize", "RankSwap", "Recode", "Round", "SafeAnonymize", "Sample",
        "ShiftDates", "ShuffleValues", "Suppress", "SwapAcross", "SwapData", "SwapHouseholds", "SwapSimilar",
        "Synthesize", "SynthesizePrivately", "TClosenessMicroaggregate", "TopBottomCoding", "TopDownSpecialization",
    ),
    "sfumato.utility": (
        "Accuracy", "Ambiguity", "AverageClassSize", "Classification", "Completeness", "Consistency",
        "Correlations", "Covariances", "Discernibility", "Eigenvalues", "Height", "KullbackLeibler",
        "Loss", "Means", "NonUniformEntropy", "NormalisedCertaintyPenalty", "NormalisedClassSize",
        "CountError", "Precision", "PredictiveAccuracy", "Propensity", "Quantiles", "QueryWorkload",
        "RecordSquaredError", "RegressionOverlap", "RuleSideEffects", "SquaredError", "StandardisedError", "SumOfSquares",
        "TableDistance", "Timeliness", "Uniqueness", "Validity",
    ),
    "sfumato.hierarchies": (
        "classification", "dates", "frequency", "grouped", "hierarchy_file", "intervals", "like", "mask_left",
        "mask_right", "order", "suppress", "tree",
        "read_hierarchy", "write_hierarchy",
    ),
    "sfumato.results": ("MeanOf", "RegressionOf", "StumpOf", "TreeOf"),
    "sfumato.results.integral": ("IntegralPrivacy",),
    "sfumato.outputs.rules": ("AllEqual", "Dominance", "GroupDisclosure", "PPercent", "PQ", "Threshold"),
    "sfumato.outputs.table": ("MagnitudeTable", "tabulate"),
    "sfumato.outputs.protected": ("ProtectedTable",),
    "sfumato.outputs.checking.check": ("check_output",),
    "sfumato.outputs.checking.session": ("OutputSession", "output_session"),
    "sfumato.outputs.checking.verdict": ("OutputRules", "OutputVerdict"),
    "sfumato.parties.together": ("JointAnswer", "together"),
    "sfumato.parties.noise": ("JointNoise",),
    "sfumato": ("baskets", "dp", "errors", "examples", "graphs", "paths", "relations", "vault"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    home = _HOME_OF[name]
    value = (
        importlib.import_module(f"{home}.{name}") if home == "sfumato" else getattr(importlib.import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
