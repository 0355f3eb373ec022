"""Utility metrics, one a file: what a release is still worth. A new one is added here and nowhere
else.
"""

from __future__ import annotations

from typing import Any

from sfumato.core.parameters import Members

ALL = Members(
    __name__,
    {
        "loss": "information_loss:Loss",
        "ncp": "information_loss:NormalisedCertaintyPenalty",
        "precision": "information_loss:Precision",
        "height": "information_loss:Height",
        "non_uniform_entropy": "information_loss:NonUniformEntropy",
        "association": "association:AssociationLoss",
        "groupability": "groupability:Groupability",
        "kl_divergence": "kl_divergence:KullbackLeibler",
        "ambiguity": "information_loss:Ambiguity",
        "average_class_size": "class_sizes:AverageClassSize",
        "c_avg": "class_sizes:NormalisedClassSize",
        "discernibility": "class_sizes:Discernibility",
        "classification": "class_sizes:Classification",
        "squared_error": "squared_error:SquaredError",
        "record_squared_error": "squared_error:RecordSquaredError",
        "sse_over_sst": "squared_error:SumOfSquares",
        "il1s": "squared_error:StandardisedError",
        "means": "moments:Means",
        "quantiles": "moments:Quantiles",
        "covariances": "moments:Covariances",
        "correlations": "moments:Correlations",
        "eigenvalues": "moments:Eigenvalues",
        "propensity": "predictive:Propensity",
        "query_workload": "query_workload:QueryWorkload",
        "predictive_accuracy": "predictive:PredictiveAccuracy",
        "regression_overlap": "predictive:RegressionOverlap",
        "table": "tables:TableDistance",
        "count": "tables:CountError",
        "marginal_error": "tables:MarginalError",
        "rule_side_effects": "rules:RuleSideEffects",
        "completeness": "data_quality:Completeness",
        "uniqueness": "data_quality:Uniqueness",
        "timeliness": "data_quality:Timeliness",
        "validity": "data_quality:Validity",
        "accuracy": "data_quality:Accuracy",
        "consistency": "data_quality:Consistency",
    },
)


def __getattr__(name: str) -> Any:
    return ALL.called(name)
