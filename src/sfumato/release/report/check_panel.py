"""The panel "Check this release" of the shared page: words, a field for files, and a script of our
own that checks them without a network.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path

TITLE = "Check this release"
PANEL = """\
<p>Choose <code>certificate.json</code>, the data file and this page, or drop the whole folder
here. The files stay on this computer: the page asks no network. It computes digests, rows,
columns, class sizes, risks and promises again; what it cannot check is no pass.</p>
<p><label>Files of the release <input type="file" multiple></label></p>
<p><output class="strong" aria-live="polite"></output></p>
<ol class="claims"></ol>
<p class="quiet">A checker that comes with a release proves nothing about somebody who forged this
page, too. The SHA-256 of the official script is {digest}, as the documentation of sfumato says
under “The format of certificates”. Trust starts there, or with <code>sfumato verify</code>.</p>
"""


@functools.cache
def read_script() -> str:
    """The script, as it stands in the page."""
    file = Path(__file__).parent / "script" / "check_release.js"
    return file.read_text("utf-8")


def panel_html() -> str:
    """What the reader sees of the panel."""
    digest = hashlib.sha256(read_script().encode()).hexdigest()
    return PANEL.format(digest=f'<code class="digest">{digest}</code>')


def script_policy() -> str:
    """What a Content-Security-Policy must allow: this script, and the worker that it starts of
    itself.
    """
    digest = hashlib.sha256(read_script().encode()).digest()
    return f"; script-src 'sha256-{base64.b64encode(digest).decode()}'; worker-src blob:"
