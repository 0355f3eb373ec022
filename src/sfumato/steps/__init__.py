"""Means, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.steps.global_recoding import GlobalRecoding

ALL = (GlobalRecoding,)
