"""Re-identification risks that follow from class sizes: prosecutor, journalist, marketer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from sfumato.core.metric import Measure, Risk
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from sfumato.core.model import ClassEvidence


@parameters
class ProsecutorRisk(Risk):
    r"""The chance that an intruder who knows a person is in the table picks that person's record.

    .. math:: \max_i 1/f_i

    :math:`f_i` is the number of records an intruder must confuse with record *i* (its class size).
    An empty table has risk 0. Reference: El Emam & Dankar 2008, doi:10.1197/jamia.M2716.
    """

    name: ClassVar[str] = "prosecutor_risk"
    line: ClassVar[str] = (
        "the highest chance that somebody who knows a person is in the file picks that person's "
        "record"
    )

    def measure(self, evidence: ClassEvidence) -> Measure:
        """The highest risk of any record."""
        sizes = evidence.frequencies
        value = 0.0
        if len(sizes):
            value = 1.0 / float(sizes.min())
        return Measure(
            self.name,
            value,
            self.better,
            "highest chance of picking the right record of a known participant",
        )


@parameters
class JournalistRisk(Risk):
    r"""The chance that an intruder who does not know who is in the table picks the right person of
    the population.

    .. math:: \max_i 1/\hat F_i

    :math:`\hat F_i` is the sum of the survey weights of the class: the estimated number of such
    people in the population. Without weights the table is taken as the population, and the risk
    equals the prosecutor's.
    """

    name: ClassVar[str] = "journalist_risk"
    line: ClassVar[str] = (
        "the highest chance that somebody who does not know who is in the file picks the right "
        "person"
    )

    def measure(self, evidence: ClassEvidence) -> Measure:
        """The highest risk of any record, against the population."""
        weights = evidence.classes.weights
        sizes = evidence.frequencies if weights is None else weights
        if len(sizes) and float(sizes.min()) > 0:
            value = min(1.0, 1.0 / float(sizes.min()))
        else:
            # Weights of 0 say that nobody is like that: the worst is assumed of any class there is.
            value = float(len(sizes) > 0)
        basis = "population estimated by the weights"
        if weights is None:
            basis = "the table counts as the population"
        return Measure(
            self.name, value, self.better, f"highest chance of picking the right person; {basis}"
        )


@parameters
class MarketerRisk(Risk):
    r"""The expected share of records an intruder re-identifies by guessing within every class.

    .. math:: \frac1N \sum_i \frac1{f_i}

    which is the number of classes over the number of records when missing values are a category.
    """

    name: ClassVar[str] = "marketer_risk"
    line: ClassVar[str] = (
        "the average over all records: the share that guessing within every class would get right"
    )

    def measure(self, evidence: ClassEvidence) -> Measure:
        """The average risk over records."""
        records = evidence.classes.records
        frequencies = evidence.frequencies
        # Every class gives one right guess then: sizes need not be divided.
        if frequencies is records:
            guessed = len(records)
        else:
            guessed = (records / frequencies).sum()
        value = 0.0
        if len(records):
            value = float(guessed / records.sum())
        return Measure(
            self.name, value, self.better, "share of all records an intruder would re-identify"
        )


@parameters
class ShareAtRisk(Risk):
    """The share of records whose risk 1/f exceeds a threshold."""

    threshold: Annotated[
        float, Field(gt=0, le=1, description="risk above which a record is at risk")
    ] = 0.2

    name: ClassVar[str] = "records_at_risk"
    line: ClassVar[str] = (
        "the share of records whose own risk is above the threshold of the assessment"
    )

    def measure(self, evidence: ClassEvidence) -> Measure:
        """The share of records above the threshold."""
        records = evidence.classes.records
        if len(records):
            # The slack keeps 1/5 from being above 0.2 by rounding.
            exposed = records[1.0 / evidence.frequencies > self.threshold + 1e-12]
        else:
            exposed = records
        value = 0.0
        if len(records):
            value = float(exposed.sum() / records.sum())
        return Measure(
            self.name, value, self.better, f"share of records whose risk exceeds {self.threshold:g}"
        )


@parameters
class UniqueRecords(Risk):
    """The share of records that nobody shares their quasi-identifiers with."""

    name: ClassVar[str] = "unique_records"
    line: ClassVar[str] = (
        "the share of records that share their quasi-identifiers with no other record"
    )

    def measure(self, evidence: ClassEvidence) -> Measure:
        """The share of unique records."""
        records = evidence.classes.records
        value = 0.0
        if len(records):
            value = float(records[evidence.frequencies == 1].sum() / records.sum())
        return Measure(
            self.name,
            value,
            self.better,
            "share of records that are unique on the quasi-identifiers",
        )
