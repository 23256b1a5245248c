"""Secrets that a sentence states: "the admin password on the box is now Velvet!Horse2".

A sentence has the noun of a secret (which `secret_labels` finds), at most ten words, a verb or a sign, and the value.
The verbs of each language are in secret_verbs.txt.
"""

import re
from collections.abc import Sequence
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_labels import CALL, SecretName
from mcp_reflect.security.secret_tables import pattern_of
from mcp_reflect.security.secret_values import Secret

_LONGEST: Final = 4000  # characters of a value


def _verbs(kind: str) -> str:
    return pattern_of("secret_verbs.txt", kind)


_IS: Final = lazy_compile(
    lambda: (
        rf"(?:(?<=[\s\])`])(?:{_verbs('is')})[ \t]{{1,3}}(?:(?:{_verbs('again')})[ \t])?"
        r"|(?:[=—–]|->|→|(?<= )\|)[ \t]{1,3}|[:=：→⇒]\*{0,2}[ \t]{0,3}|\((?=[\"'«„“`])"
        rf"|(?<=[^\x00-\x7f])(?:{_verbs('is stuck')})[ \t]{{0,2}}(?=[!-~「“『]))"
    ),
    re.IGNORECASE,
)
_QUOTED: Final = lazy_compile(
    r"[\"'«„“`「『][ \xa0]?(?P<secret>[^\n\"'»”`\\」』]{4,60}?)[ \xa0]?[\"'»”“`」』]"
)
_BARE: Final = lazy_compile(
    r"[`*]{0,2}[ \t]{0,2}[`*]{0,2}(?P<secret>[^\s\"'«„“`,;\\]{5,4000}?)"
    r"(?=[.,;:!?)`*]{0,3}(?:[\"”»'][.,;:!?)}\]\"']{0,6})?(?:\s|$|\\)|[,;])"
)
_STUCK_SIGNS: Final = frozenset("は是为為는은가이")  # `パスワードはX1です`: no blank ends the value
_SIGNS: Final = lazy_compile(r"(?P<secret>(?![\"'`])[!-~]{5,100})")
_PLAIN: Final = lazy_compile(  # a word that ends its clause
    lambda: (
        r"[„“«\"'`]?(?P<secret>[^\W\d_][\w'-]{3,40})"
        rf"(?=[”\"'»`]?(?:[,;!]| [:;]-?[)(]|\.(?:\s|$)|[ \t]{{0,2}}(?:\n|$)| (?:{_verbs('goes on')})\b))"
    )
)
_NEXT: Final = lazy_compile(  # a word right behind the noun, and what goes on behind it
    lambda: (
        r" [„“«\"'`]?(?P<secret>[^\W\d_][\w'#!%*+-]{3,40})"
        rf"(?=[”\"'»`]?(?:[,;!.]|[ \t]{{0,2}}(?:\n|$)| (?:{_verbs('of')})\b))"
    )
)
_WITH: Final = lazy_compile(lambda: rf"(?i)\b(?:{_verbs('with')})(?: (?:{_verbs('article')}))? \Z")
_TOLD_APART: Final = lazy_compile(
    r",? [„“«\"'`]?(?P<secret>[^\s\"'«„“`,;\\]{5,60}?)"
    r"(?=[”\"'»`]?[.,;!)]?(?:\s*$|\n|(?<=[,;.!)]) | (?:for|on|and|but|still|works?|to|at|again)\b))"
)
_KNOWN: Final = lazy_compile(lambda: rf"(?i)\b(?:{_verbs('whose')})[ \t]{{1,2}}\Z|[,;(/&+][ \t]?\Z")
_CHANGED: Final = lazy_compile(lambda: rf"(?i)\b(?:{_verbs('changed')})\w*[^\n.]{{0,40}}\Z")
_TO: Final = lazy_compile(
    lambda: (
        r"[^\n.:=]{0,60}? (?:auf|en|in|(?<!for )a|à|para|to(?= [„“«\"'`]?[\w'-]+[”\"'»`]?"
        rf"(?:[.,;!]|$| (?:{_verbs('lately')})\b))) [„“«\"'`]?"
        r"(?P<secret>[^\W\d_][\w'-]{5,40})(?=[\s.,;!”\"'»`]|$)"
    )
)
# Never stands between the noun and the value of a sentence
_APART: Final = lazy_compile(r"[.:;=&+\"{$<]|\[(?!None\])|\w\(|^>?@|\barn$|fingerprint|\(\?")
_OTHER_NAME: Final = lazy_compile(r"[ \t][\w.-]+\Z")  # `password of db=…` gives a value to `db`
_OTHER_FIELD: Final = lazy_compile(r" [A-Z][a-z]+(?:-[A-Z][a-z]+)+")  # `passwd Multi-Arch: …`
_OF: Final = lazy_compile(
    r"(?: (?:for|of|on|at) [\w.@-]+)?\s?\Z"
)  # behind `pass`; it is mostly a verb with an object
_WORDS_BEFORE: Final = 60  # characters before a name in which the words that tell of it stand
_WINDOW: Final = 150  # characters after the name
_MOST_WORDS: Final = 10  # before the value
_FIELD: Final = lazy_compile(r"[a-z]+(?:[_-][a-z]+)*$")
_STATED: Final = lazy_compile(lambda: rf"(?i)(?:{_verbs('stated')})$")


def secret_in_sentence(text: str, name: SecretName) -> Secret | None:
    """Return the secret that the rest of a line states for a name, None if it states none.

    | the line                                    | the secret                                          |
    |---------------------------------------------|-----------------------------------------------------|
    | "the password of the box is Trk-salmon77."  | `Trk-salmon77`, behind a verb or a sign             |
    | "log in with the password kestrel, then"    | `kestrel`, right behind the noun                    |
    | "the password is wrong"                     | none: the word tells a state                        |
    | "arn:aws:secretsmanager:…:secret:shop"      | none: the noun is a part of an address              |
    """
    if text[name.start - 1 : name.start] == ":" and text[name.end : name.end + 1] == ":":
        return None
    end = _end_of_line(text, name)
    if name.kind == "password" and (span := _by_words_around(text, name, end)):
        return span
    for verb in _IS.finditer(text, name.end - 1, end):
        between = text[name.end : verb.start()]
        if _is_of_another_clause(name, between):
            return None
        tells_a_place = _tells_a_place(text, name, verb)
        if tells_a_place or CALL.match(text, verb.end(), end):
            continue
        span = _value_behind(text, name, verb, is_of_other=_names_another_field(between, verb))
        if span is not None:
            return span
    return None


def _value_behind(
    text: str, name: SecretName, verb: re.Match[str], *, is_of_other: bool
) -> Secret | None:
    """Return the value behind a verb or sign, in the first form that fits: in quotes, bare, or a plain word.

    `is_of_other`: another field stands before the verb, so that only a value which is surely no word counts.
    """
    forms = (_QUOTED, _SIGNS) if verb[0][0] in _STUCK_SIGNS else (_QUOTED, _BARE, _PLAIN)
    for form in forms:
        value = form.match(text, verb.end(), verb.end() + _LONGEST)
        if value is None or not _fits_name(value["secret"], name, verb[0].strip(), form):
            continue
        if not is_of_other or values.strange(value["secret"]):
            return (*value.span("secret"), "password")
    return None


def _names_another_field(between: str, verb: re.Match[str]) -> bool:
    """Return whether the value belongs to a word between: `password of db=…` and `passwd Multi-Arch: …`."""
    is_assigned = verb[0] == "=" and _OTHER_NAME.search(between) is not None
    return is_assigned or _OTHER_FIELD.fullmatch(between) is not None


def _end_of_line(text: str, name: SecretName) -> int:
    """Return where the line of a name ends, or a part of it that is long enough for a sentence."""
    end = min(name.end + _WINDOW, len(text))
    line_end = text.find("\n", name.end, end)
    if line_end < 0:
        return end
    return line_end


def _is_of_another_clause(name: SecretName, between: str) -> bool:
    """True where the verb or sign does not belong to the name: too far, in another clause, or of a verb with an object."""
    if between.count(" ") > _MOST_WORDS or _APART.search(between):
        return True
    return name.is_pass and not _OF.match(between)


def _tells_a_place(text: str, name: SecretName, verb: re.Match[str]) -> bool:
    """Return whether "to" or "on" tells of a place, as in "the password on the box is X".

    Polish and Finnish have them as verbs, and in "changed the password to X" the value stands behind.
    """
    if verb[0].strip() not in ("to", "on") or name.foreign:
        return False
    return not _CHANGED.search(text, max(name.start - _WORDS_BEFORE, 0), name.start)


def _by_words_around(text: str, name: SecretName, end: int) -> Secret | None:
    """Return the password that the words before a name and behind it tell, without a verb between.

    | before the name          | behind it             | the value may be                  |
    |--------------------------|-----------------------|-----------------------------------|
    | "log in with the"        | the value             | a plain word, or a strange one    |
    | "changed the"            | "to" and the value    | a plain word, or a strange one    |
    | "her", or a new clause   | the value             | only a strange one                |
    """
    for before, behind, may_be_plain in (
        (_WITH, _NEXT, True),
        (_CHANGED, _TO, True),
        (_KNOWN, _TOLD_APART, False),
    ):
        value = behind.match(text, name.end, end)
        is_of_verb = before is _KNOWN and name.is_pass  # "to pass X" is no password
        if value is None or is_of_verb:
            continue
        fits = values.in_prose(value["secret"]) or (may_be_plain and _is_plain(value["secret"]))
        if fits and before.search(text, max(name.start - _WORDS_BEFORE, 0), name.start):
            return (*value.span("secret"), "password")
    return None


def _fits_name(value: str, name: SecretName, sign: str, form: re.Pattern[str]) -> bool:
    """Return whether a value in a form, behind a sign, can be what the name names. The first row that fits decides.

    | the name, the form                         | it is a secret if the value                                |
    |--------------------------------------------|------------------------------------------------------------|
    | a key or a token                           | is random, and no plain word                               |
    | a password, a plain word                   | is no state ("wrong"), and the sign is not "="             |
    | a password, two to six words in quotes     | none of them speaks of secrets                             |
    | a password, any                            | has a digit or a sign among its letters                    |
    | a password in another language, ":" or "=" | is a word of its own                                       |
    | a password, one word in quotes             | is no state, and no name of a field                        |
    """
    if name.kind != "password":
        return form is not _PLAIN and _is_key_of(name, value)
    if form is _PLAIN:
        return sign != "=" and _is_plain(value)
    words = value.split()
    if form is _QUOTED and 1 < len(words) <= 6:
        return _is_passphrase(value, words)
    if values.in_prose(value):
        return True
    if name.foreign and sign in (":", "=") and values.is_own_word(value):
        return True
    if form is not _QUOTED or len(value) < 6 or " " in value:
        return False
    return _is_plain(value) and not _FIELD.match(value)


def _is_key_of(name: SecretName, value: str) -> bool:
    """True for a random value; of `key` alone, which may be one of a map, only for one that looks like a key."""
    if name.kind == "any key":
        return values.is_key(value)
    return values.random(value)


def _is_passphrase(value: str, words: Sequence[str]) -> bool:
    """True for words in quotes none of which speaks of secrets or of a state."""
    if not values.word(value) or any(word.startswith("-") for word in words):
        return False
    return not any(values.is_said(word) or values.is_state(word) for word in words)


def _is_plain(value: str) -> bool:
    """True for a word that a sentence gives as the password: neither a state of one nor a word about secrets."""
    if not values.word(value) or values.is_reference(value) or values.is_state(value):
        return False
    return not (_STATED.match(value) or _NAMES_ONE.match(value) or values.is_type(value))


_NAMES_ONE: Final = lazy_compile(
    r"[a-z]+(?:Password|Passwd|Secret|Token|Passphrase)\w{0,10}$"
)  # `hashedPassword`


_BELOW: Final = lazy_compile(
    r"[^\n:=\"'(){}\[\]<>]{0,60}:[*_`]{0,2}[ \t]{0,3}\r?\n(?:[ \t]{0,8}\r?\n){0,2}"
    r"(?P<fence>[ \t]{0,8}```\w{0,12}[ \t]{0,3}\r?\n)?[ \t>]{0,12}(?P<mark>[`*]{0,2})"
    r"(?P<secret>[^\s\"'`,;:=<>(){}]{5,400})(?P=mark)[ \t\r]{0,4}(?=\n|\Z)"
)


def secret_below_label(text: str, name: SecretName) -> Secret | None:
    """Return the secret alone in the line below a label: `Password:`, and the value under it."""
    below = _BELOW.match(text, name.end)
    if below is None or name.is_pass:
        return None
    value = below["secret"]
    if name.kind != "password":
        if values.random(value) and values.is_mixed(value):
            return (*below.span("secret"), "secret")
        return None
    is_fenced = below["fence"] is not None
    if values.in_prose(value) or (is_fenced and values.is_own_word(value)):
        return (*below.span("secret"), "password")
    return None


_TELLS: Final = lazy_compile(
    lambda: rf" (?:{_verbs('ahead')}) (?:(?:{_verbs('article')}) )?(?:[\w'-]{{1,20}} ){{0,2}}\Z"
)
_USED: Final = lazy_compile(  # `use pebble as the password`
    lambda: (
        rf"(?i)\b(?:{_verbs('used')}) [`\"'“„«]?(?P<secret>[^\W\d_][\w!#$%&*+?@^~.-]{{3,60}})[`\"'”“»]?"
        rf" (?:as|als) (?:(?:{_verbs('article')}) )?(?:[\w-]{{2,12}} )?\Z"
    )
)
_QUOTED_AHEAD: Final = lazy_compile(
    r"(?:^|(?<=[\s(]))[\"'`“„«*]{1,2}(?P<secret>[^\s\"'`“”„«»*]{4,60})[\"'`”“»*]{1,2}\Z"
)
_BARE_AHEAD: Final = lazy_compile(r"(?:^|(?<=\s))(?P<secret>[^\s\"'`(),;:]{5,60})\Z")
# Behind the noun of another thing: `is the password field`
_GOES_ON: Final = lazy_compile(r"[ -]?(?!(?:for|of|on|and|to|in)\b)[\w(=:]{2,}")
_LONGEST_AHEAD: Final = 120  # characters between the value and its name, with both


def secret_ahead_of_name(text: str, name: SecretName) -> Secret | None:
    """Return the secret that a sentence says before its name: `Kestrel77 is the admin password`."""
    if name.kind != "password" or _GOES_ON.match(text, name.end):
        return None
    first = max(0, name.start - _LONGEST_AHEAD)
    start = max(first, text.rfind("\n", first, name.start) + 1)
    used = _USED.search(text, start, name.start)
    if used and values.is_own_word(used["secret"]):
        return (*used.span("secret"), "password")
    tells = _TELLS.search(text, start, name.start)
    if tells is None:
        return None
    bare = _BARE_AHEAD.search(text, start, tells.start())
    if bare and values.strange(bare["secret"]):
        return (*bare.span("secret"), "password")
    quoted = _QUOTED_AHEAD.search(text, start, tells.start())
    if quoted and _is_plain(quoted["secret"]) and values.is_own_word(quoted["secret"]):
        return (*quoted.span("secret"), "password")
    return None
