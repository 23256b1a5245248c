"""The outputs of tools as far as they are read: their lines, and the words and names in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.outcomes import ReportedEnding, RunEnding, read_outcome
from mcp_reflect.evidence.roles import (
    CHANGED,
    HISTORY,
    HISTORY_COMMANDS,
    MENDED,
    RAN,
    roles_of_command,
)
from mcp_reflect.evidence.runs import MOST_RESULTS
from mcp_reflect.evidence.terms import terms_of
from mcp_reflect.evidence.word_lists import pattern_of, read_word_list
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.shell import own_commands, read_script, unwrapped

_MOST_READ: Final = 24_000  # characters of an output: a third from its start, the rest from its end
_MOST_READ_IN_ALL: Final = 600_000
_MOST_LINE: Final = 20_000  # characters of a line whose words are read
MOST_FORM: Final = 300
"""Characters of a line by which its form is known."""
_MOST_GAPS: Final = 3  # lines of a listing for each that is read: blank ones are not
_MOST_COMPARED: Final = 40  # characters of a line that an edit wrote: hosts cut a long command
_LEAST_WRITTEN: Final = 6  # characters
_SAME_WORDS: Final = 0.6
_MOST_WHY: Final = 3  # lines of a rejected edit
_MOST_END: Final = 600  # characters in which a rejected edit is known
_MOST_COMMAND: Final = 2_000
_LAST_LINES: Final = 5  # in which a run sums itself up
_LEAST_LISTED: Final = 4  # lines

_COLOR: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_JOB: Final = re.compile(r"\[[\w./ -]{1,40}\][ \t|=]{1,40}")
_HAS_ARGUMENTS: Final = re.compile(r"[\s/.]")
_NAMED_ERROR: Final = re.compile(r"-? ?(?:[A-Z]\d{3,4} )?\w{1,60}(?:Error|Exception): ")
_NUMBERED_LINE: Final = re.compile(r"(\d{1,6})(?:→|\t|:)")
_LISTED_LINE: Final = re.compile(r"\s*\d{1,6}(?:→|\t|:|[-|])")


WRITTEN: Final = "+ "
"""Begins each line that a call wrote into a file, where the tool itself does not show it."""

_BOILERPLATE: Final = pattern_of("boilerplate")
_NOTHING: Final = pattern_of("nothing printed")
SUMMARY: Final = pattern_of("summary")
TESTS_SUMMARY: Final = pattern_of("summary tests")
ERROR: Final = pattern_of("error")
ITEM: Final = pattern_of("item")
_NO_RESULT: Final = pattern_of("no result")
_EDIT: Final = re.compile(pattern_of("edit").pattern, re.IGNORECASE | re.MULTILINE)
_REJECTED: Final = re.compile(pattern_of("rejected edit").pattern, re.IGNORECASE | re.MULTILINE)

_LOOKING: Final = frozenset(read_word_list("roles")["looking commands"])
_PLANNING: Final = frozenset(read_word_list("roles")["planning tools"])
_SHOWS_TEXT: Final = re.compile(r"\b(?:diff|show|log|blame|grep)\b")


@dataclass(frozen=True)
class Output:
    """An output as far as it is read. `number` counts from 1, over all that were sent."""

    number: int
    result: ToolResult
    content: str

    @property
    def tool(self) -> str:
        """The tool or command, or the output's number where none was named."""
        return self.result.tool or f"output {self.number}"

    @cached_property
    def command(self) -> str:
        """The command with single blanks, by which two runs are known to be of the same."""
        return " ".join(self.tool.split())

    @cached_property
    def is_of_file(self) -> bool:
        """True where the tool is named by the path of a file: a host read it or changed it."""
        tool = self.result.tool or ""
        return " " not in tool and "/" in tool

    @property
    def is_look_at_file(self) -> bool:
        """True for the text of a file: what its lines say of errors and counts is no end of a run."""
        return self.is_of_file and not self.is_edit

    @cached_property
    def what_it_repeats(self) -> tuple[object, ...]:
        """What two outputs have in common of which the newer one takes the older one's place.

        These are runs of one command, and looks at one place of a file. A change of a file stands for itself: what it
        says is still true where another part was read or changed since. So does a call of a tool without arguments.
        """
        if self.is_edit or not _HAS_ARGUMENTS.search(self.command):
            return (self.number,)
        if self.is_of_file:
            return (self.command, *self.lines[:1])
        return (self.command,)

    def is_newer_of_same_file(self, other: "Output") -> bool:
        """True if this output is a later one of the same file; one may be named by the end of its path."""
        if self.number < other.number or not (self.is_of_file and other.is_of_file):
            return False
        longer, shorter = self.command, other.command
        if len(longer) < len(shorter):
            longer, shorter = shorter, longer
        return longer == shorter or longer.endswith(f"/{shorter}")

    @cached_property
    def lines(self) -> list[str]:
        """Its lines without indents and colors, in their order; what every run prints is left out.

        So is that an edit was made, where the output says what it wrote. Each line stands once, of those that jobs print
        alike the first one.
        """
        if self.is_empty:
            return []
        text = self.content
        if "\x1b" in text:
            text = _COLOR.sub("", text)
        line_by_text: dict[
            str, str
        ] = {}  # by what jobs print alike: "[web] ok" and "[api] ok" are "ok"
        for raw_line in text.replace("\r", "\n").split("\n"):
            line = raw_line.strip(" \t=─│")
            line_by_text.setdefault(_JOB.sub("", line, count=1), line)
        lines = [
            line
            for line in line_by_text.values()
            if line and not _BOILERPLATE.search(line[:MOST_FORM])
        ]
        if self.is_rejected:
            return [line for line in lines if _says_rejected(line[:MOST_FORM])]
        if self.is_edit:
            return [line for line in lines if not _EDIT.search(line[:MOST_FORM])] or lines
        return lines

    @cached_property
    def written_places(self) -> tuple[int, ...]:
        """The indexes of the lines of an edit that stand in its command: what it wrote, among the lines around it."""
        if not self.is_edit or self.is_of_file:
            return ()
        return tuple(index for index, line in enumerate(self.lines) if self._has_written(line))

    def _has_written(self, line: str) -> bool:
        """Return whether the text of a line, without its number in the file, stands in the command."""
        text = _NUMBERED_LINE.sub("", line, count=1).strip()
        is_long_enough = len(text) >= _LEAST_WRITTEN
        return is_long_enough and " ".join(text.split())[:_MOST_COMPARED] in self.command

    def is_instead_of(self, other: "Output") -> bool:
        """True for an accepted edit of the same file, or of nearly the same words, as a rejected one before it."""
        if not (self.is_edit and other.is_rejected and self.number > other.number):
            return False
        if self.is_of_file or other.is_of_file:
            return self.is_newer_of_same_file(other)
        both = self.tool_terms & other.tool_terms
        return len(both) >= _SAME_WORDS * len(other.tool_terms)

    @property
    def why_rejected(self) -> tuple[int, ...]:
        """The indexes of the lines that say that a change was not made, and why: those that name an error first."""
        if not self.is_rejected:
            return ()
        errors_first = sorted(
            range(len(self.lines)), key=lambda index: not _NAMED_ERROR.match(self.lines[index])
        )
        return tuple(errors_first[:_MOST_WHY])

    @cached_property
    def terms_by_line(self) -> list[set[str]]:
        """The terms of each line."""
        return [terms_of(_JOB.sub("", line[:_MOST_LINE], count=1)) for line in self.lines]

    @cached_property
    def places_of(self) -> dict[str, list[int]]:
        """The indexes of the lines that have a term, by the term."""
        indexes: dict[str, list[int]] = {}
        for index, terms in enumerate(self.terms_by_line):
            for term in terms:
                indexes.setdefault(term, []).append(index)
        return indexes

    @cached_property
    def tool_terms(self) -> set[str]:
        """The terms of the tool or command."""
        return terms_of(self.result.tool or "")

    @cached_property
    def terms(self) -> set[str]:
        """All terms, those of the command included."""
        return self.tool_terms.union(*self.terms_by_line)

    @cached_property
    def is_listing(self) -> bool:
        """True for the lines of a file with their numbers: of these none sums up a run."""
        numbered = sum(_LISTED_LINE.match(line) is not None for line in self.lines)
        return len(self.lines) >= _LEAST_LISTED and numbered > len(self.lines) / 2

    @cached_property
    def numbered(self) -> dict[int, int]:
        """The index of each line of a file by the number that it has there.

        Empty for what is no listing, and for the lines that a search found here and there.
        """
        if self.is_rejected:
            return {}
        index_of: dict[int, int] = {}
        for index, line in enumerate(self.lines):
            number = _NUMBERED_LINE.match(line)
            if number is not None:
                index_of.setdefault(int(number[1]), index)
        is_listing = len(index_of) > len(self.lines) / 2
        if not is_listing:
            return {}
        spans = max(index_of) - min(index_of)
        has_wide_gaps = spans > _MOST_GAPS * len(index_of)
        return {} if has_wide_gaps else index_of

    @cached_property
    def is_empty(self) -> bool:
        """True where nothing was printed, or a host says so."""
        plain = self.content.strip()
        return not plain or (len(plain) < MOST_FORM and _NOTHING.fullmatch(plain) is not None)

    @cached_property
    def is_rejected(self) -> bool:
        """True for what a host answers to a change of a file that it did not make."""
        ends = (self.content[:MOST_FORM], self.content[-_MOST_END:])
        return any(_REJECTED.search(end) for end in ends)

    @cached_property
    def is_edit(self) -> bool:
        """True for what a host answers to a change of a file."""
        if self.is_rejected:
            return False
        ends = (self.content[:MOST_FORM], self.content[-MOST_FORM:])
        return any(_EDIT.search(end) for end in ends)

    @cached_property
    def sums_up(self) -> bool:
        """Whether its last lines have the form of a summary ("3 passed in 2s"); the lines of a file sum up nothing."""
        if self.is_listing:
            return False
        return any(SUMMARY.search(line[:MOST_FORM]) for line in self.lines[-_LAST_LINES:])

    @cached_property
    def roles(self) -> frozenset[str]:
        """What a run of its command shows, as `roles_in` names it for a claim; the first row that fits decides.

        | the output                                     | roles                                                        |
        |------------------------------------------------|--------------------------------------------------------------|
        | answers a change of a file                     | CHANGED                                                      |
        | is the text of a file, or of a look at one     | none                                                         |
        | is of commands                                 | those of each command (`roles_of_command`)                          |
        | of commands without any, ends as tests do      | tests, MENDED and RAN as well                                |
        """
        if self.is_edit or self.is_rejected:
            return frozenset((CHANGED,))
        if self.is_of_file or self._first_word in _LOOKING:
            return frozenset()
        roles: set[str] = set()
        if self._first_word in HISTORY_COMMANDS:
            roles.add(HISTORY)
        for started in own_commands(read_script((self.result.tool or "")[:_MOST_COMMAND])):
            roles |= roles_of_command(unwrapped(started.line))
        if roles <= {MENDED, RAN} and self._ends_as_tests:
            roles |= {ProofKind.TESTS, MENDED, RAN}
        return frozenset(roles)

    @cached_property
    def _first_word(self) -> str:
        """The first word of the command, by which one is known that was cut in the middle of a quotation."""
        return self.command.split(" ", 1)[0].lower()

    @cached_property
    def programs(self) -> set[str]:
        """The terms of the programs that the command runs: of `uv run ty check` that is "ty"."""
        if self.is_of_file:
            return set()
        terms: set[str] = set()
        for started in own_commands(read_script(self.tool[:_MOST_COMMAND])):
            words = unwrapped(started.line)
            if words:
                terms |= terms_of(words[0])
        return terms

    @cached_property
    def is_run(self) -> bool:
        """True for what a command printed that does something: no look at a file, no change of one, no history."""
        does_nothing = self.is_of_file or self.is_listing or self._first_word in _LOOKING
        is_change = self.is_edit or self.is_rejected or HISTORY in self.roles
        return not (does_nothing or is_change)

    @cached_property
    def is_act_of_git(self) -> bool:
        """True for a commit, a push and the like, which name files and say nothing of their text."""
        return HISTORY in self.roles and not _SHOWS_TEXT.search(self.command)

    @cached_property
    def is_plan(self) -> bool:
        """True for a plan and a list of what is to be done: they prove nothing of what was done."""
        return self._first_word in _PLANNING or "/plans/" in self.command

    @property
    def _ends_as_tests(self) -> bool:
        """True for an output that ends as runs of tests do, whatever its tool is called."""
        last = self.lines[-_LAST_LINES:]
        return not self.is_listing and any(TESTS_SUMMARY.search(line[:MOST_FORM]) for line in last)

    def failed(self, kind: ProofKind) -> bool:
        """Return whether this is a run of a kind that certainly failed: by its lines, or by an exit code of its own."""
        is_of_kind = kind in self.roles or (kind is ProofKind.ANY and MENDED in self.roles)
        if not is_of_kind:
            return False
        return self.outcome_of(kind).passed is False

    def outcome_of(self, kind: ProofKind) -> RunEnding:
        """Return how this ended as a run of a kind: it is read once, however many claims ask."""
        if kind not in self._outcomes:
            ending = ReportedEnding.of_command(self.result.tool or "", self.result.exit_code)
            self._outcomes[kind] = read_outcome(kind, self.content, ending)
        return self._outcomes[kind]

    @cached_property
    def _outcomes(self) -> dict[ProofKind, RunEnding]:
        """How it ended, by the kinds that were asked for."""
        return {}

    @cached_property
    def error_places(self) -> tuple[int, ...]:
        """The places of the lines that name an error."""
        return tuple(
            place
            for place, line in enumerate(self.lines)
            if ERROR.search(line[:MOST_FORM]) and tells_result(line)
        )

    @cached_property
    def summary_place(self) -> int | None:
        """The place of the last line that sums the run up."""
        return self._last_result(SUMMARY)

    @cached_property
    def tests_summary_place(self) -> int | None:
        """The place of the last line that sums tests up."""
        return self._last_result(TESTS_SUMMARY)

    def _last_result(self, form: re.Pattern[str]) -> int | None:
        """Return the place of the last line of a form that may tell a result."""
        for place in range(len(self.lines) - 1, -1, -1):
            line = self.lines[place][:MOST_FORM]
            if form.search(line) and tells_result(line):
                return place
        return None


def tells_result(line: str) -> bool:
    """Return whether a line may tell a result: not a warning of the program on itself, a log line, a traceback's head."""
    return _NO_RESULT.search(line[:MOST_FORM]) is None


def _says_rejected(line: str) -> bool:
    return _REJECTED.search(line) is not None or _NAMED_ERROR.match(line) is not None


def read_outputs_of(results: Sequence[ToolResult], older: int = 0) -> list[Output]:
    """Return the latest outputs, oldest first, as far as they are read; they are numbered behind the older ones."""
    room = _MOST_READ_IN_ALL
    outputs: list[Output] = []
    for number in range(len(results), max(0, len(results) - MOST_RESULTS), -1):
        result = results[number - 1]
        content = ends_of(result.content, min(room, _MOST_READ))
        room -= len(content)
        outputs.append(Output(older + number, result, content))
    return outputs[::-1]


def ends_of(text: str, most: int) -> str:
    """Return a text, of a long one a third of `most` from its start and the rest from its end."""
    if len(text) <= most:
        return text
    head = most // 3
    if most <= 0:
        return ""
    return f"{text[:head]}\n{text[len(text) - (most - head) :]}"
