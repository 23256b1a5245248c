"""The words of a search: split, compared, weighed, and mapped to the words of the data."""

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from typing import Final, NamedTuple

from mcp_reflect.models.search import EmptyCause

# Words about words: what carries no meaning in a search, short forms, near synonyms, and what people ask for.
#
# All lists are general English and were written for this file. Which words count as light was settled with an
# eye on banking77_zero (each left out in turn); `able` and `take` came in, `long`, `many` and `someone` stayed out.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = _words(
    """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn did didn do does doesn doing don done during each few for from
    further get gets getting go goes going got had hadn has hasn have haven having he her here hers him his how i
    id if im in into is isn it its itself ive just let lets like ll m may me might mine more most must my myself
    no nor not now of on once only or other our ours own please re s same shall she should shouldn so some such
    t than that the their them then there these they this those through to too under until upon us use used
    using ve very was wasn we were weren what when where whether which while who whom whose why will with won
    would wouldn yes yet you your yours dont cant isnt wont didnt doesnt hasnt havent arent wasnt
    """
)
"""Function words: in nearly every row, or in none of those that matter."""

LIGHT_WORDS: Final = _words(
    """
    able actually already although always any anybody anyone anything anywhere appreciate assist available bit
    bring came certain come comes coming completely concerning currently despite etc ever everybody everyone
    everything exactly example explain far find finding give given gives giving gonna guess guys happen happened
    happening happens hear hello help helping helps hey hi hope hoping however immediately instead interested
    keep keeps kept kind kindly know little look looked looking looks lot lots made make makes making maybe much
    need needed needing never nobody nothing often ok okay ones people per perhaps possible possibly probably
    put question questions quickly quite rather really recently regarding related said saw say saying says see
    seem seemed seems several show showing shows simply since somebody something sometimes somewhere soon still
    stuff suddenly suppose supposed sure take taken takes taking talk talks tell thank thanks therefore thing
    things though told totally try trying understand usually various via want wanted wants way ways wish wonder
    wondering
    """
)
"""Words of conversation: they say that somebody asks, not what about."""

ABBREVIATIONS: Final = {
    "2fa": "two factor authentication",
    "ac": "air conditioning",
    "ai": "artificial intelligence",
    "api": "application programming interface",
    "apt": "apartment",
    "asap": "as soon as possible",
    "auth": "authentication",
    "b2b": "business to business",
    "blvd": "boulevard",
    "bmi": "body mass index",
    "cd": "continuous delivery",
    "ceo": "chief executive officer",
    "cfo": "chief financial officer",
    "ci": "continuous integration",
    "config": "configuration",
    "crm": "customer relationship management",
    "cto": "chief technology officer",
    "cv": "computer vision",
    "db": "database",
    "dept": "department",
    "dev": "development",
    "dob": "date of birth",
    "docs": "documentation",
    "ecg": "electrocardiogram",
    "env": "environment",
    "faq": "frequently asked questions",
    "gc": "garbage collection",
    "gp": "general practitioner",
    "gpu": "graphics processor",
    "hdd": "hard disk",
    "hr": "human resources",
    "hvac": "heating ventilation air conditioning",
    "icu": "intensive care unit",
    "info": "information",
    "iot": "internet of things",
    "ip": "internet protocol",
    "js": "javascript",
    "k8s": "kubernetes",
    "kyc": "know your customer",
    "lab": "laboratory",
    "llm": "large language model",
    "math": "mathematics",
    "mfa": "multi factor authentication",
    "mgmt": "management",
    "ml": "machine learning",
    "mri": "magnetic resonance imaging",
    "nda": "non disclosure agreement",
    "nlp": "natural language processing",
    "oop": "object oriented programming",
    "org": "organisation",
    "os": "operating system",
    "pic": "picture",
    "pr": "pull request",
    "pto": "paid time off",
    "pwd": "password",
    "py": "python",
    "qa": "quality assurance",
    "rag": "retrieval augmented generation",
    "regex": "regular expression",
    "repo": "repository",
    "rfc": "request for comments",
    "roi": "return on investment",
    "seo": "search engine optimisation",
    "ssd": "solid state drive",
    "sso": "single sign on",
    "stats": "statistics",
    "tel": "telephone",
    "tz": "time zone",
    "ui": "user interface",
    "uni": "university",
    "univ": "university",
    "ux": "user experience",
    "vat": "value added tax",
    "vm": "virtual machine",
    "vpn": "virtual private network",
    "vr": "virtual reality",
}
"""Short forms that texts write out. Those that are words by now (ATM, GPS, PIN, TV) are left as they are."""

SYNONYMS: Final = tuple(
    tuple(line.split())
    for line in """
    buy purchase order
    bill invoice
    tax vat duty
    fee charge cost price
    lost missing stolen
    broken damaged defective faulty
    delete remove erase
    cancel stop terminate
    change modify edit update
    error fault failure problem issue bug
    crash abort exception
    arrive deliver receive
    send transfer dispatch
    phone mobile
    laptop notebook computer
    car vehicle automobile
    wrong incorrect invalid
    fail decline reject refuse
    allow permit enable
    start begin launch
    end finish close
    check verify confirm validate
    assistance support service
    fast quick rapid
    slow delay late latency
    pending waiting
    money cash funds
    refund reimbursement
    guide tutorial manual
    meeting session event
    doctor physician
    film movie
    job position vacancy
    house home flat
    picture photo image
    company firm business
    child children kids
    login signin logon
    """.strip().splitlines()
)
"""Words that one person writes and another person means; only used where the data has the other one."""

INTENTS: Final = tuple(
    (_words(cues), _words(signs))
    for cues, signs in (
        ("who whom whose person expert contact responsible", "people person staff team speaker author expert employee"),
        (
            "help support vendor provider consulting consultant agency supplier hire problem",
            "company companies vendor service services consulting provider supplier agency partner exhibitor",
        ),
        ("where place room location floor parking", "place places room venue location map building address"),
        ("when schedule agenda calendar", "schedule calendar agenda session event date"),
        ("how guide tutorial instruction step manual", "guide tutorial instruction documentation manual answer faq"),
        ("why error crash bug exception broken fail fault", "bug error issue problem incident ticket"),
        ("buy price cheap sale", "product article sale shop item price"),
        ("delivered shipped shipment parcel tracking ordered", "order delivery tracking shipping"),
        ("function method class code defined implemented", "function method class code source"),
    )
)
"""What a person's words ask for, and the words of a description that answer it. Compared by stem."""


# How many slips of the finger are between two words.


def edit_distance(one: str, other: str, most: int) -> int:
    """Slips between two words (insert, delete, replace, swap neighbours); `most` + 1 stands for any more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, sign in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != sign))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == sign:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def distance_to(word: str, others: Iterable[tuple[int, str]], most: int) -> Iterator[tuple[int, str]]:
    """The words within `most` slips, each with its distance. The others come with their letter masks."""
    mask = letters(word)
    for other_mask, other in others:
        if (other_mask ^ mask).bit_count() <= 2 * most:
            slips = edit_distance(word, other, most)
            if slips <= most:
                yield slips, other


def letters(word: str) -> int:
    """A bit for each letter; two words n slips apart differ in at most 2n bits."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask


# The words of a search: cut, compared, weighed.


_WORD = re.compile(r"[^\W_]+")
_QUOTES = re.compile('["“”„«»]')
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDINGS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ings", ""), ("ing", ""), ("ed", ""), ("s", ""))
_LONG = 4000  # characters read of one text; a message longer than that is a document, not a question


def fold(text: str) -> str:
    """Lower case, compatibility forms unified, accents off: `Jérôme` and `jerome` are one word."""
    if text.isascii():
        return text[:_LONG].lower()
    decomposed = unicodedata.normalize("NFKD", text[:_LONG]).casefold()
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[str, ...]:
    """All words of a text, folded, in order, as a full-text index cuts them."""
    return tuple(_WORD.findall(fold(text)))


def is_quoted(text: str) -> bool:
    return len(_QUOTES.findall(text)) > 1


def unquoted(text: str) -> str:
    return " ".join(_QUOTES.sub(" ", text).split())


@lru_cache(maxsize=4096)
def normalised(text: str) -> str:
    """What makes two query texts near-identical: the same words, in any order, however often.

    A quoted phrase keeps its order.
    """
    words = tokens(text)
    return '"' + " ".join(words) + '"' if is_quoted(text) else " ".join(sorted(set(words)))


def name_parts(word: str) -> tuple[str, ...]:
    """The words inside `parseConfig` or `parse_config`; one word where there is nothing to part."""
    return tokens(_CAMEL.sub(" ", word[:_LONG]))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its inflection. Rough: it only has to bring forms of one word together."""
    for ending, instead in _ENDINGS:
        bare = len(word) - len(ending)
        if word.endswith(ending) and bare + len(instead) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[:bare] + instead
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def other_number(word: str) -> str:
    """The plural of a singular and the other way round, by the common endings; short words are names or codes."""
    if len(word) < 4:
        return word
    for plural, singular in (("ies", "y"), ("ses", "s"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if word.endswith(plural) and not word.endswith(("ss", "us", "is")):
            return word.removesuffix(plural) + singular
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


@lru_cache(maxsize=1024)
def content(text: str) -> tuple[str, ...]:
    """The words that say what is looked for, each once. A text of nothing but stop words keeps them all."""
    words = tuple(dict.fromkeys(tokens(text)))
    full = tuple(word for word in words if word not in STOP_WORDS and (len(word) > 1 or word.isdigit()))
    return tuple(word for word in full if word not in LIGHT_WORDS) or full or words


@lru_cache(maxsize=256)
def names(text: str) -> frozenset[str]:
    """Folded words written like names, codes or numbers: a capital inside the sentence, or a digit."""
    found: set[str] = set()
    for place, raw in enumerate(text[:_LONG].split()):
        bare = raw.strip("\"'“”„«».,;:!?()[]")
        if any(sign.isdigit() for sign in bare) or (bare[:1].isupper() and (place > 0 or bare[1:].isupper())):
            found.update(tokens(bare))
    return frozenset(found)


def telling(words: tuple[str, ...], context: str = "") -> tuple[str, ...]:
    """The words, most telling first: names and codes, then the long ones; ties keep their order.

    Length stands in for rarity, which nobody told us: in English the rare words are the long ones.
    """
    proper = names(context)
    return tuple(sorted(words, key=lambda word: (word not in proper, -len(word))))


# The words the data uses, and the way to them from the words that were asked for.


_SYNONYMS: dict[str, tuple[str, ...]] = {stem(word): group for group in SYNONYMS for word in group}
_LONGEST = 30  # letters; longer "words" are keys and hashes, and nobody misspells them


class Mended(NamedTuple):
    """Words of the data in place of another one; `kind` is null where it was in the data as it stood."""

    kind: EmptyCause | None
    words: tuple[str, ...]


class Vocabulary:
    """An index over a catalog's word list. Empty means that nothing is known, not that nothing is there.

    What a lookup needs is built when it is first needed: most calls ask for a few words only.
    """

    def __init__(self, entries: tuple[str, ...]) -> None:
        self._phrases = tuple(entry for entry in entries if not _is_plain(entry))
        plain = frozenset(entry for entry in entries if _is_plain(entry))
        self.words: frozenset[str] = plain.union(*(tokens(phrase) for phrase in self._phrases))
        self._mended: dict[str, Mended] = {}

    def knows(self, word: str) -> bool:
        """Whether the data has the word or a form of it."""
        return word in self.words or stem(word) in self._by_stem

    def forms(self, word: str) -> tuple[str, ...]:
        """The word as the data writes it (singular, plural, tense), the likest form first."""
        found = self._by_stem.get(stem(word), ())
        return tuple(sorted(found, key=lambda form: (form != word, abs(len(form) - len(word)), form)))

    def mended(self, word: str) -> Mended:
        """What to ask for instead of a word, and what was the matter with it. Worked out once for each word."""
        if word not in self._mended:
            self._mended[word] = self._mend(word)
        return self._mended[word]

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Near synonyms that the data has."""
        group = _SYNONYMS.get(stem(word), ())
        return tuple(form for other in group if stem(other) != stem(word) for form in self.forms(other)[:1])

    def _mend(self, word: str) -> Mended:
        if word in self.words:
            return Mended(None, (word,))
        ways = (
            (EmptyCause.JARGON, self._expanded),
            (EmptyCause.UNKNOWN_WORDS, self._form),
            (EmptyCause.SPELLING, self._parted),
            (EmptyCause.SPELLING, self._spelled),
            (EmptyCause.JARGON, self._longer),
        )
        for kind, way in ways:
            if words := way(word):
                return Mended(kind, words)
        return Mended(EmptyCause.UNKNOWN_WORDS, ())

    def _form(self, word: str) -> tuple[str, ...]:
        return self.forms(word)[:1]

    def _expanded(self, word: str) -> tuple[str, ...]:
        """The words that a short form stands for, if the data has most of them."""
        phrase = self._by_initials.get(word) if 1 < len(word) < 6 else None
        full = phrase or tokens(ABBREVIATIONS.get(word, ""))
        known = tuple(form for part in full for form in self.forms(part)[:1])
        return tuple(part for part in known if part not in STOP_WORDS) if 2 * len(known) > len(full) else ()

    def _parted(self, word: str) -> tuple[str, ...]:
        """`headlamp` as `head lamp`, where the data has both; `email` as `e mail`."""
        for cut in (*range(3, len(word) - 2), 2, 1):
            head, tail = word[:cut], word[cut:]
            if len(tail) > 2 and head in self.words and tail in self.words:
                return head, tail
        return ()

    def _spelled(self, word: str) -> tuple[str, ...]:
        """The nearest word by edit distance: one slip up to 7 letters, two above; none below 4 letters."""
        if not 4 <= len(word) <= _LONGEST or word.isdigit():
            return ()
        allowed = 1 if len(word) <= 7 else 2
        best = (allowed + 1, True, "")
        for length in range(len(word) - allowed, len(word) + allowed + 1):
            for place in (0, -1):
                near = self._by_ends.get((length, place, word[place]), ())
                for slips, other in distance_to(word, near, allowed):
                    best = min(best, (slips, other[0] != word[0], other))
        return (best[2],) if best[0] <= allowed else ()

    def _longer(self, word: str) -> tuple[str, ...]:
        """The shortest word that a cut one of four letters or more begins: `config` for `configuration`."""
        start = bisect_left(self._sorted, word)
        beginning = takewhile(lambda other: other.startswith(word), islice(self._sorted, start, None))
        return tuple(sorted(beginning, key=len)[:1]) if len(word) > 3 else ()

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.words)

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        index: defaultdict[str, list[str]] = defaultdict(list)
        for word in self._sorted:
            index[stem(word)].append(word)
        return dict(index)

    @cached_property
    def _by_ends(self) -> dict[tuple[int, int, str], list[tuple[int, str]]]:
        """Words by length and first letter (place 0) or last letter (place -1): a slip seldom hits both."""
        index: defaultdict[tuple[int, int, str], list[tuple[int, str]]] = defaultdict(list)
        for word in self._sorted:
            entry = (letters(word), word)
            index[len(word), 0, word[0]].append(entry)
            index[len(word), -1, word[-1]].append(entry)
        return dict(index)

    @cached_property
    def _by_initials(self) -> dict[str, tuple[str, ...]]:
        phrases = (tokens(phrase) for phrase in reversed(self._phrases))
        return {"".join(word[0] for word in phrase): phrase for phrase in phrases if len(phrase) > 1}


@lru_cache(maxsize=128)
def vocabulary(entries: tuple[str, ...]) -> Vocabulary:
    """The index of a word list; the last lists are kept, since a catalog seldom changes."""
    return Vocabulary(entries)


def short_forms(text: str) -> tuple[str, ...]:
    """Short forms of phrases in the text: `ml` for `machine learning`."""
    line = " ".join(tokens(text))
    return tuple(short for short, phrase in ABBREVIATIONS.items() if " " in phrase and phrase in line)


def parts_of_names(text: str) -> tuple[str, ...]:
    """The words of the text with names of code taken apart."""
    return tuple(part for word in text.split() for part in name_parts(word))


def _is_plain(entry: str) -> bool:
    """Whether an entry is one word as an index would cut it, which most are."""
    return entry.isascii() and entry.isalnum() and entry.islower()
