"""Words that tell little in any question: they count for less, and are asked for only where there is nothing else.

Function words of English, German, French, Spanish, Italian, Portuguese and Dutch, without diacritics and
apostrophes, as `analysis` folds them. A word that is telling in one of these languages is left out of all.
"""

from typing import Final

ENGLISH: Final = frozenset(
    """a about after all also am an and any are as at be been before being but by can could did do does doing done
    for from get gets got had has have having he her here him his how i if in into is it its itself just let me
    more most my need no not now of off on once one only or other our out over own please same she should so some
    such than that the their them then there these they this those through to too under until up use used using
    very was we were what when where which while who whom why will with would you your""".split()
)

_MORE: Final = """
again aren't because can't couldn't didn't doesn't don't each either else ever every few further getting hers
however i'd i'll i'm i've isn't like many may might mine much must myself nor others ours shall still that's
theirs upon us want wasn't weren't what's whether whose without won't wouldn't yes yet yours

aber als am auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem den denn der des dich die dies
diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch fur ganz
habe haben hat hatte hier ich ihm ihn ihr ihre im immer ist ja jede jeder jedes jetzt kann kein keine konnen
mehr mein meine mich mir mit muss nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine sich sie sind
soll uber um und uns unser unter vom von vor wahrend war waren warum was weil welche welcher wenn werden wer wie
wieder wir wird wo wurde wurden zum zur zwischen

au aux avec ce cela ces cet cette ceux comme comment dans des donc dont du elle elles en encore est et etait etre
eu fait faut il ils je la le les leur leurs lui ma mais meme mes moi mon ne nos notre nous on ont ou par parce pas
peu peut plus pour pourquoi quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes
toi ton tous tout toute toutes tres tu un une vos votre vous

al algo ante antes como con contra cual cuando de del desde donde dos el ella ellas ellos entre era es esa ese eso
esta estaba estan este esto estos fue ha han hasta hay la las le lo los mas me mi mientras muy nada ni nos nosotros
o otra otro para pero poco por porque puede que quien se ser si sido sin sobre solo son su sus tambien tan tanto te
tengo tiene todo todos un una uno unos y ya yo

che chi ci cosa da dai dal dalla degli dei del della delle di gli ho il io loro nei nel nella non ogni per perche
piu quale quando quella quello questa questo sono sua suo sul sulla tra

ao aos com das dos ela ele eles em essa esse estou eu foi isso isto mais mas nao nas nos numa pela pelo quando
sao sem seu seus sua suas tem uma voce

aan dat deze dit door een geen heb heeft het hij hoe ik kan maar met naar niet nog ons ook op te tot uit van voor
waar wat wel wij zijn zou
"""

STOP_WORDS: Final = ENGLISH | frozenset(_MORE.replace("'", "").split())
