"""Means, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from typing import Any

from sfumato.core.parameters import Members

ALL = Members(
    __name__,
    {
        "global_recoding": "recoding.global_recoding:GlobalRecoding",
        "local_recoding": "local.local_recoding:LocalRecoding",
        "mondrian": "local.mondrian:Mondrian",
        "k_member": "local.k_member:KMember",
        "bottom_up_generalization": "taxonomy.greedy:BottomUpGeneralization",
        "k_optimize": "taxonomy.k_optimize:KOptimize",
        "top_down_specialization": "taxonomy.greedy:TopDownSpecialization",
        "suppression": "suppression.suppression:Suppress",
        "hide_rules": "rules.hide_rules:HideRules",
        "sample": "masking.sampling:Sample",
        "top_bottom_coding": "masking.top_bottom_coding:TopBottomCoding",
        "outlier_coding": "masking.outlier_coding:OutlierCoding",
        "recode": "masking.recode:Recode",
        "round": "masking.rounding:Round",
        "follow": "masking.follow:Follow",
        "shift_dates": "masking.date_shift:ShiftDates",
        "add_noise": "masking.noise:AddNoise",
        "laplace_noise": "masking.laplace_noise:LaplaceNoise",
        "authorised": "recoding.authorised:Authorised",
        "personal_levels": "recoding.personal_levels:PersonalLevels",
        "pseudonymize": "pseudonyms.pseudonyms:Pseudonymize",
        "rank_swap": "swapping.rank_swap:RankSwap",
        "swap_data": "swapping.data_swap:SwapData",
        "swap_similar": "swapping.similar_swap:SwapSimilar",
        "swap_households": "swapping.record_swap:SwapHouseholds",
        "swap_across": "swapping.cross_swap:SwapAcross",
        "shuffle_values": "swapping.shuffle:ShuffleValues",
        "pram": "swapping.pram:Pram",
        "randomized_response": "swapping.randomized_response:RandomizedResponse",
        "microaggregate": "microaggregation.microaggregation:Microaggregate",
        "bucketize": "microaggregation.bucketization:Bucketize",
        "t_closeness_microaggregation": "microaggregation.t_closeness:TClosenessMicroaggregate",
        "synthesize": "synthesis.synthesize:Synthesize",
        "safe_k_anonymization": "recoding.safe_k_anonymization:SafeAnonymize",
        "insensitive_microaggregation": "microaggregation.insensitive:InsensitiveMicroaggregate",
        "hybrid_microdata": "microaggregation.hybrid:HybridMicrodata",
        "synthesize_privately": "synthesis.private_synthesis:SynthesizePrivately",
    },
)


def __getattr__(name: str) -> Any:
    return ALL.called(name)
