"""The names of secrets in a text: which words name one, and what kind of value such a name has."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_tables import pattern_of
from mcp_reflect.security.secret_values import START, Span

NameKind = Literal["password", "key", "any key", "many", ""]
"""What a name has as its value: a password may be any word, a key looks random; `any key`, of `key` alone, may be one of a map.

`many` is a name in the plural, whose list may have random items.
"""


def _nouns(kind: str) -> str:
    return pattern_of("secret_nouns.txt", kind)


# Names, as words in lower case joined by underscores
_WORD: Final = lazy_compile(
    r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-ÿłşğżźćęąś]+|(?:[^\W\d_A-Za-z]|[\u0900-\u097f])+"
)
_PASSWORD: Final = lazy_compile(lambda: rf"(?:{_nouns('password')})$")
_KEY: Final = lazy_compile(lambda: rf"(?:{_nouns('key')})$")
# Tokens that anybody may see, and keys that open nothing: of a table, a cache, a map
_OPEN: Final = lazy_compile(
    lambda: (
        rf"(?:(?:{_nouns('open token')})_?tokens?|(?:existing|pull)_?secrets?"
        rf"|(?:^|_)(?:{_nouns('open key')})_?keys?|^signingkey)$"
    )
)
_NO_PASSWORD: Final = lazy_compile(lambda: rf"(?:^|_)(?:{_nouns('turn')})_?pass$")
_SETTING: Final = lazy_compile(r"(?:^|_)(?:token|secret|password|apikey|api_key)_")
_OTHER: Final = frozenset(
    "id hash sha digest checksum url uri path file name arn ttl type header prefix format".split()
)


@lru_cache(maxsize=10_000)
def kind_of_name(name: str) -> NameKind:
    """Return what a name has as its value, by its last words; empty for what names no secret.

    | name                                  | kind       |
    |---------------------------------------|------------|
    | `DB_PASSWORD`, `--unlockpass`         | `password` |
    | `apiKey`, `x-auth-token`, `API_KEY_2` | `key`      |
    | `key`                                 | `any key`  |
    | `tokens`                              | `many`     |
    | `page_token`, `primary_key`, `bypass` | empty      |
    """
    words = [part.lower() for part in _WORD.findall(name)]
    whole = "_".join(words)
    if not words or _OPEN.search(whole) or _NO_PASSWORD.search(whole):
        return ""
    if name[0] == "-" and words[-1].endswith("pass"):  # `-tspass`, `--unlockpass`
        return "password"
    if _PASSWORD.search(whole):
        return "password"
    if _KEY.search(whole):
        return "key"
    is_setting = name == name.upper() and words[-1] not in _OTHER
    if is_setting and _SETTING.search(whole):  # `API_KEY_PROD`
        return "key"
    if whole in ("key", "encrypt"):
        return "any key"
    if words[-1] in ("secrets", "tokens"):
        return "many"
    return ""


_STRICT: Final = lazy_compile(
    r"(?:^|_)(?:secret|api_?keys?|private_?key|secret_?(?:access_?)?(?:key|token|string)(?:_base)?"
    r"|(?:access|auth|refresh|api|bearer|deploy|bot)_?token)$"
)


@lru_cache(maxsize=1_000)
def _is_strict(name: str) -> bool:
    return _STRICT.search("_".join(part.lower() for part in _WORD.findall(name))) is not None


_LABEL: Final = lazy_compile(  # of nouns in a row the last one; it begins with one, so that most places are passed over
    lambda: (
        rf"(?P<only>(?:{_nouns('noun')})[\w-]{{0,40}})"
        rf"(?:[ \t](?P<last>(?:{_nouns('noun')})[\w-]{{0,40}}))*"
    )
)
_FOREIGN: Final = lazy_compile(
    lambda: (
        rf"(?P<key>{_nouns('foreign key')})|(?P<password>(?:{_nouns('foreign password')})[a-zà-ÿа-яα-ωłşğżźćęąśა-ჰ\u0590-\u06ff_]{{0,20}})"
    )
)
_LONGEST_MIXED: Final = 20  # characters of a name of mixed letters and digits
_COMPOUND: Final = lazy_compile(
    r"(?i)(?<![\w-])(?:api|access|private|secret|auth|service|master|encryption|signing|license|deploy|account)[ \t]\Z"
)


_NETWORK: Final = lazy_compile(r"(?i)(?<![\w-])(?:wi-?fi|wlan|vpn)[ \t]\Z")
"""What `pass` belongs to where it is no verb: `wifi pass`."""

_TURN: Final = lazy_compile(
    r"(?i)\b(?:first|second|third|fourth|final|each|every|single|another|compiler)[ \t]\Z"
)
"""What `pass` belongs to where it is a turn: `the second pass is slower`."""


_PARTED: Final = lazy_compile(r"(?i)pass[ \t](?:words?|phrases?|code)(?![\w-])")
"""A password written in two words: `pass word`, `pass phrase`."""


class SecretName(NamedTuple):
    """A name in a text: where it begins and ends, the secret that it holds, and whether its noun is not English."""

    start: int
    end: int
    kind: NameKind
    foreign: bool = False
    text: str = ""

    @property
    def is_pass(self) -> bool:
        """True for `pass` alone, which is mostly the verb."""
        return self.end - self.start == len("pass")


def is_strict(name: SecretName) -> bool:
    """True for a key or token whose name says that it is secret, so that its value may be any word in quotes."""
    return _is_strict(name.text)


_LONGEST_BEFORE: Final = 60  # characters of a name before its noun
CALL: Final = lazy_compile(r"[\w.:$>-]{0,80}[(\[]")
"""A call, or a place in a table: a value that begins so is looked up, and not written here."""


@cache
def _cores(kind: str) -> tuple[str, ...]:
    return tuple(_nouns(kind).split("|"))


def has_names(words: str) -> bool:
    """True if some words may have the name of a secret among them."""
    return any(core in words for core in _cores("core")) or _has_foreign_names(words)


def _has_foreign_names(words: str) -> bool:
    return any(core in words for core in _cores("foreign core"))


_EACH_NAME: Final = 60
"""Characters of a plain text that are read while what stands around one name is."""

_NO_NAMES: Final = ("passed", "passing", "keyerror")
"""Words of plain outputs that have a core, and name no secret."""

_LEAST_WEIGHED: Final = 40  # characters of a text that may be full of names


@cache
def _weighed_cores() -> tuple[str, ...]:
    cores = {*_cores("core"), *_cores("foreign core"), *_cores("foreign letters")}
    return tuple(cores - _ENGLISH.keys())


def reading_weight(text: str) -> int:
    """Return how long a text takes to read for secrets, in characters of a plain text.

    A text that is full of names of secrets takes up to ten times as long as others, and so it counts as much.
    """
    if len(text) < _LEAST_WEIGHED:
        return len(text)
    small = text.lower()
    names = sum(map(small.count, _weighed_cores())) - sum(map(small.count, _NO_NAMES))
    return len(text) + _EACH_NAME * max(0, names)


def labels_in(text: str, folded: str, words: str) -> list[re.Match[str]]:
    """Return the nouns of secrets in a text, in their order; those of other languages only where it may have one."""
    labels = [*_LABEL.finditer(folded)]
    cores = [core for core in _cores("foreign core") if core in words]
    if not text.isascii():
        cores += _cores("foreign letters")
    foreign = _foreign_labels(folded, cores)
    if not foreign:
        return labels
    return sorted((*labels, *foreign), key=start_of)


_ENGLISH: Final = {"passe": ("d",), "api": ("key", "_key", "-key", " key")}
"""What makes a core one of an English word: `passed`, `api_key`."""
_AROUND_CORE: Final = 40  # characters of the longest name in front of its core, or behind it


def _foreign_labels(folded: str, cores: Iterable[str]) -> list[re.Match[str]]:
    """Return the names of other languages. Their pattern is slow, so it reads the text around what each name has in it."""
    places: list[int] = []
    for core in cores:
        at = folded.find(core)
        while at >= 0:
            if not folded.startswith(_ENGLISH.get(core, ()), at + len(core)):
                places.append(at)
            at = folded.find(core, at + len(core))
    labels: list[re.Match[str]] = []
    for start, end in _joined_windows(sorted(places)):
        labels += _FOREIGN.finditer(folded, start, end)
    return labels


def _joined_windows(places: Iterable[int]) -> Iterator[Span]:
    """Yield the parts of a text around some places; parts that touch are one."""
    start = end = -1
    for place in places:
        if place - _AROUND_CORE > end:
            if end >= 0:
                yield start, end
            start = max(0, place - _AROUND_CORE)
        end = place + 2 * _AROUND_CORE
    if end >= 0:
        yield start, end


def start_of(label: re.Match[str]) -> int:
    """Return where the noun of a label begins, behind other nouns in a row."""
    return label.start(label.lastgroup or 0)


_OWN_ID: Final = lazy_compile(
    r"[a-z]{3,6}_[0-9a-z]{22}\b"
)  # of a record of the bank: its random part may spell a label


def name_at(text: str, label: re.Match[str], done: int) -> SecretName:
    """Return the whole name that a label is a part of, not before `done`, with the secret that it holds."""
    start, end = label.span(label.lastgroup or 0)
    before = _start_of_word(text, start, done)
    if before < start and _OWN_ID.match(text, before):
        return SecretName(start, end, "")
    if label.lastgroup == "key":
        return SecretName(start, end, "key", foreign=True)
    if label.lastgroup == "password":
        return SecretName(start, end, "password", foreign=True)
    if before < start:
        start = before
    elif text[start - 1 : start] in (" ", "\t") and (
        compound := _COMPOUND.search(text, max(start - 20, done), start)
    ):
        start = compound.start()  # `api key`, where `key` alone may be one of a map
    if text[start:end] == "pass" and _TURN.search(text, max(start - 10, done), start):
        return SecretName(start, end, "")
    if parted := _PARTED.match(text, start):
        return SecretName(start, parted.end(), "password", text="password")
    if text[start:end] == "pass" and (
        network := _NETWORK.search(text, max(start - 6, done), start)
    ):
        start = network.start()
    if _is_no_name(text, start, end):
        return SecretName(start, end, "")
    return SecretName(start, end, kind_of_name(text[start:end]), text=text[start:end])


def _start_of_word(text: str, end: int, done: int) -> int:
    """Return where the part of a name begins that ends at `end`, not before `done`."""
    start = end
    least = max(end - _LONGEST_BEFORE, done, 0)
    while start > least and (text[start - 1].isalnum() or text[start - 1] in "_$-"):
        start -= 1
    return start


_RESULT: Final = lazy_compile(r": (?:[Tt]est\w*\b|[\w.-]{1,60}/[\w.-])")
"""Behind `PASS` as Go and automake print it: `--- PASS: TestKey (0.00s)`, `PASS: tests/keys.sh`."""


def _is_no_name(text: str, start: int, end: int) -> bool:
    """True for a mark of ours, a tag of YAML, the result of a test, and the end of a line of base64."""
    if text.startswith(START, start - len(START)) or text[start - 1 : start] == "!":
        return True
    if text.startswith("PASS:", start) and _RESULT.match(text, end):
        return True
    return end - start > _LONGEST_MIXED and values.is_mixed(text[start:end])
