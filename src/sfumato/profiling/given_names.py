"""Common given names of several languages: enough of them in a column, and it holds names of people.

The list is ours, short on purpose: a column is recognised by *many different* names, not by rare ones.
"""

from __future__ import annotations

from sfumato.profiling.lexicon_direct import words_in

GIVEN_NAMES = words_in(
    """
    james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark donald
    steven paul andrew joshua kenneth kevin brian george timothy ronald edward jason jeffrey ryan jacob gary nicholas eric
    jonathan stephen larry justin scott brandon benjamin samuel gregory alexander patrick frank raymond jack dennis jerry
    tyler aaron jose adam nathan henry zachary douglas peter kyle noah ethan liam oliver harry leo oscar arthur archie
    mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty margaret sandra ashley
    kimberly emily donna michelle carol amanda melissa deborah stephanie rebecca sharon laura cynthia dorothy amy kathleen
    angela shirley emma brenda pamela nicole samantha katherine christine helen debra rachel carolyn janet maria catherine
    heather diane olivia julie joyce victoria ruth virginia lauren kelly christina joan evelyn judith andrea hannah megan
    alice jean doris jacqueline martha gloria teresa sara ann anne julia isabella mia sophia charlotte amelia ella lily
    hans klaus werner günter gerhard horst helmut heinz manfred jürgen wolfgang dieter karl walter uwe bernd ralf andreas
    stefan matthias markus martin sebastian tobias florian felix lukas jonas maximilian moritz finn luca anton ursula
    monika petra renate helga karin brigitte ingrid erika christa sabine heike gisela claudia susanne katrin silke birgit
    anja tanja nadine melanie katharina lena leonie johanna greta frieda anna sophie marie hanna lea clara
    jean pierre michel philippe alain patrick nicolas christophe laurent frédéric olivier sébastien julien antoine françois
    jacques gérard bernard yves thierry éric pascal guillaume mathieu thibault hugo louis jules gabriel raphaël nathan
    nathalie isabelle sylvie catherine françoise monique valérie sandrine véronique céline chantal aurélie émilie camille
    chloé manon inès jade louise léa zoé élodie amélie mathilde juliette margaux
    antonio josé manuel francisco juan david javier carlos miguel rafael pedro ángel alejandro fernando sergio pablo jorge
    luis alberto álvaro diego adrián raúl enrique ramón vicente andrés mateo santiago sebastián carmen josefa isabel
    dolores pilar teresa ana cristina francisca antonia mercedes rosario elena lucía rosa concepción raquel marta beatriz
    silvia patricia rocío pilar inmaculada valentina camila sofía ximena guadalupe
    giuseppe giovanni mario luigi andrea francesco marco alessandro roberto stefano angelo vincenzo salvatore domenico
    franco paolo luca giorgio lorenzo matteo davide simone giulia francesca chiara sara federica alessia valentina elisa
    paola giovanna lucia caterina rosa angela elena silvia martina ilaria serena beatrice aurora ginevra
    jan piet kees willem hendrik johannes cornelis jeroen bas sander maarten pieter ruben daan sem bram thijs lars johanna
    wilhelmina cornelia hendrika petronella marieke anouk sanne femke lotte fleur eva tess saskia ingeborg
    joão antónio manuel paulo carlos tiago gonçalo rui nuno ricardo bruno miguel pedro marcos lucas gustavo thiago felipe
    ana maria fernanda juliana mariana adriana márcia aline camila larissa beatriz inês catarina matilde leonor
    jan stanisław andrzej józef tadeusz jerzy zbigniew krzysztof henryk ryszard kazimierz marek marian piotr janusz
    władysław adam wiesław zdzisław edward mieczysław roman mirosław grzegorz czesław dariusz wojciech jacek tomasz
    paweł michał marcin łukasz kamil mateusz jakub szymon krystyna barbara ewa elżbieta zofia teresa danuta helena
    irena jadwiga halina janina małgorzata agnieszka katarzyna magdalena joanna beata aleksandra natalia zuzanna oliwia
    lars mikael anders johan erik per nils karl jan fredrik gustav magnus björn henrik axel elias emil hugo sven
    birgitta margareta eva kristina elisabeth karin marie ingrid linnéa astrid elsa maja alva ebba saga freja sigrid
    mohammed muhammad ahmed ali omar hassan ibrahim yusuf mustafa mehmet fatma aisha fatima zeynep emine hatice elif
    aleksandr sergei dmitri ivan nikolai vladimir olga tatiana natalia svetlana irina anastasia petr pavel jiří zdeněk
    jana marcela lenka wei ming li na fang hiroshi takashi yuki sakura kenji priya rahul amit anita sunita deepak
    """
)
