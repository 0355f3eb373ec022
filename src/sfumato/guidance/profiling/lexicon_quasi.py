"""Words for what other people can know of a person, in column names of several languages."""

from __future__ import annotations

QUASI = {
    "age": (
        """
        age, ages, age years, age at, agea, ridageyr, age group, age band, age class, age range, age category, years
        of age, age in years, agegrp, alter, altersgruppe, lebensalter, altersklasse, alter in jahren, alter jahre,
        âge, tranche d âge, classe d âge, groupe d âge, edad, grupo de edad, rango de edad, edad años, età, classe di
        età, fascia d età, fascia di età, anni compiuti, leeftijd, leeftijdsgroep, leeftijdscategorie,
        leeftijdsklasse, idade, faixa etária, grupo etário, wiek, grupa wiekowa, przedział wiekowy, ålder,
        åldersgrupp, åldersklass, aldersgruppe, alder, ikä, ikäryhmä, věk, életkor, yaş, возраст, 年龄"""
    ),
    "birth date": (
        """
        birth date, date of birth, dob, birthdate, birthday, birth, born, day of birth, birth dt, geburtsdatum,
        geburtstag, geb datum, geboren, gebdat, geb dat, geboren am, date de naissance, naissance, date naissance, dt
        naissance, ddn, né le, fecha de nacimiento, fecha nacimiento, nacimiento, fec nac, fnac, data di nascita, data
        nascita, nascita, nato il, geboortedatum, geboortedag, gebdatum, data de nascimento, data nascimento, dt nasc,
        nascimento, data nasc, data urodzenia, urodzony, data ur, födelsedatum, född, fødselsdato, fødselsdag,
        syntymäaika, datum narození, születési dátum, doğum tarihi, дата рождения"""
    ),
    "birth year": (
        """
        birth year, year of birth, yob, byear, birthyr, yrbrn, geburtsjahr, jahrgang, gebjahr, geb jahr, année de
        naissance, annee naissance, année naiss, año de nacimiento, año nacimiento, anno di nascita, anno nascita,
        geboortejaar, ano de nascimento, ano nascimento, rok urodzenia, rok ur, födelseår, fødselsår, syntymävuosi"""
    ),
    "birth month": (
        """
        birth month, month of birth, geburtsmonat, mois de naissance, mes de nacimiento, mese di nascita,
        geboortemaand, mês de nascimento, miesiąc urodzenia, födelsemånad"""
    ),
    "death date": (
        """
        death date, death time, deathtime, date of death, dod, deceased date, deathdate, death, sterbedatum,
        todesdatum, todestag, date de décès, date décès, décès, fecha de defunción, fecha de muerte, fecha de
        fallecimiento, data di morte, data di decesso, decesso, overlijdensdatum, datum overlijden, data de óbito,
        data do óbito, óbito, data zgonu, zgon, dödsdatum, dødsdato, kuolinpäivä, death year, death month"""
    ),
    "visit or event date": (
        """
        admission date, admit date, admit time, admission time, admittime, discharge time, dischtime, discharge dt,
        date of admission, discharge date, visit date, encounter date, service date, date of service, event date,
        incident date, accident date, appointment date, operation date, surgery date, diagnosis date, date of
        diagnosis, arrest date, offense date, offence date, booking date, screening date, sentence date, court date,
        release date, jail in, jail out, custody in, custody out, in custody, out custody, claim date, loan date,
        purchase date, transaction date, termination date, hire date, date hired, start date, enrollment date,
        aufnahmedatum, entlassdatum, entlassungsdatum, besuchsdatum, behandlungsdatum, op datum, diagnosedatum,
        einstellungsdatum, eintrittsdatum, unfalldatum, date d admission, date entrée, date d entrée, date de sortie,
        date de visite, date d hospitalisation, date d embauche, date accident, fecha de ingreso, fecha de alta, fecha
        de visita, fecha de admisión, fecha ingreso, fecha alta, data di ricovero, data di dimissione, data ricovero,
        data dimissione, data visita, data assunzione, opnamedatum, ontslagdatum, datum opname, bezoekdatum, datum in
        dienst, data de admissão, data de internação, data da alta, data de alta, data da consulta, data przyjęcia,
        data wypisu, data wizyty, data zatrudnienia, inskrivningsdatum, utskrivningsdatum, besöksdatum,
        anställningsdatum, indlæggelsesdato, udskrivningsdato, innleggelsesdato"""
    ),
    "sex": (
        """
        sex, gender, gndr, riagendr, sex at birth, male, female, gender identity, geschlecht, sexe, genre, sexo,
        género, genere, sesso, geslacht, gênero, gender code, płeć, kön, kjønn, køn, sukupuoli, pohlaví, nem,
        cinsiyet, пол, 性别"""
    ),
    "postal code": (
        """
        zip, zip code, zipcode, postcode, postal code, post code, postalcode, zip 5, zip 3, zip4, zcta, plz,
        postleitzahl, code postal, cp, codepostal, código postal, cod postal, cap, codice postale, codice di
        avviamento postale, postcode huisnummer, pc 4, pc 6, cep, kod pocztowy, kod poczt, postnummer, postnr,
        postinumero, psč, irányítószám, posta kodu, código de endereçamento postal, індекс, почтовый индекс"""
    ),
    "place of residence": (
        """
        city, town, municipality, village, suburb, locality, commune, place of residence, residence, neighbourhood,
        neighborhood, borough, ort, wohnort, stadt, gemeinde, ortsteil, stadtteil, gemeindekennziffer, ags,
        wohngemeinde, ville, commune de résidence, lieu de résidence, code commune, quartier, ciudad, municipio,
        localidad, lugar de residencia, barrio, población, poblacion, città, comune, comune di residenza, residenza,
        località, frazione, woonplaats, gemeente, stad, plaats, dorp, wijk, buurt, cidade, município, freguesia,
        concelho, localidade, bairro, miasto, miejscowość, gmina, miejsce zamieszkania, ort bostad, tätort, kommun,
        kommune, bostadsort, hemort, bosted, kunta, kotikunta, obec, město, település, şehir, ilçe"""
    ),
    "region": (
        """
        state, region, county, province, district, area code, department code, census tract, tract, block group, fips,
        fips code, county fips, msa, cbsa, puma, addr state, nuts, nuts 2, nuts 3, lsoa, msoa, lga, ward, prefecture,
        canton, urban rural, urbrur, urban, rural, settlement, residence area, psu, cluster id, statefip, metro area, bundesland,
        landkreis, kreis, kreisschlüssel, regierungsbezirk, bezirk, kanton, stadt land, région, département,
        arrondissement, code région, code département, iris, comunidad autónoma, provincia, región, comarca,
        departamento, distrito, partido judicial, entidad federativa, regione, circoscrizione, ripartizione, sigla
        provincia, provincie, gewest, regio, estado, região, uf, unidade federativa, województwo, powiat, region
        zamieszkania, län, region kod, landsdel, landskap, fylke, amt, maakunta, okres, megye"""
    ),
    "country": (
        """
        country, cntry, country of residence, country code, nation, land, staat, herkunftsland, wohnland,
        wohnsitzland, pays, pays de résidence, país, país de residencia, paese, stato estero, paese di residenza,
        woonland, país de residência, kraj, państwo, kraj zamieszkania, land kod, bosättningsland, maa, stát, ország,
        ülke, страна"""
    ),
    "country or place of birth": (
        """
        country of birth, bpl, birth country, place of birth, birthplace, birth place, birth city, native country,
        country of origin, born in, pob, geburtsort, geburtsland, herkunft, pays de naissance, lieu de naissance,
        commune de naissance, ville de naissance, département de naissance, lugar de nacimiento, país de nacimiento,
        ciudad de nacimiento, luogo di nascita, comune di nascita, paese di nascita, stato di nascita, geboorteplaats,
        geboorteland, herkomstland, local de nascimento, naturalidade, país de nascimento, miejsce urodzenia, kraj
        urodzenia, kraj pochodzenia, födelseort, födelseland, ursprungsland, fødested, fødeland, syntymäpaikka, místo
        narození"""
    ),
    "nationality": (
        """
        nationality, citizenship, citizen, citizenship status, staatsangehörigkeit, nationalität, staatsbürgerschaft,
        nationalité, citoyenneté, nacionalidad, ciudadanía, cittadinanza, nazionalità, nationaliteit, nacionalidade,
        cidadania, obywatelstwo, narodowość, medborgarskap, nationalitet, statsborgerskap, statsborgerskab,
        kansalaisuus, státní občanství, állampolgárság, uyruk, гражданство"""
    ),
    "native language": (
        """
        native language, mother tongue, langue parlée, language, first language, home language, language spoken,
        muttersprache, sprache, langue maternelle, langue, lengua materna, idioma, lingua madre, lingua, moedertaal,
        taal, língua materna, língua, język ojczysty, język, modersmål, språk, morsmål, äidinkieli"""
    ),
    "ethnicity": (
        """
        ethnicity, race, ridreth, ridreth1, ethnic group, ethnic origin, ethnic, hispanic, hispanic origin, tribe,
        caste, skin color, skin colour, visible minority, indigenous, racial group, ethnische herkunft, ethnie,
        volksgruppe, hautfarbe, ethnische zugehörigkeit, migrationshintergrund, origine ethnique, ethnicité, couleur
        de peau, etnia, origen étnico, grupo étnico, raza, color de piel, pueblo indígena, origine etnica, gruppo
        etnico, razza, etniciteit, etnische afkomst, etnische achtergrond, afkomst, ras, migratieachtergrond, raça,
        raça cor, cor da pele, origem étnica, cor ou raça, pochodzenie etniczne, rasa, grupa etniczna, etnicitet,
        etnisk tillhörighet, etniskt ursprung, etnisk bakgrund, utländsk bakgrund, etnisk oprindelse"""
    ),
    "marital status": (
        """
        marital status, marital, civil status, marriage status, relationship status, hhcivil, married, dmdmartl,
        marstat, marst, familienstand, zivilstand, personenstand, état civil, situation matrimoniale, statut
        matrimonial, situation familiale, situation de famille, estado civil, stato civile, burgerlijke staat,
        burgerlijke stand, situação conjugal, stan cywilny, civilstånd, civilstand, sivilstand, siviilisääty, rodinný
        stav, családi állapot, medeni durum"""
    ),
    "household position": (
        """
        relationship, relationship to head, relation to head, relat, relate, household position, family relationship,
        kinship, head of household, stellung im haushalt, beziehung zur bezugsperson, verwandtschaft, lien de parenté,
        lien avec la personne de référence, parentesco, relación de parentesco, relazione di parentela, parentela,
        positie in huishouden, relatie tot hoofd, parentesco com responsável, pokrewieństwo, stopień pokrewieństwa,
        ställning i hushållet, släktskap"""
    ),
    "household size": (
        """
        household size, family size, hh size, hhsize, number in household, persons in household, number of persons,
        famsize, haushaltsgröße, personen im haushalt, anzahl personen, taille du ménage, nombre de personnes, taille
        ménage, tamaño del hogar, número de personas, miembros del hogar, dimensione famiglia, numero componenti,
        componenti, ampiezza famiglia, huishoudgrootte, aantal personen, grootte huishouden, tamanho do agregado,
        número de pessoas, tamanho da família, liczba osób, wielkość gospodarstwa, hushållsstorlek, antal personer,
        antal i hushållet"""
    ),
    "children": (
        """
        children, number of children, n children, num children, kids, nkids, num kids, nchild, dependents, number of
        dependents, kinder, anzahl kinder, kinderzahl, enfants, nombre d enfants, nombre enfants, nb enfants, hijos,
        número de hijos, num hijos, figli, numero figli, numero di figli, kinderen, aantal kinderen, filhos, número de
        filhos, dzieci, liczba dzieci, barn, antal barn, lapset, počet dětí"""
    ),
    "occupation": (
        """
        occupation, job, job title, profession, employment, work class, workclass, position, employer, industry,
        sector, class of worker, self employed, unemployment, isco, soc code, naics, occup, labor force status, labour
        force status, employment status, economic activity, company name, place of work, workplace, job category,
        department, business unit, job role, emp title, emp length, employment length, years employed, beruf,
        tätigkeit, berufsgruppe, arbeitgeber, branche, stellung im beruf, erwerbsstatus, kldb, erwerbstätigkeit,
        arbeitsplatz, métier, emploi, catégorie socioprofessionnelle, csp, pcs, secteur d activité, employeur,
        situation professionnelle, fonction, ocupación, profesión, oficio, empleo, puesto, situación laboral, sector
        de actividad, empleador, cargo, trabajo, occupazione, professione, lavoro, mestiere, condizione professionale,
        settore, datore di lavoro, qualifica professionale, posizione lavorativa, beroep, functie, werkgever,
        bedrijfstak, arbeidsstatus, baan, sbi, profissão, ocupação, emprego, função, situação profissional, entidade
        patronal, setor de atividade, cbo, zawód, stanowisko, pracodawca, zatrudnienie, branża, status zatrudnienia,
        yrke, sysselsättning, arbetsgivare, bransch, befattning, ssyk, stilling, erhverv, arbejdsgiver, ammatti,
        työnantaja, povolání, foglalkozás, meslek"""
    ),
    "education": (
        """
        education, education level, education num, educational attainment, educ, educd, eduyrs, education years,
        schooling years, schooling, highest degree, degree, qualification, isced, school completed, highest level of
        school completed, highest education, years of schooling, highest qualification, edu, edlevel, bildung,
        bildungsabschluss, schulabschluss, bildungsgrad, bildungsstand, ausbildung, höchster abschluss, schulbildung,
        abschluss, niveau d études, diplôme, éducation, niveau d instruction, scolarité, niveau études, niveau de
        diplôme, educación, nivel educativo, nivel de estudios, estudios, nivel de instrucción, escolaridad,
        titulación, istruzione, titolo di studio, livello di istruzione, grado di istruzione, scolarità, opleiding,
        opleidingsniveau, hoogste opleiding, onderwijsniveau, diploma, escolaridade, educação, nível de escolaridade,
        habilitações, nível de instrução, habilitações literárias, grau de instrução, wykształcenie, poziom
        wykształcenia, wyksztalcenie, utbildning, utbildningsnivå, högsta utbildning, utdanning, utdannelse,
        uddannelse, koulutus, vzdělání, végzettség, eğitim"""
    ),
    "school or hospital": (
        """
        school, school name, university, college, hospital, hospital name, clinic, facility, facility name, provider
        name, physician, care provider, class name, schule, universität, krankenhaus, klinik, hochschule, hausarzt,
        école, université, hôpital, établissement, clinique, médecin traitant, escuela, universidad, centro de salud,
        centro educativo, colegio, scuola, università, ospedale, struttura, presidio, medico curante, ziekenhuis,
        universiteit, huisarts, zorginstelling, escola, hospital de origem, universidade, unidade de saúde, szkoła,
        szpital, uczelnia, przychodnia, skola, sjukhus, universitet, vårdcentral, sykehus, sygehus"""
    ),
    "military service": (
        """
        military service, veteran, veterans, veteran status, wehrdienst, veteran de guerre, service militaire,
        servicio militar, servizio militare, militaire dienst, serviço militar, służba wojskowa, militärtjänst"""
    ),
    "body height": (
        """
        height, body height, height cm, height in, größe, körpergröße, groesse cm, koerpergroesse, taille cm, taille
        corporelle, estatura, talla, altura, altezza, statura, lengte, lichaamslengte, wzrost, längd, kroppslängd,
        høyde, pituus"""
    ),
    "body weight": (
        """
        weight, peso, poids, gewicht, waga, vikt, vekt, paino, body weight, weight kg, weight lb, weight lbs,
        körpergewicht, poids kg, poids corporel, peso corporal, peso kg, peso corporeo, lichaamsgewicht, masa ciała,
        waga kg, wt kg, wtkg, weight pounds, kroppsvikt, vikt kg, kroppsvekt, birth weight, geburtsgewicht, poids de
        naissance, peso al nacer, peso alla nascita, geboortegewicht, peso ao nascer, födelsevikt"""
    ),
    "appearance": (
        """
        hair color, hair colour, eye color, eye colour, tattoo, blood type, blood group, handedness, haarfarbe,
        augenfarbe, blutgruppe, couleur des cheveux, couleur des yeux, groupe sanguin, color de ojos, color de pelo,
        grupo sanguíneo, colore occhi, gruppo sanguigno, haarkleur, oogkleur, bloedgroep, cor dos olhos, kolor oczu,
        grupa krwi, ögonfärg, blodgrupp"""
    ),
    "location": (
        """
        latitude, longitude, lat, lon, lng, long, coordinates, geo, gps, geolocation, location, easting, northing,
        geocode, breitengrad, längengrad, koordinaten, standort, latitud, longitud, coordenadas, ubicación,
        latitudine, longitudine, coordinate, posizione, breedtegraad, lengtegraad, locatie, localização, coordenada,
        szerokość geograficzna, długość geograficzna, lokalizacja, koordinater, plats"""
    ),
    "housing": (
        """
        dwelling type, housing, housing situation, accommodation, wohnung, wohnsituation, logement, alloggio, housing
        type, tenure, home ownership, house type, housing tenure, wohnverhältnis, eigentum miete, wohnform, type de
        logement, statut d occupation, tipo de vivienda, tenencia de la vivienda, tipo di abitazione, titolo di
        godimento, woningtype, eigendom woning, tipo de habitação, typ mieszkania, boendeform, upplåtelseform,
        vehicle, car model, car make"""
    ),
}
"""Concept → terms. The concept is also what a reason says the name stands for."""

FAMILIES = {"quasi": QUASI}
