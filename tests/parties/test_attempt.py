"""What a party remembers of a study while it runs, so that trying again asks nothing new."""

from __future__ import annotations

import pytest

from sfumato.parties.attempt import alone


def test_one_run_at_a_time(tmp_path):
    with (
        alone(tmp_path / "one.attempt"),
        pytest.raises(Exception, match="already"),
        alone(tmp_path / "one.attempt"),
    ):
        pass
