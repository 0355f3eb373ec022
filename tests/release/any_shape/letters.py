"""A shape of its own for tests: every person has a set of letters, and perhaps a city of their own
in a second table.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.attack import Attack, Finding, NothingToAttack, Scene
from sfumato.core.data import PeopleData
from sfumato.core.metric import Measure, Utility
from sfumato.core.model import Facts, Model, make_verdict
from sfumato.core.parameters import Members, parameters
from sfumato.core.schema import Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.source import Source
from sfumato.core.step import Account, Declaration, Effect, Plan, Step
from sfumato.errors import SchemaError


@dataclasses.dataclass(frozen=True, eq=False)
class Letters(PeopleData):
    """People by the letters they have."""

    shape: ClassVar[Shape] = Shape.BASKETS

    sets: tuple[frozenset[str], ...]
    schema: Schema
    source: Source
    beside: Schema | None = None
    cities: tuple[str, ...] | None = None
    origin: Any = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_tables(cls, tables, schemas, source):
        data, schema = tables["data"], schemas["data"]
        (unit,), (item,) = schema.units, schema.columns(Role.ITEM)
        if data[item].dtype == pl.List:
            data = data.explode(item)
        if data[item].null_count():
            raise SchemaError(f"{data[item].null_count()} cells of {item!r} are empty")
        held: dict[Any, set[str]] = {}
        people = tables.get("people")
        for person in people[_unit(schemas["people"])].to_list() if people is not None else []:
            held.setdefault(str(person), set())
        for person, letter in zip(data[unit].to_list(), data[item].to_list(), strict=True):
            held.setdefault(str(person), set()).add(str(letter))
        cities = None if people is None else tuple(people["city"].to_list())
        again = len(data) - sum(map(len, held.values()))
        notes = (f"{again} letters came twice",) if again else ()
        return cls(
            tuple(map(frozenset, held.values())),
            schema,
            source,
            schemas.get("people"),
            cities,
            None,
            notes,
        )

    @classmethod
    def read_own_format(cls, path):
        if path.suffix != ".letters":
            return None
        lines = [line.split(":") for line in path.read_text().split()]
        rows = [(person, letter) for person, letters in lines for letter in letters]
        return {"data": pl.DataFrame(rows, schema=["who", "letter"], orient="row")}

    @property
    def people(self):
        return len(self.sets)

    def to_tables(self):
        (unit,), (item,) = self.schema.units, self.schema.columns(Role.ITEM)
        rows = [
            (number, letter)
            for number, letters in enumerate(self.sets)
            for letter in sorted(letters)
        ]
        tables = {
            "data": pl.DataFrame(rows, schema={unit: pl.Int64, item: pl.String}, orient="row")
        }
        if self.cities is not None:
            tables["people"] = pl.DataFrame({unit: range(len(self.sets)), "city": self.cities})
        return tables

    def shuffled(self, stream):
        return self.take(stream.permutation(len(self.sets)))

    def take(self, order):
        origin = np.arange(len(self.sets)) if self.origin is None else self.origin
        cities = None if self.cities is None else tuple(self.cities[i] for i in order)
        sets = tuple(self.sets[i] for i in order)
        return dataclasses.replace(self, sets=sets, cities=cities, origin=origin[order])

    def counts(self):
        return {"people": len(self.sets), "letters": len(set().union(*self.sets))}

    @property
    def crowds(self):
        """How many people have each letter."""
        return Counter(letter for letters in self.sets for letter in letters)


def _unit(schema):
    return schema.units[0]


@parameters
class Company(Model):
    """Every letter is had by k people or by nobody."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "company"
    facts: ClassVar[Facts] = Facts(against="identity")

    k: int = Field(ge=1, description="people who have it")

    @property
    def promise(self):
        return f"company of {self.k}"

    def judge(self, evidence):
        people = evidence.data
        least = min(people.crowds.values(), default=0)
        rare = [letter for letter, count in people.crowds.items() if count < self.k]
        sentence = f"{len(rare)} letters are had by fewer than {self.k}"
        return make_verdict(
            self,
            holds=not rare,
            attained=least,
            required=self.k,
            sentence=sentence,
            broken=len(rare),
        )


@parameters
class Kept(Model):
    """At least this share of all people is released."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "kept"
    facts: ClassVar[Facts] = Facts(against="identity")
    compares: ClassVar[bool] = True

    share: float = Field(ge=0, le=1, description="share of people")

    @property
    def promise(self):
        return f"{self.share:.0%} kept"

    def judge(self, evidence):
        people, original = evidence.data, evidence.original
        share = people.people / original.people
        told = {"attained": share, "required": self.share}
        return make_verdict(
            self, holds=share >= self.share, **told, sentence=f"{share:.0%} are there"
        )


@parameters
class Listed(Model):
    """These letters are had by nobody."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "listed"
    facts: ClassVar[Facts] = Facts(against="attribute")
    secret: ClassVar[tuple[str, ...]] = ("letters",)

    letters: tuple[str, ...] = Field(description="the letters")

    @property
    def promise(self):
        return f"{len(self.letters)} letters are gone"

    def judge(self, evidence):
        people = evidence.data
        left = set(self.letters) & set(people.crowds)
        return make_verdict(
            self, holds=not left, attained=len(left), required=0, sentence=f"{len(left)} are there"
        )


@dataclasses.dataclass(frozen=True)
class Dropped(Plan):
    """The letters that go."""

    letters: tuple[str, ...]

    def describe(self):
        return {"dropped": len(self.letters)}


@parameters
class DropRare(Step):
    """Drop the letters that break a company, and whoever is left without any."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "drop_rare"

    k: int | None = Field(default=None, description="instead of that of the promise")

    def plan(self, people, goal):
        k = (
            self.k
            if self.k is not None
            else max((m.k for m in goal.models if isinstance(m, Company)), default=1)
        )
        return Dropped(
            tuple(sorted(letter for letter, count in people.crowds.items() if count < k))
        )

    def apply(self, people, plan):
        left = [letters - set(plan.letters) for letters in people.sets]
        slim = dataclasses.replace(people, sets=tuple(left))
        return slim.take(np.array([i for i, letters in enumerate(left) if letters], dtype=np.int64))


@parameters
class Drawn(Step):
    """Stands for a step that accounts for an ε; it draws nothing, so that tests know what comes."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "drawn"
    replayable: ClassVar[bool] = False
    accounting: ClassVar[Declaration] = Declaration(Effect.ACCOUNTED, "always")

    epsilon: float = Field(gt=0, description="what it costs")

    def plan(self, people, goal):
        return Dropped(())

    def apply(self, people, plan):
        return people

    def account(self, schema):
        return Account(Effect.ACCOUNTED, epsilon=self.epsilon, neighbours="add_remove")


@parameters
class Alone(Attack):
    """Somebody with letters that nobody else has is found."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "alone"
    tried_by: ClassVar[tuple[str, ...]] = ("neighbour",)

    def attack(self, scene: Scene) -> Finding:
        def share(most: int) -> float:
            count = Counter("".join(sorted(letters)[:most]) for letters in scene.pair.released.sets)
            return sum(number == 1 for number in count.values()) / scene.pair.released.people

        points = [[known, share(known)] for known in (1, 2, 3)]
        right = [
            scene.pair.original.sets[who] >= letters
            for who, letters in zip(scene.pair.truth, scene.pair.released.sets, strict=True)
        ]
        details = {"curve": {"known": "letters known", "points": points}, "true": sum(right)}
        return Finding(self.name, share(26), f"{share(26):.0%} are alone", details=details)


@parameters
class Blind(Attack):
    """Nobody can try this."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "blind"

    def applies(self, scene):
        return "it takes a machine that nobody has"

    def attack(self, scene):
        raise NotImplementedError


@parameters
class Second(Attack):
    """Two releases are put together."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "second"

    def applies(self, scene):
        return None if scene.others else NothingToAttack("there is no other release")

    def attack(self, scene):
        return Finding(self.name, 0.0, f"{len(scene.others)} more")


@parameters
class LettersLost(Utility):
    """Share of letters that are gone."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    name: ClassVar[str] = "letters_lost"

    def measure(self, pair):
        original, released = pair.original, pair.released
        was, now = (sum(people.crowds.values()) for people in (original, released))
        return Measure(self.name, 1 - now / was, "lower", "share of letters that are gone")


FAMILIES = {
    "models": Members("", {"company": Company, "kept": Kept, "listed": Listed}),
    "steps": Members("", {"drop_rare": DropRare, "drawn": Drawn}),
    "risk": Members("", {"alone": Alone, "blind": Blind, "second": Second}),
    "utility": Members("", {"letters_lost": LettersLost}),
}


def noun():
    return Letters
