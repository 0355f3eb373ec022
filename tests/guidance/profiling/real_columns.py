"""Column names and value shapes as real tables have them, and the role each should be proposed for.

The names are those of health, survey, money, personnel and justice files in several languages; the
values are invented here. A role of ``quasi+sensitive`` is both. What should be dropped is
``drop``; ``ask`` marks what nobody can decide without knowing the table.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator

import polars as pl

ROWS = 400

_SYLLABLES = [
    "ka",
    "lo",
    "mi",
    "ren",
    "ta",
    "vo",
    "shi",
    "bel",
    "dor",
    "fan",
    "gul",
    "hem",
    "jor",
    "kel",
    "lun",
    "mar",
    "nov",
    "pel",
    "quin",
    "ros",
    "sel",
    "tor",
    "ulm",
    "vik",
    "wen",
    "yor",
    "zan",
]
_STREETS = [
    "Oak",
    "Mill",
    "Church",
    "Station",
    "Park",
    "Bridge",
    "Garden",
    "Lake",
    "Hill",
    "Market",
]
_WORDS = [
    "patient",
    "reports",
    "pain",
    "after",
    "fall",
    "near",
    "home",
    "and",
    "was",
    "seen",
    "by",
    "her",
    "sister",
    "who",
    "called",
    "doctor",
    "at",
    "night",
    "then",
    "left",
]


def _word(draw: random.Random, parts: int = 2) -> str:
    return "".join(draw.choice(_SYLLABLES) for _ in range(parts)).capitalize()


def _labels(count: int, stem: str) -> Callable[[random.Random, int], str]:
    names = [f"{stem} {_word(random.Random(i), 2)}" for i in range(count)]
    return lambda draw, _: names[min(int(draw.expovariate(3.0 / count)), count - 1)]


def _one_of(*values: object) -> Callable[[random.Random, int], object]:
    return lambda draw, _: draw.choice(values)


def _day(draw: random.Random, first: int, last: int) -> datetime.date:
    return datetime.date(first, 1, 1) + datetime.timedelta(
        days=draw.randrange((last - first) * 365)
    )


SHAPES: dict[str, Callable[[random.Random, int], object]] = {
    "given": lambda d, _: _word(d),
    "family": lambda d, _: _word(d, 3),
    "full": lambda d, _: f"{_word(d)} {_word(d, 3)}",
    "email": lambda d, _: f"{_word(d).lower()}{d.randrange(999)}@example.org",
    "phone": lambda d, _: f"+49 {d.randrange(100, 999)} {d.randrange(10**6, 10**7)}",
    "street": lambda d, _: f"{d.choice(_STREETS)} Street {d.randrange(1, 300)}",
    "house": lambda d, _: f"{d.randrange(1, 250)}{d.choice(['', '', 'a', 'b'])}",
    "code": lambda d, i: f"{d.choice('ABCDEF')}{d.randrange(10**5, 10**6)}",
    "case": lambda d, i: (
        f"{d.randrange(10, 20)}{d.randrange(10**6, 10**7):07d}CF{d.randrange(10, 99)}A"
    ),
    "digits": lambda d, _: f"{d.randrange(10**9, 10**10)}",
    "running": lambda _, i: i + 1,
    "sparse": lambda d, i: 10_000 + 37 * i + d.randrange(37),
    "repeated": lambda d, _: f"P{d.randrange(150):05d}",
    "household": lambda d, i: 1000 + i // 3,
    "uuid": lambda d, _: (
        f"{d.getrandbits(32):08x}-{d.getrandbits(16):04x}-4{d.getrandbits(12):03x}-a{d.getrandbits(12):03x}-{d.getrandbits(48):012x}"
    ),
    "ip": lambda d, _: f"10.{d.randrange(256)}.{d.randrange(256)}.{d.randrange(256)}",
    "url": lambda d, i: f"https://example.org/u/{_word(d).lower()}{i}",
    "text": lambda d, i: f"{' '.join(d.choice(_WORDS) for _ in range(d.randrange(8, 20)))} {i}",
    "age": lambda d, _: d.randrange(18, 96),
    "age band": _one_of("18-29", "30-44", "45-59", "60-74", "75-89"),
    "birth": lambda d, _: _day(d, 1930, 2005),
    "event": lambda d, _: _day(d, 2019, 2023),
    "written event": lambda d, _: _day(d, 2019, 2023).isoformat(),
    "year": lambda d, _: d.randrange(1935, 2004),
    "zip": lambda d, _: f"{d.randrange(60) * 97 % 100:02d}{d.randrange(100):03d}",
    "city": _labels(60, "Bad"),
    "region": _labels(16, "North"),
    "country": _one_of(
        "Germany", "France", "Poland", "Italy", "Turkey", "Spain", "Greece", "Austria"
    ),
    "sex": _one_of("m", "f"),
    "sex word": _one_of("Male", "Female"),
    "marital": _one_of("married", "single", "divorced", "widowed"),
    "ethnic": _one_of("White", "Black", "Asian", "Hispanic", "Other"),
    "job": _labels(40, "Senior"),
    "degree": _one_of("none", "secondary", "bachelor", "master", "doctorate"),
    "flag": _one_of(0, 1),
    "yes": _one_of("yes", "no"),
    "rare flag": lambda d, _: int(d.random() < 0.03),
    "likert": lambda d, _: min(5, max(1, round(d.gauss(3, 0.7)))),
    "few": lambda d, _: d.choices(["alpha", "beta", "gamma"], [70, 20, 10])[0],
    "many": _labels(90, "Kind"),
    "illness": _labels(30, "Morbus"),
    "money": lambda d, _: round(d.lognormvariate(8, 0.6), 2),
    "whole money": lambda d, _: 100 * round(d.lognormvariate(3, 0.5)),
    "measure": lambda d, _: round(d.gauss(500, 120), 3),
    "counts": lambda d, _: d.randrange(100, 1200),
    "small count": lambda d, _: min(int(d.expovariate(1.2)), 6),
    "score": lambda d, _: d.randrange(1, 11),
    "percent": lambda d, _: round(100 * d.betavariate(2, 3), 1),
    "kilograms": lambda d, _: round(d.gauss(75, 14), 1),
    "centimetres": lambda d, _: round(d.gauss(171, 9)),
    "expansion": lambda d, _: round(d.lognormvariate(7, 0.4), 2),
    "even expansion": _one_of(812.5, 1033.0, 977.25, 1204.0),
    "latitude": lambda d, _: round(48 + 6 * d.random(), 5),
    "constant": lambda *_: "survey 2023",
    "empty": lambda *_: None,
    "stratum": _one_of(1, 2, 3, 4),
}
"""Shape → how a value of it is drawn, given the row's number."""

TABLES = {
    "hospital, English": (
        """
        mrn code drop; patient_name full drop; first given drop; last family drop; middle_initial given drop
        dob birth quasi; AgeAtAdmission age quasi; gender sex quasi; race ethnic quasi+sensitive; zip_code zip quasi
        address_line_1 street drop; home_phone phone drop; email_addr email drop; admission_date event quasi
        discharge_dt event quasi; primary_diagnosis illness sensitive; icd10_code illness sensitive; attending_physician full ask
        ward few quasi; insurance_number digits drop; clinical_notes text drop; smoker yes sensitive; bmi measure sensitive
        height_cm centimetres quasi; weight_kg kilograms quasi; hiv_status few sensitive; next_of_kin full drop
        total_charges money sensitive; readmitted rare flag sensitive; consent_version constant keep"""
    ),
    "clinical trial": (
        """
        usubjid code drop; subjid sparse drop; siteid few quasi; arm few sensitive; visitnum likert keep; screening_number digits drop
        trt_start event quasi; ptno sparse drop; cd4 counts sensitive; hgb measure sensitive; karnof likert sensitive; sexual_orientation few sensitive
        birthyr year quasi; country_of_birth country quasi; adverse_event_description text drop; responder flag sensitive
        wtkg kilograms quasi; randomisation_number sparse drop; initials given drop"""
    ),
    "hospital, German": (
        """
        Patientennummer code drop; Nachname family drop; Vorname given drop; Geburtsname family drop; Geburtsdatum birth quasi
        Geschlecht sex quasi; PLZ zip quasi; Wohnort city quasi; Straße street drop; Hausnummer house drop
        Telefonnummer phone drop; Krankenkasse many quasi; Versichertennummer digits drop; Hauptdiagnose illness sensitive
        Aufnahmedatum event quasi; Entlassungsdatum event quasi; Fallnummer case drop; Familienstand marital quasi
        Staatsangehörigkeit country quasi; Beruf job quasi; Konfession few sensitive; Pflegegrad likert sensitive
        Bemerkungen text drop; Körpergröße centimetres quasi; Gewicht kilograms quasi; Hausarzt full ask"""
    ),
    "survey, French": (
        """
        identifiant running drop; nom family drop; prénom given drop; courriel email drop; téléphone phone drop
        date_de_naissance birth quasi; sexe sex quasi; code_postal zip quasi; commune city quasi; profession job quasi
        niveau_d_études degree quasi; situation_matrimoniale marital quasi; nombre_d_enfants small count quasi
        revenu_mensuel money sensitive; religion few sensitive; intention_de_vote many sensitive; pays_de_naissance country quasi
        commentaires text drop; poids_de_sondage even expansion weight; strate stratum stratum; satisfaction likert sensitive"""
    ),
    "administration, Spanish": (
        """
        dni code drop; nombre given drop; apellidos family drop; primer_apellido family drop; fecha_nacimiento birth quasi
        sexo sex quasi; código_postal zip quasi; municipio city quasi; provincia region quasi; nacionalidad country quasi
        estado_civil marital quasi; ocupación job quasi; nivel_educativo degree quasi; teléfono phone drop
        correo_electrónico email drop; dirección street drop; ingresos money sensitive; discapacidad yes sensitive
        número_de_expediente case drop; diagnóstico illness sensitive; observaciones text drop"""
    ),
    "registers, Italian, Dutch and Portuguese": (
        """
        cognome family drop; nome given drop; codice_fiscale code drop; data_di_nascita birth quasi; sesso sex quasi
        comune_di_residenza city quasi; stato_civile marital quasi; titolo_di_studio degree quasi; reddito money sensitive
        achternaam family drop; voornaam given drop; bsn digits drop; geboortedatum birth quasi; geslacht sex quasi
        postcode zip quasi; woonplaats city quasi; beroep job quasi; burgerlijke_staat marital quasi; salaris money sensitive
        sobrenome family drop; nome_da_mãe full drop; cpf digits drop; bairro city quasi; raça ethnic quasi+sensitive
        escolaridade degree quasi; salário money sensitive; opmerkingen text drop"""
    ),
    "registers, Polish and Nordic": (
        """
        imię given drop; nazwisko family drop; pesel digits drop; data_urodzenia birth quasi; płeć sex quasi
        kod_pocztowy zip quasi; miejscowość city quasi; zawód job quasi; wykształcenie degree quasi; stan_cywilny marital quasi
        dochód money sensitive; rozpoznanie illness sensitive; uwagi text drop; förnamn given drop; efternamn family drop
        personnummer digits drop; födelsedatum birth quasi; kön sex quasi; postnummer zip quasi; yrke job quasi
        inkomst money sensitive; etternavn family drop; fødselsdato birth quasi; bostedskommune city quasi; etunimi given drop"""
    ),
    "labour force survey": (
        """
        hhid household household; age age quasi; sex sex word quasi; marital_stat marital quasi; tax_filer_stat many quasi
        class_of_worker few quasi; detailed_occupation_recode many quasi; education degree quasi; wage_per_hour money sensitive
        union_member yes sensitive; instance_weight expansion weight; veterans_admin yes quasi; citizenship country quasi
        hispanic_origin ethnic quasi+sensitive; region_of_previous_residence region quasi; fill_inc_questionnaire rare flag keep
        dividends money sensitive; q17_trust likert sensitive; interviewer_comments text drop; full_or_part_time_stat few quasi
        year constant keep; num_persons_in_household small count quasi; mode_of_interview few keep; q3_open text drop"""
    ),
    "bank and insurance": (
        """
        customer_no sparse drop; acct_holder_name full drop; iban code drop; card_number digits drop; cust_lastname family drop
        loan_amount money sensitive; credit_score counts sensitive; account_balance money sensitive; default_flag rare flag sensitive
        branch_city city quasi; occupation job quasi; employment_length_years score quasi; home_ownership few quasi
        date_of_birth birth quasi; postcode zip quasi; marital_status marital quasi; policy_number code drop; claim_number case drop
        claim_description text drop; claim_amount money sensitive; vehicle_registration code drop; ip_address ip drop
        device_id uuid drop; signup_date event quasi; monthly_income whole money sensitive; purpose many quasi
        interest_rate percent sensitive; term few sensitive; telephone yes quasi; foreign_worker rare flag quasi"""
    ),
    "personnel": (
        """
        employee_id code drop; emp_name full drop; work_email email drop; hire_date event quasi; job_title job quasi
        department few quasi; salary money sensitive; bonus money sensitive; performance_rating likert sensitive
        manager_name full drop; birth_date birth quasi; gender sex word quasi; nationality country quasi; office city quasi
        sick_days small count sensitive; termination_reason few keep; linkedin_url url drop; badge_number sparse drop
        emergency_contact full drop; ethnicity ethnic quasi+sensitive; disability yes sensitive; trade_union yes sensitive
        remote_work yes quasi; exit_interview text drop"""
    ),
    "courts and police": (
        """
        id running drop; name full drop; first given drop; last family drop; case_number case drop; c_case_number case drop
        dob birth quasi; age_cat age band quasi; sex sex word quasi; race ethnic quasi+sensitive; c_charge_degree few sensitive
        c_charge_desc many sensitive; violent_recid empty keep; is_violent_recid flag sensitive; is_recid flag sensitive
        priors_count small count sensitive; decile_score score sensitive; c_jail_in event quasi; c_offense_date written event quasi
        in_custody event quasi; screening_date written event quasi; type_of_assessment constant keep; two_year_recid flag sensitive
        defendant_id sparse drop; victim_name full drop; arresting_officer full ask; docket_no case drop; sentence_months small count sensitive"""
    ),
    "school": (
        """
        student_id code drop; surname family drop; given_names given drop; guardian_name full drop; birth_place city quasi
        school_name many quasi; class_name few quasi; gpa percent sensitive; exam_score counts sensitive; free_lunch yes sensitive
        home_language few quasi; year_of_birth year quasi; sex sex quasi; teacher_remarks text drop; photo_url url drop
        distance_km percent quasi; siblings small count quasi; matrikelnummer digits drop"""
    ),
    "no header": (
        """
        column_1 age quasi; column_2 family ask; column_3 sex word quasi; column_4 ethnic quasi+sensitive; column_5 marital quasi
        column_6 sparse ask; column_7 many quasi; column_8 likert keep; column_9 expansion ask; column_10 birth quasi
        column_11 country quasi; column_12 email drop; column_13 flag keep; column_14 text drop; column_15 running drop
        column_16 uuid drop"""
    ),
    "visits of the same people": (
        """
        patient_id repeated person; visit_id running drop; visit_date event quasi; birthdate birth quasi; postal_code zip quasi
        latitude latitude quasi; lab_value measure sensitive; patvorname given drop; patnachname family drop; ward_code few quasi
        treating_doctor full ask; fee money sensitive"""
    ),
    "health and nutrition examination": (
        """
        SEQN sparse drop; RIAGENDR sex quasi; RIDAGEYR age quasi; RIDRETH1 ethnic quasi+sensitive; DMDMARTL marital quasi
        WTMEC2YR expansion weight; SDMVPSU flag keep; SDMVSTRA stratum keep; BPXSY1 counts sensitive; LBXTC counts sensitive; DIQ010 few sensitive"""
    ),
    "intensive care": (
        """
        subject_id repeated person; hadm_id digits drop; icustay_id digits drop; admittime event quasi; dischtime event quasi
        insurance few sensitive; language few quasi; religion few sensitive; marital_status marital quasi; hospital_expire_flag rare flag sensitive
        anchor_age age quasi; deathtime event quasi; discharge_location few quasi+sensitive; los percent sensitive"""
    ),
    "loans": (
        """
        member_id digits drop; emp_title many quasi; emp_length score quasi; annual_inc money sensitive; addr_state region quasi
        dti percent sensitive; earliest_cr_line event quasi; loan_status few sensitive; desc text drop; grade few sensitive
        revol_bal money sensitive; applicant_sex sex word quasi; derived_race ethnic quasi+sensitive; census_tract zip quasi"""
    ),
    "staff attrition": (
        """
        EmployeeNumber sparse drop; MonthlyIncome whole money sensitive; DistanceFromHome score quasi; EducationField few quasi
        JobRole job quasi; MaritalStatus marital quasi; Over18 constant keep; Age age quasi; Gender sex word quasi; Attrition yes keep
        BusinessTravel few sensitive; Department few quasi; HourlyRate money sensitive; JobSatisfaction likert sensitive"""
    ),
    "international survey": (
        """
        idno running drop; cntry country quasi; gndr sex quasi; agea age quasi; yrbrn year quasi; hinctnta score sensitive
        rlgblg yes sensitive; lrscale score sensitive; pspwght even expansion weight; dweight even expansion keep; netusoft likert sensitive"""
    ),
    "household panel": (
        """
        pid repeated person; hid household household; syear constant keep; gebjahr year quasi; statefip region quasi; puma zip quasi
        perwt even expansion weight; bpl country quasi; incwage money sensitive; educd degree quasi; occ2010 many quasi; famsize small count quasi"""
    ),
    "abbreviations": (
        """
        LNAME family drop; Contact_Person full drop; ApplicantFirstName given drop; Kontoinhaber full drop
        nom_du_patient full drop; Student_Full_Nm full drop; Angehöriger full drop; responsable full ask; tel_mobile phone drop
        EMAIL1 email drop; Anschrift street drop; PatientKey sparse drop; chart_id sparse drop; hosp_no sparse drop
        registration sparse ask; vnr digits drop; lbnr sparse ask; patient_dob birth quasi; geb_dat birth quasi; AGE_YRS age quasi
        alter_bei_aufnahme age quasi; edad_anios age quasi; wohnbezirk region quasi; kreis_nr region quasi; HomeTown city quasi
        zip5 zip quasi; plz_3 zip quasi; nationalite country quasi; herkunftsland country quasi; SEX_CD sex quasi; m_status marital quasi
        beschäftigung job quasi; occupation_group few quasi; schooling_yrs small count quasi; eduyrs small count quasi
        nkids small count quasi; surgery_dt event quasi; last_visit event quasi; created_at event quasi; date_of_incident event quasi
        prim_dx illness sensitive; gehalt_brutto money sensitive; cd4_baseline counts sensitive; hba1c measure sensitive; kirche few sensitive
        convicted yes sensitive; completed yes keep; item_12 likert keep; answer_7 likert keep; treated flag sensitive
        hh_income money sensitive; Freitext text drop; reason_text text drop"""
    ),
    "passengers": (
        """
        PassengerId running drop; Survived flag sensitive; Pclass few keep; Name full drop; Sex sex word quasi; Age age quasi
        SibSp small count quasi; Ticket code drop; Fare money sensitive; Cabin code drop; Embarked few keep"""
    ),
}
"""Table → its columns: ``name shape role``, apart by semicolons or lines."""


def columns_of(table: str) -> Iterator[tuple[str, str, str]]:
    """Name, shape and expected role of every column of a table."""
    for entry in TABLES[table].replace("\n", ";").split(";"):
        if entry.strip():
            name, *shape, role = entry.split()
            yield name, " ".join(shape), role


def frame_of(table: str) -> pl.DataFrame:
    """The table with invented values; the same on every machine."""
    draw = random.Random(f"{table} 1")
    made = {
        name: [SHAPES[shape](draw, i) for i in range(ROWS)] for name, shape, _ in columns_of(table)
    }
    return pl.DataFrame({name: pl.Series(values, strict=False) for name, values in made.items()})


PUBLISHED = ("keep", "sensitive")
"""Roles under which values are released as they are."""


def is_unsafe(expected: str, proposed: str) -> bool:
    """Whether people could be found by a column because of what was proposed for it.

    A name or number of a person must be dropped or asked about; what others can know must not be
    released unchanged.
    """
    if expected == "drop":
        return proposed not in ("drop", "ask", "person")
    return (
        expected.split("+", maxsplit=1)[0] in ("quasi", "ask", "person") and proposed in PUBLISHED
    )


def outcomes() -> list[tuple[str, str, str, str]]:
    """Table, column, expected and proposed role of every column."""
    from sfumato.core.source import Source
    from sfumato.guidance.profiling.proposal import propose

    found = []
    for table in TABLES:
        proposal = propose(frame_of(table), Source())
        found += [
            (table, name, role, "+".join(proposal[name].roles))
            for name, _, role in columns_of(table)
        ]
    return found
