"""Calls in the scripts that Codex runs in code mode: `text((await tools.exec_command({cmd: "pytest -q"})).output)`.

Only what stands plainly in a script is read: calls whose arguments are literals, one after another, and which output
belongs to which. Of anything else a script only tells that something was done.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mcp_reflect.models.common import Json
from mcp_reflect.sessions.hosts.script_words import (
    NotLiteralError,
    ScriptWords,
    literal_at,
    words_of,
)

MOST_SCRIPT: Final = 200_000  # characters of a script that is read
_MOST_CALLS: Final = 40

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


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A call in a script; `arguments` is None where they are no literals. `shown` is the number of its output."""

    tool: str
    arguments: Json
    shown: int | None = None


@dataclass(frozen=True, slots=True)
class ScriptCalls:
    """The calls of a script. `plain`: each of them runs once, with arguments that are read, and nothing else is done."""

    calls: tuple[ScriptCall, ...] = ()
    plain: bool = True


class _NamedTool(NamedTuple):
    """A tool that a script calls; `arguments` is the index of the word with which they begin."""

    name: str
    arguments: int


@dataclass(slots=True)
class _CallsOfScript:
    """The calls of a script as they are gathered from its words.

    `variables` has the number of the call whose result a variable took; `shown` the number of the output that shows a
    call; `outputs` counts what the script showed.
    """

    words: ScriptWords
    calls: list[ScriptCall] = field(default_factory=list[ScriptCall])
    variables: dict[str, int] = field(default_factory=dict[str, int])
    shown: dict[int, int] = field(default_factory=dict[int, int])
    outputs: int = 0

    def add_output(self, index: int) -> None:
        """Count an output that begins at an index, and note which call it shows: `text(a)` shows the call of `a`."""
        number = self._call_that_is_shown(_in_parentheses(self.words, index + 1))
        if number is not None:
            self.shown.setdefault(number, self.outputs)
        self.outputs += 1

    def add_call(self, index: int, tool: _NamedTool) -> None:
        """Take the call of a tool at an index, and the variable that keeps its result."""
        variable = _variable_of_result(self.words, index)
        if variable is not None:
            self.variables[variable] = len(self.calls)
        self.calls.append(ScriptCall(tool.name, _arguments_at(self.words, tool.arguments)))

    def _call_that_is_shown(self, inside: ScriptWords) -> int | None:
        """Return the number of the call whose result is shown, None where it is not one alone.

        A call within the parentheses is the next one to be read, since its words follow those of the output.
        """
        own_calls = _tools_in(inside, 0, len(inside))
        variables = self.variables
        named = {variables[word] for _, word in inside.words if word in variables}
        if own_calls == 1 and not named:
            return len(self.calls)
        if own_calls == 0 and len(named) == 1:
            return named.pop()
        return None


def calls_in(script: str) -> ScriptCalls:
    """Return the calls that a script makes, in order, each with the number of the output that shows its answer.

    A script that is too long is not read, and of one that makes a single call the first output is its answer.
    """
    if len(script) > MOST_SCRIPT:
        return ScriptCalls(plain=False)
    words = words_of(script)
    gathered = _CallsOfScript(words)
    for index in range(len(words)):
        if _is_output(words, index):
            gathered.add_output(index)
            continue
        tool = _tool_at(words, index)
        if tool is not None and len(gathered.calls) < _MOST_CALLS:
            gathered.add_call(index, tool)
    shown = gathered.shown
    if len(gathered.calls) == 1:
        shown = {0: 0}
    numbered = [
        replace(call, shown=shown.get(number)) for number, call in enumerate(gathered.calls)
    ]
    return ScriptCalls(tuple(numbered), _is_plain(words, gathered.calls))


def _is_output(words: ScriptWords, index: int) -> bool:
    """Return whether a script shows something at an index: `text(...)`, `console.log(...)`."""
    kind, word = words.at(index)
    return kind == "name" and word in _SHOWS and words.code_at(index + 1) in ("(", ".")


def _is_plain(words: ScriptWords, calls: Sequence[ScriptCall]) -> bool:
    """Return whether a script did what its calls say, and nothing else: a loop or an unknown function may do more."""
    code = {word for kind, word in words.words if kind != "text"}
    if not code.isdisjoint(_TURNS | _LOADS) or not all(map(_is_read, calls)):
        return False
    if not calls and (code.isdisjoint(_SHOWS) or not code.isdisjoint(_TOOLS)):
        return False  # it is no script that only says something
    return not any(_is_other_call(words, index) for index in range(len(words)))


def _is_read(call: ScriptCall) -> bool:
    """Return whether the arguments of a call are read: by their names, but for a tool that takes a text."""
    if isinstance(call.arguments, dict):
        return True
    return isinstance(call.arguments, str) and call.tool in _TAKES_TEXT


def _is_other_call(words: ScriptWords, index: int) -> bool:
    """Return whether a function is called at an index that is no tool, and may do anything."""
    kind, word = words.at(index)
    if kind != "name" or words.code_at(index + 1) != "(":
        return False
    # The function is the tool's own name, behind `tools.` or `codex.`.
    is_tool = any(_tool_at(words, index - back) is not None for back in (0, 2))
    return not is_tool and word not in _HARMLESS


def _tool_at(words: ScriptWords, index: int) -> _NamedTool | None:
    """Return the tool that is called at an index, None where none is.

    It is called as `tools.NAME(`, `tools["NAME"](` or `codex.tool("NAME", `.
    """
    if words.code_at(index) not in _TOOLS:
        return None
    code = [words.code_at(index + offset) for offset in range(5)]
    if code[:4] == ["codex", ".", "tool", "("]:
        return _tool_named(words.text_at(index + 4), index + 6)
    if code[:2] == ["tools", "."] and code[3] == "(" and words.at(index + 2).kind == "name":
        return _NamedTool(code[2], index + 4)
    if code[:2] == ["tools", "["] and code[3:] == ["]", "("]:
        return _tool_named(words.text_at(index + 2), index + 5)
    return None


def _tool_named(name: str | None, arguments: int) -> _NamedTool | None:
    """Return the tool of a name that stands in quotes, None where it is computed."""
    if name is None:
        return None
    return _NamedTool(name, arguments)


def _tools_in(words: ScriptWords, start: int, end: int) -> int:
    """Return how many tools are called from an index up to another."""
    return sum(_tool_at(words, index) is not None for index in range(start, end))


def _arguments_at(words: ScriptWords, index: int) -> Json:
    """Return the first argument of a call, None where it is no literal."""
    if words.code_at(index) == ")":
        return {}
    try:
        value, end = literal_at(words, index)
    except NotLiteralError:
        return None
    if words.code_at(end) not in (")", ","):  # the literal is a part of what is computed
        return None
    return value


# Which output of a script shows which of its calls.


def _in_parentheses(words: ScriptWords, start: int) -> ScriptWords:
    """Return the words between the next parenthesis and the one that closes it, none where it stays open."""
    opening = start
    while opening < len(words) and words.code_at(opening) != "(":
        opening += 1
    depth = 0
    for index in range(opening, len(words)):
        code = words.code_at(index)
        if code == "(":
            depth += 1
        elif code == ")":
            depth -= 1
        if depth == 0:
            return words.part(opening + 1, index)
    return words.part(0, 0)


def _variable_of_result(words: ScriptWords, index: int) -> str | None:
    """Return the variable that takes the result of the call at an index, None where none does.

    It stands before the call, as in `const a = await tools.X(...)`, or in a list of as many calls:
    `const [a, b] = await Promise.all([tools.X(...), tools.Y(...)])`.
    """
    before = index - 1
    while words.code_at(before) in ("await", "("):
        before -= 1
    if words.code_at(before) == "=" and words.at(before - 1).kind == "name":
        return words.at(before - 1).word
    promise = _promise_before(words, index)
    if promise is None:
        return None
    variables = _variables_before(words, promise)
    number = _tools_in(words, promise, index)
    if number >= len(variables):
        return None
    return variables[number]


def _promise_before(words: ScriptWords, index: int) -> int | None:
    """Return the index of the `Promise` in whose statement a call stands, None where there is none."""
    before = index
    while words.code_at(before) != "Promise":
        if before <= 0 or words.code_at(before) == ";":
            return None
        before -= 1
    return before


def _variables_before(words: ScriptWords, promise: int) -> list[str]:
    """Return the variables of `[a, b] = await Promise`, none where the list holds anything but names."""
    index = promise - 1
    while words.code_at(index) in ("await", "=", "]"):
        index -= 1
    names_from_last: list[str] = []
    while index >= 0 and words.code_at(index) != "[":
        if words.at(index).kind == "name":
            names_from_last.append(words.at(index).word)
        elif words.code_at(index) != ",":
            return []
        index -= 1
    return names_from_last[::-1]
