"""What public classifications consist of: facts about their codes, each list with its document and
how many entries it has.
"""

from __future__ import annotations

from collections.abc import Mapping

# Countries. Codes: ISO 3166-1, 249 entries. Regions: United Nations, Standard country or area codes
# for statistical use (M49).

COUNTRIES: Mapping[str, str] = {
    "Northern Africa": "DZ-DZA EG-EGY EH-ESH LY-LBY MA-MAR SD-SDN TN-TUN",
    "Eastern Africa": (
        "BI-BDI DJ-DJI ER-ERI ET-ETH IO-IOT KE-KEN KM-COM MG-MDG MU-MUS MW-MWI MZ-MOZ RE-REU RW-RWA"
        " SC-SYC SO-SOM SS-SSD TF-ATF TZ-TZA UG-UGA YT-MYT ZM-ZMB ZW-ZWE"
    ),
    "Middle Africa": "AO-AGO CD-COD CF-CAF CG-COG CM-CMR GA-GAB GQ-GNQ ST-STP TD-TCD",
    "Southern Africa": "BW-BWA LS-LSO NA-NAM SZ-SWZ ZA-ZAF",
    "Western Africa": (
        "BF-BFA BJ-BEN CI-CIV CV-CPV GH-GHA GM-GMB GN-GIN GW-GNB LR-LBR ML-MLI MR-MRT NE-NER NG-NGA"
        " SH-SHN SL-SLE SN-SEN TG-TGO"
    ),
    "Caribbean": (
        "AG-ATG AI-AIA AW-ABW BB-BRB BL-BLM BQ-BES BS-BHS CU-CUB CW-CUW DM-DMA DO-DOM GD-GRD GP-GLP"
        " HT-HTI JM-JAM KN-KNA KY-CYM LC-LCA MF-MAF MQ-MTQ MS-MSR PR-PRI SX-SXM TC-TCA TT-TTO"
        " VC-VCT VG-VGB VI-VIR"
    ),
    "Central America": "BZ-BLZ CR-CRI GT-GTM HN-HND MX-MEX NI-NIC PA-PAN SV-SLV",
    "South America": (
        "AR-ARG BO-BOL BR-BRA BV-BVT CL-CHL CO-COL EC-ECU FK-FLK GF-GUF GS-SGS GY-GUY PE-PER PY-PRY"
        " SR-SUR UY-URY VE-VEN"
    ),
    "Northern America": "BM-BMU CA-CAN GL-GRL PM-SPM US-USA",
    "Central Asia": "KG-KGZ KZ-KAZ TJ-TJK TM-TKM UZ-UZB",
    "Eastern Asia": "CN-CHN HK-HKG JP-JPN KP-PRK KR-KOR MN-MNG MO-MAC TW-TWN",
    "South-eastern Asia": (
        "BN-BRN ID-IDN KH-KHM LA-LAO MM-MMR MY-MYS PH-PHL SG-SGP TH-THA TL-TLS VN-VNM"
    ),
    "Southern Asia": "AF-AFG BD-BGD BT-BTN IN-IND IR-IRN LK-LKA MV-MDV NP-NPL PK-PAK",
    "Western Asia": (
        "AE-ARE AM-ARM AZ-AZE BH-BHR CY-CYP GE-GEO IL-ISR IQ-IRQ JO-JOR KW-KWT LB-LBN OM-OMN PS-PSE"
        " QA-QAT SA-SAU SY-SYR TR-TUR YE-YEM"
    ),
    "Eastern Europe": "BG-BGR BY-BLR CZ-CZE HU-HUN MD-MDA PL-POL RO-ROU RU-RUS SK-SVK UA-UKR",
    "Northern Europe": (
        "AX-ALA DK-DNK EE-EST FI-FIN FO-FRO GB-GBR GG-GGY IE-IRL IM-IMN IS-ISL JE-JEY LT-LTU LV-LVA"
        " NO-NOR SE-SWE SJ-SJM"
    ),
    "Southern Europe": (
        "AD-AND AL-ALB BA-BIH ES-ESP GI-GIB GR-GRC HR-HRV IT-ITA ME-MNE MK-MKD MT-MLT PT-PRT RS-SRB"
        " SI-SVN SM-SMR VA-VAT"
    ),
    "Western Europe": "AT-AUT BE-BEL CH-CHE DE-DEU FR-FRA LI-LIE LU-LUX MC-MCO NL-NLD",
    "Australia and New Zealand": "AU-AUS CC-CCK CX-CXR HM-HMD NF-NFK NZ-NZL",
    "Melanesia": "FJ-FJI NC-NCL PG-PNG SB-SLB VU-VUT",
    "Micronesia": "FM-FSM GU-GUM KI-KIR MH-MHL MP-MNP NR-NRU PW-PLW UM-UMI",
    "Polynesia": "AS-ASM CK-COK NU-NIU PF-PYF PN-PCN TK-TKL TO-TON TV-TUV WF-WLF WS-WSM",
    "Antarctica": "AQ-ATA",
}
"""Finest region of M49 → alpha-2 and alpha-3 code of its countries. M49 has no entry of its own for
TW; it stands with its neighbours. Its intermediate region of two islands, the Channel Islands, is
left out.
"""

SUB_REGIONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("Eastern Africa", "Middle Africa", "Southern Africa", "Western Africa"),
        "Sub-Saharan Africa",
    ),
    **dict.fromkeys(
        ("Caribbean", "Central America", "South America"), "Latin America and the Caribbean"
    ),
}
"""Intermediate region of M49 → the sub-region it lies in; all others of :data:`COUNTRIES` are
sub-regions themselves.
"""

REGIONS: Mapping[str, tuple[str, ...]] = {
    "Africa": ("Northern Africa", "Sub-Saharan Africa"),
    "Americas": ("Latin America and the Caribbean", "Northern America"),
    "Asia": ("Central Asia", "Eastern Asia", "South-eastern Asia", "Southern Asia", "Western Asia"),
    "Europe": ("Eastern Europe", "Northern Europe", "Southern Europe", "Western Europe"),
    "Oceania": ("Australia and New Zealand", "Melanesia", "Micronesia", "Polynesia"),
    "Antarctica": ("Antarctica",),
}
"""Region of M49 → its 17 sub-regions; Antarctica is in none and stands for itself."""

# States of the USA. US Census Bureau, Census Regions and Divisions of the United States: 50 states
# and the District of Columbia.

DIVISIONS: Mapping[str, Mapping[str, str]] = {
    "New England": {
        "CT": "Connecticut",
        "ME": "Maine",
        "MA": "Massachusetts",
        "NH": "New Hampshire",
        "RI": "Rhode Island",
        "VT": "Vermont",
    },
    "Middle Atlantic": {"NJ": "New Jersey", "NY": "New York", "PA": "Pennsylvania"},
    "East North Central": {
        "IL": "Illinois",
        "IN": "Indiana",
        "MI": "Michigan",
        "OH": "Ohio",
        "WI": "Wisconsin",
    },
    "West North Central": {
        "IA": "Iowa",
        "KS": "Kansas",
        "MN": "Minnesota",
        "MO": "Missouri",
        "NE": "Nebraska",
        "ND": "North Dakota",
        "SD": "South Dakota",
    },
    "South Atlantic": {
        "DE": "Delaware",
        "DC": "District of Columbia",
        "FL": "Florida",
        "GA": "Georgia",
        "MD": "Maryland",
        "NC": "North Carolina",
        "SC": "South Carolina",
        "VA": "Virginia",
        "WV": "West Virginia",
    },
    "East South Central": {
        "AL": "Alabama",
        "KY": "Kentucky",
        "MS": "Mississippi",
        "TN": "Tennessee",
    },
    "West South Central": {"AR": "Arkansas", "LA": "Louisiana", "OK": "Oklahoma", "TX": "Texas"},
    "Mountain": {
        "AZ": "Arizona",
        "CO": "Colorado",
        "ID": "Idaho",
        "MT": "Montana",
        "NV": "Nevada",
        "NM": "New Mexico",
        "UT": "Utah",
        "WY": "Wyoming",
    },
    "Pacific": {
        "AK": "Alaska",
        "CA": "California",
        "HI": "Hawaii",
        "OR": "Oregon",
        "WA": "Washington",
    },
}
"""Census division → USPS code and name of its states."""

US_REGIONS: Mapping[str, tuple[str, ...]] = {
    "Northeast": ("New England", "Middle Atlantic"),
    "Midwest": ("East North Central", "West North Central"),
    "South": ("South Atlantic", "East South Central", "West South Central"),
    "West": ("Mountain", "Pacific"),
}
"""Census region → its divisions."""

# Diseases. WHO, ICD-10, version 2019: 22 chapters as ranges of three-character categories.

CHAPTERS: Mapping[str, tuple[str, str]] = {
    "I": ("A00", "B99"),
    "II": ("C00", "D48"),
    "III": ("D50", "D89"),
    "IV": ("E00", "E90"),
    "V": ("F00", "F99"),
    "VI": ("G00", "G99"),
    "VII": ("H00", "H59"),
    "VIII": ("H60", "H95"),
    "IX": ("I00", "I99"),
    "X": ("J00", "J99"),
    "XI": ("K00", "K93"),
    "XII": ("L00", "L99"),
    "XIII": ("M00", "M99"),
    "XIV": ("N00", "N99"),
    "XV": ("O00", "O99"),
    "XVI": ("P00", "P96"),
    "XVII": ("Q00", "Q99"),
    "XVIII": ("R00", "R99"),
    "XIX": ("S00", "T98"),
    "XX": ("V01", "Y98"),
    "XXI": ("Z00", "Z99"),
    "XXII": ("U00", "U99"),
}
"""Chapter → its first and last category."""

# Economic activities. Regulation (EC) No 1893/2006, NACE Rev. 2: 21 sections, 88 divisions.

SECTIONS: Mapping[str, tuple[int, int]] = {
    "A": (1, 3),
    "B": (5, 9),
    "C": (10, 33),
    "D": (35, 35),
    "E": (36, 39),
    "F": (41, 43),
    "G": (45, 47),
    "H": (49, 53),
    "I": (55, 56),
    "J": (58, 63),
    "K": (64, 66),
    "L": (68, 68),
    "M": (69, 75),
    "N": (77, 82),
    "O": (84, 84),
    "P": (85, 85),
    "Q": (86, 88),
    "R": (90, 93),
    "S": (94, 96),
    "T": (97, 98),
    "U": (99, 99),
}
"""Section → its first and last division; every number between them is one."""

# Occupations. ILO, International Standard Classification of Occupations, ISCO-08: 10 major and 43
# sub-major groups.

SUB_MAJOR: Mapping[str, str] = {
    "0": "123",
    "1": "1234",
    "2": "123456",
    "3": "12345",
    "4": "1234",
    "5": "1234",
    "6": "123",
    "7": "12345",
    "8": "123",
    "9": "123456",
}
"""Major group → the second digits of its sub-major groups."""

# Education. UNESCO, ISCED 2011, levels 0 to 8; grouped as Eurostat does (ED0-2, ED3_4, ED5-8).

ATTAINMENT: Mapping[str, str] = {"low": "012", "medium": "34", "high": "5678"}
"""Group → its levels."""

# Territorial units. Regulation (EC) No 1059/2003 (NUTS) and the statistical regions of EFTA and
# candidate countries, as Eurostat codes them.

NUTS_COUNTRIES = frozenset(
    [
        "AT",
        "BE",
        "BG",
        "CY",
        "CZ",
        "DE",
        "DK",
        "EE",
        "EL",
        "ES",
        "FI",
        "FR",
        "HR",
        "HU",
        "IE",
        "IT",
        "LT",
        "LU",
        "LV",
        "MT",
        "NL",
        "PL",
        "PT",
        "RO",
        "SE",
        "SI",
        "SK",
        "CH",
        "IS",
        "LI",
        "NO",
        "AL",
        "ME",
        "MK",
        "RS",
        "TR",
        "UK",
    ]
)
"""Country codes that units begin with: 27 of the EU and 10 others, the United Kingdom of earlier
versions among them.
"""
