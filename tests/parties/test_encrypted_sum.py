"""An encrypted sum: everybody encrypts, a server adds without seeing anything, and a key holder
opens the sums and nothing else."""

from __future__ import annotations

import pytest

from sfumato.errors import ParameterError
from sfumato.parties.protocols import Additive, Shamir, summation, usual_degree


def test_protocols_and_their_limits():
    assert (
        usual_degree(3) == 1
        and not Additive().fits(2**63 + 1)
        and Shamir().fits(2**90)
        and not Shamir().fits(2**93)
    )
    with pytest.raises(ParameterError, match="different parties"):
        summation("encrypted", server=1, key_holder=1)
    with pytest.raises(ParameterError, match="does not exist; choose"):
        summation("ring")
    with pytest.raises(ParameterError, match="degree"):
        Shamir(4).degree_among(4)
