"""What tasks are asked for besides the recipe, declared once: the form on a page is drawn from the
fields, and the task gets the object.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sfumato.core.parameters import Naming, parameters
from sfumato.core.yaml_text import read_yaml
from sfumato.data.table.formats import FORMATS
from sfumato.guidance.protection.context import assumptions_of
from sfumato.interfaces.web.fields import Fields

# Characters of a text that is pasted, at most.
LONG = 1_000_000
# Characters of a text that is read from a file.
LONGEST = 64 * LONG
UNITS = Naming("columns", roles=("person", "household"))


@parameters
class ReadingRequest:
    """How a file is read; what is not said is found out."""

    format: Annotated[str | None, Naming("words", words=tuple(FORMATS)), Field(title="Format")] = (
        None
    )
    delimiter: Annotated[Literal[",", ";", "tab", "|"] | None, Field(title="Between cells")] = None
    encoding: Annotated[
        Literal["utf-8", "cp1252", "latin-1", "utf-16", "mac-roman"] | None, Field(title="Letters")
    ] = None
    decimal: Annotated[Literal[".", ","] | None, Field(title="Decimal sign")] = None
    header: Annotated[
        Literal["yes", "no"] | None, Field(title="Names of columns in the first line")
    ] = None
    missing_values: Annotated[
        str, Field(title="Codes for missing values", description="With commas: NA, -9")
    ] = ""
    rename_duplicates: Annotated[bool, Field(title="Number repeated names")] = False
    blanks: Annotated[bool, Field(title="Strip outer blanks")] = False
    unicode: Annotated[bool, Field(title="Make accents equal (NFC)")] = False

    def options(self) -> Fields:
        """The options of ``read`` that were said.

        >>> ReadingRequest(header="no", missing_values="NA, -9").options()
        {'header': False, 'missing_values': ['NA', -9]}
        """
        codes = [word.strip() for word in self.missing_values.split(",") if word.strip()]
        options = {
            "format": self.format,
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "decimal": self.decimal,
            "header": None if self.header is None else self.header == "yes",
            "missing_values": [read_yaml(code, "a code") for code in codes] or None,
            "rename_duplicates": self.rename_duplicates or None,
            "blanks": "strip" if self.blanks else None,
            "unicode": "nfc" if self.unicode else None,
        }
        return {name: value for name, value in options.items() if value is not None}


@parameters
class WriteRequest:
    """Where a release is written, and how."""

    folder: Annotated[
        str,
        Field(
            title="Folder",
            description="It is created; an existing file is refused, so that nothing is lost.",
        ),
    ] = ""
    format: Annotated[
        Literal["csv", "parquet", "arrow", "jsonl", "excel"] | None,
        Field(
            title="Format of the data", description="Not given: the format of the original table."
        ),
    ] = None
    sign: Annotated[
        str,
        Field(
            title="Key to sign with",
            description=(
                "An Ed25519 private key (PEM), as 'sfumato key sign' makes it; empty: not signed."
            ),
        ),
    ] = ""
    force: Annotated[bool, Field(title="Replace an earlier release in that folder")] = False
    pictures: Annotated[bool, Field(title="Write the charts of both reports as files too")] = False
    defuse: Annotated[
        bool, Field(title="CSV: disarm cells that a spreadsheet would run as formulas")
    ] = False


@parameters
class RegisterRequest:
    """The register that a release is entered in."""

    file: Annotated[
        str,
        Field(
            title="Register",
            description="The file of an existing register, or of one that is started below; empty: "
            "none.",
        ),
    ] = ""
    to: Annotated[
        str,
        Field(
            title="Who receives the release",
            description="As the register shall name it: the university of …",
        ),
    ] = ""
    person: Annotated[
        str,
        Field(
            title="Columns that identify people",
            description="Separated by commas; empty: the person column, else all direct "
            "identifiers.",
        ),
    ] = ""
    key: Annotated[
        str,
        Field(
            title="Key of the register",
            description="Only if it is not beside the register, as FILE.key.",
        ),
    ] = ""


@parameters
class ContextRequest:
    """Who receives a release, and what its owner assumes: what a decision is made under."""

    recipient: Annotated[
        Literal["public", "researchers", "internal", "trusted", "unknown"],
        Field(title="Who receives it?"),
    ] = "unknown"
    contract: Annotated[
        Literal["yes", "no", "unknown"],
        Field(title="Are they bound by a contract not to look for people?"),
    ] = "unknown"
    sensitivity: Annotated[
        Literal["low", "medium", "high", "unknown"],
        Field(title="How bad would it be for people to be recognised?"),
    ] = "unknown"
    population: Annotated[
        int | None,
        Field(
            ge=1,
            title="Of how many people was the file drawn?",
            description="The people of the region, for example; empty: unknown, taken as few.",
        ),
    ] = None
    first_release: Annotated[
        str,
        Field(
            title="Why is it the first release of these people?",
            description="For example: nothing of them was released before. Empty: not said.",
        ),
    ] = ""
    not_known: Annotated[
        str,
        Field(
            title="Columns that nobody else knows",
            description="Each with its reason, with semicolons: cost=billing figure.",
        ),
    ] = ""

    def document(self) -> Fields:
        """The answers as a file of answers has them; what is unknown is left out.

        >>> ContextRequest(recipient="public", not_known="cost=billing figure").document()
        {'recipient': 'public', 'not_known': {'cost': 'billing figure'}}
        """
        answers: Fields = {
            name: getattr(self, name) for name in ("recipient", "contract", "sensitivity")
        }
        document = {name: word for name, word in answers.items() if word != "unknown"}
        if self.population is not None:
            document["population"] = self.population
        if self.first_release.strip():
            document["first_release"] = self.first_release.strip()
        texts = [text for text in self.not_known.split(";") if text.strip()]
        if texts:
            document["not_known"] = assumptions_of(texts)
        return document

    @classmethod
    def fields_of(cls, document: Fields) -> Fields:
        """What stands in the form for answers that were given before.

        >>> ContextRequest.fields_of({"not_known": {"cost": "billing figure"}})
        {'not_known': 'cost=billing figure'}
        """
        reasons = document.get("not_known", {})
        texts = [f"{column}={reason}" for column, reason in reasons.items()]
        return {**document, "not_known": "; ".join(texts)} if texts else dict(document)


@parameters
class BoundRequest:
    """How far a metric of the contract may be off."""

    way: Annotated[Literal["at_most", "at_least"], Field(title="at most or at least")]
    bound: Annotated[float, Field(title="Bound")]
    refuse: Annotated[bool, Field(title="refuse the release if it is broken")] = False


@parameters
class BudgetRequest:
    """What all answers together may cost."""

    epsilon: Annotated[
        float, Field(gt=0, title="ε in total", description="the smaller, the better the privacy")
    ] = 1.0
    delta: Annotated[
        float, Field(ge=0, title="δ", description="0, or the probability with which ε may fail")
    ] = 0.0
    protects: Annotated[
        str | None,
        UNITS,
        Field(description="the column of the persons; empty: every row is another person"),
    ] = None
    contributions: Annotated[
        int,
        Field(
            ge=1,
            title="rows of one person that count",
            description="if persons have several rows",
        ),
    ] = 1


@parameters
class QuestionRequest:
    """A question, and what its answer may cost."""

    statement: Annotated[str, Field(max_length=LONG, title="Question (SQL)")] = ""
    epsilon: Annotated[float, Field(gt=0, title="ε of this answer")] = 0.1
    rows: Annotated[
        float,
        Field(
            ge=1,
            title="records you expect",
            description="your guess, for the expected error; the data are not read",
        ),
    ] = 1000


@parameters
class PolicySource:
    """A policy: a file, or its text."""

    path: Annotated[str, Field(title="Path of a file (LPL, DPV, ODRL, SPECIAL, ours)")] = ""
    text: Annotated[str, Field(max_length=LONGEST, title="Text of the policy")] = ""
    name: Annotated[str, Field(title="Name")] = "the policy"


@parameters
class PolicyRequest:
    """What a table is for, so that a policy becomes a recipe."""

    purpose: Annotated[str, Field(title="Purpose")] = ""
    recipient: Annotated[str, Field(title="Recipient")] = ""
    on_conflict: Annotated[
        Literal["privacy", "suppress_rows", "fail"],
        Field(
            title="If a floor is above a cap",
            description=(
                "privacy: lift what the policy caps; suppress rows: remove rows; fail: report "
                "that it cannot be met"
            ),
        ),
    ] = "privacy"
    budget: Annotated[float, Field(ge=0, le=1, title="Records that may be suppressed")] = 0.0
    keep: Annotated[bool, Field(title="Keep the promises of the current recipe")] = True


@parameters
class ComplianceRequest:
    """What is said of the use of a release, which a table does not know."""

    purpose: Annotated[str, Field(title="Purpose of the use")] = ""
    recipient: Annotated[
        str, Field(title="Who receives it", description="Empty: the controller itself.")
    ] = ""
    categories: Annotated[
        str,
        Field(title="Kinds of data in it", description="With commas: pd:Health, pd:Age."),
    ] = ""
    days: Annotated[
        int | None, Field(ge=0, title="Days of storage", description="Empty: not said.")
    ] = None
    age: Annotated[str, Field(title="Columns that are ages")] = ""
    zip: Annotated[str, Field(title="Columns that are ZIP codes")] = ""
    date: Annotated[
        str,
        Field(
            title="Columns that are dates",
            description="Separated by commas; columns that are not named are not checked.",
        ),
    ] = ""
    folder: Annotated[
        str,
        Field(
            title="Folder of a written release",
            description="Empty: the release of the current version, which is made if necessary.",
        ),
    ] = ""


# Asked where a policy says what may be done with data.
PERMISSION_FIELDS = ("categories", "days")
# Asked where a rule is about numbers of this kind.
NUMBER_FIELDS = ("age", "zip", "date")
