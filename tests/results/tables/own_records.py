"""Models with the records that they were fitted to: as a researcher gives them."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf

KEPT = ("endog", "weights", "freq_weights", "var_weights", "offset", "status", "groups", "strata")


def own_records(model):
    """The columns that a model keeps, as a table; None where it keeps none."""
    kept = getattr(model, "model", None)
    exog = getattr(kept, "exog", None)
    if exog is None or np.ndim(exog) != 2:
        return None
    columns = {f"x{place}": column for place, column in enumerate(np.asarray(exog, dtype=float).T)}
    random = getattr(kept, "exog_re", None)
    if random is not None:
        columns |= {
            f"z{place}": column for place, column in enumerate(np.asarray(random, dtype=float).T)
        }
    for name in KEPT:
        values = getattr(kept, name, None)
        if values is not None and np.shape(values) == (len(exog),):
            columns[name] = np.asarray(values)
    exposure = getattr(kept, "exposure", None)
    if exposure is not None and np.shape(exposure) == (len(exog),):  # a model keeps its logarithm
        columns["exposure"] = np.exp(np.asarray(exposure))
    return pl.DataFrame(
        {name: values for name, values in columns.items() if len(values) == len(exog)}
    )


def check(output, data=None, **said):
    """Check an output; a model with the records it keeps, where no others are given."""
    return sf.check_output(output, own_records(output) if data is None else data, **said)
