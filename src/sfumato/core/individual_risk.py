"""The risk of a record from a sample: how many people of the population it could be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def individual_risk(sample: ArrayLike, population: ArrayLike) -> NDArray[np.float64]:
    r"""Chance that a record of the sample is linked rightly: the mean of 1/F given f sampled records of the same keys.

    .. math::
        r = E[1/F \mid f] = \int_0^1 \frac{u^{f-1}}{1 + (\hat F/f - 1)\,u}\,du
          = \frac{1}{f}\,{}_2F_1\bigl(1, f; f+1; 1 - \hat F/f\bigr)

    *F*, the records of the population with these keys, is *f* plus a negative binomial number with *f* successes of probability
    :math:`\hat p = f/\hat F`; :math:`\hat F` is estimated, mostly by a sum of survey weights. It equals the usual form
    :math:`\hat p^f/f \cdot {}_2F_1(f, f; f+1; 1 - \hat p)` and is 1/f where :math:`\hat F \le f` (everybody was
    sampled). The short cut :math:`\hat p/(f - (1 - \hat p))` that some tools use for large f is about 3 % too high at f = 3.

    Reference: Benedetti & Franconi 1998; Franconi & Polettini 2004, doi:10.1007/978-3-540-25955-8_20.

    >>> individual_risk([1, 2, 3], [17, 110, 30]).round(6).tolist()
    [0.177076, 0.017144, 0.046368]
    """
    import numpy as np
    from scipy.special import hyp2f1

    f = np.asarray(sample, dtype=np.float64)
    beyond = np.maximum(np.asarray(population, dtype=np.float64) / f - 1, 0)
    return np.asarray(hyp2f1(1.0, f, f + 1, -beyond) / f)
