"""Secrets by the name before them: assignments in code and configuration, and sentences."""

import re
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_values import (
    CORES,
    FOREIGN_CORES,
    LONG_VALUE,
    START,
    Barren,
    Holds,
    Secret,
    alone,
    holds,
    in_prose,
    is_chance,
    is_key,
    is_mixed,
    is_mixed_case,
    is_password,
    is_place,
    is_reference,
    is_said,
    is_salt,
    is_type,
)

# Secrets by the name before them, in the many ways in which a value is given to a name.
#
# Each place of a name is looked at once, and no further than a bounded number of characters around it.


_LONGEST_NAME: Final = 60
_LONGEST_MIXED: Final = 20
_LOOK: Final = 4200  # characters after a name: what stands between, and the longest value

_BEFORE: Final = lazy_compile(r"[\w$-]{0,60}\Z")
_REST: Final = lazy_compile(r"[\w-]{0,40}")
_QUOTE: Final = r"\\{0,31}(?:\"{3}|'{3}|[\"'`])|&quot;|&#(?:34|39|x22|x27);"
# What may stand between a name and its value; `\` before quotes, for JSON within a text.
_SIGN: Final = lazy_compile(
    rf"(?P<close>{_QUOTE})?(?:\[\w{{0,6}}\]|\])?"
    r"(?:"
    # the type of a variable, before its value in quotes
    r"(?:[ \t]?:[ \t]?(?:&(?:'\w{1,20} )?)?(?=[A-Za-z])|[ \t](?=string|str\b|char))[\w.<>\[\]?| ]{1,40}=[ \t]{0,3}"
    r"(?=[\"'`\\])"
    r"|[ \t]{0,8}(?::=|=>|==?(?!=)|:(?![:?+-])|=|<-)[ \t]{0,8}(?:[brfuNL@]{1,2}(?=[\"']))?"
    # a tag, an anchor or a block of YAML before the value
    r"(?:(?:!![a-z]{2,6}|&\w{1,20})[ \t]{1,3})?(?:[|>][+-]?[ \t]{0,3}(?:\r?\n|\\n)[ \t]{1,40})?"
    r"|,?[ \t]{1,3}\\{0,31}[\"']?(?:[vV]alue|content)\\{0,31}[\"']?[ \t]{0,3}[:=][ \t]{0,3}"
    r"|,[ \t\r\n]{0,20}\\{0,31}[\"']value\\{0,31}[\"'][ \t]{0,3}:[ \t]{0,3}"
    r"|,[ \t]{1,3}do:[ \t]{1,3}"
    r"|(?P<comma>(?<=[\"'`])[ \t]{0,3},[ \t]{0,20})(?=\\{0,31}[\"'`])"
    r"|(?P<tag>(?:[ \t][\w:.-]{1,40}=[\"'][^\"'<>\n]{0,100}[\"']){0,3}>(?:<!\[CDATA\[)?)"
    r"|(?P<blank>[ \t]{1,3}(?:is[ \t]|was[ \t]|ist[ \t]|est[ \t]|es[ \t])?[ \t]{0,2})"
    r"|(?P<wide>[：＝]|[ \t]?(?:→|⇒|->)[ \t]?|%3[dD]|[.]{3,40}[ \t]?:[ \t]{1,3}|\*{0,2}:\*{1,2}[ \t]{1,3})"
    r"|(?P<line>(?<=[A-Za-z\"'\])}])[\])}:]{0,3}(?:\r?\n|\\n){1,2}[ \t>]{0,8})"
    r")"
    rf"(?P<open>{_QUOTE})?"
)
# A word, and after it the next one, the end of a sentence, or a call: by far the most that names stand in.
_PROSE: Final = lazy_compile(
    r"[\w-]{0,40}(?: (?!(?:is|was|ist|est|es|value) )[A-Za-z'’]+(?:[\s.,;:)!?]|$)| ?[,;)!?(]|\.(?!\.)|\s?$)"
)
_BARE_ASSIGNED: Final = lazy_compile(r"[^\s\"',;)&<>\]}\\]{1,4000}")
_AFTER_COLON: Final = lazy_compile(r"[^\s\"',;)<>\]}\\]{1,4000}")
_LINE_VALUE: Final = lazy_compile(r"[^\s\"'\\]{1,4000}")
_ENV_NAME: Final = lazy_compile(r"[A-Z][A-Z0-9_]*$")
_LINE_ENDS: Final = lazy_compile(r"[\\\"'}\], \t]{0,40}(?:\r?\n|\\n|(?<=\\)n|$|(?<=[ \t])(?:#|//|--)[ \t])")
_ARGUMENT_ENDS: Final = lazy_compile(r"\\{0,31}[\"'`][ \t]{0,3}(?P<end>[,)\]])")
_LISTED: Final = lazy_compile(r",(?=[A-Za-z_]{2,40}=)")  # of settings in one line
_OBJECT: Final = lazy_compile(
    r"(?:self|this|args?|settings|conf(?:ig)?|cfg|form|request|req|env|opts|options|params|props|ctx|user|data|creds?"
    r"|credentials|module|var|local|os|process|\w*\.\w*(?i:key|token|pass|secret)\w*)\."
)
_SECTION: Final = lazy_compile(r"(?:^|\n)[ \t]*\[[\w.: -]{1,60}\][ \t]*\r?\n")  # of a settings file
_SECTION_AT: Final = 400  # characters before
_FLAG: Final = lazy_compile(r"--\w|-[a-z]{4}")
_PAIR: Final = lazy_compile(r"[A-Za-z_.-]{2,30}=[^=]")  # a cookie, or an argument
_CALL: Final = lazy_compile(r"[\w.:$>-]{0,80}[(\[]")


WORDS: Final = frozenset((*CORES, *FOREIGN_CORES))
"""Without one of these in it, no text gives a secret to a name."""


def assigned_secrets(text: str, folded: str, words: list[str]) -> list[Secret]:
    """Return the values of secrets' names.

    `folded` is its lower case, sign by sign, and `words` are those of `WORDS` that are in it.
    """
    flags = " -" in text
    found = sorted({at for word in words if word in WORDS for at in _places(text, folded, word, flags=flags)})
    spans: list[tuple[int, int, str]] = []
    done = 0
    barren = Barren(text)
    for at in found:
        if at < done or barren.knows(at):
            continue
        span = _value_at(text, at, done)
        if span is None or not span[2]:
            barren.add()
        if span:
            if span[2]:
                spans.append(span)
            if span[2] or span[1] - span[0] > LONG_VALUE:
                done = span[1]
    return spans


def _places(text: str, folded: str, core: str, *, flags: bool) -> list[int]:
    """Where a core stands that prose does not simply go on behind."""
    places: list[int] = []
    at = folded.find(core)
    while at >= 0:
        if flags or not _PROSE.match(text, at):
            places.append(at)
        at = folded.find(core, at + len(core))
    return places


def _value_at(text: str, at: int, done: int) -> tuple[int, int, str] | None:
    """Where the value of the name around `at` starts and ends, and its kind; null where there is none.

    The kind is empty where the value is none of a secret.
    """
    rest = _REST.match(text, at)
    end = rest.end() if rest else at
    sign = _SIGN.match(text, end, end + 80)
    if sign is None:
        return None
    before = _BEFORE.search(text, max(at - _LONGEST_NAME, done), at)
    start = before.start() if before else at
    name = text[start:end]
    if len(name) > _LONGEST_MIXED and is_mixed(name):  # the end of a line of base64
        return None
    held = holds(name)
    if text.startswith(START, start - len(START)) or text[start - 1 : start] == "!":  # a mark of ours, a tag of YAML
        return None
    if held is Holds.NOTHING or (sign[0] == ":" and text[start - 1 : start] == ":"):  # a part of a longer name
        return None
    flag = _is_flag(name, sign)
    span = _quoted_assigned(text, sign) if sign["open"] else _bare(text, sign, name)
    if span is None:
        return None
    value = text[span[0] : span[1]]
    if held is Holds.ANY:
        good = not sign["blank"] and is_key(value)
    elif sign["line"]:
        good = bool(_LINE_ENDS.match(text, span[1])) and not _CALL.match(text, span[0]) and alone(value)
    elif sign["comma"]:
        good = text[start - 1 : start] in ("'", '"', "`") and _is_argument(text, value, held, span[1])
    elif sign["open"]:
        good = _is_quoted_secret(value, held, spaced=sign["blank"] is not None and not flag)
    else:
        good = not _CALL.match(text, span[0]) and _is_bare_secret(text, value, held, sign, name, span[1])
    return (*span, "" if not good else held.value if held is Holds.PASSWORD else "secret")


def _is_flag(name: str, sign: re.Match[str]) -> bool:
    """Whether the name is a command's: `--password`, `-storepass`."""
    return bool(_FLAG.match(name)) and not sign["close"]


def _is_argument(text: str, value: str, held: Holds, end: int) -> bool:
    """Whether a value follows the name as the next argument of a call: `define("DB_PASSWORD", "…")`."""
    after = _ARGUMENT_ENDS.match(text, end)
    if after is None or is_place(value):
        return False
    if held is Holds.PASSWORD:
        return after["end"] in ")]" and len(value) >= 8 and is_password(value) and not is_reference(value)
    return is_chance(value) or is_salt(value)


def _quoted_assigned(text: str, sign: re.Match[str]) -> tuple[int, int] | None:
    """From the opening quote to the next of the same kind, on the same line."""
    start = sign.end()
    end = text.find(sign["open"], start, start + _LOOK)
    if end < 0:
        found = _BARE_ASSIGNED.match(text, start)  # cut off by a limit
        return found.span() if found else None
    line = text.find("\n", start, end)
    return (start, end) if line < 0 and end > start else None


def _bare(text: str, sign: re.Match[str], name: str) -> tuple[int, int] | None:
    start = sign.end()
    whole = _ENV_NAME.match(name) and "=" in sign[0]
    found = (_LINE_VALUE if whole else _AFTER_COLON if sign[0] == ": " else _BARE_ASSIGNED).match(text, start)
    if found is None or (sign["blank"] and text[found.end() - 1] == "="):  # `name="password" autocomplete=…`
        return None
    listed = _LISTED.search(text, start, found.end()) if whole else None
    return (start, listed.start()) if listed else found.span()


def _is_quoted_secret(value: str, held: Holds, *, spaced: bool) -> bool:
    if is_place(value) or is_said(value) or len(value) < 4 or "://" in value:
        return False
    if held is Holds.KEY and (_PAIR.match(value) or is_reference(value)):
        return False
    if held is Holds.PASSWORD:
        words = value.split()
        return not (len(words) > 1 and any(map(is_said, words))) and not (spaced and not _is_told(value))
    if spaced:  # `(def api-key "…")`
        return is_chance(value)
    return is_salt(value) or (" " not in value and (is_chance(value) or (is_password(value) and len(value) >= 8)))


def _is_bare_secret(text: str, value: str, held: Holds, sign: re.Match[str], name: str, end: int) -> bool:
    if is_place(value) or len(value) < 5 or (is_reference(value) and not _is_dotted(text, value, sign, name, end)):
        return False
    flag = _is_flag(name, sign)
    if sign["blank"] and not flag and _PAIR.match(value):
        return False
    if sign["blank"] and not flag:  # a name and a value side by side, as in prose
        chance = is_chance(value) and name != "pass"
        return chance or (held is Holds.PASSWORD and _is_told(value))
    if name.endswith(value):  # handed on under its own name
        return False
    if held is Holds.KEY:
        if _PAIR.match(value):
            return False
        return is_chance(value) or (
            len(value) >= 12 and is_password(value) and any(map(str.isdigit, value)) and "/" not in value
        )
    if is_password(value) or (len(value) >= 8 and is_mixed_case(value)):
        return True
    if value.isdigit():
        return len(value) >= 6
    return _is_word_given(text, value, sign, name, end, flag=flag)


def _is_told(value: str) -> bool:
    """Whether it is a password beside its name, as in prose."""
    return len(value) >= 8 and (in_prose(value) or " " in value)


def _is_dotted(text: str, value: str, sign: re.Match[str], name: str, end: int) -> bool:
    """Whether what looks like an attribute is a value of a settings file: a line of its own, a digit last."""
    start = sign.start() - len(name)
    before = text[max(0, start - 40) : start].rstrip(" \t")
    alone = not before or before[-1] in "\n\"'"
    if _OBJECT.match(value):
        return False
    return alone and sign[0].strip() == "=" and any(map(str.isdigit, value)) and bool(_LINE_ENDS.match(text, end))


def _is_word_given(text: str, value: str, sign: re.Match[str], name: str, end: int, *, flag: bool) -> bool:
    """Whether a password of letters alone is given here: by a tag, a flag, an environment or a settings file."""
    if sign[0] == "=" and text[end : end + 1] == ";" and len(value) >= 4 and not is_said(value):  # of a connection
        return True
    if is_said(value) or len(value) < 6 or value.lower() == name.strip("-").lower():
        return False
    if sign["tag"] or flag:
        return len(value) >= 8 or bool(sign["tag"])
    start = sign.start() - len(name)
    if "=" in sign[0] and _LINE_ENDS.match(text, end) and _SECTION.search(text, max(0, start - _SECTION_AT), start):
        return True
    following = text[end : end + 1]
    tight = sign[0] in ("=", ":=")
    if tight:  # `func(password=word)` names a variable, for a text would have its quotes
        return following not in (")", ",", "(")
    return ":" in sign[0] and bool(_LINE_ENDS.match(text, end)) and len(value) >= 8 and not is_type(value)
