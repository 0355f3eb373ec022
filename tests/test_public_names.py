"""The public names, pinned: a name that comes or goes is a decision, not an accident."""

from __future__ import annotations

import importlib

import sfumato

NAMES = [
    "AlphaKAnonymity", "Attribute", "AverageRisk", "BetaLikeness", "BottomUpGeneralization", "Dataset",
    "DeltaDisclosure", "DeltaPresence", "ExpectedReidentifications", "GlobalRecoding", "KAnonymity",
    "KConcealment", "KConfusion", "KKAnonymity", "KMap", "KMember", "KOnCombinations", "KOnSubsets",
    "KOneAnonymity", "KOptimize", "LDiversity", "LocalRecoding", "MaximumRisk", "Mondrian", "OneKAnonymity",
    "PSensitive", "PopulationUniqueness", "Recipe", "RecordsAtRisk", "Release", "Schema", "StochasticTCloseness",
    "Suppress", "TCloseness", "TopDownSpecialization", "Verdict", "__version__", "anonymize", "assess", "check",
    "choose_k", "dates", "errors", "examples", "frequency", "hierarchy_file", "intervals", "judge", "mask_left",
    "mask_right", "order", "profile", "read", "read_hierarchy", "run", "suppress", "tree", "verify",
    "write_hierarchy",
]  # fmt: skip


def test_the_public_names_are_these():
    assert sorted(NAMES) == NAMES, "keep the list sorted"
    assert sfumato.__all__ == NAMES
    assert dir(sfumato) == NAMES


def test_every_name_can_be_had():
    for name in NAMES:
        assert getattr(importlib.import_module("sfumato"), name) is not None
