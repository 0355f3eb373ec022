"""A Gaussian copula: columns of numbers drawn with the rank correlations of the table and the
distribution of each column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import SchemaError
from sfumato.methods.steps.swapping.normal_scores import average_ranks, rank_correlations
from sfumato.methods.steps.synthesis.material import ColumnForm, Material, rounded_to
from sfumato.methods.steps.synthesis.tree_growth import DrawnColumn, bandwidths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.synthesis.material import Floats

SMALLEST = 1e-8
"""Eigenvalues of a matrix of correlations are at least this large."""


def latent_correlations(ranked: Floats) -> Floats:
    r"""Correlations of normal numbers whose rank correlations
    are given: :math:`2 \sin(\pi \rho_S / 6)`, mended where needed.

    A matrix that is not positive definite has its eigenvalues raised to 10⁻⁸ and is brought back to
    a diagonal of 1.

    >>> round(float(latent_correlations(np.array([[1.0, 0.5], [0.5, 1.0]]))[0, 1]), 6)
    0.517638
    """
    matrix = 2 * np.sin(math.pi / 6 * ranked)
    # Rounding leaves the matrix a little asymmetric, which eigh would not see.
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values.min(initial=1.0) < SMALLEST:
        # Pairwise correlations need not fit together; raised eigenvalues make a matrix that does.
        matrix = (vectors * np.maximum(values, SMALLEST)) @ vectors.T
        scale = np.sqrt(np.diag(matrix))
        matrix = matrix / np.outer(scale, scale)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(matrix, dtype=np.float64)


def require_numbers(materials: Mapping[str, Material]) -> None:
    """Refuse columns that have no order."""
    nominal = []
    for name, material in materials.items():
        if material.form is ColumnForm.CATEGORIES:
            nominal.append(name)
    if nominal:
        raise SchemaError(
            "synthesize by a copula needs numbers, dates and ordered categories, and "
            f"{', '.join(nominal)} have no order; use method: trees, drop them, or give them kind: "
            "ordinal and an order"
        )


def drawn_by_copula(
    materials: Mapping[str, Material], size: int, stream: np.random.Generator, *, exact: bool
) -> dict[str, DrawnColumn]:
    """So many records. Missing values are a column of their own, drawn with the others: there, or
    not.
    """
    names = list(materials)
    gaps = {name: np.isnan(materials[name].values) for name in names}
    incomplete = [name for name in names if gaps[name].any()]
    latent = [
        *(materials[name].values for name in names),
        # Whether a value is there is a column of its own: gaps go along with other columns.
        *(1.0 * ~gaps[name] for name in incomplete),
    ]
    matrix = latent_correlations(rank_correlations([average_ranks(column) for column in latent]))
    values, vectors = np.linalg.eigh(matrix)
    # The symmetric root: normals times it have the wanted correlations.
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    normals = stream.standard_normal((size, len(latent))) @ root
    draws = {}
    for number, name in enumerate(names):
        is_present: NDArray[np.bool_] = np.ones(size, dtype=np.bool_)
        if name in incomplete:
            presence_scores = normals[:, len(names) + incomplete.index(name)]
            missing_share = float(gaps[name].mean())
            is_present = _is_present(presence_scores, 1 - missing_share)
        draws[name] = _place_values(
            materials[name], normals[:, number], is_present, stream, exact=exact
        )
    return draws


def _is_present(normals: Floats, share: float) -> NDArray[np.bool_]:
    """Which cells hold a value: the share of the table, those with the largest latent numbers."""
    present = round(share * len(normals))
    # Ranks by sorting twice: the order, and the place of each in it.
    ranks = np.argsort(np.argsort(normals, kind="stable"), kind="stable")
    return np.asarray(ranks >= len(normals) - present)


def _place_values(
    material: Material,
    normals: Floats,
    is_present: NDArray[np.bool_],
    stream: np.random.Generator,
    *,
    exact: bool,
) -> DrawnColumn:
    """Values of the column in the order of the latent numbers."""
    present_rows = np.flatnonzero(~np.isnan(material.values))
    ascending = present_rows[np.argsort(material.values[present_rows], kind="stable")]
    gap = np.flatnonzero(np.isnan(material.values))
    # Cells without a value take any record that has none.
    donors = np.full(len(normals), gap[0] if len(gap) else 0, dtype=np.int64)
    where = np.flatnonzero(is_present)
    ranks = np.argsort(np.argsort(normals[where], kind="stable"), kind="stable")
    shares = _uniforms(normals[where])
    if exact:
        # By rank instead of by size: every original value is given back as often as it occurs.
        shares = (ranks + 0.5) / max(1, len(where))
    positions = np.minimum((shares * len(ascending)).astype(np.int64), len(ascending) - 1)
    donors[where] = ascending[positions]
    # As many drawn as original: the donors' values are the exact ones already.
    if material.form is ColumnForm.ORDERED or (exact and len(where) == len(ascending)):
        return DrawnColumn(donors, None)
    values = np.full(len(normals), np.nan)
    sorted_values = material.values[ascending]
    if exact:
        middles = (np.arange(len(ascending)) + 0.5) / len(ascending)
        values[where] = np.interp(shares, middles, sorted_values)
        values[where] = rounded_to(values[where], material.step)
    else:
        values[where] = _smooth_values(
            material, material.values[donors[where]], sorted_values, stream
        )
    return DrawnColumn(donors, values)


def _smooth_values(
    material: Material, values: Floats, sorted_values: Floats, stream: np.random.Generator
) -> Floats:
    """Values moved by a kernel as wide as the whole column says, reflected at its bounds, and
    rounded.
    """
    whole_leaf = np.array([0])
    width = float(bandwidths(sorted_values, whole_leaf, np.array([len(sorted_values)]))[0])
    if not width > 0:
        return values
    low, high = material.bounds
    noisy_values = values + width * stream.standard_normal(len(values))
    # Mirrored at the bounds: no pile of records on the bound itself.
    noisy_values = np.where(noisy_values < low, 2 * low - noisy_values, noisy_values)
    noisy_values = np.where(noisy_values > high, 2 * high - noisy_values, noisy_values)
    return rounded_to(np.clip(noisy_values, low, high), material.step)


def _uniforms(normals: Floats) -> Floats:
    from scipy.special import ndtr

    uniforms: Floats = ndtr(normals)
    return uniforms
