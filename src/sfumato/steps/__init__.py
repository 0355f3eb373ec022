"""Means, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.steps.authorised import Authorised
from sfumato.steps.bottom_up import BottomUpGeneralization
from sfumato.steps.bucketization import Bucketize
from sfumato.steps.coding import TopBottomCoding
from sfumato.steps.cross_swap import SwapAcross
from sfumato.steps.data_swap import SwapData
from sfumato.steps.date_shift import ShiftDates
from sfumato.steps.global_recoding import GlobalRecoding
from sfumato.steps.insensitive_microaggregation import InsensitiveMicroaggregate
from sfumato.steps.k_member import KMember
from sfumato.steps.k_optimize import KOptimize
from sfumato.steps.local_recoding import LocalRecoding
from sfumato.steps.microaggregation import Microaggregate
from sfumato.steps.mondrian import Mondrian
from sfumato.steps.noise import AddNoise
from sfumato.steps.personal_levels import PersonalLevels
from sfumato.steps.pram import Pram
from sfumato.steps.pseudonyms import Pseudonymize
from sfumato.steps.rank_swap import RankSwap
from sfumato.steps.recode import Recode
from sfumato.steps.record_swap import SwapHouseholds
from sfumato.steps.rounding import Round
from sfumato.steps.safe_k_anonymization import SafeAnonymize
from sfumato.steps.sampling import Sample
from sfumato.steps.shuffle import ShuffleValues
from sfumato.steps.similar_swap import SwapSimilar
from sfumato.steps.suppression import Suppress
from sfumato.steps.t_closeness_microaggregation import TClosenessMicroaggregate
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
    Sample,
    TopBottomCoding,
    Recode,
    Round,
    ShiftDates,
    AddNoise,
    Authorised,
    PersonalLevels,
    Pseudonymize,
    RankSwap,
    SwapData,
    SwapSimilar,
    SwapHouseholds,
    SwapAcross,
    ShuffleValues,
    Pram,
    Microaggregate,
    Bucketize,
    TClosenessMicroaggregate,
    SafeAnonymize,
    InsensitiveMicroaggregate,
)
