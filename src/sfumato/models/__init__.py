"""Promises, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.models.alpha_k import AlphaKAnonymity
from sfumato.models.beta_likeness import BetaLikeness
from sfumato.models.delta_disclosure import DeltaDisclosure
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitive import PSensitive
from sfumato.models.t_closeness import TCloseness

ALL = (
    KAnonymity,
    PSensitive,
    LDiversity,
    AlphaKAnonymity,
    TCloseness,
    DeltaDisclosure,
    BetaLikeness,
)
