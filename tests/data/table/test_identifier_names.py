"""Names of codes in several languages, and names that only look like them."""

from __future__ import annotations

import pytest

from sfumato.data.table.inference import is_identifier_name

CODES = """
zip ZIP zip_code ZipCode zipcode zip5 postal_code PostalCode postcode PLZ plz Postleitzahl CAP cp code_postal
codigo_postal Código postal código cep phone phone_number PhoneNo telefon Telefonnummer mobile tel fax
id ID patient_id PatientID patientid personid hh_id ori_hid uuid record_no recid recno rec_id case_no caseno customer_number
Kundennummer Kundennr Steuernummer matricola matrikelnummer ssn SSN nhs_number dni cpf pesel bsn iban IBAN bic
account account_no Kontonummer konto_nr compte cuenta icd10 icd_code diagnosis_code fips naics isbn mrn vin
UTILITYID soc_sec_id member_number_2 numéro número numero
""".split()  # noqa: SIM905
QUANTITIES = """
age alter income salary amount_paid paid covid number_of_children num_visits nr_kinder market_cap capacity
account_balance weight height year visits cost score hidden rapid solid valid grid count total mean
no_visits hours telling faxes sinus percentage price recode idle midpoint is_recid two_year_recid Num1 num_2 nr3
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", CODES)
def test_codes(name):
    assert is_identifier_name(name)


@pytest.mark.parametrize("name", QUANTITIES)
def test_quantities(name):
    assert not is_identifier_name(name)


@pytest.mark.parametrize("name", ["", " ", "_", "123", "…"])
def test_names_without_words(name):
    assert not is_identifier_name(name)
