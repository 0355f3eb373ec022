"""How close a class of k of n records can be to the table, by the earth mover's distance of ranks.

Each of the n records has its own rank and the distance is normalised by n − 1, so that 1 moves
everything from one end to the other.

Reference: Soria-Comas, Domingo-Ferrer, Sánchez & Martínez 2015, doi:10.1109/TKDE.2015.2435777.
"""

from __future__ import annotations

import math

from sfumato.errors import ParameterError


def distance_bounds(n: int, k: int) -> tuple[float, float]:
    r"""The least distance of any class of k records, and the largest of a class with one record of
    each of k equal parts.

    .. math:: \frac{(n + k)(n - k)}{4 n (n - 1) k} \le EMD, \qquad EMD \le \frac{n - k}{2 (n - 1) k}

    The first holds for every class and is attained where n/k is odd. The second is for classes that
    take one record of each *k*-th of the ranks, and **only where k divides n**: with n = 10, k = 3
    and four records in the middle part a class reaches 0.1444 against 0.1296.

    >>> [round(bound, 6) for bound in distance_bounds(20, 4)]
    [0.063158, 0.105263]
    """
    _require(n, k)
    if n == 1:
        return 0.0, 0.0
    from_table = (n + k) * (n - k) / (4 * n * (n - 1) * k)
    from_class = (n - k) / (2 * (n - 1) * k)
    return from_table, from_class


def needed_size(n: int, t: float, k: int = 1) -> int:
    r"""The size of classes with one record of each part that keeps the distance within t (k* in the
    paper).

    .. math:: k^* = \max\Bigl(k, \Bigl\lceil \frac{n}{2(n-1)t + 1} \Bigr\rceil\Bigr), \qquad
        k^* \mathrel{+}= \Bigl\lfloor \frac{n \bmod k^*}{\lfloor n/k^* \rfloor} \Bigr\rfloor

    The second line shares out what is left over where n is not divisible; since the bound then no
    longer holds, classes are to be verified.

    >>> (
    ...     needed_size(1000, 0.05),
    ...     needed_size(1000, 0.1, 5),
    ...     needed_size(1000, 0.2, 2),
    ...     needed_size(1080, 0.01),
    ... )
    (10, 5, 3, 49)
    """
    _require(n, k)
    if not 0 <= t <= 1:
        raise ParameterError("t is a distance from 0 (equal) to 1")
    # 1e-9 keeps a quotient that is a whole number from being rounded up.
    least_size = n / (2 * (n - 1) * t + 1)
    size = max(k, math.ceil(least_size - 1e-9))
    return size + (n % size) // (n // size)


def _require(n: int, k: int) -> None:
    if not 1 <= k <= n:
        raise ParameterError("k must be at least 1 and at most the number of records")
