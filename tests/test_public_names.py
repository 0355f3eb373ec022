"""The public names, pinned: a name that comes or goes is a decision, not an accident."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import sfumato

NAMES = [
    "Accuracy", "AddNoise", "Agreement", "AllEqual", "AlphaKAnonymity", "Ambiguity", "AttackCost", "AttackReport",
    "Attribute", "Authorised", "AverageClassSize", "AverageRisk", "BackgroundKnowledge", "BetaLikeness",
    "BottomUpGeneralization", "Bucketize", "Classification", "ClosestRecord", "Comparison", "Completeness", "Composition",
    "Consistency", "CopiedRecords", "Correlations", "CountError", "Covariances", "Dataset", "DeltaDisclosure", "DeltaPresence",
    "Discernibility", "DistanceLinkage", "Dominance", "Downcoding", "Eigenvalues", "Evaluation", "ExpectedReidentifications",
    "Follow", "GlobalRecoding", "GroupDisclosure", "Height", "HiddenRules", "HideRules", "Homogeneity", "HybridMicrodata",
    "IndividualRisk", "Inference", "InsensitiveMicroaggregate", "IntegralPrivacy", "IntervalDisclosure",
    "JointAnswer", "JointNoise", "KAnonymity", "KConcealment", "KConfusion", "KKAnonymity", "KMap", "KMember",
    "KOnCombinations", "KOnSubsets", "KOneAnonymity", "KOptimize", "KullbackLeibler", "LDiversity",
    "LearnedLinkage", "Linkability", "LocalRecoding", "LogLinear", "Loss", "MagnitudeTable", "MaximumRisk",
    "MeanOf", "Means", "Membership", "Microaggregate", "Minimality", "Mondrian", "NearCopies", "NonUniformEntropy",
    "NormalisedCertaintyPenalty", "NormalisedClassSize", "OneKAnonymity", "OtherColumnsLinkage", "OutputRules",
    "OutputSession", "OutputVerdict", "PPercent", "PQ", "PSensitive", "PersonalLevels", "Policies", "Policy",
    "PopulationUniqueness", "PopulationUniques", "Pram", "Precision", "PredictiveAccuracy",
    "ProbabilisticInference", "ProbabilisticLinkage", "Propensity", "ProtectedTable", "Pseudonymize", "Quantiles",
    "QueryWorkload", "RankSwap", "Recipe", "Recode", "RecognisedMembers", "RecordSquaredError", "RecordsAtRisk", "RegressionOf",
    "RegressionOverlap", "Release", "Round", "RuleSideEffects", "SafeAnonymize", "Sample", "Schema",
    "ShapedAgreement", "ShapedRecipe", "ShapedRelease", "ShiftDates", "ShuffleValues", "Similarity", "SinglingOut",
    "Skewness", "SquaredError", "StandardisedError", "StochasticTCloseness", "StumpOf", "Suda", "SumOfSquares",
    "Suppress", "SwapAcross", "SwapData", "SwapHouseholds", "SwapSimilar", "Synthesize", "SynthesizePrivately",
    "TCloseness", "TClosenessMicroaggregate", "TableDistance", "Threshold", "Timeliness", "TopBottomCoding",
    "TopDownSpecialization", "Transparency", "TreeOf", "UniqueInPopulation", "Uniqueness", "Validity", "Verdict", "__version__",
    "anonymize", "assess", "attack", "baskets", "check", "check_output", "choose_k", "classification", "combine", "compare",
    "dates", "dp", "errors", "estimate_frequencies", "evaluate", "examples", "frequency", "graphs", "grouped",
    "hierarchy_file", "integral_privacy", "intervals", "judge", "like", "mask_left", "mask_right", "order",
    "output_session", "paths", "profile", "read", "read_baskets", "read_graph", "read_hierarchy", "read_paths",
    "read_tables", "recommend", "relations", "run", "shaped", "suppress", "tabulate", "together", "tree", "vault", "verify",
    "why_alone", "write_hierarchy",
]  # fmt: skip


def test_the_public_names_are_these():
    assert sorted(NAMES) == NAMES, "keep the list sorted"
    assert sfumato.__all__ == NAMES
    assert dir(sfumato) == NAMES


def test_every_name_can_be_had():
    for name in NAMES:
        assert getattr(importlib.import_module("sfumato"), name) is not None


def test_no_name_is_hidden_by_a_room():
    """A room of the same name would take the place of a verb as soon as the verb has been used."""
    rooms = {path.stem for path in Path(sfumato.__file__).parent.iterdir()}
    modules = {name for name in NAMES if inspect.ismodule(getattr(sfumato, name))}
    assert not (rooms & set(NAMES)) - modules
