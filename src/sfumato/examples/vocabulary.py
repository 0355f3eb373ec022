"""The words of the generated tables: diagnoses, occupations, nationalities, postal districts and syllables.

All of it is made for these tables. Shares and costs are round numbers of a plausible size, not statistics.
"""

from __future__ import annotations

from typing import NamedTuple


class Diagnosis(NamedTuple):
    """How often a diagnosis occurs, in whom, for how long and at what cost."""

    name: str
    share: float
    age: float
    spread: float
    female: float
    days: float
    cost: float


CHAPTERS: dict[str, tuple[str, tuple[Diagnosis, ...]]] = {
    "Heart and circulation": (
        "Cardiology",
        (
            Diagnosis("Heart attack", 30, 68, 13, 0.35, 7, 6200),
            Diagnosis("Heart failure", 42, 78, 10, 0.50, 10, 3900),
            Diagnosis("Atrial fibrillation", 28, 72, 12, 0.45, 4, 2600),
            Diagnosis("Stroke", 26, 74, 12, 0.50, 11, 5400),
            Diagnosis("Varicose veins", 9, 55, 14, 0.68, 1, 1700),
        ),
    ),
    "Lungs and breathing": (
        "Pneumology",
        (
            Diagnosis("Pneumonia", 30, 70, 22, 0.46, 8, 3300),
            Diagnosis("Chronic bronchitis", 18, 69, 11, 0.45, 8, 2900),
            Diagnosis("Asthma", 9, 22, 18, 0.52, 4, 1900),
            Diagnosis("Croup", 9, 2, 2, 0.42, 2, 1300),
        ),
    ),
    "Digestion": (
        "Surgery",
        (
            Diagnosis("Appendicitis", 14, 24, 15, 0.48, 4, 2900),
            Diagnosis("Gallstones", 24, 55, 17, 0.64, 4, 3200),
            Diagnosis("Inguinal hernia", 18, 58, 17, 0.12, 2, 2300),
            Diagnosis("Gastritis", 17, 50, 20, 0.55, 4, 1600),
            Diagnosis("Crohn's disease", 5, 32, 13, 0.54, 7, 3500),
        ),
    ),
    "Cancer": (
        "Oncology",
        (
            Diagnosis("Breast cancer", 17, 63, 13, 0.99, 5, 5200),
            Diagnosis("Lung cancer", 16, 68, 10, 0.40, 8, 6100),
            Diagnosis("Bowel cancer", 14, 70, 11, 0.45, 11, 8300),
            Diagnosis("Prostate cancer", 11, 69, 8, 0.0, 7, 6000),
            Diagnosis("Leukaemia", 5, 45, 26, 0.44, 16, 14500),
        ),
    ),
    "Injury": (
        "Trauma surgery",
        (
            Diagnosis("Hip fracture", 20, 81, 9, 0.70, 13, 7600),
            Diagnosis("Forearm fracture", 16, 35, 28, 0.52, 3, 3000),
            Diagnosis("Concussion", 22, 30, 25, 0.44, 2, 1000),
            Diagnosis("Burn", 4, 28, 22, 0.40, 9, 6900),
        ),
    ),
    "Bones and joints": (
        "Orthopaedics",
        (
            Diagnosis("Worn hip joint", 20, 70, 10, 0.58, 8, 7000),
            Diagnosis("Worn knee joint", 20, 70, 9, 0.61, 8, 7200),
            Diagnosis("Slipped disc", 21, 50, 14, 0.47, 6, 3700),
        ),
    ),
    "Birth and pregnancy": (
        "Obstetrics",
        (
            Diagnosis("Spontaneous birth", 62, 31, 5, 1.0, 3, 2100),
            Diagnosis("Caesarean section", 28, 32, 5, 1.0, 5, 3300),
            Diagnosis("Threatened early birth", 7, 30, 6, 1.0, 9, 4100),
        ),
    ),
    "Mind": (
        "Psychiatry",
        (
            Diagnosis("Depression", 24, 47, 17, 0.60, 28, 8200),
            Diagnosis("Alcohol dependence", 24, 48, 12, 0.27, 10, 2700),
            Diagnosis("Schizophrenia", 11, 38, 13, 0.43, 30, 8800),
            Diagnosis("Dementia", 9, 81, 7, 0.60, 17, 5100),
            Diagnosis("Anorexia", 2, 18, 4, 0.93, 45, 16000),
        ),
    ),
    "Infection": (
        "Internal medicine",
        (
            Diagnosis("Sepsis", 11, 71, 16, 0.45, 12, 9600),
            Diagnosis("Gut infection", 19, 40, 32, 0.54, 4, 1500),
            Diagnosis("Hepatitis B", 2, 42, 13, 0.40, 6, 2800),
            Diagnosis("HIV disease", 2, 41, 11, 0.22, 11, 7400),
            Diagnosis("Tuberculosis", 1, 44, 17, 0.38, 24, 9900),
        ),
    ),
    "Metabolism": (
        "Internal medicine",
        (
            Diagnosis("Diabetes", 19, 64, 18, 0.45, 9, 3200),
            Diagnosis("Thyroid disease", 9, 53, 15, 0.78, 3, 2900),
            Diagnosis("Cystic fibrosis", 1, 19, 9, 0.50, 12, 7700),
        ),
    ),
}

OCCUPATIONS: dict[str, dict[str, int]] = {
    "Health and care": {"Nurse": 10, "Physician": 4, "Care assistant": 8, "Pharmacist": 1, "Midwife": 1},
    "Education and science": {"Teacher": 9, "Nursery teacher": 6, "Researcher": 3, "Librarian": 1},
    "Office and computing": {"Office clerk": 20, "Accountant": 6, "Software developer": 6, "Manager": 7, "Lawyer": 2},
    "Sales and service": {"Shop assistant": 12, "Cook": 5, "Hairdresser": 3, "Cleaner": 7, "Police officer": 3},
    "Crafts and industry": {
        "Electrician": 5,
        "Joiner": 3,
        "Mechanic": 7,
        "Bricklayer": 3,
        "Machine operator": 9,
        "Clockmaker": 0,
    },
    "Transport and land": {"Lorry driver": 5, "Warehouse worker": 8, "Farmer": 3, "Train driver": 1, "Beekeeper": 0},
    "Not in work": {"Below school age": 0, "Pupil": 0, "Student": 0, "Unemployed": 9, "Homemaker": 6, "Retired": 0},
}

NATIONALITIES: dict[str, dict[str, int]] = {
    "European Union": {
        "German": 0,
        "Polish": 14,
        "Romanian": 12,
        "Italian": 9,
        "Croatian": 7,
        "Greek": 6,
        "French": 3,
        "Maltese": 0,
    },
    "Rest of Europe": {"Turkish": 20, "Ukrainian": 13, "Serbian": 4, "British": 2, "Swiss": 1, "Icelandic": 0},
    "Asia": {"Syrian": 12, "Afghan": 6, "Indian": 4, "Vietnamese": 3, "Chinese": 3},
    "Africa": {"Moroccan": 2, "Nigerian": 2, "Eritrean": 2, "Ghanaian": 1},
    "Americas and Oceania": {"American": 2, "Brazilian": 1, "New Zealander": 0},
}

MARITAL: dict[str, list[str]] = {
    "never married": ["single"],
    "in a marriage or partnership": ["married", "registered partnership"],
    "formerly married": ["divorced", "widowed", "separated"],
}
MARITAL_BY_AGE = (
    # up to age: single, married, registered partnership, divorced, widowed, separated
    (18, (100, 0, 0, 0, 0, 0)),
    (25, (92, 7, 1, 0, 0, 0)),
    (35, (57, 36, 2, 3, 0, 2)),
    (50, (26, 57, 2, 10, 1, 4)),
    (65, (13, 62, 1, 15, 5, 4)),
    (80, (7, 61, 0, 11, 20, 1)),
    (200, (6, 34, 0, 5, 55, 0)),
)

DISTRICTS = (
    # first two digits, share of the patients, share of foreign nationals
    ("01", 30, 0.08),
    ("02", 14, 0.04),
    ("04", 18, 0.11),
    ("08", 8, 0.05),
    ("10", 12, 0.27),
    ("13", 7, 0.22),
    ("20", 3, 0.19),
    ("39", 2, 0.07),
    ("50", 2, 0.21),
    ("60", 2, 0.30),
    ("80", 2, 0.26),
    ("99", 1, 0.06),
)
DELIVERY_ENDINGS = ("00", "05", "09", "12", "17", "23")

ONSETS = (
    "Ba",
    "Da",
    "Fe",
    "Gi",
    "Ho",
    "Jo",
    "Ka",
    "Le",
    "Ma",
    "Ni",
    "Or",
    "Pe",
    "Ra",
    "Sa",
    "Ti",
    "Ul",
    "Ve",
    "Wi",
    "Yo",
    "Za",
)
MIDDLES = ("", "bri", "da", "li", "ma", "no", "re", "ri", "so", "ta", "vi", "ze")
ENDINGS = {"female": ("la", "na", "ra", "sia", "mea", "lotte"), "male": ("lo", "nd", "rik", "mar", "to", "win")}
FAMILY_ONSETS = (
    "Al",
    "Ber",
    "Cor",
    "Dorn",
    "Eich",
    "Fal",
    "Gras",
    "Hal",
    "Ing",
    "Kel",
    "Lind",
    "Mor",
    "Nor",
    "Oster",
    "Pol",
    "Quar",
    "Ros",
    "Stern",
)
FAMILY_MIDDLES = ("", "a", "en", "er", "in")
FAMILY_ENDINGS = ("bach", "berg", "feld", "hoff", "ik", "mann", "quist", "ski", "stein", "tal", "ow", "wald")
MAIL_DOMAINS = ("example.org", "example.com", "example.net")
"""Domains reserved for documentation (RFC 2606): a letter to them reaches nobody."""
