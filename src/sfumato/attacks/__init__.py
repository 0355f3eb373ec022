"""What intruders try on a release, one attack a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.attacks.composition import Composition
from sfumato.attacks.downcoding import Downcoding
from sfumato.attacks.gdpr.inference import Inference
from sfumato.attacks.gdpr.linkability import Linkability
from sfumato.attacks.gdpr.membership import Membership
from sfumato.attacks.gdpr.singling_out import SinglingOut
from sfumato.attacks.inference.background_knowledge import BackgroundKnowledge
from sfumato.attacks.inference.homogeneity import Homogeneity
from sfumato.attacks.inference.interval_disclosure import IntervalDisclosure
from sfumato.attacks.inference.probabilistic_inference import ProbabilisticInference
from sfumato.attacks.inference.similarity import Similarity
from sfumato.attacks.inference.skewness import Skewness
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
