"""Column names that promise a code, not a quantity: digits that must stay text."""

from __future__ import annotations

import re
import unicodedata

ANYWHERE = frozenset(
    """
    id ids uid uuid guid pid hid idn ident identifier identifiant identificador identificativo identifikator
    code codes kode codigo codice kod cod
    zip plz cep npa postal postcode zipcode postleitzahl pincode eircode codepostal postnummer postnr
    ssn sin nino nhs nhi mrn dni nie nif cpf cnpj rut curp pesel bsn nir siren siret insee ahv avs svnr
    iban bic swift imei isbn issn ean gtin upc sku barcode vin npi ndc icd cpt hcpcs atc loinc snomed
    fips geoid naics nace isco isic nuts ags lau
    phone telephone telefon telefono telefone tel mobile handy cellphone fax
    matricola matricule matricula matrikel aktenzeichen kennzeichen kennziffer passport passeport pasaporte reisepass
    """.split()  # noqa: SIM905 - a list of one word a line would hide the families
)
"""Words that make a name a code wherever they stand in it."""

AT_THE_END = frozenset(
    """
    number num nr numero nummer numer numeri nro account konto compte cuenta conto conta rekening
    ref reference referenz token license licence pin
    """.split()  # noqa: SIM905 - a list of one word a line would hide the families
)
"""Words that make a name a code only as its last word: ``phone_number``, not ``number_of_children``."""

WHOLE_NAME = frozenset({"cap", "cp"})
"""Names that are codes only when nothing else stands beside them: ``cap``, not ``market_cap``."""

GLUED = re.compile(
    r"(?:patient|person|personal|customer|client|user|member|case|record|rec|household|hh|subject|student|pupil|employee"
    r"|staff|utility|account|order|visit|episode|event|site|row|unit|group|school|hospital|family|respondent|participant)"
    r"(?:id|no|nr|num|number|key|code)$"
    r"|(?:zip|post|postal|bar|pin|area|country|state|region|district)code$"
    r"|nummer$|[a-z]{3,}nr$|kennung$|schluessel$|schlussel$"
)
"""Compounds written without a border: ``patientid``, ``Kundennummer``, ``postcode``."""

_BORDER = re.compile(r"[^0-9a-z]+|(?<=[a-z])(?=\d)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(name: str) -> list[str]:
    """Split a column name into lower-case words without accents.

    >>> words_of("PatientID"), words_of("Código postal"), words_of("zip5")
    (['patient', 'id'], ['codigo', 'postal'], ['zip', '5'])
    """
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", name))
    plain = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return [word for word in _BORDER.split(plain) if word]


def is_identifier_name(name: str) -> bool:
    """Whether a column of this name holds codes whose digits are not a quantity.

    >>> [is_identifier_name(n) for n in ("zip", "PLZ", "PatientID", "phone number", "Kundennummer", "CAP")]
    [True, True, True, True, True, True]
    >>> [is_identifier_name(n) for n in ("age", "number_of_children", "amount_paid", "market_cap", "no_visits")]
    [False, False, False, False, False]
    """
    words = words_of(name)
    if not words:
        return False
    last = words[-2] if words[-1].isdigit() and len(words) > 2 else words[-1]  # member_number_2, but not num1
    glued = "".join(words)
    compounds = any(GLUED.search(word) for word in (*words, glued))  # case_no reads like caseno
    return not ANYWHERE.isdisjoint(words) or last in AT_THE_END or glued in WHOLE_NAME or compounds
