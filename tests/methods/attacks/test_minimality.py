"""The minimality attack: a careful algorithm generalises no more than it must, and that tells
something."""

from __future__ import annotations

import sfumato as sf
from sfumato.methods.attacks.minimality import Minimality
from tests.methods.attacks.test_changed_secrets import scene_of


def test_minimality_is_not_worked_out_for_changed_values():
    scene = scene_of(["a"] * 4, [*"xxyy"], [*"xyyy"], models=(sf.LDiversity("secret", l=2),))
    assert "values of secret were changed" in Minimality().applies(scene)
