"""A tree as the textbook grows it: every cut of every predictor tried, impurities from their
definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def gini(values: Sequence[int]) -> Fraction:
    """Records times Gini impurity."""
    n = len(values)
    return n * (1 - sum(Fraction(values.count(v), n) ** 2 for v in set(values)))


def squares(values: Sequence[int]) -> Fraction:
    """The sum of squared distances from the mean."""
    mean = Fraction(sum(values), len(values))
    return sum((v - mean) ** 2 for v in values)


def grown(bins: list[list[int]], target: list[int], *, numbers: bool, min_leaf: int) -> str:
    """The canonical text of the tree; ``bins[f][i]``."""
    impurity = squares if numbers else gini

    def node(rows: list[int]) -> str:
        here = impurity([target[i] for i in rows])
        best = None
        if len(rows) >= 2 * min_leaf and here > 0:
            for f, column in enumerate(bins):
                for cut in sorted({column[i] for i in rows}):
                    left = [i for i in rows if column[i] <= cut]
                    right = [i for i in rows if column[i] > cut]
                    if min(len(left), len(right)) < min_leaf:
                        continue
                    gain = (
                        here
                        - impurity([target[i] for i in left])
                        - impurity([target[i] for i in right])
                    )
                    if best is None or gain > best[0]:
                        best = gain, f, cut, left, right
        if best is None or best[0] <= Fraction(1, 10**8) * root:
            return "."
        return f"({best[1]},{best[2]})" + node(best[3]) + node(best[4])

    everybody = list(range(len(target)))
    root = impurity(target)
    return node(everybody)
