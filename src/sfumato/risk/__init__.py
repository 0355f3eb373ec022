"""Risks and attacks, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.risk.background_knowledge import BackgroundKnowledge
from sfumato.risk.composition import Composition
from sfumato.risk.distance_linkage import DistanceLinkage
from sfumato.risk.downcoding import Downcoding
from sfumato.risk.homogeneity import Homogeneity
from sfumato.risk.individual_risk import IndividualRisk
from sfumato.risk.inference import Inference
from sfumato.risk.interval_disclosure import IntervalDisclosure
from sfumato.risk.learned_linkage import LearnedLinkage
from sfumato.risk.linkability import Linkability
from sfumato.risk.log_linear import LogLinear
from sfumato.risk.membership import Membership
from sfumato.risk.minimality import Minimality
from sfumato.risk.population_uniques import PopulationUniques
from sfumato.risk.probabilistic_inference import ProbabilisticInference
from sfumato.risk.probabilistic_linkage import ProbabilisticLinkage
from sfumato.risk.reidentification import JournalistRisk, MarketerRisk, ProsecutorRisk, RecordsAtRisk, UniqueRecords
from sfumato.risk.similarity import Similarity
from sfumato.risk.singling_out_attack import SinglingOut
from sfumato.risk.skewness import Skewness
from sfumato.risk.suda import Suda
from sfumato.risk.transparency import Transparency
from sfumato.risk.unique_in_population import UniqueInPopulation

ALL = (
    JournalistRisk,
    MarketerRisk,
    ProsecutorRisk,
    RecordsAtRisk,
    UniqueRecords,
    Homogeneity,
    ProbabilisticInference,
    BackgroundKnowledge,
    Skewness,
    Similarity,
    Composition,
    Minimality,
    Downcoding,
    IntervalDisclosure,
    Suda,
    IndividualRisk,
    PopulationUniques,
    UniqueInPopulation,
    LogLinear,
    Transparency,
    SinglingOut,
    Linkability,
    Inference,
    Membership,
    DistanceLinkage,
    ProbabilisticLinkage,
    LearnedLinkage,
)
