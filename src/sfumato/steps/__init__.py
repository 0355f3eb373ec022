"""Means, one a file. A new one is added here and nowhere else."""

from __future__ import annotations

from sfumato.steps.global_recoding import GlobalRecoding
from sfumato.steps.k_member import KMember
from sfumato.steps.mondrian import Mondrian
from sfumato.steps.local_recoding import LocalRecoding

ALL = (GlobalRecoding, LocalRecoding)
