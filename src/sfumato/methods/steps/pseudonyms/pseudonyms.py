"""Codes instead of names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import AfterValidator, BeforeValidator, Field

from sfumato.core.encoding import SEPARATOR, encode_column, joint_label
from sfumato.core.fields import Document, Fields
from sfumato.core.keys import KeyReference, reference_form
from sfumato.core.parameters import COLUMNS, FILE, parameters
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import ColumnStep, Goal, Learner, Masked, Preserved, Span, Step
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.pseudonyms.format_preserving import (
    BITS,
    LONGEST,
    Encoding,
    PseudonymRequest,
)
from sfumato.methods.steps.pseudonyms.methods import (
    CODED,
    KEYED,
    LENGTH,
    Algorithm,
    Fake,
    Method,
    by_value,
    make_pseudonyms,
)
from sfumato.methods.steps.pseudonyms.vault import Domain, read_vault, remember

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Ints = NDArray[np.int64]


MOST_IDENTITIES = 5_000_000
"""People whose pseudonyms are listed in memory while a table that comes in pieces is released:
about two gigabytes.
"""
RARELY = 1e-6
"""The chance of two pseudonyms being alike up to which nobody need look, where people are too many
to list.
"""
Reference = Annotated[dict[str, str], BeforeValidator(reference_form), AfterValidator(dict)]


# Who is in a table: the different identities, and where each is.


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Identities:
    """``texts`` are sorted, each once; ``rows`` says per column which of them each row has (one
    past the end: none).
    """

    texts: Sequence[str]
    rows: Mapping[str, Ints]

    def written(self, name: str, codes: Sequence[str], dtype: pl.DataType) -> pl.Series:
        """A column with the code of each row's identity; missing stays missing."""
        texts = pl.Series(name, [*codes, None], dtype=pl.String).cast(dtype)
        return texts.gather(self.rows[name])

    def counted(self, name: str, copies: Ints | None = None) -> Ints:
        """How many rows of a column every identity has; ``copies`` says how many records each row
        stands for.
        """
        amounts = np.bincount(self.rows[name], copies, len(self.texts) + 1)
        return amounts[:-1].astype(np.int64)


def identities_of(dataset: Table, columns: Sequence[str], *, together: bool) -> Identities:
    """The identities of some columns, all in one list; together, the columns make one identity
    under the first's name.
    """
    identities = {}
    for name in columns[:1] if together else columns:
        identities[name] = _encode_identities(dataset, columns if together else (name,))
    lists = [[text for text in texts if text is not None] for texts, _ in identities.values()]
    # quick where one list is sorted already
    every = sorted(lists[0] if len(lists) == 1 else set().union(*lists))
    rows = {}
    for name, (texts, codes) in identities.items():
        if texts[: len(every)] != every:
            number_of_text: dict[str | None, int] = {
                **{text: i for i, text in enumerate(every)},
                None: len(every),
            }
            number_of_code = np.array([number_of_text[text] for text in texts], dtype=np.int64)
            rows[name] = number_of_code[codes]
        else:
            rows[name] = codes
    return Identities(every, rows)


def _encode_identities(dataset: Table, names: Sequence[str]) -> tuple[list[str | None], Ints]:
    """The identities of a column or of several together, missing last if it occurs, and the number
    of each row's.
    """
    if len(names) > 1:
        joint = encode_column(dataset, tuple(names))
        return list(joint.labels), joint.codes
    column = dataset.column(names[0])
    if column.dtype == pl.String:
        # Encode text without leaving polars: three times as fast as the general way, and the
        # same
        values = column.drop_nulls().unique().sort().to_list()
        ranks = column.rank("dense").fill_null(len(values) + 1)
        labels = [*values, *([None] if column.null_count() else [])]
        codes = ranks.to_numpy().astype(np.int64) - 1
    else:
        encoded = encode_column(dataset, names[0])
        labels = list(encoded.labels)
        codes = encoded.codes
    return [_identity(label) for label in labels], codes


def _identity(label: str | None) -> str | None:
    if label is not None and SEPARATOR not in label:
        return f"={label}"
    return joint_label((label,))


# What pseudonymizing decided: codes instead of names, and what a vault shall remember of it.


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Storing:
    """Puts pseudonyms into a vault when it is called; calling it again changes nothing. It shows
    neither key nor people.
    """

    vault: Path
    key: bytes
    domain: str
    pseudonyms: Domain

    def __call__(self) -> None:
        """Store them."""
        remember(self.vault, self.key, self.domain, self.pseudonyms)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Assignment:
    """Who gets which pseudonym, and what is to be said of all of them; of a large table the step
    learns it before it works.

    ``codes`` belong to ``texts``. None: identities were too many to hold, and each one's pseudonym
    follows from it and ``key``.
    """

    texts: Any
    codes: Any
    preserved: tuple[Preserved, ...] = ()
    warnings: tuple[str, ...] = ()
    owner: Fields = dataclasses.field(default_factory=dict)
    key: bytes = b""
    storing: Storing | None = None

    def __getstate__(self) -> Document:
        """What workers elsewhere need: the vault is not their business, nor is the key where
        pseudonyms are listed.
        """
        return {**vars(self), "storing": None, "key": b"" if self.codes is not None else self.key}

    def held(self) -> Assignment:
        """The same in the room that a large table leaves."""
        texts, codes = (pl.Series(values, dtype=pl.String) for values in (self.texts, self.codes))
        return dataclasses.replace(self, texts=texts, codes=codes)

    def codes_of(self, step: Pseudonymize, identities: Sequence[str], goal: Goal) -> Sequence[str]:
        """The pseudonyms of some identities."""
        if self.codes is None:
            return make_pseudonyms(
                step, PseudonymRequest(identities, {}, key=self.key, domain=step.domain, goal=goal)
            ).codes
        requested = pl.DataFrame({"text": pl.Series(identities, dtype=pl.String)})
        table = pl.DataFrame({"text": self.texts, "code": self.codes})
        return requested.join(table, on="text", how="left", maintain_order="left")["code"].to_list()


class People:
    """Learns who is in a table that comes in pieces, and gives everyone a pseudonym.

    Where there are more than five million people, methods that work value by value go on without a
    list.
    """

    def __init__(self, step: Pseudonymize, goal: Goal) -> None:
        self.step = step
        self.goal = goal
        self.key = step.read_key()
        self.merged: pl.DataFrame | None = None
        self.cells = 0
        self.many = False

    def see(self, rows: Table) -> None:
        """Look at some rows."""
        people = identities_of(rows, self.step.columns, together=self.step.together)
        counts = {name: people.counted(name, rows.copies) for name in self.step.replaced}
        self.cells += int(sum(count.sum() for count in counts.values()))
        if not self.many:
            columns = {"": pl.Series(people.texts, dtype=pl.String)}
            numbered_people = pl.DataFrame(columns | _number_columns(counts.values()))
            self._merge(numbered_people)

    def _merge(self, fresh: pl.DataFrame) -> None:
        if self.merged is None:
            all_counts = fresh
        else:
            all_counts = pl.concat([self.merged, fresh])
        self.merged = all_counts.group_by("").agg(pl.exclude("").sum())
        if self.merged.height > MOST_IDENTITIES:
            if not by_value(self.step):
                raise SchemaError(
                    f"pseudonymize: columns {', '.join(self.step.columns)} name more than"
                    f" {MOST_IDENTITIES:,} people, and"
                    f" {'a vault' if self.step.vault else self.step.method} needs a list of them"
                    " all, which does not fit into memory; use 'method: keyed' without a vault"
                )
            self.many = True
            self.merged = None

    def learnt(self) -> Assignment:
        """The pseudonyms of all, or how each is made where they are too many."""
        if self.many:
            return self._too_many()
        if self.merged is None:
            identities = pl.DataFrame({"": []}, schema={"": pl.String})
        else:
            identities = self.merged.sort("")
        repeated = {}
        for position, name in enumerate(self.step.replaced):
            if identities.width > 1:
                repeated[name] = int((identities[str(position)] > 1).sum())
            else:
                repeated[name] = 0
        return self.step.given(identities[""].to_list(), repeated, self.key, self.goal).held()

    def _too_many(self) -> Assignment:
        step = self.step
        if step.method == "keyed":
            step.require_apart(self.cells)
        warning = (
            f"more than {MOST_IDENTITIES:,} people were pseudonymized, so several rows of one "
            "person and shared pseudonyms were not counted. Rows of one person can be linked"
        )
        exactly = step.method != "fake"
        preserved = Preserved(
            "which values are equal",
            step.replaced,
            exactly=exactly,
            off_by=0.0,
            measured="not counted",
        )
        owner = {"identities": f"more than {MOST_IDENTITIES:,}"}
        return Assignment(
            None,
            None,
            preserved=(preserved,),
            warnings=(warning, *step.key_warnings()),
            owner=owner,
            key=self.key,
        )


def _number_columns(counts: Iterable[Ints]) -> dict[str, pl.Series]:
    """Counts as columns that no identity can be confused with: the name of a column may mean
    something to a frame.
    """
    return {
        str(position): pl.Series(count, dtype=pl.Int64) for position, count in enumerate(counts)
    }


@dataclasses.dataclass(frozen=True, eq=False)
class Pseudonymized(Masked):
    """A masking plan that may have something to store once the release is written:
    ``after_writing`` does it.

    Planning stores nothing.
    """

    after_writing: Callable[[], None] | None = dataclasses.field(default=None, repr=False)


def _columns(columns: Any) -> tuple[str, ...]:
    """One name or several, none twice."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names or not all(isinstance(name, str) for name in names):
        raise ParameterError("should name one column or several")
    if len(set(names)) < len(names):
        raise ParameterError("should name each column once")
    return names


Columns = Annotated[tuple[str, ...], COLUMNS, BeforeValidator(_columns)]


@parameters
class Pseudonymize(ColumnStep):
    r"""Put a pseudonym in the place of a direct identifier: rows of one person stay together, the
    name goes.

    ``keyed``
        the first ``length`` characters of HMAC-SHA-256(*K*, "=" ‖ value), where *K* =
        HMAC-SHA-256(key, "sfumato pseudonym" ‖ 0 ‖ ``domain``). One key and domain give one person
        the same pseudonym in every column, table and release; another key or domain gives
        pseudonyms that cannot be linked with these. The default length of 16 base32 characters
        holds 80 bits: among a million people two are alike with a chance of 4 · 10⁻¹³, and that is
        noticed and refused.
    ``counter``
        numbers 1 … n in random order.
    ``random_table``
        random codes. Without a vault nobody goes back, and the next release has other codes.
    ``format_preserving``
        keeps length, separators and the class of every character (digit, small letter, capital
        letter); a keyed permutation of all values of one form. It is no certified FF1 (NIST SP
        800-38G), and short forms are small: of ``00`` to ``99`` there are a hundred.
    ``fake``
        realistic names and the like in a ``locale`` (extra ``fake``); they follow key, domain and
        value. Two people may share a fake as they may share a name, unless a vault sees to it.
    ``unkeyed_hash``
        SHA-256, SHA-1 or MD5 without a key, for tables and policies that come with it. A list of
        names undoes it; the plan warns. Columns that hold such hashes already are left as they are.

    The ``key`` is named, never written: ``{file: path}`` or ``{env: NAME}``, at least 16 bytes. The
    ``vault`` is an encrypted file that remembers who has which pseudonym; it is written when the
    release is, and only then. Whoever is in the vault keeps the pseudonym. ``together`` makes one
    identity of several columns: the first then holds the pseudonym, and the others are dropped if
    they are direct identifiers. Missing stays missing; an identity is missing when all its parts
    are.

    A direct identifier becomes a plain column. Quasi-identifiers and sensitive columns keep their
    roles and lose their hierarchies, since a pseudonym can still be matched by how often it occurs.
    **Pseudonyms are personal data**: rows of one person can be linked, and the plan says how many
    people that concerns.

    Reference for keyed codes: Krawczyk, Bellare & Canetti 1997, doi:10.17487/RFC2104.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> people = Table(pl.DataFrame({"name": ["Ann", "Bo", None, "Ann"]})).with_roles(drop="name")
    >>> step = Pseudonymize("name", method="counter")
    >>> made = step.apply(people, step.plan(people, Goal(seed=Seed(1))))
    >>> made.column("name").to_list(), made.schema["name"].roles[0].value
    ([2, 1, None, 2], 'keep')
    """

    columns: Annotated[Columns, Field(description="the column, or several, that name people")]
    method: Annotated[Method, Field(description="how pseudonyms are made")] = "keyed"
    key: Annotated[
        Reference | None, Field(description="where the key is: {file: path} or {env: NAME}")
    ] = None
    domain: Annotated[
        str, Field(max_length=200, description="what can be linked: one domain, one pseudonym")
    ] = ""
    together: Annotated[bool, Field(description="several columns form one identity")] = False
    length: Annotated[
        int | None, Field(ge=4, le=64, description="characters of a code; 16 by default")
    ] = None
    encoding: Annotated[
        Encoding | None, Field(description="letters and 2-7, or hexadecimal digits")
    ] = None
    vault: Annotated[
        str | None,
        FILE,
        Field(min_length=1, description="encrypted file that remembers pseudonyms"),
    ] = None
    kind: Annotated[
        Fake | None, Field(description="fake only: what the fakes are; a name by default")
    ] = None
    locale: Annotated[
        str | None, Field(description="fake only: language and country; en_US by default")
    ] = None
    algorithm: Annotated[
        Algorithm | None, Field(description="unkeyed_hash only: sha256 by default")
    ] = None

    name: ClassVar[str] = "pseudonymize"
    pseudonyms: ClassVar[bool] = True
    keeps_quasi: ClassVar[bool] = True
    secret: ClassVar[tuple[str, ...]] = ("key", "vault")

    def __post_init__(self) -> None:
        for problem in self._contradictions():
            raise ParameterError(problem)

    def _contradictions(self) -> Sequence[str]:
        """What does not go together, in words: nothing that is given is ignored."""
        keyed = self.method in KEYED or self.vault is not None
        encoding = self.encoding or "base32"
        contradictions = {
            f"{self.method} needs a key: {{file: path}} or {{env: NAME}}": (
                self.method in KEYED and self.key is None
            ),
            "a vault is encrypted and needs a key: {file: path} or {env: NAME}": (
                self.vault is not None and self.key is None
            ),
            f"{self.method} takes no key unless there is a vault": (
                self.key is not None and not keyed
            ),
            "unkeyed_hash has no domain and no vault; leave them out": (
                self.method == "unkeyed_hash" and bool(self.domain or self.vault)
            ),
            "length and encoding are for keyed and random_table": (
                self.method not in CODED and (self.length, self.encoding) != (None, None)
            ),
            "kind and locale are for fake": (
                self.method != "fake" and (self.kind, self.locale) != (None, None)
            ),
            "algorithm is for unkeyed_hash": (
                self.method != "unkeyed_hash" and self.algorithm is not None
            ),
            "format_preserving keeps the form of one column and cannot combine several": (
                self.together and self.method == "format_preserving"
            ),
            "together needs two columns or more": self.together and len(self.columns) < 2,
            f"length is at most {LONGEST[encoding]} in {encoding}": (
                (self.length or 0) > LONGEST[encoding]
            ),
        }
        return [problem for problem, is_so in contradictions.items() if is_so]

    @property
    def claims(self) -> tuple[str, ...]:
        """Direct identifiers that must still be there when this step runs."""
        return self.columns

    @property
    def replaced(self) -> tuple[str, ...]:
        """The columns that hold pseudonyms afterwards."""
        if self.together:
            return self.columns[:1]
        return self.columns

    @property
    def span(self) -> Span:
        """Cell by cell, once it is known who is there."""
        return Span.CELLS

    def learner(self, goal: Goal, facts: object) -> Learner | None:
        """Who is in the table, and which pseudonym each gets."""
        return People(self, goal) if facts is None else None

    def limited_to(self, columns: Sequence[str]) -> Step | None:
        """The same step for those of its columns that are there; one identity of several columns
        needs them all.
        """
        if not self.together:
            return super().limited_to(columns)
        return self if self.columns[0] in columns else None

    @property
    def second_source(self) -> str | None:
        """The vault, which remembers people of earlier tables."""
        if self.vault is None:
            return None
        return "a vault, which remembers other people"

    def plan(self, dataset: Table, goal: Goal) -> Pseudonymized:
        """Give every identity a pseudonym; reads key and vault, writes nothing."""
        dataset.require(self.columns)
        attributes = {name: _after(name, dataset.schema[name]) for name in self.replaced}
        people = identities_of(dataset, self.columns, together=self.together)
        if goal.facts is None:
            repeated = {name: int((people.counted(name) > 1).sum()) for name in self.replaced}
            assignment = self.given(people.texts, repeated, self.read_key(), goal)
            codes = assignment.codes
        else:
            assignment = goal.facts
            codes = assignment.codes_of(self, people.texts, goal)
        columns = {name: people.written(name, codes, self._dtype()) for name in self.replaced}
        return Pseudonymized(
            actions=dict.fromkeys(self.replaced, f"pseudonymized ({self.method})"),
            columns=columns,
            attributes=attributes,
            preserved=assignment.preserved,
            warnings=assignment.warnings,
            public={"pseudonyms": self._public()},
            owner=assignment.owner,
            after_writing=assignment.storing,
        )

    def given(
        self, texts: Sequence[str], repeated: Mapping[str, int], key: bytes, goal: Goal
    ) -> Assignment:
        """The pseudonyms of all people of a table; ``repeated`` says of each column how many of
        them have several rows.
        """
        if self.vault:
            remembered = read_vault(Path(self.vault), key).codes(self.domain, self.method)
        else:
            remembered = {}
        request = PseudonymRequest(texts, remembered, key=key, domain=self.domain, goal=goal)
        pseudonyms = make_pseudonyms(self, request)
        ordered = request.ordered(pseudonyms.codes)
        warnings = (*pseudonyms.warnings, *self.key_warnings(), *self._linkable(repeated, goal))
        owner = {"identities": len(texts), "new_pseudonyms": len(pseudonyms.codes)}
        return Assignment(
            texts,
            ordered,
            preserved=(_preserved_equality(self.replaced, ordered),),
            warnings=warnings,
            owner=owner,
            storing=self._storing(key, texts, ordered),
        )

    def read_key(self) -> bytes:
        """The key; nothing where the step takes none."""
        if self.key is None:
            return b""
        return KeyReference.of(self.key).read()

    def key_warnings(self) -> Sequence[str]:
        """What must be said of the key."""
        if self.key is None:
            return ()
        return KeyReference.of(self.key).warnings()

    def require_apart(self, people: int) -> None:
        """Refuse keyed codes so short that two of so many people may well have the same."""
        length = self.length or LENGTH
        encoding = self.encoding or "base32"
        if people * people / 2.0 > RARELY * 2.0 ** (BITS[encoding] * length):
            raise ParameterError(
                f"two of {people:,} people may share a code of length {length}, and they are too "
                "many to check; raise length"
            )

    def apply(self, dataset: Table, plan: Any) -> Table:
        """Put the pseudonyms in."""
        replaced: Table = plan.applied(dataset)
        return replaced

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table with these columns is, when ``schema`` says what the original
        is.
        """
        for name in self.replaced:
            if name in schema.attributes and name in columns:
                schema = schema.replace(name, **_changes(schema[name]))
        return schema

    def locked(self, plan: Any) -> Pseudonymize:
        """The step as the owner's lock writes it: key file and vault are found from any folder."""
        del plan
        key = self.key
        if key and "file" in key:
            key = {"file": str(Path(key["file"]).absolute())}
        vault = None
        if self.vault is not None:
            vault = str(Path(self.vault).absolute())
        return dataclasses.replace(self, key=key, vault=vault)

    def _storing(self, key: bytes, people: Sequence[str], codes: Sequence[str]) -> Storing | None:
        if self.vault is None:
            return None
        pseudonyms = Domain(self.method, dict(zip(people, codes, strict=True)))
        return Storing(Path(self.vault).absolute(), key, self.domain, pseudonyms)

    def _dtype(self) -> pl.DataType:
        if self.method == "counter":
            return pl.Int64()
        return pl.String()

    def _public(self) -> Document:
        options = {
            name: getattr(self, name)
            for name in ("method", "together", "length", "encoding", "algorithm", "kind")
        }
        return {name: value for name, value in options.items() if value}

    def _linkable(self, repeated: Mapping[str, int], goal: Goal) -> Sequence[str]:
        """Warnings about what pseudonyms do not hide."""
        warnings = []
        for name, count in repeated.items():
            if count:
                warnings.append(
                    f"{count:,} pseudonym(s) of column {name!r} occur in several rows: rows of one"
                    " person can be linked, and who knows some of them finds the others. Declare a"
                    " person unit if classes should count persons"
                )
        if self.vault and not Path(self.vault).exists():
            warnings.append(
                f"vault {self.vault} does not exist yet; it is created when the release is written"
            )
        if (
            self.method in ("counter", "random_table")
            and not self.vault
            and goal.seed
            and goal.seed.rehearsal
        ):
            warnings.append(
                "the seed is short: somebody who guesses it can compute these "
                "pseudonyms. Leave the seed out"
            )
        return warnings


def _after(name: str, attribute: Attribute) -> Attribute:
    """What a column is once it holds pseudonyms."""
    if attribute.identifies or attribute.has(Role.WEIGHT):
        raise SchemaError(
            f"column {name!r} is a {' '.join(attribute.roles)}: weights are numbers, and units are "
            "renumbered at random in every release anyway; pseudonymize a direct identifier "
            "instead"
        )
    return dataclasses.replace(attribute, **_changes(attribute))


def _preserved_equality(columns: tuple[str, ...], codes: Sequence[str]) -> Preserved:
    """Equal values stay equal, and different ones different but for people who share a fake."""
    shared = 1 - len(set(codes)) / max(1, len(codes))
    return Preserved("which values are equal", columns, not shared, shared)


def _changes(attribute: Attribute) -> Document:
    roles = attribute.roles
    if attribute.has(Role.DROP):
        roles = (Role.KEEP,)
    return {
        "roles": roles,
        "kind": Kind.NOMINAL,
        "hierarchy": None,
        "order": None,
        "bounds": None,
        "domain": None,
    }
