"""Text as analysed terms: words of any script, stop words, stems."""

import unicodedata
from functools import lru_cache
from typing import Final

from mcp_reflect.patterns import lazy_compile

# Stems of English words, after Porter (1980), "An algorithm for suffix stripping", Program 14(3).
#
# Words of other languages lose the same endings, in the bank and in the question alike; what that leaves
# apart, the similarity of words brings together (see `spelling`).


_SHORTEST: Final = 3  # words up to here are their own stem
_VOWEL: Final = "(?:[aeiou]|(?<=[^aeiou])y)"
_CONSONANTS: Final = "(?:(?:[^aeiouy]|(?<![^aeiou])y)+)"
_HAS_VOWEL: Final = lazy_compile(r"[aeiou]|(?<=[^aeiou])y")
_MEASURED: Final = lazy_compile(r"(?:[aeiou]|(?<=[^aeiou])y)+(?:[^aeiouy]|(?<=[aeiou])y)+")
_DOUBLE: Final = lazy_compile(r"([^aeiouylsz])\1$")
_SHORT: Final = lazy_compile(r"[^aeiou](?:[aeiou]|(?<=[^aeiou])y)[^aeiouwxy]$")

# The longer endings first.
_STEP_2: Final = (
    ("ational", "ate"), ("ization", "ize"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("tional", "tion"), ("biliti", "ble"), ("entli", "ent"), ("ousli", "ous"), ("ation", "ate"),
    ("alism", "al"), ("aliti", "al"), ("iviti", "ive"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("ator", "ate"), ("logi", "log"), ("eli", "e"),
)  # fmt: skip
_STEP_3: Final = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""),
    ("ful", ""),
)  # fmt: skip
_STEP_4: Final = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "sion", "tion", "al", "er", "ic", "ou",
)  # fmt: skip


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a lower-case word; of one with other letters than a to z, or up to three of them, itself."""
    if len(word) <= _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    word = _past_and_gerund(_plural(word))
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _tidied(_derived(word))


def _measure(word: str) -> int:
    """Porter's m: how many times vowels are followed by consonants."""
    return len(_MEASURED.findall(word))


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-2] if len(word) > 4 else word[:-1]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us")) else word


def _past_and_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if not _HAS_VOWEL.search(rest):
                return word
            if rest.endswith(("at", "bl", "iz")):
                return f"{rest}e"
            if _DOUBLE.search(rest):
                return rest[:-1]
            return f"{rest}e" if _measure(rest) == 1 and _SHORT.search(rest) else rest
    return word


def _replaced(word: str, pairs: tuple[tuple[str, str], ...]) -> str:
    """The word with the first ending of `pairs` that it has replaced, where enough is left before it."""
    for ending, other in pairs:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + other if _measure(rest) else word
    return word


def _derived(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if ending in ("sion", "tion"):
                rest += ending[0]
            return rest if _measure(rest) > 1 else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _SHORT.search(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


# Words that tell little in any question: they count for less, and are asked for only where there is nothing else.
#
# Function words of English, German, French, Spanish, Italian, Portuguese and Dutch, without diacritics and
# apostrophes, as `analysis` folds them. A word that is telling in one of these languages is left out of all.


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


# Text as terms: what is written into the index, and what a question asks for.
#
# NFKC and case folded, diacritics folded, English endings cut (`stems`), identifiers, paths and codes whole
# and in parts, runs of scripts without spaces as pairs of letters. Terms hold letters, digits and `_`.


LONGEST: Final = 64  # characters of a term; what is longer is cut, here and there alike

# Of texts in ASCII; `scripts` has those of all others.
_CHUNK: Final = lazy_compile(r"[^\W_]+(?:[._/:\\@'-]+[^\W_]+)*")
_PART: Final = lazy_compile(r"[^\W_]+")
_CAMEL: Final = lazy_compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_APOSTROPHE: Final = lazy_compile(r"['’]")
_UNFOLDED: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})


def terms_of(text: str) -> list[str]:
    """The terms of a text in their order, stop words too; an identifier gives itself and then its parts."""
    return [term for chunk in _chunks(text) for term, _ in _terms(chunk) if term]


def words_of(text: str) -> dict[str, str]:
    """Each term of a text once, in their order, with the word that it stands for where it came first."""
    found: dict[str, str] = {}
    for chunk in _chunks(text):
        for term, word in _terms(chunk):
            if term:  # an accent that stands alone leaves nothing
                found.setdefault(term, word)
    return found


def _chunks(text: str) -> list[str]:
    """Stretches of letters, digits and what joins them."""
    if text.isascii():
        return _CHUNK.findall(text)
    from mcp_reflect.storage.retrieval import scripts  # noqa: PLC0415 - its patterns take long to compile, and most texts are ASCII

    return scripts.CHUNK.findall(unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=100_000)
def _terms(chunk: str) -> tuple[tuple[str, str], ...]:
    """The terms of a chunk, each with its word."""
    part = _PART
    if not chunk.isascii():
        from mcp_reflect.storage.retrieval import scripts  # noqa: PLC0415 - see above

        if scripts.UNSPACED.match(chunk):
            return _pairs(chunk)
        part = scripts.PART
    parts = part.findall(_without_apostrophes(chunk))
    if len(parts) == 1:
        return _word_terms(parts[0])
    whole = "_".join(map(_folded, parts))[:LONGEST]
    inner = [pair for part in parts for pair in _word_terms(part) if len(pair[0]) > 1]
    return ((whole, chunk), *inner)


def _word_terms(word: str) -> tuple[tuple[str, str], ...]:
    """A word, or the whole and the parts of one in camelCase."""
    inner = _CAMEL.findall(word) if word.isascii() and not word.islower() and not word.isdigit() else ()
    parts = tuple((_stemmed(part.lower()), part.lower()) for part in inner if len(part) > 1)
    if len(parts) > 1:
        return ((_stemmed(_folded(word))[:LONGEST], word), *parts)
    return ((_stemmed(_folded(word))[:LONGEST], word.lower()),)


def _stemmed(word: str) -> str:
    """A stop word as it is, so that it is known as one; of any other word the stem."""
    return word if word in STOP_WORDS else stem(word)


def _without_apostrophes(chunk: str) -> str:
    """`don't` as dont, `server's` as server, `l'erreur` as erreur."""
    if "'" not in chunk and "’" not in chunk:
        return chunk
    head, *tail = _APOSTROPHE.split(chunk)
    if len(tail) != 1:
        return "".join((head, *tail))
    if tail[0].lower() == "s":
        return head
    return tail[0] if len(head) <= 2 and len(tail[0]) > 2 else head + tail[0]


def _folded(word: str) -> str:
    """A word in one case, without diacritics."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", word.casefold())
    bare = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", bare).translate(_UNFOLDED)


def _pairs(run: str) -> tuple[tuple[str, str], ...]:
    """Pairs of neighbouring letters; a letter that stands alone is itself."""
    pairs = [run[place : place + 2] for place in range(len(run) - 1)] or [run]
    return tuple(zip(pairs, pairs, strict=True))
