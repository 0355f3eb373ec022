"""Promises: what a model needs to see, and what it says."""

from __future__ import annotations

from sfumato.core import registry
from sfumato.core.model import Model


def test_promises_about_mechanisms_are_those_that_say_so():
    """A new one declares ``randomised``; the test above then covers it."""
    kinds = {
        name
        for name, cls in registry.family("models").items()
        if cls.randomised is not Model.randomised
    }
    assert kinds == {"stochastic_t_closeness"}
