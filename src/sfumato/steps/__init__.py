"""Means, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.steps.bottom_up import BottomUpGeneralization
from sfumato.steps.global_recoding import GlobalRecoding
from sfumato.steps.k_member import KMember
from sfumato.steps.k_optimize import KOptimize
from sfumato.steps.local_recoding import LocalRecoding
from sfumato.steps.mondrian import Mondrian
from sfumato.steps.suppression import Suppress
from sfumato.steps.top_down import TopDownSpecialization

ALL = (
    GlobalRecoding,
    LocalRecoding,
    Mondrian,
    KMember,
    BottomUpGeneralization,
    KOptimize,
    TopDownSpecialization,
    Suppress,
)
