"""Reads a line of PowerShell or cmd: quotes, the escape `` ` ``, pipes, `;`, `&&`, `||`, redirections, `$(…)`.

It is a small reader for what guards name, in one pass; blocks in braces are read as commands of the line.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.shell.bounds import TooMuchError
from mcp_reflect.shell.commands import SUBSTITUTED, Command, PipePosition, Redirection, Script
from mcp_reflect.shell.programs import invocations_of
from mcp_reflect.shell.unread import words_in

_MOST_CHARS: Final = 64_000
_MOST_COMMANDS: Final = 2_000
_MOST_DEPTH: Final = 40
_TOKEN: Final = re.compile(
    r"(?P<joined>`\r?\n)|(?P<comment>#[^\n]*)|(?P<blank>[ \t\r]+)|(?P<operator>&&|\|\||[;|&\n{}])"
    r"|(?P<open>[$@]?\()|(?P<close>\))|(?P<redirect>[0-9*]?>>?(?:&\d)?|<)"
    r"|(?P<single>'[^']*'?)|(?P<double>\"(?:[^`\"]|`.)*\"?)|(?P<escape>`.?)|(?P<plain>[^\s`'\"();|&{}<>]+)",
    re.DOTALL,
)
_BACKQUOTED: Final = re.compile(r"`(.)", re.DOTALL)
_OPERATORS: Final = {"\n": ";", "{": ";", "}": ";"}


@dataclass(slots=True)
class _Draft:
    """A command that is being read. `operator` is a redirection whose file comes next, empty for none."""

    before: str
    script: int
    pipes: tuple[PipePosition, ...]
    words: list[str] = field(default_factory=list[str])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    operator: str = ""
    is_open: bool = False  # the last word goes on

    def add(self, text: str) -> None:
        """Add a piece of text to the word that is being read, or begin one."""
        if self.operator:
            self.redirections.append(Redirection(self.operator, text))
            self.operator = ""
        elif self.is_open:
            self.words[-1] += text
        else:
            self.words.append(text)
            self.is_open = True


@dataclass(slots=True)
class _LineReader:
    """Reads tokens into commands; what stands in parentheses is a command of its own, and those around it wait."""

    commands: list[Command] = field(default_factory=list[Command])
    waiting: list[_Draft] = field(default_factory=list[_Draft])  # around the one that is read
    pipelines: int = 0

    def read(self, text: str) -> None:
        """Read a line to its end, or until it has too many commands or levels."""
        draft = _Draft("", 0, ())
        for match in _TOKEN.finditer(text):
            draft = self._take(match.lastgroup or "", match[0], draft)
            if len(self.commands) > _MOST_COMMANDS or len(self.waiting) > _MOST_DEPTH:
                return
        self._end(draft)
        while self.waiting:
            self._end(self.waiting.pop())

    def _take(self, group: str, text: str, draft: _Draft) -> _Draft:
        """Take in a token, by its group in `_TOKEN`, and return the command that is read behind it.

        A parenthesis begins a command, and the one around it waits until it closes.
        """
        if group == "operator":
            return self._operate(text, draft)
        if group == "open":
            if text == "$(":
                draft.add("$(…)")
            self.waiting.append(draft)
            return _Draft("(", SUBSTITUTED, ())
        if group == "close":
            self._end(draft)
            return self.waiting.pop() if self.waiting else _Draft(";", draft.script, ())
        if group == "redirect":
            draft.is_open = False
            draft.operator = "" if "&" in text else text.lstrip("0123456789*")
        elif group == "blank":
            draft.is_open = False
        elif group == "comment" and draft.is_open:
            draft.add(text)
        elif group in ("single", "double", "escape", "plain"):
            draft.add(_unquoted(group, text))
        return draft

    def _operate(self, operator: str, draft: _Draft) -> _Draft:
        """End a command at an operator such as `;`, and return the one that begins behind it."""
        if operator == "&" and not draft.words:  # the call operator
            return draft
        pipes: tuple[PipePosition, ...] = ()
        if operator == "|":
            if not draft.pipes:
                self.pipelines += 1
                draft.pipes = (PipePosition(self.pipelines, 0),)
            pipes = (PipePosition(draft.pipes[0].pipeline, draft.pipes[0].position + 1),)
        self._end(draft, is_background=operator == "&")
        return _Draft(_OPERATORS.get(operator, operator), draft.script, pipes)

    def _end(self, draft: _Draft, *, is_background: bool = False) -> None:
        """Keep a command that has been read, unless it is empty."""
        if not draft.words and not draft.redirections:
            return
        words = tuple(draft.words) or ("",)
        self.commands.append(
            Command(
                number=len(self.commands),
                words=words,
                invocations=invocations_of(words),
                redirections=tuple(draft.redirections),
                before=draft.before,
                is_background=is_background,
                pipes=draft.pipes,
                script=draft.script,
            )
        )


def _unquoted(group: str, text: str) -> str:
    """Return what a token stands for, without its quotes and escapes: "a b" for `'a b'`, "a`"b" for the text `a"b`."""
    if group == "single":
        return text.strip("'")
    if group == "double":
        return _BACKQUOTED.sub(r"\1", text.strip('"'))
    if group == "escape":
        return text[1:]
    return text


def read_powershell(text: str) -> Script:
    """Return the commands of a line of PowerShell or cmd; a partial reading of one that is too long."""
    reader = _LineReader()
    if len(text) <= _MOST_CHARS:
        try:
            reader.read(text)
        except TooMuchError as fault:
            return Script((), str(fault), _words_that_may_run(text))
        if len(reader.commands) <= _MOST_COMMANDS and len(reader.waiting) <= _MOST_DEPTH:
            return Script(tuple(reader.commands))
    return Script((), "it is too large", _words_that_may_run(text))


def _words_that_may_run(text: str) -> frozenset[str]:
    """Return the words of a line that could not be read, with and without the escapes in them."""
    return words_in(text.replace("`", "")) | words_in(text)
