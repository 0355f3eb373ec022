"""Write the JSON Schema of certificates into docs/reference/certificates, from the model that reads them:
``python tools/certificate_schema.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from sfumato.release.certificate import DOCUMENTS

PAGE = (
    Path(__file__)
    .resolve()
    .parents[1]
    .joinpath("docs", "reference", "certificates", "certificate.schema.json")
)


def schema() -> str:
    """The schema of every kind of certificate, chosen by ``shape``."""
    kinds = {str(shape): model for shape, model in DOCUMENTS.items()}
    models = [(model, "validation") for model in dict.fromkeys(kinds.values())]
    _, definitions = models_json_schema(models)
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Certificate of sfumato, version 3",
        "type": "object",
        "required": ["shape"],
        "allOf": [_choice(shape, model.__name__) for shape, model in kinds.items()],
        "properties": {"shape": {"enum": list(kinds)}},
        **definitions,
    }
    return json.dumps(_without_noise(document), indent=1, ensure_ascii=False) + "\n"


def _choice(shape: str, name: str) -> dict[str, Any]:
    return {
        "if": {"properties": {"shape": {"const": shape}}},
        "then": {"$ref": f"#/$defs/{name}"},
    }


def _without_noise(part: Any) -> Any:
    """Without titles, and without the null of sections that may be left out: no reader takes it."""
    if isinstance(part, list):
        return [_without_noise(entry) for entry in part]
    if not isinstance(part, dict):
        return part
    absent = "default" in part and part["default"] is None and "anyOf" not in part
    return {
        name: _without_noise(entry)
        for name, entry in part.items()
        if not (name == "title" and isinstance(entry, str) and "allOf" not in part)
        and not (name == "default" and absent)
    }


if __name__ == "__main__":
    PAGE.write_text(schema(), encoding="utf-8")
