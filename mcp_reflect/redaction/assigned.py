"""Secrets by the name before them, in the many ways in which a value is given to a name.

Each place of a name is looked at once, and no further than a bounded number of characters around it.
"""

import re
from typing import Final

from mcp_reflect.redaction.marks import START, replaced
from mcp_reflect.redaction.names import CORES, FOREIGN_CORES, Holds, holds
from mcp_reflect.redaction.values import is_chance, is_mixed_case, is_password, is_place, is_reference, is_said, is_type

_LONGEST_NAME: Final = 60
_LOOK: Final = 4200  # characters after a name: what stands between, and the longest value

_BEFORE: Final = re.compile(r"[\w$-]{0,60}$")
_BEFORE_DOTTED: Final = re.compile(r"[\w$.-]{0,60}$")
_REST: Final = re.compile(r"[\w-]{0,40}")
# What may stand between a name and its value; `\` before quotes, for JSON within a text.
_SIGN: Final = re.compile(
    r"(?P<close>\\{0,31}[\"'`])?\]?"
    r"(?:"
    r"[ \t]{0,8}(?::=|=>|==?(?!=)|:(?!:)|=)[ \t]{0,8}(?:[brfu@]{1,2}(?=[\"']))?"
    r"|,?[ \t]{1,3}\\{0,31}[\"']?[vV]alue\\{0,31}[\"']?[ \t]{0,3}[:=][ \t]{0,3}"
    r"|,[ \t\r\n]{0,20}\\{0,31}[\"']value\\{0,31}[\"'][ \t]{0,3}:[ \t]{0,3}"
    r"|(?P<tag>>)"
    r"|(?P<blank>[ \t]{1,3}(?:is[ \t]|was[ \t]|ist[ \t]|est[ \t]|es[ \t])?[ \t]{0,2})"
    r"|(?P<wide>[：＝])"
    r")"
    r"(?P<open>\\{0,31}[\"'`])?"
)
# A word, and after it the next one, the end of a sentence, or a call: by far the most that names stand in.
_PROSE: Final = re.compile(
    r"[\w-]{0,40}(?: (?!(?:is|was|ist|est|es|value) )[A-Za-z'’]+(?:[\s.,;:)!?]|$)| ?[.,;)!?(]|\s?$)"
)
_BARE: Final = re.compile(r"[^\s\"',;)&<>\]}\\]{1,4000}")
_LINE_VALUE: Final = re.compile(r"[^\s\"'\\]{1,4000}")
_ENV_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*$")
_LINE_ENDS: Final = re.compile(r"[\\\"'}\], \t]{0,40}(?:\r?\n|\\n|(?<=\\)n|$)")
_CALL: Final = re.compile(r"[\w.:$>-]{0,80}[(\[]")


WORDS: Final = frozenset((*CORES, *FOREIGN_CORES))
"""Without one of these in it, no text gives a secret to a name."""


def cut_assigned(text: str, folded: str, words: list[str]) -> str:
    """The text with a mark for each value of a secret's name.

    `folded` is its lower case, sign by sign, and `words` are those of `WORDS` that are in it.
    """
    flags = "--" in text
    found = sorted({at for word in words if word in WORDS for at in _places(text, folded, word, flags=flags)})
    if not found:
        return text
    spans: list[tuple[int, int, str]] = []
    done = 0
    for at in found:
        if at >= done and (span := _value_at(text, at, done)):
            spans.append(span)
            done = span[1]
    return replaced(text, spans)


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
    """Where the value of the name around `at` starts and ends, and its kind; null where there is none."""
    rest = _REST.match(text, at)
    end = rest.end() if rest else at
    sign = _SIGN.match(text, end, end + 80)
    if sign is None:
        return None
    before = _BEFORE.search(text, max(at - _LONGEST_NAME, done), at)
    start = before.start() if before else at
    name = text[start:end]
    held = holds(name)
    if text.startswith(START, start - len(START)):  # a mark of ours
        return None
    if held is Holds.NOTHING or (sign[0] == ":" and text[start - 1 : start] == ":"):  # a part of a longer name
        return None
    flag = name.startswith("--")
    span = _quoted(text, sign) if sign["open"] else _bare(text, sign, name)
    if span is None:
        return None
    value = text[span[0] : span[1]]
    if sign["open"]:
        good = _is_quoted_secret(value, held, spaced=sign["blank"] is not None and not flag)
    else:
        good = not _CALL.match(text, span[0]) and _is_bare_secret(text, value, held, sign, name, span[1])
    return (*span, held.value if held is Holds.PASSWORD else "secret") if good else None


def _quoted(text: str, sign: re.Match[str]) -> tuple[int, int] | None:
    """From the opening quote to the next of the same kind, on the same line."""
    start = sign.end()
    end = text.find(sign["open"], start, start + _LOOK)
    if end < 0:
        found = _BARE.match(text, start)  # cut off by a limit
        return found.span() if found else None
    line = text.find("\n", start, end)
    return (start, end) if line < 0 and end > start else None


def _bare(text: str, sign: re.Match[str], name: str) -> tuple[int, int] | None:
    start = sign.end()
    whole = _ENV_NAME.match(name) and "=" in sign[0]
    found = (_LINE_VALUE if whole else _BARE).match(text, start)
    return found.span() if found else None


def _is_quoted_secret(value: str, held: Holds, *, spaced: bool) -> bool:
    if is_place(value) or is_said(value) or len(value) < 4 or "://" in value:
        return False
    if held is Holds.PASSWORD:
        words = value.split()
        return not (len(words) > 1 and any(map(is_said, words))) and not (spaced and len(value) < 8)
    return " " not in value and (is_chance(value) or (is_password(value) and len(value) >= 8)) and not spaced


def _is_bare_secret(text: str, value: str, held: Holds, sign: re.Match[str], name: str, end: int) -> bool:
    if is_place(value) or is_reference(value) or len(value) < 5:
        return False
    flag = name.startswith("--")
    if sign["blank"] and not flag:  # a name and a value side by side, as in prose
        return is_chance(value) if held is Holds.KEY else is_password(value) and len(value) >= 8
    if held is Holds.KEY:
        return is_chance(value) or (len(value) >= 12 and is_password(value))
    if is_password(value) or (len(value) >= 8 and is_mixed_case(value)):
        return True
    if value.isdigit():
        return len(value) >= 6
    return _is_word_given(text, value, sign, name, end, flag=flag)


def _is_word_given(text: str, value: str, sign: re.Match[str], name: str, end: int, *, flag: bool) -> bool:
    """Whether a password of letters alone is given here: by a tag, a flag, an environment or a settings file."""
    if is_said(value) or len(value) < 6 or value.lower() == name.strip("-").lower():
        return False
    if sign["tag"] or flag:
        return len(value) >= 8 or bool(sign["tag"])
    following = text[end : end + 1]
    tight = sign[0] in ("=", ":=")
    if tight:  # `func(password=word)` names a variable, for a text would have its quotes
        return following not in (")", ",", "(")
    return ":" in sign[0] and bool(_LINE_ENDS.match(text, end)) and len(value) >= 8 and not is_type(value)
