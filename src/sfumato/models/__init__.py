"""Promises, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.models.alpha_k import AlphaKAnonymity
from sfumato.models.beta_likeness import BetaLikeness
from sfumato.models.concealment import KConcealment, KKAnonymity, KOneAnonymity, OneKAnonymity
from sfumato.models.confusion import KConfusion
from sfumato.models.delta_disclosure import DeltaDisclosure
from sfumato.models.delta_presence import DeltaPresence
from sfumato.models.expected_reidentifications import ExpectedReidentifications
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.k_map import KMap
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitive import PSensitive
from sfumato.models.population_uniqueness import PopulationUniqueness
from sfumato.models.risk_thresholds import AverageRisk, MaximumRisk, RecordsAtRisk
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
