"""Words for what must not be learned about a person: GDPR Art. 9 and 10 categories, money, and
schooling results.
"""

from __future__ import annotations

SENSITIVE = {
    "health": (
        """
        diagnosis, diagnoses, diag, dx, icd, icd 9, icd 10, icd 11, icd code, disease, illness, condition code,
        medical condition, health, health status, symptom, symptoms, medication, medications, prescription, therapy,
        comorbidity, disability, handicap, hiv, hiv status, cancer, tumor, tumour, diabetes, depression, mental
        health, blood pressure, cholesterol, bmi, glucose, pregnant, pregnancy, abortion, smoker, smoking, smoking
        status, alcohol, alcohol consumption, drug use, drug abuse, drugs,
        iv drugs, iv drug use, intravenous drug use, injection drug use, idu, addiction, hemo, hemophilia, haemophilia,
        hemophiliac, haemophiliac, hämophilie, hémophilie, hemofilia, emofilia, hemofilie, drogen, drogenkonsum, vaccination, vaccinated, covid, test
        result, lab result, lab value, allergy, allergies, injury, cause of death, surgery, operation code, procedure
        code, drg, atc code, genetic, genotype, dna, genome, mutation, sick leave, sick days, suicide, stage, tumor
        stage, treatment, diagnose, diagnosen, krankheit, erkrankung, gesundheit, gesundheitszustand, befund,
        medikament, medikamente, therapie, behinderung, schwerbehinderung, grad der behinderung, krebs,
        schwangerschaft, schwanger, raucher, rauchen, alkohol, blutdruck, allergie, todesursache, impfung, laborwert,
        krankheitstage, pflegegrad, hauptdiagnose, nebendiagnose, ops code, diagnostic, diagnostics, maladie,
        pathologie, santé, état de santé, médicament, traitement, handicap reconnu, grossesse, enceinte, fumeur,
        tabac, alcool, tension artérielle, cause du décès, cause de décès, vaccin, arrêt maladie, invalidité,
        diagnostic principal, diagnóstico, enfermedad, salud, estado de salud, medicamento, tratamiento, discapacidad,
        cáncer, embarazo, embarazada, fumador, tabaquismo, presión arterial, alergia, causa de muerte, vacuna, baja
        médica, diagnóstico principal, diagnosi, malattia, salute, stato di salute, farmaco, trattamento, disabilità,
        invalidità civile, gravidanza, fumatore, fumo, pressione arteriosa, allergie note, causa di morte, vaccino,
        patologia, diagnosi principale, ziekte, aandoening, gezondheid, gezondheidstoestand, medicatie, behandeling,
        beperking, kanker, zwangerschap, zwanger, roker, roken, bloeddruk, doodsoorzaak, vaccinatie, ziekteverzuim,
        hoofddiagnose, doença, saúde, estado de saúde, tratamento, deficiência, câncer, cancro, gravidez, grávida,
        fumante, pressão arterial, causa da morte, causa do óbito, vacina, baixa médica, diagnoza, rozpoznanie,
        choroba, zdrowie, stan zdrowia, lek, leki, leczenie, niepełnosprawność, nowotwór, rak, ciąża, palacz, palenie,
        ciśnienie krwi, przyczyna zgonu, szczepienie, zwolnienie lekarskie, diagnos, sjukdom, hälsa, hälsotillstånd,
        läkemedel, behandling, funktionsnedsättning, graviditet, rökare, rökning, blodtryck, dödsorsak, sjukfrånvaro,
        sykdom, sygdom, helse, helbred, sundhed, diagnoosi, sairaus, terveys"""
    ),
    "religion or belief": (
        """
        religion, rlgblg, religious affiliation, faith, denomination, belief, church, kirche, église, iglesia, chiesa,
        kerk, igreja, kościół, kyrka, confession, religionszugehörigkeit, konfession, glaube, kirchensteuer,
        weltanschauung, religion pratiquée, confession religieuse, croyance, culte, religión, credo, creencia,
        confesión, religione, confessione, fede, godsdienst, geloof, geloofsovertuiging, kerkgenootschap, religie,
        religião, crença, fé, religia, wyznanie, religionstillhörighet, trossamfund, trosretning, trossamfunn, uskonto"""
    ),
    "sexual life": (
        """
        sexual orientation, sexuality, homo, homosexual, homosexuality, homosexual activity, gay, lesbian, bisexual,
        heterosexual, msm, sexual preference, sexual activity, homosexuell, homosexualität, homosexuel, homosexualité,
        homosexualidad, omosessuale, sex life, lgbt, sexual partners, sexuelle orientierung,
        sexualität, orientation sexuelle, vie sexuelle, orientación sexual, sexualidad, orientamento sessuale,
        seksuele geaardheid, seksuele voorkeur, orientação sexual, sexualidade, orientacja seksualna, sexuell
        läggning, seksuel orientering, seksuell orientering, seksuaalinen suuntautuminen, transgender, std"""
    ),
    "political opinion": (
        """
        political party, political affiliation, political opinion, politics, party affiliation, vote, voted for,
        voting intention, lrscale, vote intention, left right scale, party preference, partei, parteizugehörigkeit,
        politische einstellung, wahlabsicht, sonntagsfrage, parteipräferenz, parti politique, opinion politique,
        affiliation politique, intention de vote, vote présidentielle, partido político, partido, afiliación política,
        ideología, intención de voto, ideología política, partito, partito politico, orientamento politico, intenzione
        di voto, politieke voorkeur, politieke partij, partij, stemintentie, partido politico, opinião política,
        intenção de voto, filiação partidária, partia, partia polityczna, poglądy polityczne, preferencje polityczne,
        politiskt parti, partisympati, politisk åsikt, politisk overbevisning, puolue"""
    ),
    "trade union": (
        """
        union member, union membership, trade union, labor union, labour union, unionized, gewerkschaft,
        gewerkschaftsmitglied, gewerkschaftszugehörigkeit, syndicat, syndiqué, appartenance syndicale, sindicato,
        afiliación sindical, sindicalizado, sindacato, iscrizione sindacale, vakbond, vakbondslidmaatschap,
        vakbondslid, filiação sindical, związek zawodowy, członkostwo w związku zawodowym, fackförbund, facklig
        tillhörighet, fackmedlem, fagforening, fagforbund, ammattiliitto"""
    ),
    "criminal record": (
        """
        criminal record, crime, offence, offense, conviction, convictions, convicted, arrest, arrested, prison,
        sentence, felony, charge, charges, recid, recidivism, two year recid, reoffended, probation, parole, jail,
        custody, bail, misdemeanor, juvenile record, priors, priors count, prior convictions, prior arrests, juv fel
        count, juv misd count, juv other count, verdict, risk of recidivism, vorstrafe, vorstrafen, straftat,
        verurteilung, führungszeugnis, haft, delikt, casier judiciaire, condamnation, infraction, délit, antecedentes
        penales, delito, condena, infracción, precedenti penali, reato, condanna, fedina penale, casellario
        giudiziale, strafblad, delict, veroordeling, misdrijf, antecedentes criminais, condenação, karalność,
        przestępstwo, wyrok, rejestr karny, brott, brottslighet, belastningsregister, straffeattest, kriminalitet,
        rikos"""
    ),
    "income or wealth": (
        """
        income, annual inc, incwage, hinctnta, hourly rate, daily rate, revol bal, claim amount, loan status, payout,
        salary, salary class, salaries, wage, wages, earnings, annual income, household income, pay, savings, wealth,
        assets, net worth, debt, loan amount, loan, credit score, credit limit, balance, account balance, cost, costs,
        fee, fees, bill amount, total charges, kosten, coût, coûts, costo, coste, costi, custo, koszt, koszty,
        kostnad, expenditure, expend, expenditures, pension amount, benefits, social benefits, welfare, capital gain,
        capital gains, capital loss, capital losses, dividends, dividend, mortgage, credit history, credit risk,
        credit amount, loan default, credit default, overdraft, rent paid, tax paid, bonus, turnover, einkommen,
        gehalt, lohn, nettoeinkommen, bruttoeinkommen, haushaltseinkommen, monatseinkommen, vermögen, schulden,
        ersparnisse, kredit, kreditbetrag, kontostand, ausgaben, rente, sozialleistungen, sozialhilfe, jahresgehalt,
        revenu, revenus, salaire, rémunération, patrimoine, dette, dettes, épargne, crédit, dépenses, retraite, revenu
        mensuel, revenu annuel, allocations, ingreso, ingresos, salario, sueldo, renta, patrimonio, deuda, ahorros,
        gastos, préstamo, pensión, nómina, reddito, redditi, stipendio, retribuzione, debito, risparmi, spesa, spese,
        pensione, prestito, inkomen, loon, salaris, vermogen, schuld, spaargeld, uitgaven, pensioen, uitkering,
        lening, huishoudinkomen, renda, rendimento, rendimentos, salário, vencimento, património, patrimônio, dívida,
        poupança, despesas, pensão, empréstimo, renda mensal, dochód, dochody, zarobki, wynagrodzenie, pensja, płaca,
        majątek, dług, oszczędności, wydatki, emerytura, kredyt, inkomst, lön, årsinkomst, förmögenhet, skuld,
        sparande, utgifter, inntekt, indkomst, løn, lønn, gjeld, gæld, tulot, palkka, příjem, mzda, jövedelem, gelir,
        maaş"""
    ),
    "school result": (
        """
        grade, grades, gpa, exam result, exam score, test score, marks, note abitur, zensur, abiturnote, schulnote,
        prüfungsergebnis, note moyenne, résultat examen, calificación, calificaciones, nota media, voto esame, voto
        medio, cijfer, eindcijfer, nota final, ocena, ocena końcowa, betyg, slutbetyg, karakter, iq, performance
        rating, appraisal"""
    ),
    "assessment of a person": (
        """
        decile score, risk score, risk level, performance score, evaluation score, assessment score, score text, risk
        category, suitability, beurteilung, bewertung, évaluation, evaluación, valutazione, beoordeling, avaliação,
        bedömning"""
    ),
}
"""Concept → terms. The concept is also what a reason says the name stands for."""

ALSO_KNOWN_TO_OTHERS = frozenset({"ethnicity"})
"""Quasi concepts that are GDPR Art. 9 categories as well: proposed as quasi and sensitive."""

ART_9 = frozenset(
    {"health", "religion or belief", "sexual life", "political opinion", "trade union", "ethnicity"}
)
"""Concepts that are special categories under GDPR Art. 9."""

FAMILIES = {"sensitive": SENSITIVE}
