"""Plain data by name: what a task is asked for and answers, and what a page hands to a widget."""

from __future__ import annotations

from typing import Any

Fields = dict[str, Any]
