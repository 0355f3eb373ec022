"""Names for what JSON and YAML hold: values by name, of any type that the format has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any]
"""Values by name that are only read: a certificate, an entry of a recipe, options."""

Document = dict[str, Any]
"""Values by name while they are put together, to be written as JSON or YAML."""
