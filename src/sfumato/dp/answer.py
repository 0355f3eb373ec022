"""What a question gets: values, how far the noise may have moved them, and what it cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sfumato.errors import ParameterError

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Answer:
    """Noisy values, one each a group (a single one without groups), with the interval of the noise at 95 %.

    ``low`` and ``high`` bound the value that an exact answer on the same rows would have; they cover the noise and not
    the chance by which the rows came to be sampled, and each holds for its group alone. For quantiles they are empty:
    ``rank_error`` says how many rows farther from the asked rank the value may be than the best one of the grid.
    ``epsilon`` or ``rho`` is what the answer cost; ``repeated`` says that it was given before and cost nothing now;
    ``label`` is its name in a SELECT (AS).
    """

    question: str
    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    rank_error: float | None
    epsilon: float | None
    rho: float | None
    mechanism: str
    protects: str
    repeated: bool = False
    label: str | None = None

    @property
    def value(self) -> float:
        """The one value of a question without groups."""
        if self.by:
            raise ParameterError(f"the answer has {len(self.values)} groups; look at .values or .by_group")
        return self.values[0]

    @property
    def by_group(self) -> dict[Any, float]:
        """Group → value; the group is a word, or several when there are several columns."""
        names = (group[0] if len(self.by) == 1 else group for group in self.groups)
        return dict(zip(names, self.values, strict=True))

    @property
    def cost(self) -> str:
        """What the answer cost, in words."""
        spent = f"ε = {self.epsilon:g}" if self.epsilon is not None else f"ρ = {self.rho:g}"
        return f"nothing more ({spent} before)" if self.repeated else spent

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.rank_error is not None:
            error = f"at {CONFIDENCE:.0%} its rank is at most {self.rank_error:.3g} rows worse than the grid's best"
        elif self.by:
            error = f"behind each the interval that holds the noise at {CONFIDENCE:.0%}"
        else:
            error = f"at {CONFIDENCE:.0%}, without noise, it lies in [{self.low[0]:.6g}, {self.high[0]:.6g}]"
        shown = f"{self.values[0]:.6g}" if not self.by else f"{len(self.values)} groups"
        name = f"{self.label} ({self.question})" if self.label else self.question
        return f"{name}: {shown}; {error}. It cost {self.cost} ({self.mechanism}) and protects {self.protects}."

    def __str__(self) -> str:
        lines = [self.sentence]
        for place, group in enumerate(self.groups if self.by else ()):
            error = "" if self.rank_error is not None else f"  [{self.low[place]:.6g}, {self.high[place]:.6g}]"
            lines.append(f"  {', '.join(group)}: {self.values[place]:.6g}{error}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        plain = dataclasses.asdict(self)
        return {**plain, "groups": [list(group) for group in self.groups], "sentence": self.sentence}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Answer:
        """The inverse of :meth:`to_dict`."""
        given = {field.name: plain[field.name] for field in dataclasses.fields(cls)}
        given["groups"] = tuple(tuple(group) for group in given["groups"])
        lists = {name: tuple(given[name]) for name in ("by", "values", "low", "high")}
        return cls(**{**given, **lists})
