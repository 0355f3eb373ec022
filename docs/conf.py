"""Sphinx configuration. The built pages fetch nothing from the network; `make docs` checks that."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "extensions"))

project = "sfumato"
author = "the sfumato authors"
copyright = f"2026, {author}"
# Read as text: building the pages must not depend on the package being installed.
_package = (HERE.parent / "src" / "sfumato" / "__init__.py").read_text(encoding="utf-8")
release = re.search(r'^__version__ = "(.+)"', _package, re.MULTILINE)[1]
version = release

extensions = ["myst_parser", "mathml"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
nitpicky = True

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["gallery.css"]
html_title = f"sfumato {release}"
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_use_index = False
