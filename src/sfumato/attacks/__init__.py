"""What intruders try on a release, attacks of one ground in one file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.attacks.composition import Composition
from sfumato.attacks.downcoding import Downcoding
from sfumato.attacks.gdpr import Inference, Linkability, Membership, SinglingOut
from sfumato.attacks.inference import BackgroundKnowledge, Homogeneity, ProbabilisticInference, Similarity, Skewness
from sfumato.attacks.interval_disclosure import IntervalDisclosure
from sfumato.attacks.linkage.distance_linkage import DistanceLinkage
from sfumato.attacks.linkage.learned_linkage import LearnedLinkage
from sfumato.attacks.linkage.probabilistic_linkage import ProbabilisticLinkage
from sfumato.attacks.minimality import Minimality
from sfumato.attacks.transparency import Transparency
from sfumato.attacks.unique_in_population import UniqueInPopulation

ALL = (
    Homogeneity,
    ProbabilisticInference,
    BackgroundKnowledge,
    Skewness,
    Similarity,
    Composition,
    Minimality,
    Downcoding,
    IntervalDisclosure,
    UniqueInPopulation,
    Transparency,
    SinglingOut,
    Linkability,
    Inference,
    Membership,
    DistanceLinkage,
    ProbabilisticLinkage,
    LearnedLinkage,
)
