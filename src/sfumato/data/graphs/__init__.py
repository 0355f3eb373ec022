"""Graphs: people and the ties between them, on sorted arrays. A new promise, means, attack or
metric is entered here and nowhere else.
"""

from __future__ import annotations

import importlib
from typing import Any

from sfumato.core.parameters import Members, called_in

FAMILIES = {
    "models": Members(
        __name__,
        {
            "k_degree": "k_degree:KDegree",
            "k_neighbourhood": "k_neighbourhood:KNeighbourhood",
            "k_neighbour_sets": "k_neighbour_sets:KNeighbourSets",
            "h_refinement_k": "h_refinement:HRefinement",
        },
    ),
    "steps": Members(
        __name__,
        {
            "degree_anonymization": "degree_anonymization:DegreeAnonymization",
            "neighbourhood_anonymization": "neighbourhood_anonymization:NeighbourhoodAnonymization",
            "neighbour_set_blowup": "neighbour_set_blowup:NeighbourSetBlowup",
            "private_degrees": "private_degrees:PrivateDegrees",
        },
    ),
    "risk": Members(
        __name__,
        {
            "degree": "candidates:DegreeAttack",
            "vertex_refinement": "candidates:VertexRefinement",
            "ego_graph": "candidates:EgoGraph",
            "hub_fingerprint": "candidates:HubFingerprint",
            "seed_and_propagate": "propagation:SeedAndPropagate",
        },
    ),
    "utility": Members(
        __name__,
        {
            "edges_changed": "structure:EdgesChanged",
            "clustering": "structure:Clustering",
            "path_lengths": "structure:PathLengths",
            "degree_distance": "structure:DegreeDistance",
            "spectrum": "structure:Spectrum",
        },
    ),
}


def noun() -> Any:
    """What reads people of this shape from tables."""
    return importlib.import_module(f"{__name__}.graph").PeopleGraph


def __getattr__(name: str) -> Any:
    return called_in(FAMILIES, __name__, name)
