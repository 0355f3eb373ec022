"""The pseudonym vault: what is in it, going back to people (logged), and a new key for it."""

from __future__ import annotations

from sfumato.vault.log import Entry, read_log
from sfumato.vault.using import DomainSummary, reidentify, rotate, summary

__all__ = ["DomainSummary", "Entry", "read_log", "reidentify", "rotate", "summary"]
