"""The public names, pinned: a name that comes or goes is a decision, not an accident."""

from __future__ import annotations

import importlib

import sfumato

NAMES = [
    "Accuracy", "AddNoise", "AlphaKAnonymity", "Ambiguity", "Attribute", "Authorised", "AverageClassSize",
    "AverageRisk", "BetaLikeness", "BottomUpGeneralization", "Classification", "Completeness", "Consistency",
    "Correlations", "Covariances", "Dataset", "DeltaDisclosure", "DeltaPresence", "Discernibility",
    "DistanceLinkage", "Eigenvalues", "Evaluation", "ExpectedReidentifications", "GlobalRecoding", "Height",
    "KAnonymity", "KConcealment", "KConfusion", "KKAnonymity", "KMap", "KMember", "KOnCombinations",
    "KOnSubsets", "KOneAnonymity", "KOptimize", "KullbackLeibler", "LDiversity", "LearnedLinkage",
    "LocalRecoding", "Loss", "MaximumRisk", "Means", "Mondrian", "NonUniformEntropy",
    "NormalisedCertaintyPenalty", "NormalisedClassSize", "OneKAnonymity", "PSensitive", "PersonalLevels",
    "Policies", "Policy", "PopulationUniqueness", "Pram", "Precision", "PredictiveAccuracy",
    "ProbabilisticLinkage", "Propensity", "Pseudonymize", "Quantiles", "QueryWorkload", "RankSwap", "Recipe",
    "Recode", "RecordSquaredError", "RecordsAtRisk", "RegressionOverlap", "Release", "Round", "Sample",
    "Schema", "ShiftDates", "ShuffleValues", "SquaredError", "StandardisedError", "StochasticTCloseness",
    "SumOfSquares", "Suppress", "SwapAcross", "SwapData", "SwapHouseholds", "SwapSimilar", "TCloseness",
    "Timeliness", "TopBottomCoding", "TopDownSpecialization", "Uniqueness", "Validity", "Verdict",
    "__version__", "anonymize", "assess", "check", "choose_k", "dates", "dp", "errors", "estimate_frequencies",
    "evaluate", "examples", "frequency", "hierarchy_file", "intervals", "judge", "mask_left", "mask_right",
    "order", "profile", "read", "read_hierarchy", "run", "suppress", "tree", "vault", "verify",
    "write_hierarchy",
]  # fmt: skip


def test_the_public_names_are_these():
    assert sorted(NAMES) == NAMES, "keep the list sorted"
    assert sfumato.__all__ == NAMES
    assert dir(sfumato) == NAMES


def test_every_name_can_be_had():
    for name in NAMES:
        assert getattr(importlib.import_module("sfumato"), name) is not None
