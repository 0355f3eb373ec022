"""Reading what stays with the owner of a release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import UnreadableInput


def read_owner_record(folder: Path, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """The owner's record of a release, which must go with this certificate."""
    file = folder / "release.json"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise UnreadableInput(f"{file} is not there or cannot be read") from None
    except ValueError:
        raise UnreadableInput(f"{file} is not valid JSON; it was damaged or edited") from None
    own = record.get("certificate", {}) if isinstance(record, dict) else {}
    if not isinstance(own, dict) or own.get("digest") != certificate.get("digest"):
        raise UnreadableInput(f"{file} does not belong to the certificate beside it; explain the share folder alone")
    return dict(record)
