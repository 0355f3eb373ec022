"""Utility metrics, one a file: what a release is still worth. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.utility.accuracy import Accuracy
from sfumato.utility.ambiguity import Ambiguity
from sfumato.utility.average_class_size import AverageClassSize
from sfumato.utility.c_avg import NormalisedClassSize
from sfumato.utility.classification import Classification
from sfumato.utility.completeness import Completeness
from sfumato.utility.consistency import Consistency
from sfumato.utility.count import CountError
from sfumato.utility.discernibility import Discernibility
from sfumato.utility.height import Height
from sfumato.utility.il1s import StandardisedError
from sfumato.utility.kl_divergence import KullbackLeibler
from sfumato.utility.loss import Loss
from sfumato.utility.moments import Correlations, Covariances, Eigenvalues, Means, Quantiles
from sfumato.utility.ncp import NormalisedCertaintyPenalty
from sfumato.utility.non_uniform_entropy import NonUniformEntropy
from sfumato.utility.precision import Precision
from sfumato.utility.predictive_accuracy import PredictiveAccuracy
from sfumato.utility.propensity import Propensity
from sfumato.utility.query_workload import QueryWorkload
from sfumato.utility.record_squared_error import RecordSquaredError
from sfumato.utility.regression_overlap import RegressionOverlap
from sfumato.utility.squared_error import SquaredError
from sfumato.utility.sse_over_sst import SumOfSquares
from sfumato.utility.table import TableDistance
from sfumato.utility.timeliness import Timeliness
from sfumato.utility.uniqueness import Uniqueness
from sfumato.utility.validity import Validity

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
