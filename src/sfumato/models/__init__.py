"""Promises, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.models.k_anonymity import KAnonymity

ALL = (KAnonymity,)
