"""Write the digests of the small checkers into docs/reference/certificates.md:
``python tools/checker_digests.py``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "certificates.md"
FILES = {
    "`sfumato_verify.py`": ROOT / "verifier" / "sfumato_verify.py",
    "script of the panel (`check_release.js`)": (
        ROOT / "src" / "sfumato" / "release" / "report" / "script" / "check_release.js"
    ),
}


def page(text: str) -> str:
    """The page with the digests of the files as they are."""
    for name, file in FILES.items():
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        pattern = rf"\| {re.escape(name)} \| `[^`]*` \|"
        text = re.sub(pattern, f"| {name} | `{digest}` |", text)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), encoding="utf-8")
