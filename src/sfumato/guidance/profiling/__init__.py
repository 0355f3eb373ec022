"""Looking at a table before anything is done to it: column cards, guesses of roles, a proposed
recipe.
"""

from __future__ import annotations

from sfumato.core.parameters import Members

VERBS = Members(__name__, {"text": "yaml_text:recipe_text"})
"""How a proposal is written, and where that is. A proposal offers it and asks here, since what
writes it is built on proposals.
"""
