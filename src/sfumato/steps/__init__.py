"""Means, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.steps.local.k_member import KMember
from sfumato.steps.local.local_recoding import LocalRecoding
from sfumato.steps.local.mondrian import Mondrian
from sfumato.steps.masking.coding import Round, TopBottomCoding
from sfumato.steps.masking.date_shift import ShiftDates
from sfumato.steps.masking.noise import AddNoise
from sfumato.steps.masking.recode import Recode
from sfumato.steps.masking.sampling import Sample
from sfumato.steps.microaggregation.bucketization import Bucketize
from sfumato.steps.microaggregation.insensitive import InsensitiveMicroaggregate
from sfumato.steps.microaggregation.microaggregation import Microaggregate
from sfumato.steps.microaggregation.t_closeness import TClosenessMicroaggregate
from sfumato.steps.pseudonyms.pseudonyms import Pseudonymize
from sfumato.steps.recoding.authorised import Authorised
from sfumato.steps.recoding.global_recoding import GlobalRecoding
from sfumato.steps.recoding.personal_levels import PersonalLevels
from sfumato.steps.recoding.safe_k_anonymization import SafeAnonymize
from sfumato.steps.suppression.suppression import Suppress
from sfumato.steps.swapping.cross_swap import SwapAcross
from sfumato.steps.swapping.data_swap import SwapData, SwapSimilar
from sfumato.steps.swapping.pram import Pram
from sfumato.steps.swapping.rank_swap import RankSwap
from sfumato.steps.swapping.record_swap import SwapHouseholds
from sfumato.steps.swapping.shuffle import ShuffleValues
from sfumato.steps.taxonomy.greedy import BottomUpGeneralization, TopDownSpecialization
from sfumato.steps.taxonomy.k_optimize import KOptimize

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
