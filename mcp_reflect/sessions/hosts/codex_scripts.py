"""Calls in the scripts that Codex runs in code mode: `text((await tools.exec_command({cmd: "pytest -q"})).output)`.

Only what stands plainly in a script is read: calls whose arguments are literals, one after another, and which output
belongs to which. Of anything else a script only tells that something was done.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from mcp_reflect.models.common import Json

MOST_SCRIPT: Final = 200_000  # characters of a script that is read
_MOST_CALLS: Final = 40
_MOST_DEPTH: Final = 20

_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*(?:.*?\*/|.*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)
    |(?P<unclosed>"(?:[^"\\\n]|\\.)*+|'(?:[^'\\\n]|\\.)*+|`(?:[^`\\]|\\.)*+)
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<number>-?\d+(?:\.\d+)?)
    |(?P<mark>=>|[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|(.))", re.DOTALL
)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None, "undefined": None}
# Words with which a part of a script runs once, often or not at all.
_TURNS: Final = frozenset(
    "if else for while do switch case try catch function map forEach ?".split()
)
_SHOWS: Final = frozenset({"text", "print", "console"})
# What a script calls that does nothing outside of it; a function of any other name may do anything.
_HARMLESS: Final = frozenset(
    """text print console log info warn error notify image store load JSON stringify parse String Number Boolean Array
    Object keys values entries from isArray slice substring trim trimEnd trimStart split join concat push includes
    indexOf startsWith endsWith replace replaceAll match test padEnd padStart toString toFixed toUpperCase toLowerCase
    filter find sort reverse reduce some every at flat Promise all allSettled then async Math min max round Date now
    Error RegExp setTimeout parseInt parseFloat""".split()
)
_TOOLS: Final = frozenset({"tools", "codex"})
_LOADS: Final = frozenset({"import", "require", "eval", "process"})
_TAKES_TEXT: Final = frozenset({"apply_patch"})


class ScriptWord(NamedTuple):
    """A word of a script: its kind (text, unclosed, name, number, mark), and the word."""

    kind: str
    word: str


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A call in a script; `arguments` is None where they are no literals. `shown` is the number of its output."""

    tool: str
    arguments: Json
    shown: int | None = None


@dataclass(frozen=True, slots=True)
class ScriptCalls:
    """The calls of a script. `plain`: each of them runs once, with arguments that are read."""

    calls: tuple[ScriptCall, ...] = ()
    plain: bool = True


class _NotLiteralError(Exception):
    """What stands there is computed."""


def calls_in(script: str) -> ScriptCalls:
    """Return the calls of a script."""
    if len(script) > MOST_SCRIPT:
        return ScriptCalls(plain=False)
    tokens = list(_tokens(script))
    calls: list[ScriptCall] = []
    variables: dict[str, int] = {}
    shown: dict[int, int] = {}
    outputs = 0
    for place, token in enumerate(tokens):
        if token.kind == "name" and token.word in _SHOWS and _word(tokens, place + 1) in "(.":
            inside = _inside(tokens, place + 1)
            number = _call_that_is_shown(inside, variables, len(calls))
            if number is not None:
                shown.setdefault(number, outputs)
            outputs += 1
        elif (name := _tool_at(tokens, place)) and len(calls) < _MOST_CALLS:
            tool, start = name
            for variable in _assigned(tokens, place):
                variables[variable] = len(calls)
            calls.append(ScriptCall(tool, _arguments(tokens, start)))
    if len(calls) == 1:
        shown = {0: 0}
    numbered = [replace(call, shown=shown.get(number)) for number, call in enumerate(calls)]
    return ScriptCalls(tuple(numbered), _is_plain(tokens, calls))


def _is_plain(tokens: list[ScriptWord], calls: list[ScriptCall]) -> bool:
    """Return whether a script did what its calls say, and nothing else."""
    words = {token.word for token in tokens if token.kind != "text"}
    if not words.isdisjoint(_TURNS | _LOADS) or not all(map(_is_read, calls)):
        return False
    if not calls and (words.isdisjoint(_SHOWS) or not words.isdisjoint(_TOOLS)):
        return False  # it is no script that only says something
    return not any(_is_other_call(tokens, place) for place in range(len(tokens)))


def _is_read(call: ScriptCall) -> bool:
    """Return whether the arguments of a call are read: by their names, but for a tool that takes a text."""
    return isinstance(call.arguments, dict) or (
        isinstance(call.arguments, str) and call.tool in _TAKES_TEXT
    )


def _is_other_call(tokens: list[ScriptWord], place: int) -> bool:
    """Return whether a function is called at a place that is no tool, and may do anything."""
    if tokens[place].kind != "name" or _word(tokens, place + 1) != "(":
        return False
    is_tool = any(_tool_at(tokens, place - back) for back in (0, 2) if place >= back)
    return not is_tool and tokens[place].word not in _HARMLESS


def _tokens(script: str) -> Iterator[ScriptWord]:
    for found in _TOKEN.finditer(script):
        if found.lastgroup is not None:
            yield ScriptWord(found.lastgroup, found[0])


def _word(tokens: list[ScriptWord], place: int) -> str:
    token = tokens[place] if 0 <= place < len(tokens) else ScriptWord("", "")
    return token.word if token.kind in ("name", "mark") else " "


def _tool_at(tokens: list[ScriptWord], place: int) -> tuple[str, int] | None:
    """Return the tool that is called at a place, and where its arguments begin.

    `tools.NAME(`, `tools["NAME"](` or `codex.tool("NAME", `.
    """
    words = [_word(tokens, place + offset) for offset in range(4)]
    if words[:2] == ["codex", "."] and words[2:] == ["tool", "("]:
        name = tokens[place + 4] if place + 4 < len(tokens) else ScriptWord("", "")
        return (_text(name.word), place + 6) if name.kind == "text" else None
    if words[:2] == ["tools", "."] and words[3] == "(" and tokens[place + 2].kind == "name":
        return words[2], place + 4
    if words[:2] == ["tools", "["] and words[3] == "]" and _word(tokens, place + 4) == "(":
        name = tokens[place + 2]
        return (_text(name.word), place + 5) if name.kind == "text" else None
    return None


def _arguments(tokens: list[ScriptWord], start: int) -> Json:
    """Return the first argument of a call, None where it is no literal."""
    if _word(tokens, start) == ")":
        return {}
    try:
        value, end = _literal(tokens, start, 0)
    except (_NotLiteralError, IndexError):
        return None
    return value if _word(tokens, end) in (")", ",") else None


def _literal(tokens: list[ScriptWord], place: int, depth: int) -> tuple[Json, int]:
    """Return the value of a literal, and the place after it."""
    token = tokens[place]
    if depth > _MOST_DEPTH:
        raise _NotLiteralError
    match token.kind:
        case "text":
            if token.word[0] == "`" and "${" in token.word:
                raise _NotLiteralError
            return _text(token.word), place + 1
        case "number":
            return float(token.word) if "." in token.word else int(token.word[:18]), place + 1
        case "name" if token.word in _WORDS:
            return _WORDS[token.word], place + 1
        case "mark" if token.word == "[":
            return _list(tokens, place + 1, depth)
        case "mark" if token.word == "{":
            return _object(tokens, place + 1, depth)
        case _:
            raise _NotLiteralError


def _list(tokens: list[ScriptWord], place: int, depth: int) -> tuple[Json, int]:
    items: list[Json] = []
    while _word(tokens, place) != "]":
        value, place = _literal(tokens, place, depth + 1)
        items.append(value)
        if _word(tokens, place) == ",":
            place += 1
        elif _word(tokens, place) != "]":
            raise _NotLiteralError
    return items, place + 1


def _object(tokens: list[ScriptWord], place: int, depth: int) -> tuple[Json, int]:
    values: dict[str, Json] = {}
    while _word(tokens, place) != "}":
        key = tokens[place]
        if key.kind not in ("name", "text") or _word(tokens, place + 1) != ":":
            raise _NotLiteralError
        name = _text(key.word) if key.kind == "text" else key.word
        values[name], place = _literal(tokens, place + 2, depth + 1)
        if _word(tokens, place) == ",":
            place += 1
        elif _word(tokens, place) != "}":
            raise _NotLiteralError
    return values, place + 1


def _text(quoted: str) -> str:
    return _ESCAPE.sub(_unescaped, quoted[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return "" if found[4] else _ESCAPED.get(found[5], found[5])


# Which output of a script shows which of its calls.


def _inside(tokens: list[ScriptWord], start: int) -> list[ScriptWord]:
    """Return the words between the next parenthesis and the one that closes it."""
    while start < len(tokens) and _word(tokens, start) != "(":
        start += 1
    depth = 0
    for place in range(start, len(tokens)):
        depth += (_word(tokens, place) == "(") - (_word(tokens, place) == ")")
        if depth == 0:
            return tokens[start + 1 : place]
    return []


def _call_that_is_shown(
    inside: list[ScriptWord], variables: dict[str, int], next_call: int
) -> int | None:
    """Return the number of the call whose result is shown, None where it is not one alone."""
    own = sum(_tool_at(inside, place) is not None for place in range(len(inside)))
    named = {variables[token.word] for token in inside if token.word in variables}
    if own == 1 and not named:
        return next_call
    return named.pop() if len(named) == 1 and not own else None


def _assigned(tokens: list[ScriptWord], place: int) -> list[str]:
    """Return the variable that takes the result of the call at a place.

    It stands before the call, as in `const a = await tools.X(...)`, or in a list of as many calls:
    `const [a, b] = await Promise.all([tools.X(...), tools.Y(...)])`.
    """
    before = place - 1
    while _word(tokens, before) in ("await", "("):
        before -= 1
    if _word(tokens, before) == "=" and tokens[before - 1].kind == "name":
        return [tokens[before - 1].word]
    start = place
    while start > 0 and _word(tokens, start) != "Promise":
        if _word(tokens, start) == ";":
            return []
        start -= 1
    if _word(tokens, start) != "Promise":
        return []
    index = sum(_tool_at(tokens, at) is not None for at in range(start, place))
    end = start - 1
    while _word(tokens, end) in ("await", "=", "]"):
        end -= 1
    names: list[str] = []
    while end >= 0 and _word(tokens, end) != "[":
        if tokens[end].kind == "name":
            names.insert(0, tokens[end].word)
        elif _word(tokens, end) != ",":
            return []
        end -= 1
    return [names[index]] if index < len(names) else []
