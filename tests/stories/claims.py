"""The registry of claims: what the product affirms of a release, and the tests that try to break
it.

An entry stands for one claim in plain English. ``found`` names every place where the product makes
it, as ``product_claims`` finds them; ``tests`` are those that attack it with a naive oracle, random
inputs or forged files. ``test_claims.py`` keeps both complete.
"""

from __future__ import annotations

from tests.stories.claims_of_methods import ACCOUNTED_STEPS, OTHER_PROMISES, TABLE_PROMISES
from tests.stories.claims_of_verify import CHECKS, OPTIMALITY
from tests.stories.claims_of_words import SENTENCES

CLAIMS = (*TABLE_PROMISES, *OTHER_PROMISES, *ACCOUNTED_STEPS, *CHECKS, *OPTIMALITY, *SENTENCES)
