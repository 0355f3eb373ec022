"""The ways to search a lattice, by name."""

from __future__ import annotations

import functools
from typing import Literal

from sfumato.core.progress import Progress, silent
from sfumato.errors import ParameterError
from sfumato.steps.datafly import datafly
from sfumato.steps.incognito import incognito
from sfumato.steps.lattice import Lattice
from sfumato.steps.mingen import mingen
from sfumato.steps.ola import ola
from sfumato.steps.optimal_search import Search
from sfumato.steps.outcome import Algorithm, Outcome
from sfumato.steps.samarati import samarati

Name = Literal["optimal", "samarati", "mingen", "datafly", "incognito", "ola", "anytime"]
