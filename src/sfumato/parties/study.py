"""A study: what parties ask together, how, and who they are; every party reads the same file and
signs it.

::

    study: 1
    id: 5f0c…                     # 32 hexadecimal digits, new for every study
    question: {mean: {column: age, bounds: ["0", "120"]}}
    protocol: {name: shamir, threshold: 1, dropout: refuse}
    records_at_most: 100000
    noise: {epsilon: "0.5", colluders: 1}          # optional
    control: {least_records: 10, least_parties: 3}
    limits: {connect: 60, step: 60, total: 3600, bytes: 4000000000}
    valid: {from: "2026-11-01", until: "2026-12-31"}
    parties:
      - {name: hospital_a, number: 0, address: "a.example:9000", certificate_sha256: …, certificate:
        …, signing_key: …, dataset: …}
      - …
    version: "0.9"
    signatures: {hospital_a: …, …}

What is signed is the SHA-256 of the canonical JSON of everything but the signatures: sorted keys,
NFC, whole numbers and text, no floats.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime
import functools
import hashlib
import io
import json
import re
import secrets
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from sfumato import __version__
from sfumato.core.fields import Document, Fields
from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.core.parameters import parameters
from sfumato.core.portable import as_new
from sfumato.core.yaml_text import read_yaml
from sfumato.errors import OutputError, ParameterError, RecipeError, SfumatoError, did_you_mean
from sfumato.parties.control import Rules
from sfumato.parties.keys import NAME, fingerprint, public_half, signature, signature_holds
from sfumato.parties.kinds import question_from
from sfumato.parties.mesh import MeshLimits, Peer
from sfumato.parties.noise import JointNoise
from sfumato.parties.protocols import summation, usual_degree
from sfumato.parties.question import JointQuestion, JointStatistic, Summation

VERSION = 1
# goes before what is signed, so that this signature fits no result
PURPOSE = b"sfumato study 1\n"
FEWEST = 3
"""With two, each knows the other's number from the sum; and products need a majority that does not
collude.
"""
MOST = 64
MAX_BYTES = 4 * MEGABYTE
REQUIRED = ("study", "id", "question", "parties")
FIELDS = (
    *REQUIRED,
    "split",
    "protocol",
    "records_at_most",
    "noise",
    "control",
    "limits",
    "valid",
    "version",
    "signatures",
)


@parameters
class Protocol:
    """How the parties add: ``threshold`` colluders learn nothing (Shamir); ``server`` and
    ``key_holder`` are for encrypted sums.
    """

    name: Annotated[str, Field(description="additive, shamir or encrypted")] = "shamir"
    threshold: Annotated[
        int | None,
        Field(ge=1, description="colluders who learn nothing; fewer than half of the parties"),
    ] = None
    dropout: Annotated[
        Literal["refuse", "allow"], Field(description="whether the rest may finish when one leaves")
    ] = "refuse"
    server: Annotated[str | None, Field(description="the party that adds ciphertexts")] = None
    key_holder: Annotated[str | None, Field(description="the party that opens the sums")] = None


@parameters
class Party:
    """One party of a study, as its signed entry says."""

    name: str
    number: Annotated[int, Field(ge=0, lt=MOST)]
    address: str
    certificate_sha256: str
    certificate: str
    signing_key: str
    dataset: Annotated[str, Field(min_length=1)]
    ledger_id: str | None = None

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ParameterError(
                "a party's name has small letters, digits, '_' and '-', and begins with a letter"
            )
        if fingerprint(self.der) != self.certificate_sha256.lower():
            raise ParameterError(
                f"{self.name}: certificate and certificate_sha256 do not belong together"
            )
        if len(_decode(self.signing_key, "signing_key")) != 32:
            raise ParameterError(
                f"{self.name}: signing_key must be the base64 text that 'sfumato key party' printed"
            )
        self.place  # noqa: B018  an address that is none is refused

    @property
    def der(self) -> bytes:
        """The certificate as it is sent."""
        return _decode(self.certificate, "certificate")

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        # a host without colons, or an IPv6 address in brackets
        match = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:/\[\]]+)):(\d{1,5})", self.address)
        if match is None or not 0 < int(match[3]) < 65536:
            raise ParameterError(
                f"{self.name}: an address must be host:port, like b.example:9000 or [::1]:9000"
            )
        return match[1] or match[2], int(match[3])


def _decode(text: str, field_name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ParameterError(f"{field_name} must be base64 text") from None


@dataclasses.dataclass(frozen=True)
class Study:
    """A study that was read and understood; ``document`` is what it says, without signatures."""

    document: Fields
    question: JointQuestion
    protocol: Protocol
    noise: JointNoise | None
    control: Rules
    limits: MeshLimits
    parties: tuple[Party, ...]
    records_at_most: int
    valid: tuple[datetime.date | None, datetime.date | None]
    signatures: Mapping[str, str]

    @property
    def id(self) -> str:
        """The number of the study, 128 bits."""
        return str(self.document["id"])

    @functools.cached_property
    def digest(self) -> bytes:
        """SHA-256 of what is signed."""
        return hashlib.sha256(canonical(self.document)).digest()

    @functools.cached_property
    def question_key(self) -> str:
        """SHA-256 of the question and the datasets it is asked of: two studies with the same one
        ask the same.
        """
        # names and keys of parties may change; who asks the same of the same data asks again
        datasets = [party.dataset for party in self.parties]
        return hashlib.sha256(
            canonical({"question": self.document["question"], "datasets": datasets})
        ).hexdigest()

    @property
    def degree(self) -> int:
        """How many colluders products tolerate."""
        usual = usual_degree(len(self.parties))
        # products tolerate less than half, whatever the sums would
        return min(usual, self.protocol.threshold or usual)

    @property
    def sums(self) -> Summation:
        """The way to add."""
        if self.protocol.name == "shamir":
            return summation(
                "shamir", degree=self.protocol.threshold, dropout=self.protocol.dropout == "allow"
            )
        if self.protocol.name == "joint":
            return summation("shamir", degree=self.degree)
        if self.protocol.name == "encrypted":
            roles = {"server": self.protocol.server, "key_holder": self.protocol.key_holder}
            if None in roles.values():
                raise ParameterError(
                    "protocol: encrypted needs a server and a key_holder, two different parties"
                )
            return summation(
                "encrypted", **{role: self.number_of(str(name)) for role, name in roles.items()}
            )
        return summation("additive")

    def number_of(self, name: str) -> int:
        """The number of a party."""
        names = [party.name for party in self.parties]
        if name not in names:
            raise ParameterError(f"the study has no party {name!r}.{did_you_mean(name, names)}")
        return names.index(name)

    def peers(self) -> tuple[Peer, ...]:
        """The parties as the mesh knows them."""
        return tuple(Peer(party.name, *party.place, party.der) for party in self.parties)

    def unsigned(self) -> tuple[str, ...]:
        """The parties whose signature is missing or does not fit."""
        return tuple(party.name for party in self.parties if not self._signed_by(party))

    def _signed_by(self, party: Party) -> bool:
        try:
            signature = base64.b64decode(self.signatures.get(party.name, ""), validate=True)
        except binascii.Error:
            return False
        return signature_holds(party.signing_key, signature, PURPOSE + self.digest)

    def require_ready(self, today: datetime.date) -> None:
        """Refuse to run a study that not all have signed, or on a day on which it is not valid."""
        if missing_signatures := self.lacking:
            raise ParameterError(f"{missing_signatures}; add them with 'sfumato party sign'")
        start, end = self.valid
        if (start is not None and today < start) or (end is not None and today > end):
            raise ParameterError(
                "the study is valid from {} until {}; today is {}".format(*self.days, today)
            )

    @property
    def days(self) -> tuple[str, str]:
        """The first and the last day on which the study is valid, in words."""
        start, end = self.valid
        return str(start or "ever"), str(end or "ever")

    @property
    def lacking(self) -> str:
        """Whose signature is missing, and whose is of another text, in words; empty where all have
        signed.
        """
        unsigned = self.unsigned()
        missing = [name for name in unsigned if name not in self.signatures]
        outdated = [name for name in unsigned if name in self.signatures]
        if missing:
            messages = [
                (
                    f"{', '.join(missing)} did not sign this study; each signs it with 'sfumato "
                    "party sign'"
                )
            ]
        else:
            messages = []
        messages += (
            [
                (
                    f"{', '.join(outdated)} signed another text: the study was changed "
                    "afterwards; sign it again"
                )
            ]
            if outdated
            else []
        )
        return "; ".join(messages)


def canonical(value: object) -> bytes:
    """The bytes of plain data that are hashed: canonical JSON with sorted keys, NFC, and no floats.

    >>> canonical({"b": 1, "a": ["x", True]})
    b'{"a":["x",true],"b":1}'
    """
    return json.dumps(
        _normal(value, ""), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def _normal(value: object, where: str) -> Any:
    if isinstance(value, Mapping):
        return {
            _normal(str(key), where): _normal(below, f"{where}.{key}".lstrip("."))
            for key, below in value.items()
        }
    if isinstance(value, list | tuple):
        return [_normal(part, f"{where}[{i}]") for i, part in enumerate(value)]
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if value is None or isinstance(value, bool | int):
        return value
    raise RecipeError(
        f"{where}: write the number as text in quotes, so that all parties read the same"
    )


# Reading.


def read_study(path: Path) -> Study:
    """A study from its file; everything wrong with it is told at once."""
    return study_from(read_yaml(_text(path), str(path)), name=str(path))


def _text(path: Path) -> str:
    try:
        return read_plain(path, limit=MAX_BYTES, purpose="a study").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RecipeError(f"{path} is not UTF-8 text") from None


def study_from(document: object, *, name: str = "the study") -> Study:
    """A study from plain data."""
    if not isinstance(document, Mapping):
        raise RecipeError(
            f"{name} is not a study: it must be a mapping with 'study: {VERSION}', question and "
            "parties"
        )
    problems = [
        f"{key!r} is not a section of a study.{did_you_mean(str(key), FIELDS)}"
        for key in document
        if key not in FIELDS
    ]
    problems += [f"{key!r} must be given" for key in REQUIRED if key not in document]
    if document.get("split", "horizontal") != "horizontal":
        problems.append(
            "split: tables that are split by columns are not joined, because matching people "
            "across parties reveals who is where; every party must have rows of its own with all "
            "columns"
        )
    if problems:
        raise RecipeError([f"{name}: {problem}" for problem in problems])
    return _build_study(document, name)


def _build_study(document: Fields, name: str) -> Study:
    """The study, or all that is wrong in its parts."""
    problems: list[str] = []

    def part(key: str, make: Callable[[Any], Any], otherwise: object = None) -> Any:
        if key not in document:
            return otherwise
        try:
            return make(document[key])
        except SfumatoError as error:
            # one problem must not hide the others: a part with errors is replaced by its default
            problems.extend(f"{key}: {line}" for line in str(error).split("\n"))
            return otherwise

    part("study", _version)
    part("id", _identity)
    fields = {
        "question": part("question", question_from),
        "protocol": part("protocol", _section(Protocol), Protocol()),
        "noise": part("noise", _section(JointNoise)),
        "control": part("control", _section(Rules), Rules()),
        "limits": part("limits", _section(MeshLimits), MeshLimits()),
        "parties": part("parties", _parties, ()),
        "records_at_most": part("records_at_most", _records, 1_000_000),
        "valid": part("valid", _valid, (None, None)),
        "signatures": part("signatures", _signatures, {}),
    }
    # signatures are added one after the other and cannot sign each other
    plain = {key: value for key, value in document.items() if key != "signatures"}
    problems += _failing(lambda: canonical(plain))
    # what must fit together is looked at only when every part was understood
    if not problems:
        study = Study(document=plain, **fields)
        problems += [
            problem for check in CHECKS for problem in _failing(functools.partial(check, study))
        ]
    if problems:
        raise RecipeError([f"{name}: {problem}" for problem in dict.fromkeys(problems)])
    return study


def _failing(check: Callable[[], Any]) -> list[str]:
    try:
        check()
    except SfumatoError as error:
        return str(error).split("\n")
    return []


def _section(cls: type[Any]) -> Callable[[Any], Any]:
    def make(fields: object) -> Any:
        if not isinstance(fields, Mapping):
            raise ParameterError("must be a mapping, like {name: value}")
        try:
            return cls(**{str(key): value for key, value in fields.items()})
        except ParameterError as error:
            raise ParameterError(str(error).removeprefix(f"{cls.__name__}: ")) from None

    return make


def _version(value: object) -> None:
    if value != VERSION or isinstance(value, bool):
        raise ParameterError(
            f"this sfumato reads studies of version {VERSION}; install a matching version"
        )


def _identity(value: object) -> None:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{32}", value):
        raise ParameterError("must be 32 hexadecimal digits in quotes, new for every study")


def _records(value: object) -> int:
    # the number of records must fit the field; True is an int in Python
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31 - 1:
        raise ParameterError(
            "must be a whole number below 2^31 - 1 that all tables together do not exceed"
        )
    return value


def _parties(entries: object) -> tuple[Party, ...]:
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise ParameterError("must be a list of parties")
    return tuple(_section(Party)(party_fields) for party_fields in entries)


def _valid(value: object) -> tuple[datetime.date | None, datetime.date | None]:
    if not isinstance(value, Mapping) or not set(value) <= {"from", "until"}:
        raise ParameterError("must be {from: '2026-11-01', until: '2026-12-31'}")
    try:
        days = [
            None if key not in value else datetime.date.fromisoformat(str(value[key]))
            for key in ("from", "until")
        ]
    except ValueError:
        raise ParameterError("days are written like '2026-12-31'") from None
    if days[0] is not None and days[1] is not None and days[0] > days[1]:
        raise ParameterError("it ends before it begins")
    return days[0], days[1]


def _signatures(signatures_given: object) -> dict[str, str]:
    if not isinstance(signatures_given, Mapping) or not all(
        isinstance(value, str) for value in signatures_given.values()
    ):
        raise ParameterError("must be {name of the party: signature}")
    return dict(signatures_given)


# What must fit together.


def _enough_parties(study: Study) -> None:
    fewest = max(FEWEST, study.control.least_parties)
    if len(study.parties) < fewest:
        raise ParameterError(
            f"parties: the rule 'two_parties' refuses: there are {len(study.parties)} parties, and "
            f"{fewest} are needed; with two, each could compute the other's part"
        )
    if len(study.parties) > MOST:
        raise ParameterError(f"parties: at most {MOST} are possible")


def _different_parties(study: Study) -> None:
    if [party.number for party in study.parties] != list(range(len(study.parties))):
        raise ParameterError("parties: number them 0, 1, 2, … in the order of the list")
    for field_name in ("name", "address", "certificate_sha256", "signing_key"):
        # the same host or fingerprint may be written in capitals
        if len({str(getattr(party, field_name)).lower() for party in study.parties}) < len(
            study.parties
        ):
            raise ParameterError(f"parties: two have the same {field_name}")


def _known_signers(study: Study) -> None:
    if unknown := set(study.signatures) - {party.name for party in study.parties}:
        raise ParameterError(
            f"signatures: {', '.join(sorted(unknown))} is not a party of this study"
        )


def _fitting_protocol(study: Study) -> None:
    protocol, question = study.protocol, study.question
    if protocol.name not in question.protocols:
        raise ParameterError(
            f"protocol: {question.name} can be computed by {', '.join(question.protocols)}, not by"
            f" {protocol.name!r}"
        )
    if protocol.name != "encrypted" and (protocol.server or protocol.key_holder):
        raise ParameterError(
            f"protocol: {protocol.name} has no server and no key_holder; leave them out"
        )
    if protocol.name != "shamir" and (
        protocol.threshold is not None or protocol.dropout == "allow"
    ):
        raise ParameterError(
            f"protocol: threshold and dropout belong to shamir, not to {protocol.name}; "
            "leave them out"
        )
    if protocol.threshold is not None and 2 * protocol.threshold >= len(study.parties):
        raise ParameterError(
            f"protocol: among {len(study.parties)} parties the threshold is at most"
            f" {usual_degree(len(study.parties))}"
        )
    # a server or key holder that is no party is refused here
    _ = study.sums


def _fitting_sums(study: Study) -> None:
    question, noise = study.question, study.noise
    if not isinstance(question, JointStatistic):
        if noise is not None:
            raise ParameterError(f"noise: {question.name} takes none; leave it out")
        return
    # noise needs room in the sums as well
    if noise is None:
        extra = 0
    else:
        extra = noise.at_most(question, len(study.parties))
    if not study.sums.fits(question.bound(study.records_at_most) + extra):
        raise ParameterError(
            f"question: sums over {study.records_at_most:,} records leave the range of"
            f" {study.protocol.name!r}; narrow the bounds, lower the scale or records_at_most"
        )


def _named_ledgers(study: Study) -> None:
    if study.noise is not None and any(party.ledger_id is None for party in study.parties):
        raise ParameterError(
            "parties: with noise every party must name its ledger (ledger_id), the dataset whose "
            "budget is spent"
        )


CHECKS = (
    _enough_parties,
    _different_parties,
    _known_signers,
    _fitting_protocol,
    _fitting_sums,
    _named_ledgers,
)


# Writing and signing.


def draft_study(
    entries: Sequence[Path], question: object, protocol: object, noise: object = None
) -> Document:
    """A study to begin with: the entries that ``sfumato key party`` printed, numbered, and a new
    id; what is missing can be written in.
    """
    parties = [party_fields for path in entries for party_fields in _list_entries(path)]
    plain: Document = {
        "study": VERSION,
        "id": secrets.token_hex(16),
        "question": question,
        "protocol": {"name": protocol} if isinstance(protocol, str) else protocol,
        "records_at_most": 1_000_000,
        **({} if noise is None else {"noise": noise}),
        "control": {"least_records": Rules().least_records, "least_parties": Rules().least_parties},
        "limits": dataclasses.asdict(MeshLimits()),
        "parties": [
            {**party_fields, "number": number} for number, party_fields in enumerate(parties)
        ],
        "version": __version__,
    }
    # a draft that could never be signed is refused at once
    study_from(plain, name="the draft")
    return plain


def _list_entries(path: Path) -> list[Fields]:
    entries = read_yaml(_text(path), str(path))
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise RecipeError(f"{path} does not contain the output of 'sfumato key party'")
    return entries


def sign(path: Path, signing_key: Path) -> str:
    """Add the signature of the party whose key this is to a study file; the name of the party."""
    study = read_study(path)
    public = public_half(signing_key)
    party = next((party for party in study.parties if party.signing_key == public), None)
    if party is None:
        raise ParameterError(f"{signing_key} is not the key of a party in {path}")
    signed = base64.b64encode(signature(signing_key, PURPOSE + study.digest)).decode("ascii")
    _rewritten(path, study, {**study.signatures, party.name: signed})
    return party.name


def _rewritten(path: Path, study: Study, signatures: Mapping[str, str]) -> None:
    """The file with these signatures; what else it says, comments too, stays as it is."""
    from ruamel.yaml import YAML

    yaml = YAML()
    # the owner's spelling stays: quotes, and long certificates on one line
    yaml.preserve_quotes = True
    yaml.width = 10_000
    document = yaml.load(_text(path))
    document["signatures"] = dict(signatures)
    buffer = io.StringIO()
    yaml.dump(document, buffer)
    # signed is what the file says: writing must not have changed it
    study_again = study_from(read_yaml(buffer.getvalue(), str(path)), name=str(path))
    if study_again.digest != study.digest:
        raise OutputError(f"{path} cannot be rewritten unchanged; add the signature by hand")
    write_whole(path, buffer.getvalue().encode())
    as_new(path)


# What is learned by whom.


def list_learned(study: Study) -> tuple[str, ...]:
    """What parties and coalitions learn when everybody follows the protocol, one sentence each."""
    n, t = len(study.parties), study.degree
    gates = (
        f"{t + 1} parties together could learn how many records each has, up to"
        f" {study.control.least_records}"
    )
    if study.noise is None:
        further_facts = study.question.gives_away
    else:
        further_facts = "the sums that it needs, with noise"
    everyone = (
        "everybody learns the answer, and that the rules on records and parties hold:"
        f" {further_facts}"
    )
    if study.noise is not None:
        noisy = (
            f"the answer has noise that nobody knows: {study.noise.loss} for every record, even if "
            f"{study.noise.colluders} of {n} parties share theirs"
        )
    else:
        noisy = "the answer is exact"
    if study.protocol.name == "additive":
        coalition: tuple[str, ...] = (
            f"up to {n - 1} parties together learn nothing else about the numbers of the others",
            gates,
        )
    elif study.protocol.name == "encrypted":
        coalition = (
            (
                f"{study.protocol.server} sees ciphertexts, {study.protocol.key_holder} sees the"
                " sums; together they see every party's numbers"
            ),
            gates,
        )
    else:
        coalition = (
            (
                "no single party learns anything else"
                if t == 1
                else f"up to {t} parties together learn nothing else"
            ),
            f"{t + 1} parties together could learn every other party's numbers",
        )
    # passive security: true of every protocol here
    lies = "a party that lies about its own rows changes the answer unnoticed"
    return (everyone, noisy, *coalition, lies)
