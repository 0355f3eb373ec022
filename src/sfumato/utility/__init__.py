"""Utility metrics, one a file: what a release is still worth. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.utility.class_sizes import AverageClassSize, Classification, Discernibility, NormalisedClassSize
from sfumato.utility.data_quality import Accuracy, Completeness, Consistency, Timeliness, Uniqueness, Validity
from sfumato.utility.information_loss import (
    Ambiguity,
    Height,
    Loss,
    NonUniformEntropy,
    NormalisedCertaintyPenalty,
    Precision,
)
from sfumato.utility.kl_divergence import KullbackLeibler
from sfumato.utility.moments import Correlations, Covariances, Eigenvalues, Means, Quantiles
from sfumato.utility.predictive import PredictiveAccuracy, Propensity, RegressionOverlap
from sfumato.utility.query_workload import QueryWorkload
from sfumato.utility.squared_error import RecordSquaredError, SquaredError, StandardisedError, SumOfSquares
from sfumato.utility.tables import CountError, TableDistance

ALL = (
    Loss,
    NormalisedCertaintyPenalty,
    Precision,
    Height,
    NonUniformEntropy,
    KullbackLeibler,
    Ambiguity,
    AverageClassSize,
    NormalisedClassSize,
    Discernibility,
    Classification,
    SquaredError,
    RecordSquaredError,
    SumOfSquares,
    StandardisedError,
    Means,
    Quantiles,
    Covariances,
    Correlations,
    Eigenvalues,
    Propensity,
    QueryWorkload,
    PredictiveAccuracy,
    RegressionOverlap,
    TableDistance,
    CountError,
    Completeness,
    Uniqueness,
    Timeliness,
    Validity,
    Accuracy,
    Consistency,
)
