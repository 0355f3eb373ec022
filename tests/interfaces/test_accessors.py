"""``df.sfumato.assess(quasi=[...])`` of pandas and polars frames, once this module is imported."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from tests.test_testing import FRAME


@pytest.mark.parametrize("made", [pl.DataFrame, pd.DataFrame])
def test_frames_have_the_verbs(made: type) -> None:
    import sfumato.interfaces.accessors

    assert sfumato.interfaces.accessors
    frame = made(FRAME)
    roles = {"quasi": ["age", "zip"], "sensitive": ["illness"]}
    assert frame.sfumato.assess(**roles).smallest_class == 2
    assert frame.sfumato.judge("k_anonymity", **roles)[0].attained == 2
    release = frame.sfumato.anonymize([sf.KAnonymity(2)], [sf.GlobalRecoding()], **roles)
    assert isinstance(release.data, made)
    assert frame.sfumato.profile()
