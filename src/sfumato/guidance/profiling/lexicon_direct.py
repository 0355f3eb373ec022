"""Words for direct identifiers and for the design of a table, in column names of several languages.

The languages come in this order: English, German, French, Spanish, Italian, Dutch, Portuguese,
Polish, Swedish with Danish and Norwegian, then single words of others. Terms are written with their
blanks; the joined spellings (``firstname``) follow from them.
"""

from __future__ import annotations


def words_in(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_NUMBERED = [
    "p",
    "pt",
    "pat",
    "patient",
    "subj",
    "subject",
    "cust",
    "customer",
    "client",
    "emp",
    "employee",
    "stud",
    "stu",
    "student",
    "memb",
    "member",
    "resp",
    "pers",
    "person",
]
_NUMBER = ["id", "num", "nbr", "no", "nr", "number", "key", "code"]
"""How tables abbreviate the number of a person: ``pidnum``, ``pat_no``, ``subjid``."""

DIRECT = {
    "person name": (
        """
        first name, last name, full name, given name, family name, surname, forename, middle name, maiden name, birth
        name, fname, lname, nickname, initials, initial, middle initial, person name, patient name, customer name,
        client name, employee name, student name, user name, contact name, doctor name, physician name, nurse name,
        teacher name, mother name, father name, spouse name, guardian name, next of kin, contact person, account
        holder, kontoinhaber, kontaktperson, ansprechpartner, angehöriger, angehörige, signature, author, applicant
        name, owner name, holder name, member name, respondent name, subject name, staff name, vorname, nachname,
        familienname, geburtsname, rufname, zuname, vollname, mädchenname, patientenname, kundenname, unterschrift,
        nom de famille, nom complet, prénom, prénoms, nom usuel, nom patient, nom client, nom de naissance, nom
        prénom, patronyme, primer nombre, segundo nombre, nombre completo, nombres, apellido, apellidos, primer
        apellido, segundo apellido, nombre paciente, cognome, nome completo, nome cognome, nome e cognome, nominativo,
        nome paziente, cognome nome, voornaam, achternaam, familienaam, volledige naam, tussenvoegsel, roepnaam,
        voornamen, geboortenaam, sobrenome, apelido, primeiro nome, último nome, nome próprio, nome da mãe, nome do
        paciente, imię, imiona, nazwisko, imię i nazwisko, nazwisko rodowe, drugie imię, förnamn, efternamn,
        fullständigt namn, fornavn, etternavn, efternavn, mellomnavn, tilltalsnamn, etunimi, sukunimi, jméno,
        příjmení, keresztnév, vezetéknév, nume, prenume, имя, фамилия, отчество, 姓名, first, last, middle, first nm,
        last nm, middle nm, frst name, fst name, lst name, first nam, last nam, fam name, mid name, full nm, vname,
        nname, vor und nachname, name vorname, nom et prénom, nombre y apellidos, naam patiënt, patient initials, kin
        name, emergency contact"""
    ),
    "name": (
        "name, names, nom, noms, nombre, nome, naam, nazwa, namn, navn, nimi, név, isim, ad"
        " soyad, 名前"
    ),
    "e-mail address": (
        """
        email, e mail, mail, email address, mail address, e mail address, email adresse, mailadresse, emailadresse,
        courriel, adresse mail, adresse email, adresse électronique, correo, correo electrónico, dirección de correo,
        posta elettronica, indirizzo email, e mailadres, emailadres, correio eletrónico, correio eletrônico, adres
        email, adres e mail, poczta elektroniczna, e post, epost, epostadress, sähköposti"""
    ),
    "phone number": (
        """
        phone, telephone, mobile, cell phone, cellphone, phone number, telephone number, mobile number, mobile phone,
        tel, fax, fax number, msisdn, landline, home phone, work phone, whatsapp, telefon, telefonnummer, handy,
        handynummer, mobilnummer, mobiltelefon, rufnummer, festnetz, faxnummer, tel nr, téléphone, numéro de
        téléphone, portable, tél, num tel, télécopie, teléfono, número de teléfono, móvil, celular, telefono,
        cellulare, numero di telefono, recapito telefonico, telefoonnummer, telefoon, mobiel, mobiele nummer,
        telefone, telemóvel, número de telefone, numer telefonu, telefon komórkowy, komórka, mobil, telefonnr,
        mobiltelefonnummer, puhelin, puhelinnumero"""
    ),
    "postal address": (
        """
        address, street, street address, home address, mailing address, postal address, street name, address line,
        addr, residence address, po box, adresse, anschrift, straße, strasse, strassenname, wohnadresse,
        postanschrift, postfach, rue, adresse postale, voie, adresse domicile, domicile, dirección, calle, domicilio,
        indirizzo, via residenza, indirizzo di residenza, adres, straat, straatnaam, endereço, rua, morada,
        logradouro, ulica, adres zamieszkania, gatuadress, gata, adress, postadress, gade, vej, gateadresse,
        katuosoite, osoite, ulice"""
    ),
    "house number": (
        """
        street number, house number, house no, apartment number, apt no, building number, hausnummer, str nr, numéro
        de rue, número de casa, numero civico, civico, huisnummer, huisnr, número da casa, numer domu, nr domu, numer
        mieszkania, husnummer"""
    ),
    "bank account": (
        """
        iban, account number, bank account, bank account number, account no, acct no, acct, routing number, sort code,
        bic, swift, kontonummer, konto, bankverbindung, kontoinhaber, compte bancaire, numéro de compte, rib, cuenta
        bancaria, número de cuenta, ccc, conto corrente, numero conto, rekeningnummer, bankrekening, conta bancária,
        número da conta, nib, numer konta, numer rachunku, rachunek bankowy, nrb, bankkonto, kontonr, clearingnummer,
        tilinumero"""
    ),
    "payment card": (
        """
        credit card, credit card number, card number, card no, cc number, ccnum, debit card, cvv, pan number, payment
        card, kreditkarte, kreditkartennummer, kartennummer, carte de crédit, numéro de carte, carte bancaire, tarjeta
        de crédito, número de tarjeta, carta di credito, numero carta, creditcard, creditcardnummer, kaartnummer,
        cartão de crédito, número do cartão, karta kredytowa, numer karty, kreditkort, kortnummer"""
    ),
    "national id number": (
        """
        ssn, social security number, social security no, social security, soc sec id, soc sec no, ss number, sin,
        social insurance number, national id, national id number, national identifier, national insurance number,
        nino, nhs number, nhs no, aadhaar, aadhar, pan card, tax id, tax number, tin, itin, taxpayer id, identity
        number, identity card, identity card number, id card, id card number, citizen id, citizen number, medicare
        number, medicaid number, sozialversicherungsnummer, svnr, sv nummer, rentenversicherungsnummer, steuer id,
        steueridentifikationsnummer, steuernummer, idnr, personalausweis, personalausweisnummer, ausweisnummer, ahv
        nummer, ahv nr, ahv, krankenversichertennummer, kvnr, egn, numéro de sécurité sociale, nir, num secu, numéro
        secu, insee number, carte d identité, numéro fiscal, avs, numéro avs, niss, registre national, dni, nie, nif,
        nuss, número de la seguridad social, documento de identidad, cédula, cédula de identidad, curp, rfc, rut,
        cuil, cuit, codice fiscale, cod fiscale, cf, tessera sanitaria, carta d identità, bsn, burgerservicenummer,
        sofinummer, rijksregisternummer, insz, cpf, rg, nis, pis, numero de contribuinte, número de contribuinte,
        cartão de cidadão, cartão do cidadão, número de utente, bilhete de identidade, pesel, numer pesel, nip, dowód
        osobisty, numer dowodu, regon, personnummer, samordningsnummer, person nr, cpr, cpr nummer, cpr nr,
        fødselsnummer, fodselsnr, hetu, henkilötunnus, kennitala, rodné číslo, rc, cnp, oib, emso, jmbg, tckn, tc
        kimlik no, afm, amka, снилс, инн, 身份证"""
    ),
    "passport number": (
        """
        passport, passport number, passport no, reisepass, passnummer, reisepassnummer, passeport, numéro de
        passeport, pasaporte, número de pasaporte, passaporto, numero passaporto, paspoort, paspoortnummer,
        passaporte, número do passaporte, paszport, numer paszportu, pass nr, passinumero"""
    ),
    "driving licence number": (
        """
        driver license, drivers license, driver licence, driving licence, driving license, drivers license number,
        license number, licence number, dl number, führerschein, führerscheinnummer, permis de conduire, numéro de
        permis, permiso de conducir, carnet de conducir, licencia de conducir, patente di guida, numero patente,
        rijbewijs, rijbewijsnummer, carta de condução, cnh, prawo jazdy, numer prawa jazdy, körkort, körkortsnummer,
        kørekort, førerkort"""
    ),
    "licence plate": (
        """
        license plate, licence plate, plate number, plate no, number plate, vehicle registration, registration plate,
        vin, vehicle id, vehicle identification number, chassis number, kennzeichen, kfz kennzeichen, autokennzeichen,
        fahrgestellnummer, plaque, immatriculation, plaque d immatriculation, numéro d immatriculation, matrícula,
        matrícula vehículo, número de bastidor, placa, targa, numero di targa, telaio, kenteken, kentekennummer,
        chassisnummer, placa do carro, tablica rejestracyjna, numer rejestracyjny, nr rejestracyjny,
        registreringsnummer, regnr, registreringsskylt, rekisterinumero"""
    ),
    "medical record number": (
        """
        mrn, medical record number, medical record no, medical record, chart number, chart no, hospital number, hosp
        no, hospital no, patient number, patient no, encounter number, accession number, health plan number, insurance
        number, policy number, member number, beneficiary number, health card number, subscriber number,
        patientennummer, patienten nr, pat nr, aufnahmenummer, versichertennummer, versicherungsnummer,
        krankenkassennummer, policennummer, numéro patient, ipp, numéro d assuré, numéro de police, nda, número de
        historia clínica, historia clínica, nhc, número de afiliación, número de póliza, numero cartella clinica,
        cartella clinica, nosologico, numero polizza, patiëntnummer, patientnummer, polisnummer, verzekeringsnummer,
        número do prontuário, prontuário, número do doente, número da apólice, numer pacjenta, numer kartoteki, numer
        polisy, numer ubezpieczenia, patient nr, journalnummer, journalnr, försäkringsnummer, potilasnumero"""
    ),
    "case or file number": (
        """
        case number, case num, casenum, case nbr, docket number, docket no, file number, file no, matter number, court
        case number, arrest number, booking number, inmate number, claim number, claim no, claim id, loan number, loan
        id, application number, application id, fallnummer, fall nr, aktenzeichen, geschäftszeichen, schadennummer,
        vertragsnummer, antragsnummer, numéro de dossier, num dossier, numéro de sinistre, numéro de contrat, número
        de expediente, expediente, número de caso, número de siniestro, numero pratica, numero sinistro,
        dossiernummer, zaaknummer, contractnummer, número do processo, número do caso, numer sprawy, sygnatura akt,
        ärendenummer, målnummer, sagsnummer, saksnummer"""
    ),
    "device id": (
        """
        imei, meid, imsi, iccid, udid, idfa, gaid, advertising id, device id, device number, serial number, serial no,
        mac address, mac addr, cookie id, cookie, session id, user agent, fingerprint, browser id, gerätenummer,
        geräte id, seriennummer, numéro de série, identifiant appareil, número de serie, id dispositivo, numero di
        serie, matricola dispositivo, serienummer, apparaatnummer, número de série, numer seryjny, numer urządzenia,
        serienr, enhets id"""
    ),
    "ip address": (
        """
        ip, ip address, ip addr, ipv4, ipv6, ip adresse, adresse ip, dirección ip, indirizzo ip, ip adres, endereço
        ip, adres ip, ip adress, client ip, remote addr"""
    ),
    "web address": (
        """
        url, website, web site, homepage, web page, webpage, profile url, linkedin, facebook, twitter, instagram,
        webseite, internetseite, site web, página web, sito web, strona internetowa, hemsida, social media"""
    ),
    "user account": (
        """
        username, login, user login, screen name, account name, user handle, handle, password, passwd, benutzername,
        nutzername, anmeldename, kennwort, passwort, identifiant de connexion, nom d utilisateur, mot de passe, nombre
        de usuario, usuario, contraseña, nome utente, utente, gebruikersnaam, wachtwoord, nome de usuário, nome de
        utilizador, senha, nazwa użytkownika, hasło, användarnamn, lösenord, brukernavn"""
    ),
    "picture or biometric": (
        """
        photo, photograph, picture, image, face image, fingerprint image, voice recording, retina, biometric, foto,
        bild, lichtbild, photographie, imagen, immagine, afbeelding, imagem, zdjęcie"""
    ),
    "free text": (
        """
        comment, comments, note, notes, remark, remarks, free text, freetext, narrative, description text, clinical
        notes, case notes, open answer, verbatim, bemerkung, bemerkungen, anmerkung, anmerkungen, kommentar, freitext,
        notiz, notizen, befundtext, arztbrief, commentaire, commentaires, remarque, remarques, texte libre,
        observations, comentario, comentarios, observación, observaciones, texto libre, commento, commenti,
        osservazioni, testo libero, opmerking, opmerkingen, vrije tekst, toelichting, comentário, comentários,
        observações, texto livre, uwaga, uwagi, komentarz, opis tekstowy, anmärkning, anteckning, anteckningar,
        fritext, kommentarer, bemærkninger, merknad"""
    ),
    "person id": (
        """
        patient id, person id, customer id, client id, user id, employee id, student id, member id, subject id,
        participant id, respondent id, case id, pid num, citizen identifier, account id, contact id, individual id,
        pid, uid, userid, personid, patid, custid, pat id, pers id, ind id, indid, person key, patient key, customer
        number, customer no, employee number, employee no, staff id, staff number, student number, student no, badge
        number, personnel number, enrollment number, kundennummer, kunden nr, kunden id, patienten id, personen id,
        personalnummer, mitarbeiternummer, mitgliedsnummer, matrikelnummer, matrikelnr, versicherten id, probanden id,
        teilnehmer id, nutzer id, schülernummer, id patient, id client, id individu, numéro client, num client, numéro
        étudiant, identifiant patient, matricule, id personne, id usager, id paciente, id cliente, id persona, id
        usuario, número de cliente, número de empleado, legajo, número de alumno, id paziente, id utente, codice
        paziente, codice cliente, numero cliente, numero di matricola, matricola, id soggetto, patiënt id, klant id,
        klantnummer, persoon id, persoonsnummer, personeelsnummer, studentnummer, leerlingnummer, deelnemer id,
        lidnummer, id do paciente, id do cliente, id pessoa, id aluno, número do aluno, número do cliente, número do
        funcionário, id pacjenta, id klienta, id osoby, numer klienta, numer pracownika, numer albumu, id uczestnika,
        patient id nr, kund id, kundnummer, person id nr, anställningsnummer, medlemsnummer, deltagar id, lopnr,
        löpnr, potilas id, asiakasnumero, study id, study no, study number, screening number, screening id,
        randomization number, randomisation number, enrolment number, inmate id, offender id, defendant id, claimant
        id, borrower id, applicant id, insured id, policyholder id, donor id, tenant id, voter id, usubjid,"""
        + ", ".join(f"{who} {what}" for who in _NUMBERED for what in _NUMBER)
    ),
    "record id": (
        """
        id, ids, guid, uuid, identifier, record id, record number, record no, rec id, recid, row id, rownum, row
        number, row no, index, observation id, obs id, serial, seq, sequence number, case no, key, oid, pk, sample id,
        visit id, encounter id, transaction id, order id, order number, invoice number, ticket number, event id,
        response id, submission id, interview id, questionnaire id, form id, specimen id, barcode, datensatz id,
        datensatznummer, lfd nr, laufende nummer, lfdnr, satznummer, fall id, besuchs id, auftragsnummer,
        rechnungsnummer, vorgangsnummer, fragebogennummer, probennummer, identifiant, numéro, numéro d ordre, numéro
        de facture, id séjour, num séjour, número, identificador, folio, número de factura, id registro,
        identificativo, codice identificativo, numero progressivo, id record, numero fattura, volgnummer,
        recordnummer, factuurnummer, ordernummer, bezoek id, identificatie, número de registro, id do registro, número
        da fatura, identyfikator, numer, lp, numer porządkowy, numer rekordu, numer faktury, löpnummer, radnummer,
        fakturanummer, post id, tunniste"""
    ),
}
"""Concept → terms. The concept is also what a reason says was found."""

DESIGN = {
    "sampling weight": (
        """
        pspwght, dweight, anweight, wtmec, wtmec 2 yr, wtint 2 yr, instance weight, record weight, observation weight,
        population weight, replicate weight, replicate weights, weighting factor, weight factor, poststratification
        weight, post stratification weight, nonresponse weight, svy weight, svywt, sampling weight, sample weight,
        survey weight, design weight, final weight, person weight, pweight, pwt, fnlwgt, afnlwgt, finalwgt, final wgt,
        household weight, household weights, hh weight, hhwt, hhweight, perwt, wgt, wt, wtfinl, weights, expansion
        factor, calibration weight, grossing factor, base weight, sampling weights, case weight, analysis weight,
        gewichtung, hochrechnungsfaktor, stichprobengewicht, designgewicht, personengewicht, haushaltsgewicht,
        gewichtungsfaktor, hrf, pondération, coefficient de pondération, poids de sondage, poids final, poids calé,
        factor de expansión, factor de ponderación, ponderación, ponderador, fac exp, factor de elevación, peso
        campionario, peso di riporto, coefficiente di riporto, ponderazione, weegfactor, ophoogfactor,
        steekproefgewicht, ponderação, fator de expansão, peso amostral, fator de ponderação, waga próby, waga
        respondenta, waga końcowa, urvalsvikt, designvikt, kalibreringsvikt"""
    ),
    "stratum": (
        """
        stratum, strata, sampling stratum, design stratum, stratification, stratum id, schicht, schichtung,
        schichtungsmerkmal, schichtnummer, strate, strates, stratification sondage, estrato, estratos, strato, strati,
        strato campionario, stratificatie, warstwa, warstwy, warstwa losowania, urvalsstratum, skikt, vstrat,
        psustrat, varstrat"""
    ),
    "household id": (
        """
        household id, household number, household no, household key, household, hh id, hhid, hh number, hh no, hid,
        hhnum, family id, family number, dwelling id, dwelling number, ori hid, hserial, serial hh, haushalts id,
        haushaltsnummer, haushalt id, hh nr, hhnr, haushalt nr, familien id, id ménage, numéro ménage, num ménage,
        identifiant ménage, id foyer, id logement, ident men, id hogar, número de hogar, hogar, id vivienda, vivienda,
        id famiglia, numero famiglia, codice famiglia, id nucleo familiare, huishouden id, huishoudnummer, huishoud
        id, id agregado, id domicílio, número do domicílio, id família, id agregado familiar, id gospodarstwa, numer
        gospodarstwa, nr gospodarstwa, hushålls id, hushållsnummer, hushålls nr, husstand id, kotitalous id"""
    ),
}

ONLY_ALONE = {
    "person name": words_in("first last middle author signature"),
    "record id": words_in(
        "recid key index serial seq oid pk lp numero numer number folio identifier barcode"
    ),
    "country": words_in("stat staat land nation"),
    "education": words_in("degree diploma qualification"),
    "sexual life": words_in("std"),
    "location": words_in("long lat lon lng geo location posizione plats"),
    "postal code": words_in("cap cp"),
    "occupation": words_in("position sector"),
    "free text": words_in("note notes nota"),
    "postal address": words_in("via voie"),
    "user account": words_in("handle login"),
    "device id": words_in("cookie"),
}
"""Concept → words that stand for it only where the name has no other word than people and numbers.

``tax_filer_stat`` is no country (*stát*), ``charge_degree`` no education, ``violent_recid`` no
record number, ``first_visit`` nobody's name.
"""

BESIDE = words_in(
    "nm code num nr no my own current self home residence txt text label val value of the in de der"
    " du del di"
)
"""Words beside a term that change nothing."""

BODY_WORDS = words_in(
    "body birth kg kgs lb lbs g gram grams pound pounds baseline admission maternal dry lean fat"
    " height current"
)
"""Words beside *weight* that say a body is weighed."""

BODY_OR_SURVEY_WEIGHT = frozenset(
    {"weight", "peso", "poids", "gewicht", "waga", "vikt", "vekt", "vaegt", "paino"}
)
"""Words that name a body weight in one table and a survey weight in another."""

SHORT_WEIGHTS = frozenset({"wt", "wgt", "weights"})
"""Words for a survey weight that also stand for the weight of a body."""

PERSON_WORDS = words_in("""
    person patient customer client employee student user contact doctor physician nurse teacher mother father spouse
    guardian child parent applicant owner holder member respondent subject staff worker tenant donor participant
    author interviewer witness victim suspect patientin kunde kundin mitarbeiter mitarbeiterin schueler schuler arzt
    aerztin mutter vater kind versicherter proband teilnehmer personne individu eleve etudiant medecin mere pere
    enfant assure usager paciente cliente persona empleado alumno medico madre padre hijo titular paziente
    dipendente studente soggetto persoon klant medewerker leerling arts moeder vader pessoa aluno funcionario mae
    pai osoba pacjent klient pracownik uczen matka ojciec kund anstalld elev lakare mor far barn
    """)
"""Words beside *name* or *id* that say a person is meant."""

OTHER_PEOPLE = words_in("""
    doctor physician nurse teacher mother father spouse guardian child parent owner holder author interviewer witness
    victim suspect contact staff worker arzt aerztin mutter vater kind medecin mere pere enfant medico madre padre hijo
    arts moeder vader mae pai matka ojciec lakare mor far barn
    """)
"""Those of them that rows about somebody name besides."""

THING_WORDS = words_in("""
    company product file column table drug brand city town country school hospital clinic course event project host
    server variable item category group team department station bank shop store branch vendor supplier manufacturer
    region county district state province area zone building room ward unit site domain field class type program
    programme plan package model vessel ship species gene protein disease medication medicine treatment procedure
    test study trial center centre agency organization organisation org employer firm business industry sector job
    occupation language currency device app application module task step process utility road river lake crop animal
    dataset version source target parent label page menu color colour firma unternehmen produkt datei stadt gemeinde
    land schule krankenhaus klinik kurs projekt abteilung gruppe filiale behoerde medikament entreprise societe
    produit fichier ville commune pays ecole hopital cours projet service groupe magasin medicament empresa producto
    archivo ciudad municipio pais escuela curso proyecto departamento grupo tienda medicamento azienda prodotto
    comune citta paese scuola ospedale corso progetto reparto gruppo negozio farmaco bedrijf bestand gemeente stad
    ziekenhuis cursus afdeling groep winkel geneesmiddel produto arquivo cidade escola projeto loja firmy produktu
    pliku miasta kraju szkoly szpitala kursu projektu foretag produkten fil kommun lan skola sjukhus avdelning grupp
    """)
"""Words beside *name* or *id* that say something else than a person is meant."""

META_WORDS = words_in("""
    count counts flag is has had type types status opt verified valid validated sent consent consented rate ratio
    score length len avg mean sum total available present provided known missing changed change format domain
    provider opened clicks bounced frequency anzahl typ art gueltig vorhanden geprueft statut valide consentement
    tipo estado valido stato aantal soort aanwezig quantidade rodzaj liczba czy antal finns har
    """)
"""Words that say a column is *about* an identifier (``email_verified``) and does not hold it."""

NEVER_NUMBERS = frozenset(
    {
        "person name",
        "name",
        "e-mail address",
        "postal address",
        "web address",
        "user account",
        "picture or biometric",
        "free text",
    }
)
"""Concepts whose values cannot be numbers: a numeric column of such a name is something else."""

FAMILIES = {"direct": DIRECT, "design": DESIGN}
