"""The certificate of version 3: one document, made of sections, for everything that is released.

A certificate says what is claimed about the files beside it, in fields that can be computed again:
counts, digests, bounds, what was required and what was attained. It holds no sentence about them.
Words are made from the fields when they are shown (:mod:`sfumato.release.certificate_words`), so
that wording may change, and a text that contradicts the fields has no place.

=====================  =============================================================================
kind (``shape``)       sections besides those of every certificate
=====================  =============================================================================
every certificate      ``sfumato_certificate`` (3), ``shape``, ``created``, ``versions``, ``files``,
                       ``digest``, ``signature``
records of any shape   ``recipe``, ``plan``, ``verdicts``, ``limits``, ``contract``,
                       ``input_commitment``, ``dropped_columns``, ``shuffled``, ``rehearsal``; also
                       ``utility``, ``attacks``, ``differential_privacy``
one table              ``data``, ``roles``, ``missing_rule``, ``classes``, ``suppressed_records``;
                       also ``story``, ``implied``, ``decision``, ``sampled``, ``synthetic``
baskets, paths, graph  ``data``, ``counts``, ``suppressed_people``; also ``people``
tables                 ``tables``, ``counts``, ``suppressed_people``
aggregates             ``aggregates``: a table of counts or sums
outputs                ``outputs``: results of researchers that were checked
study                  ``study``: what several parties computed together
=====================  =============================================================================

Reading is strict: a section that no certificate of the kind has, a field of another type, a key
that stands twice and a number that is none are refused (:mod:`sfumato.release.certificate_files`),
so that nobody can take one file for two. Only what plug-ins decide is open: the specifications of a
recipe, what a step says of its plan, and details of an attack.

This module builds the models when it is imported. Writing a certificate does not import it: a run
writes plain data (:mod:`sfumato.release.documents`), and a test holds that what is written is what
is read here.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from sfumato.core.shape import Shape
from sfumato.release.manifest import AGGREGATES, STUDY

ABSENT: Any = None
"""The default of a section that may be left out; it is not checked, and null is no section."""


def _require_moment(text: str) -> str:
    datetime.datetime.fromisoformat(text)
    return text


Moment = Annotated[str, AfterValidator(_require_moment)]
Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Role = str | list[str]
Open = dict[str, JsonValue]


class Section(BaseModel):
    """A part of a certificate: nothing may stand in it that is not declared."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


class OpenSection(BaseModel):
    """A part that plug-ins decide: what is declared must be there, and more may be."""

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)


# Every certificate.


class ListedFile(Section):
    """A file of the shared folder."""

    sha256: Hex
    bytes: Count


class Signature(Section):
    """Who vouches for all the rest."""

    algorithm: Literal["Ed25519"]
    public_key: str
    value: str


class Certificate(Section):
    """What every certificate holds."""

    sfumato_certificate: Literal[3]
    shape: str
    created: Moment
    versions: dict[str, str]
    files: dict[str, ListedFile]
    digest: Hex
    signature: Signature = ABSENT


# Released records.


class FormSection(Section):
    """How a file of text is read."""

    delimiter: str = ABSENT
    encoding: str = ABSENT
    decimal: str = ABSENT
    header: bool = ABSENT
    null: str = ABSENT
    quote: str = ABSENT
    defused: bool = ABSENT
    types: dict[str, str] = ABSENT


class StoredTable(Section):
    """A table of a database that was written besides."""

    name: str
    kind: str
    rows_digest: str


class DataFile(Section):
    """A released file, or the folder of its parts."""

    file: str
    sha256: Hex
    format: str
    form: FormSection = ABSENT
    formulas: dict[str, Count] = ABSENT
    rows: Count


class TableFile(DataFile):
    """The file of one table."""

    columns: list[str]
    parts: Count = ABSENT
    table: StoredTable = ABSENT


class ReleasedColumn(Section):
    """What a column of a released table is."""

    role: Role
    kind: str = ABSENT
    missing: str = ABSENT
    unit: str = ABSENT
    free_text: str | bool = ABSENT
    of: str = ABSENT


class DescribedFile(DataFile):
    """A file whose columns are described one by one."""

    columns: dict[str, ReleasedColumn]


class RecipeColumn(OpenSection):
    """What a recipe says of a column."""

    role: Role


class RecipeTable(OpenSection):
    """What a recipe says of a table."""

    columns: dict[str, RecipeColumn]


class MethodsOfRecipe(OpenSection):
    """Promises and steps as a recipe writes them, without what its owner keeps."""

    meet: list[JsonValue]
    steps: list[JsonValue]


class PublicRecipe(MethodsOfRecipe):
    """The recipe of one table, or of two of which one describes people."""

    columns: dict[str, RecipeColumn]
    people: RecipeTable | None = None


class RecipeOfTables(MethodsOfRecipe):
    """The recipe of related tables."""

    tables: dict[str, RecipeTable]


class Commitment(Section):
    """HMAC-SHA-256 of the input's SHA-256, keyed with the salt in the owner's lock file."""

    scheme: Literal["HMAC-SHA-256"]
    value: Hex


class PromiseVerdict(Section):
    """One promise of the recipe, in its order: what it requires, and what the release attains."""

    model: str
    holds: bool
    attained: float | None
    required: float | None
    failing_classes: Count
    failing_records: Count
    missing_rule: str
    of_persons: Literal[False] = ABSENT


class BoundSection(Section):
    """A limit, or a line of the contract, in the order of the recipe."""

    name: str
    parameters: Open = ABSENT
    value: float | None
    limit: float
    holds: bool
    refuses: bool


class PlanOfStep(OpenSection):
    """What a step did, in the order of the recipe; each step says what it tells."""

    step: str


class AttackTried(Section):
    """An attack, what it reached, and what is allowed."""

    intruder: str
    knows: list[str]
    threshold: float
    limit: float | None
    exceeds: bool
    attack: str
    parameters: Open = ABSENT
    value: float
    interval: list[float] | None
    baseline: float | None
    beyond_guessing: float
    certain: bool
    trials: int | None
    victims: int | None
    weights: dict[str, float | None]
    details: Open


class AttackSkipped(Section):
    """An attack that was not tried."""

    intruder: str
    attack: str
    parameters: Open = ABSENT
    limit: float | None
    status: Literal["unknown", "does not apply"]


class Attacks(Section):
    """What intruders tried on the release."""

    records: Count
    looked_for: Count
    tried: list[AttackTried]
    skipped: list[AttackSkipped]
    seconds: float


class AccountedStep(Section):
    """What a step does to ε."""

    step: str
    effect: str
    epsilon: float | None = ABSENT
    delta: float | None = ABSENT


class DifferentialPrivacy(Section):
    """What is certified of ε for the whole recipe."""

    certified: bool
    epsilon: float | None
    delta: float | None
    neighbours: Literal["add_remove", "replace", "values"]
    unit_of_privacy: str
    steps: list[AccountedStep]


class DecisionFile(Section):
    """The classes of the written file, by persons where there are any."""

    records: Count
    persons: Count | None
    classes: Count
    smallest_class: Count
    quasi: list[str]


class AcceptedByTerms(Section):
    """Columns that tell more of a quasi-identifier than its label, and why that was taken on."""

    columns: list[str]
    implies: str
    because: str


class TermsOfDecision(Section):
    """Under which terms it was decided, with what the owner assumes."""

    recipient: str
    contract: str
    sensitivity: str
    population: Count | None
    requested: str
    not_known: dict[str, str]
    first_release: str | None
    accepted: list[AcceptedByTerms]


class DecisionSection(Section):
    """The decision about the release; attack results are kept by its owner unless they are here."""

    terms_version: Count
    terms_date: str
    dated: Moment
    tier: Literal["publication", "contract", "internal", "none"]
    harm: Literal["low", "medium", "high"]
    terms: TermsOfDecision
    kinds: list[str]
    file: DecisionFile | None
    owner_digest: Hex
    evidence: Open = ABSENT


class RecordsCertificate(Certificate):
    """What the certificate of released records holds, whatever their shape."""

    input_commitment: Commitment
    verdicts: list[PromiseVerdict]
    limits: list[BoundSection]
    contract: list[BoundSection]
    plan: list[PlanOfStep]
    dropped_columns: list[str]
    shuffled: bool
    rehearsal: bool
    utility: dict[str, float | None] = ABSENT
    attacks: Attacks = ABSENT
    differential_privacy: DifferentialPrivacy = ABSENT


# One table.


class ClassesSection(Section):
    """The equivalence classes of the file, and the risks that follow."""

    count: Count
    smallest: Count | None
    sizes: dict[str, Count]
    risks: dict[str, float | None]
    risk_threshold: float


class CardSection(Section):
    """One column before and after."""

    column: str
    roles: list[str]
    loss: float
    distance: float


class Maps(Section):
    """How far the tables of every two columns moved."""

    columns: list[str]
    table_distance: list[float]


class Story(Section):
    """What the pictures show."""

    cards: list[CardSection]
    maps: Maps
    suppressed_cells: dict[str, float]


class SampleSection(Section):
    """On how many records measures and attacks looked, of how many."""

    records: Count
    of: Count


class AcceptedPair(Section):
    """Columns that tell more of a quasi-identifier than its label, which was accepted."""

    columns: list[str]
    implies: str


class ImpliedSection(Section):
    """What was looked for between released columns and the labels of quasi-identifiers."""

    compared: Count
    unknown: Count
    accepted: list[AcceptedPair]
    sampled: SampleSection = ABSENT


class SyntheticSection(Section):
    """Rows that are nobody's; promises are of the file. Of whom they were learnt is not told beside
    a certified ε.
    """

    rows: Count
    learnt_from: Count = ABSENT
    held_out: Count = ABSENT


class LabelsSection(Section):
    """What the labels of a recoded column look like; widths and overlap for numbers and dates."""

    labels: Count
    scale: Literal["number", "date"] = ABSENT
    narrowest: float = ABSENT
    widest: float = ABSENT
    overlap: bool = ABSENT


class TableCertificate(RecordsCertificate):
    """The certificate of one table."""

    shape: Literal["table"]
    data: TableFile
    recipe: PublicRecipe
    roles: dict[str, list[str]]
    missing_rule: dict[str, str]
    classes: ClassesSection
    suppressed_records: Count | None
    labels: dict[str, LabelsSection] = ABSENT
    story: Story = ABSENT
    implied: ImpliedSection = ABSENT
    decision: DecisionSection = ABSENT
    sampled: SampleSection = ABSENT
    synthetic: SyntheticSection = ABSENT


# People who are described by more than a row.


class PeopleCertificate(RecordsCertificate):
    """The certificate of baskets, paths or a graph."""

    data: DescribedFile
    people: DescribedFile = ABSENT
    recipe: PublicRecipe
    counts: dict[str, Count]
    suppressed_people: Count | None


class TablesCertificate(RecordsCertificate):
    """The certificate of related tables."""

    tables: dict[str, DescribedFile]
    recipe: RecipeOfTables
    counts: dict[str, Count]
    suppressed_people: Count | None


# Results that hold no records.


class DimensionSection(Section):
    """The values of a column of a published table, as a tree."""

    column: str
    labels: list[str]
    parent: list[int]


class PublishedFile(Section):
    """A published table."""

    file: str
    sha256: Hex
    format: str
    rows: Count
    columns: list[DimensionSection]


class CellCounts(Section):
    """How many cells there are, and how many are suppressed."""

    cells: Count
    suppressed: Count
    suppressed_besides: Count
    gap: float | None


class AuditSection(Section):
    """What an audit from the intruder's side looked at."""

    scope: str
    bounds: str


class RuleSection(OpenSection):
    """A rule for sensitive cells, without what would help an intruder."""

    rule: str


class Aggregates(Section):
    """Tables of counts or sums."""

    measure: str
    counts_persons_by: str
    rules: list[RuleSection]
    method: str
    summary: CellCounts
    suppressed_by_rule: dict[str, Count]
    base: int | float | None
    additive: bool
    audit: AuditSection
    tables: list[PublishedFile]


class AggregatesCertificate(Certificate):
    """The certificate of tables of counts or sums."""

    aggregates: Aggregates


class ReleasedOutput(Section):
    """An output that left: its file, what the check said, and who decided."""

    number: int
    title: str
    file: str
    sha256: Hex
    bytes: Count
    kind: str
    checked: str
    released: Literal["approved", "passes"]
    by: str = ABSENT
    at: str = ABSENT


class HeadOfLog(Section):
    """How far the log of the session went."""

    entries: Count
    head: str
    outputs: Count
    decisions: Count


class StatedRules(Section):
    """The rules of a session, as readers may know them."""

    threshold: Count
    residual_df: Count
    zeros: bool


class Outputs(Section):
    """Results of researchers that were checked before they left."""

    rules: StatedRules
    counts_persons_by: Literal["row", "unit"]
    released: list[ReleasedOutput]
    log: HeadOfLog


class OutputsCertificate(Certificate):
    """The certificate of a folder of outputs."""

    outputs: Outputs


class StudyParty(Section):
    """Who took part, as the study says."""

    name: str
    dataset: str
    certificate_sha256: Hex
    signing_key: str


class StudyCost(Section):
    """What every party was told that it costs, and what it cost the one that wrote the file."""

    estimated: dict[str, int | float]
    measured: dict[str, int | float]


class ConfirmedStudy(Section):
    """What several parties computed together, and their signatures under it."""

    answer: Open
    digest: Hex
    id: str
    question: JsonValue
    parties: list[StudyParty]
    protocol: Open
    rules: Open
    noise: Open | None
    cost: StudyCost
    session: str
    transcript: str
    public_digest: Hex
    signatures: dict[str, str]


class RepeatedStudy(Section):
    """The answer of an earlier study, which holds the signatures."""

    answer: Open
    digest: Hex
    asked_before: Hex


class StudyCertificate(Certificate):
    """The result of a study, which is unique."""

    shape: Literal["study"]
    study: ConfirmedStudy | RepeatedStudy


DOCUMENTS: dict[str, type[Certificate]] = {
    **dict.fromkeys(Shape, PeopleCertificate),
    Shape.TABLE: TableCertificate,
    Shape.TABLES: TablesCertificate,
    AGGREGATES: AggregatesCertificate,
    "outputs": OutputsCertificate,
    STUDY: StudyCertificate,
}
"""What a certificate must hold, by the shape of what it is about."""
