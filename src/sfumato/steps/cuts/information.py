"""What ranges of a column tell about a class label, in bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def entropy(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    r"""Entropy of a label in some sets of records, :math:`I(R) = -\sum_c p_c \log_2 p_c`; 0 where there are no records.

    ``counts`` has one row a set and one column a label.

    >>> import numpy as np
    >>> entropy(np.array([[1, 1], [4, 0]])).tolist()
    [1.0, 0.0]
    """
    import numpy as np

    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    shares = counts / total
    bits = -(shares * np.log2(np.where(counts > 0, shares, 1.0))).sum(axis=-1)
    return np.asarray(bits + 0.0)


def gain(sums: NDArray[np.int64], borders: list[int]) -> float:
    r"""Information that splitting a range gains, :math:`I(R) - \sum_c \frac{|R_c|}{|R|} I(R_c)`.

    ``sums`` are counts by label, summed up over ranks; the parts lie between neighbouring ``borders``.
    """
    import numpy as np

    parts = np.diff(sums[borders], axis=0)
    whole = parts.sum(axis=0)
    records = whole.sum()
    if not records:
        return 0.0
    return max(0.0, float(entropy(whole) - (parts.sum(axis=1) / records) @ entropy(parts)))


def best_split(sums: NDArray[np.int64], low: int, high: int) -> int:
    """The rank at which splitting the range from ``low`` up to ``high`` in two gains most; the first of equal ones.

    Ranks without records do not part anything: a split is made before the first rank of what is on the right.
    """
    import numpy as np

    left = sums[low + 1 : high] - sums[low]
    right = sums[high] - sums[low + 1 : high]
    sizes = np.stack([left.sum(axis=1), right.sum(axis=1)])
    within = (sizes * np.stack([entropy(left), entropy(right)])).sum(axis=0)
    within = np.where((sizes > 0).all(axis=0), within, np.inf)
    return low + 1 + int(np.argmin(np.round(within, 9)))
