"""Classes and what is above them: a table of our own making with the terms we need of DPV, SPECIAL and our models.

Names are those of the Data Privacy Vocabulary (DPV) and of SPECIAL's vocabularies where these have one; which class stands
above which is a small table of ours, made for checking releases, not a copy. DPV has no terms for k-anonymity and its
relatives: those are ours (``sf:``), below ``dpv:Anonymisation``. In DPV differential privacy and computing on encrypted data are
cryptographic methods and not de-identification; here they are both, since a policy that asks for de-identification would
otherwise refuse them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cached_property

THING_NAMES = frozenset({"Thing", "owl:Thing", "AnyData", "AnyPurpose", "AnyProcessing", "AnyRecipient", "AnyStorage",
                         "spl:AnyData", "spl:AnyPurpose", "spl:AnyProcessing", "spl:AnyRecipient", "spl:AnyLocation"})  # fmt: skip

# class: classes right above it
TABLE = """
dpv:AcademicResearch: dpv:ResearchAndDevelopment
dpv:CommercialResearch: dpv:ResearchAndDevelopment
dpv:NonCommercialResearch: dpv:ResearchAndDevelopment
dpv:ScientificResearch: dpv:ResearchAndDevelopment
dpv:ResearchAndDevelopment: dpv:Purpose
dpv:Advertising: dpv:Marketing
dpv:DirectMarketing: dpv:Marketing
dpv:PersonalisedAdvertising: dpv:Advertising
dpv:TargetedAdvertising: dpv:PersonalisedAdvertising
dpv:Marketing: dpv:Purpose
dpv:ServiceProvision: dpv:Purpose
dpv:ServiceOptimisation: dpv:ServiceProvision
dpv:LegalCompliance: dpv:Purpose
dpv:PublicBenefit: dpv:Purpose
dpv:HealthcareProvision: dpv:Purpose
dpv:Statistics: dpv:Purpose
dpv:Collect: dpv:Processing
dpv:Use: dpv:Processing
dpv:Analyse: dpv:Use
dpv:Profiling: dpv:Analyse
dpv:Store: dpv:Processing
dpv:Transform: dpv:Processing
dpv:Anonymise: dpv:Transform
dpv:Pseudonymise: dpv:Transform
dpv:Aggregate: dpv:Transform
dpv:Disclose: dpv:Processing
dpv:Share: dpv:Disclose
dpv:Transfer: dpv:Disclose
dpv:MakeAvailable: dpv:Disclose
dpv:PersonalData: dpv:Data
dpv:SensitivePersonalData: dpv:PersonalData
dpv:SpecialCategoryPersonalData: dpv:SensitivePersonalData
dpv:PseudonymisedData: dpv:PersonalData
dpv:AnonymisedData: dpv:Data
dpv:SyntheticData: dpv:Data
pd:Identifying: dpv:PersonalData
pd:Name: pd:Identifying
pd:Contact: dpv:PersonalData
pd:EmailAddress: pd:Contact
pd:Demographic: dpv:PersonalData
pd:Age: pd:Demographic
pd:Gender: pd:Demographic
pd:Income: pd:Demographic
pd:Location: dpv:PersonalData
pd:Health: dpv:SpecialCategoryPersonalData
pd:MedicalHealth: pd:Health
pd:HealthRecord: pd:MedicalHealth
pd:Financial: dpv:PersonalData
dpv:DataController: dpv:Recipient
dpv:DataProcessor: dpv:Recipient
dpv:ThirdParty: dpv:Recipient
dpv:AcademicScientificOrganisation: dpv:Organisation
dpv:NonProfitOrganisation: dpv:Organisation
dpv:ForProfitOrganisation: dpv:Organisation
dpv:PublicBody: dpv:Organisation
dpv:Organisation: dpv:Recipient
dpv:TechnicalMeasure: dpv:TechnicalOrganisationalMeasure
dpv:Deidentification: dpv:TechnicalMeasure
dpv:Anonymisation: dpv:Deidentification
dpv:Pseudonymisation: dpv:Deidentification
dpv:DeterministicPseudonymisation: dpv:Pseudonymisation
dpv:DocumentRandomisedPseudonymisation: dpv:Pseudonymisation
dpv:FullyRandomisedPseudonymisation: dpv:Pseudonymisation
dpv:MonotonicCounterPseudonymisation: dpv:Pseudonymisation
dpv:RNGPseudonymisation: dpv:Pseudonymisation
dpv:CryptographicMethods: dpv:TechnicalMeasure
dpv:DifferentialPrivacy: dpv:CryptographicMethods dpv:Deidentification
dpv:SecureMultiPartyComputation: dpv:CryptographicMethods dpv:Deidentification
dpv:HomomorphicEncryption: dpv:CryptographicMethods dpv:Deidentification
sf:KAnonymity: dpv:Anonymisation kAnonymous
kAnonymous: dpv:Anonymisation
KAnonymous: kAnonymous
spl:kAnonymous: kAnonymous
sf:LDiversity: dpv:Anonymisation
sf:TCloseness: dpv:Anonymisation
sf:BetaLikeness: dpv:Anonymisation
sf:DeltaDisclosure: dpv:Anonymisation
sf:PSensitive: sf:KAnonymity
sf:AlphaKAnonymity: sf:KAnonymity
sf:OtherModel: dpv:Anonymisation
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Vocabulary:
    """Class → classes right above it, and pairs of classes that nothing can be both of."""

    parents: Mapping[str, frozenset[str]]
    apart: frozenset[frozenset[str]] = frozenset()

    @cached_property
    def _above(self) -> dict[str, frozenset[str]]:
        return {}

    def above(self, name: str) -> frozenset[str]:
        """A class and everything above it; circles end where they close."""
        if name not in self._above:
            found: set[str] = set()
            waiting = [name]
            while waiting:
                one = waiting.pop()
                if one not in found:
                    found.add(one)
                    waiting += self.parents.get(one, ())
            self._above[name] = frozenset(found)
        return self._above[name]

    def within(self, names: Iterable[str], general: str) -> bool:
        """Whether something of all these classes is surely of the general one."""
        return general in THING_NAMES or any(general in self.above(name) for name in names)

    def disjoint(self, names: Iterable[str]) -> bool:
        """Whether nothing can be of all these classes."""
        classes = frozenset().union(*(self.above(name) for name in names))
        return any(len(pair & classes) == len(pair) for pair in self.apart)

    def extended(self, parents: Mapping[str, Iterable[str]], apart: Iterable[Iterable[str]] = ()) -> Vocabulary:
        """A vocabulary with more classes and more disjoint pairs."""
        merged = {name: frozenset(above) for name, above in self.parents.items()}
        for name, above in parents.items():
            merged[name] = merged.get(name, frozenset()) | frozenset(above)
        return Vocabulary(merged, self.apart | {frozenset(pair) for pair in apart})


def built_in() -> Vocabulary:
    """The table of this module.

    >>> built_in().within(["dpv:DifferentialPrivacy"], "dpv:Deidentification")
    True
    """
    rows = (line.split(": ") for line in TABLE.strip().splitlines())
    return Vocabulary({name: frozenset(above.split()) for name, above in rows})
