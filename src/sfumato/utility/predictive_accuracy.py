"""Predictive accuracy: learn from the release, be tested on the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.core.randomness import Seed
from sfumato.utility.columns import EMPTY, AllColumns, data_of, require_sense
from sfumato.utility.features import features_of
from sfumato.utility.logistic import fit_classes, predict
from sfumato.utility.suppressed import records_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair

MOST_CLASSES = 100


@parameters
class PredictiveAccuracy:
    r"""How well a label is predicted in original records by a model that learned from released ones.

    .. math:: value = \frac{acc_{original} - acc_{released}}{acc_{original} - acc_{majority}}

    A share ``held_out`` of the people, drawn by ``seed``, is set aside; one model (multinomial logistic regression) learns from the
    original records of the others, one from what was released of them, and both are tested on the original records of those set aside, as is
    always answering the most frequent label. ``raw`` is the accuracy of the model that learned from the release;
    ``value`` the share of what can be learned that is lost, 0 where the columns say nothing about the label. Generalised
    predictors are taken as in :class:`Propensity`; released records whose label is no original one are not
    learned from. Of larger tables a random sample of ``records`` people is looked at.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import Pair
    >>> people = examples.survey()
    >>> PredictiveAccuracy(people.schema.quasi[0]).measure(Pair.of(people, people)).value
    0.0
    """

    label: Annotated[str, Field(min_length=1, description="the column to be predicted")]
    columns: AllColumns = None
    held_out: Annotated[float, Field(gt=0, lt=1, description="share of people the models are tested on")] = 0.3
    records: Annotated[int, Field(ge=10, description="people that are looked at, at most")] = 20_000
    seed: Annotated[int, Field(ge=0, description="for the draw")] = 1

    name: ClassVar[str] = "predictive_accuracy"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there is a label and something to predict it from."""
        pair.original.require([self.label])
        if not records_of(pair):
            return EMPTY
        if not self._predictors(pair):
            return "no released column is left to predict from"
        if self.label in pair.released.columns and len(pair.reading(self.label).values) > MOST_CLASSES:
            return f"{self.label} has more than {MOST_CLASSES} different values; a label has few"
        if self._people(pair)[0].size < 2 or not self._people(pair)[1].size:
            return "too few records to set some aside"
        return None

    def measure(self, pair: Pair) -> Measure:
        """The share of what can be learned that is lost."""
        require_sense(self, pair)
        if not len(pair.rows) or self.label not in pair.released.columns:
            return Measure(self.name, 1.0, self.better, f"nothing was released to learn {self.label} from")
        learned, original, majority = self._accuracies(pair)
        gain = original - majority
        value = min(1.0, max(0.0, (original - learned) / gain)) if gain > 0 else 0.0
        told = f"accuracy {learned:.1%} from the release, {original:.1%} from the original, {majority:.1%} by majority"
        return Measure(self.name, value, self.better, f"share of what can be learned about {self.label} that is lost; {told}", raw=learned)  # fmt: skip

    def _predictors(self, pair: Pair) -> tuple[str, ...]:
        names = data_of(pair, self.columns)
        return tuple(name for name in names if name in pair.released.columns and name != self.label)

    def _people(self, pair: Pair) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The original rows to learn from, and those set aside."""
        import numpy as np

        order = Seed(self.seed).stream("held out").permutation(len(pair.original))[: self.records]
        tested = round(self.held_out * len(order))
        return np.sort(order[tested:]), np.sort(order[:tested])

    def _accuracies(self, pair: Pair) -> tuple[float, float, float]:
        """The accuracy learned from the release, from the original, and of the most frequent label."""
        import numpy as np

        label = pair.reading(self.label)
        learn, test = self._people(pair)
        inside = np.zeros(len(pair.original), dtype=bool)
        inside[learn] = True
        known = {text: code for code, text in enumerate(label.values)}
        told = np.array([known.get(text, -1) for text in label.labels], dtype=np.int64)[label.released]
        released = np.flatnonzero(inside[pair.rows] & (told >= 0))
        made = features_of(pair, self._predictors(pair), np.concatenate([learn, test]), released)
        truth, classes = label.original[test], len(label.values)
        tested = made.before[len(learn) :]
        fits = fit_classes(made.before[: len(learn)], label.original[learn], classes)
        majority = np.bincount(label.original[learn], minlength=classes).argmax()
        learned = float((majority == truth).mean())  # with nothing to learn from, everyone still knows the majority
        if len(released):
            learned = float((predict(fit_classes(made.after, told[released], classes), tested) == truth).mean())
        return learned, float((predict(fits, tested) == truth).mean()), float((majority == truth).mean())
