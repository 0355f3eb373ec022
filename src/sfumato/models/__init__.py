"""Promises, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.models.alpha_k import AlphaKAnonymity
from sfumato.models.beta_likeness import BetaLikeness, DeltaDisclosure
from sfumato.models.concealment import KConcealment, KKAnonymity, KOneAnonymity, OneKAnonymity
from sfumato.models.confusion import KConfusion
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity, PSensitive
from sfumato.models.population import DeltaPresence, KMap
from sfumato.models.risk_thresholds import (
    AverageRisk,
    ExpectedReidentifications,
    MaximumRisk,
    PopulationUniqueness,
    RecordsAtRisk,
)
from sfumato.models.stochastic_t_closeness import StochasticTCloseness
from sfumato.models.subsets import KOnCombinations, KOnSubsets
from sfumato.models.t_closeness import TCloseness

ALL = (
    KAnonymity,
    PSensitive,
    LDiversity,
    AlphaKAnonymity,
    TCloseness,
    DeltaDisclosure,
    BetaLikeness,
    StochasticTCloseness,
    KMap,
    DeltaPresence,
    KOnSubsets,
    KOnCombinations,
    MaximumRisk,
    AverageRisk,
    RecordsAtRisk,
    ExpectedReidentifications,
    PopulationUniqueness,
    OneKAnonymity,
    KOneAnonymity,
    KKAnonymity,
    KConcealment,
    KConfusion,
)
