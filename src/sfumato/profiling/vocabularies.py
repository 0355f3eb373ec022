"""Words with a known order. Only these may be listed in a proposed recipe: they are ours, not the data's."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

_LISTS = """
low < medium < high
low < middle < high
low < mid < high
very low < low < medium < high < very high
very low < low < average < high < very high
very low < low < moderate < high < very high
small < medium < large
xs < s < m < l < xl < xxl
none < mild < moderate < severe
none < low < medium < high
none < mild < moderate < severe < very severe
minor < moderate < major < extreme
low < normal < elevated < high < critical
never < rarely < sometimes < often < always
never < seldom < sometimes < often < always
never < monthly < weekly < daily
never < yearly < monthly < weekly < daily
very poor < poor < fair < good < very good < excellent
bad < fair < good
very bad < bad < fair < good < very good
poor < average < good < excellent
strongly disagree < disagree < neutral < agree < strongly agree
strongly disagree < disagree < neither agree nor disagree < agree < strongly agree
very dissatisfied < dissatisfied < neutral < satisfied < very satisfied
very unlikely < unlikely < neutral < likely < very likely
not at all < a little < moderately < quite a bit < extremely
child < adolescent < adult < senior
young < middle aged < old
infant < child < teenager < adult < senior
no education < primary < secondary < tertiary
none < primary < secondary < tertiary
none < primary < secondary < higher
less than primary < primary < lower secondary < upper secondary < post secondary < tertiary
primary < lower secondary < upper secondary < short cycle tertiary < bachelor < master < doctorate
less than high school < high school < some college < associate < bachelor < master < professional < doctorate
less than high school < high school < some college < bachelor's degree < master's degree < doctoral degree
high school < bachelor < master < phd
elementary < middle school < high school < college < university < postgraduate
Preschool < 1st-4th < 5th-6th < 7th-8th < 9th < 10th < 11th < 12th < HS-grad < Some-college < Assoc-voc < Assoc-acdm \
< Bachelors < Masters < Prof-school < Doctorate
isced 0 < isced 1 < isced 2 < isced 3 < isced 4 < isced 5 < isced 6 < isced 7 < isced 8
first < second < third < fourth
lower < middle < upper
junior < intermediate < senior
entry < mid < senior < executive
bronze < silver < gold < platinum
stage i < stage ii < stage iii < stage iv
i < ii < iii < iv < v
grade 1 < grade 2 < grade 3 < grade 4
a1 < a2 < b1 < b2 < c1 < c2
january < february < march < april < may < june < july < august < september < october < november < december
jan < feb < mar < apr < may < jun < jul < aug < sep < oct < nov < dec
niedrig < mittel < hoch
gering < mittel < hoch
sehr niedrig < niedrig < mittel < hoch < sehr hoch
nie < selten < manchmal < oft < immer
sehr schlecht < schlecht < mittelmäßig < gut < sehr gut
ungenügend < mangelhaft < ausreichend < befriedigend < gut < sehr gut
stimme gar nicht zu < stimme nicht zu < teils/teils < stimme zu < stimme voll zu
kein abschluss < hauptschule < realschule < abitur < hochschule
hauptschulabschluss < mittlere reife < fachhochschulreife < abitur < bachelor < master < promotion
faible < moyen < élevé
jamais < rarement < parfois < souvent < toujours
très mauvais < mauvais < moyen < bon < très bon
pas du tout d'accord < pas d'accord < neutre < d'accord < tout à fait d'accord
sans diplôme < brevet < cap < baccalauréat < licence < master < doctorat
bajo < medio < alto
muy bajo < bajo < medio < alto < muy alto
nunca < raramente < a veces < a menudo < siempre
muy malo < malo < regular < bueno < muy bueno
muy en desacuerdo < en desacuerdo < neutral < de acuerdo < muy de acuerdo
sin estudios < primaria < secundaria < bachillerato < universidad < posgrado
basso < medio < alto
mai < raramente < a volte < spesso < sempre
nessuno < licenza elementare < licenza media < diploma < laurea < dottorato
laag < midden < hoog
nooit < zelden < soms < vaak < altijd
basisonderwijs < vmbo < havo < vwo < mbo < hbo < wo
baixo < médio < alto
nunca < raramente < às vezes < frequentemente < sempre
sem escolaridade < fundamental < médio < superior < pós-graduação
niski < średni < wysoki
nigdy < rzadko < czasami < często < zawsze
podstawowe < zawodowe < średnie < wyższe
låg < medel < hög
aldrig < sällan < ibland < ofta < alltid
förgymnasial < gymnasial < eftergymnasial
grundskola < gymnasium < högskola < universitet
"""

MOST_VALUES = 40
"""A column with more distinct values than this is not compared with the vocabularies."""


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """An ordered list of words, written as the data write them."""

    values: tuple[str, ...]

    @property
    def sizes(self) -> list[int]:
        """Group sizes for a hierarchy of the words: 2, 4, 8, … below their number.

        >>> Vocabulary(("low", "medium", "high")).sizes
        [2]
        """
        return [2**i for i in range(1, 8) if 2**i < len(self.values)]


def known_order(values: Sequence[str]) -> Vocabulary | None:
    """The shortest vocabulary all values are words of, in their spelling; None where there is none.

    Two words of a list of three are enough, longer lists need three: ``S`` and ``M`` need not be sizes.

    >>> known_order(["High", "Low", "High"]).values
    ('Low', 'Medium', 'High')
    >>> known_order(["low", "loud"]) is None
    True
    """
    distinct = set(values)
    if not 2 <= len(distinct) <= MOST_VALUES:
        return None
    plain = {_plain(value) for value in distinct}
    for words, known in _vocabularies():
        if plain <= known and len(plain) >= min(len(words), 4) - 1:
            for spelled in _spellings(words):
                if distinct <= set(spelled):
                    return Vocabulary(spelled)
    return None


@functools.cache
def _vocabularies() -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    """All word lists and their words in lower case with blanks, the short ones first."""
    lists = [tuple(word.strip() for word in line.split("<")) for line in _LISTS.strip().splitlines()]
    return tuple((words, frozenset(map(_plain, words))) for words in sorted(lists, key=len))


def _plain(text: str) -> str:
    return text.lower().replace("_", " ").replace("-", " ")


def _spellings(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words as they stand, then with other capitals and other signs between."""
    yield words
    styles: tuple[Callable[[str], str], ...] = (str.lower, str.capitalize, str.upper, str.title)
    for style in styles:
        yield tuple(map(style, words))
    for separator in (" ", "_", "-"):
        for style in styles:
            yield tuple(style(_plain(word)).replace(" ", separator) for word in words)
