from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.guidance.profiling.words import find, find_all, words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dateOfBirth", ("date", "of", "birth")),
        ("date_of_birth", ("date", "of", "birth")),
        ("Date.Of.Birth", ("date", "of", "birth")),
        ("PatientID", ("patient", "id")),
        ("IBANNumber", ("iban", "number")),
        ("FIRSTNAME", ("firstname",)),
        ("icd10code", ("icd", "10", "code")),
        ("Größe (cm)", ("grosse", "cm")),
        ("numéro-de-téléphone", ("numero", "de", "telephone")),
        ("", ()),
        ("___", ()),
    ],
)
def test_names_are_split_into_folded_words(name, words):
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        # en, de, fr, es, it, nl, pt, pl, sv
        ("first_name", "person name"),
        ("Nachname", "person name"),
        ("prénom", "person name"),
        ("apellidos", "person name"),
        ("cognome", "person name"),
        ("achternaam", "person name"),
        ("sobrenome", "person name"),
        ("nazwisko", "person name"),
        ("Efternamn", "person name"),
        ("phoneNumber", "phone number"),
        ("Telefonnummer", "phone number"),
        ("numéro de téléphone", "phone number"),
        ("teléfono", "phone number"),
        ("telefoonnummer", "phone number"),
        ("numer_telefonu", "phone number"),
        ("date_of_birth", "birth date"),
        ("Geburtsdatum", "birth date"),
        ("date_naissance", "birth date"),
        ("fecha de nacimiento", "birth date"),
        ("DataDiNascita", "birth date"),
        ("geboortedatum", "birth date"),
        ("data.de.nascimento", "birth date"),
        ("data_urodzenia", "birth date"),
        ("födelsedatum", "birth date"),
        ("zip", "postal code"),
        ("PLZ", "postal code"),
        ("code_postal", "postal code"),
        ("código postal", "postal code"),
        ("CAP", "postal code"),
        ("kod pocztowy", "postal code"),
        ("postnummer", "postal code"),
        ("sex", "sex"),
        ("Geschlecht", "sex"),
        ("sexe", "sex"),
        ("sesso", "sex"),
        ("geslacht", "sex"),
        ("płeć", "sex"),
        ("kön", "sex"),
        ("koen", "sex"),
        ("diagnosis", "health"),
        ("Krankheit", "health"),
        ("maladie", "health"),
        ("enfermedad", "health"),
        ("malattia", "health"),
        ("ziekte", "health"),
        ("doença", "health"),
        ("choroba", "health"),
        ("sjukdom", "health"),
        ("Einkommen", "income or wealth"),
        ("inkomst", "income or wealth"),
        ("sexuelle_Orientierung", "sexual life"),
        ("Gewerkschaft", "trade union"),
        ("wyznanie", "religion or belief"),
        ("casier judiciaire", "criminal record"),
        ("intention_de_vote", "political opinion"),
        ("Staatsangehoerigkeit", "nationality"),
        ("StaatsAngehörigkeit", "nationality"),
        ("marital-status", "marital status"),
        ("stan_cywilny", "marital status"),
    ],
)
def test_terms_of_nine_languages_are_known(name, concept):
    match = find(name)
    assert match is not None
    assert match.concept == concept


@pytest.mark.parametrize(
    "name",
    ["paid", "idea", "manager", "package", "sextant", "mailing", "zipper", "valid", "x", "", "42"],
)
def test_parts_of_words_do_not_count(name):
    assert find(name) is None


def test_the_longest_term_wins_and_then_the_last_one():
    assert (
        find("patient_birth_date").concept == "birth date"
    )  # not "birth", not the date of a visit
    assert find("address_city").concept == "place of residence"
    assert find("ip_address").concept == "ip address"
    assert find("country_of_birth").concept == "country or place of birth"


@given(st.text(max_size=40))
def test_any_name_is_survived_and_matches_lie_inside_it(name):
    words = words_of(name)
    for match in find_all(name):
        assert match.words == words
        assert 0 <= match.start < match.start + match.length <= len(words)
