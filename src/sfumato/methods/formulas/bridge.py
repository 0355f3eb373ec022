"""Between differential privacy and t-closeness: what one promises in the words of the other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from sfumato.core.model import TOLERANCE
from sfumato.errors import ParameterError

ASSUMPTION = (
    "only against an intruder who knows exactly the table's distribution beforehand and exactly the"
    " class's distribution afterwards, and nothing else; it must not be added to a budget of"
    " differential privacy"
)


def implied_t(epsilon: float, n: int, smallest: int) -> float:
    r"""The multiplicative t to which every class is close when confidential values are
    ε-differentially private.

    .. math:: t = \alpha + (1 - \alpha)\, e^{\varepsilon}
        = e^\varepsilon - \alpha (e^\varepsilon - 1), \qquad \alpha = n_{min}/N

    Each of the N records passes its confidential value (all its confidential values together)
    through a mechanism that is ε-private for that record; the smallest class decides. With a single
    class t is 1. The proposition of the paper is printed with :math:`N - n_{min} - 1` instead
    of :math:`N - n_{min}`, which is smaller and unsafe: a single class would get a distance below
    1.

    Reference: Domingo-Ferrer & Soria-Comas 2015, doi:10.1016/j.knosys.2014.11.011, Proposition 1,
    corrected.

    >>> round(implied_t(math.log(2), 100, 5), 5), implied_t(1, 7, 7)
    (1.95, 1.0)
    """
    if not epsilon >= 0:
        raise ParameterError("epsilon must be zero or more")
    share = _share(n, smallest)
    # A class is a part of the table: only the share outside it can differ by e^ε.
    return share + (1 - share) * math.exp(epsilon)


def implied_t_of(epsilon: float, class_sizes: Sequence[int]) -> float:
    """:func:`implied_t` of a table with classes of these sizes.

    >>> round(implied_t_of(math.log(2), [5, 45, 50]), 5)
    1.95
    """
    sizes = [int(size) for size in class_sizes]
    if not sizes:
        raise ParameterError(
            "class_sizes is empty: a table without records has no classes to compare"
        )
    return implied_t(epsilon, sum(sizes), min(sizes))


def needed_epsilon(t: float, n: int, smallest: int) -> float:
    r"""The largest ε from which :func:`implied_t` gives at most t: its inverse, for planning.

    .. math:: \varepsilon = \ln \frac{t - \alpha}{1 - \alpha}

    Infinite for a single class, which looks like the table whatever is done.

    >>> round(needed_epsilon(2, 100, 5), 5), needed_epsilon(1, 10, 10)
    (0.71912, inf)
    """
    if not t >= 1:
        raise ParameterError("a multiplicative t is at least 1, where 1 means equal")
    share = _share(n, smallest)
    if smallest == n:
        return math.inf
    return math.log((t - share) / (1 - share))


def _share(n: int, smallest: int) -> float:
    if not 1 <= smallest <= n:
        raise ParameterError("the smallest class must have from one record to all records")
    return smallest / n


@dataclasses.dataclass(frozen=True)
class Conditional:
    """A number that holds under an assumption only."""

    value: float
    assumption: str = ASSUMPTION
    conditional: bool = True

    def __str__(self) -> str:
        return f"{self.value:.5g} ({self.assumption})"


def implied_epsilon(t: float) -> Conditional:
    r"""What t-closeness with the multiplicative distance limits like ε-differential privacy would.

    .. math:: \varepsilon = 2 \ln t

    The view on one person changes by at most the factor t when the person is in one of two tables
    and t² when in both. It is no differential privacy: it depends on what the intruder knows, and
    does not add up over releases.

    Reference: Domingo-Ferrer & Soria-Comas 2015, doi:10.1016/j.knosys.2014.11.011, Proposition 3.

    >>> [round(implied_epsilon(t).value, 5) for t in (1.5, 2, math.e)]
    [0.81093, 1.38629, 2.0]
    """
    if not t >= 1 - TOLERANCE:
        raise ParameterError("a multiplicative t is at least 1, where 1 means equal")
    return Conditional(2 * math.log(max(t, 1.0)))


def needed_t(epsilon: float) -> Conditional:
    r"""The t from which :func:`implied_epsilon` gives at most ε: :math:`t = e^{\varepsilon/2}`.

    >>> round(needed_t(2).value, 5)
    2.71828
    """
    if not epsilon >= 0:
        raise ParameterError("epsilon must be zero or more")
    return Conditional(math.exp(epsilon / 2))
