"""Baskets (set-valued data): every person is a set of items. A new promise, means, attack or metric
is entered here and nowhere else.
"""

from __future__ import annotations

import importlib
from typing import Any

from sfumato.core.parameters import Members, called_in

FAMILIES = {
    "models": Members(
        __name__,
        {
            "km_anonymity": "models:KmAnonymity",
            "basket_k_anonymity": "models:BasketKAnonymity",
            "hkp_coherence": "models:HkpCoherence",
            "rho_uncertainty": "models:RhoUncertainty",
            "k_anonymity": "models:OwnColumnsK",
            "k_km_anonymity": "models:KKmAnonymity",
            "disassociated_km": "disassociated_km:DisassociatedKm",
            "hidden_rules": "rules:HiddenItemRules",
        },
    ),
    "steps": Members(
        __name__,
        {
            "item_recoding": "recoding:ItemRecoding",
            "basket_partition": "partition:BasketPartition",
            "block_recoding": "partition:BlockRecoding",
            "suppress_items": "suppression:SuppressItems",
            "grouped_recoding": "mixed_classes:GroupedRecoding",
            "disassociation": "disassociation:Disassociation",
            "hide_rules": "rules:HideItemRules",
        },
    ),
    "risk": Members(
        __name__,
        {
            "known_items": "attacks:KnownItems",
            "rare_items": "attacks:RareItems",
            "scoreboard": "scoreboard:Scoreboard",
            "item_attack_cost": "attacks:ItemAttackCost",
        },
    ),
    "utility": Members(
        __name__,
        {
            "item_ncp": "utility:ItemNcp",
            "itemset_survival": "utility:ItemsetSurvival",
            "pair_support_error": "utility:PairSupportError",
            "rule_side_effects": "rules:ItemRuleSideEffects",
        },
    ),
}


def noun() -> Any:
    """What reads people of this shape from tables."""
    return importlib.import_module(f"{__name__}.baskets").Baskets


def __getattr__(name: str) -> Any:
    return called_in(FAMILIES, __name__, name)
