"""A suite that got easier by a session's own edits: tests or assertions removed or weakened, skips or `only` added.

Only what is plain counts. Tests that move, get another name or become cases of one test are still there, what the
session itself added it may remove, and a test of a function that went may go with it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.evidence.file_edits import FileEdit
from mcp_reflect.evidence.suite_text import (
    SuiteText,
    defined_names,
    has_failed_tests,
    holds_rust_tests,
    is_snapshot_file,
    is_test_file,
    read_suite_text,
    rewrites_snapshots,
    tests_left_out,
)
from mcp_reflect.evidence.weaker_assertions import changed_value, is_implied, is_weaker

_MOST_FILES: Final = 30  # files whose text is kept, the latest
_MOST_TEXT: Final = 60_000  # characters of a kept file
_MOST_LOST: Final = 200  # parts of each kind that are kept, the latest
_MOST_NAME: Final = 40  # characters of a name that is shown
_MOST_PATH: Final = 60  # characters of a path that is shown, its end
_MOST_NAMED: Final = 3  # facts in one line
_MOST_OUTPUT: Final = 20_000  # characters of the output of a run that failed, its end
_NAME: Final = re.compile(r"\w{3,80}")
_LINE_NUMBERS: Final = re.compile(r"(?m)^ {0,8}\d{1,6}[→\t]")


@dataclass(frozen=True, slots=True)
class _LostPart:
    """A test (by its name) or an assertion (by its line) that an edit removed, with the text around it."""

    path: str
    what: str
    context: str


@dataclass(slots=True)
class EasierSuite:
    """What the edits of a session did to the suite so far.

    | attribute                           | what it has                                                               |
    |-------------------------------------|---------------------------------------------------------------------------|
    | `_texts`                            | files that were read or written as a whole, by their paths                |
    | `_written`                          | the paths of files that the session made itself                           |
    | `_tests`, `_assertions`             | what edits removed                                                        |
    | `_weakened`, `_values`              | assertions that say less, or expect what a failed run returned            |
    | `_gained`                           | what edits added, by its name or line                                     |
    | `_gone`                             | the names of what was tested and is no longer there                       |
    | `_skips`, `_onlys`, `_swallowed`    | how many more of these a file has                                         |
    | `_left_out`                         | how many more times its settings leave tests out                          |
    | `_failed_run`                       | the output of the last run that failed, while the session edits tests alone |
    """

    _texts: dict[str, str] = field(default_factory=dict[str, str])
    _written: set[str] = field(default_factory=set[str])
    _tests: list[_LostPart] = field(default_factory=list[_LostPart])
    _assertions: list[_LostPart] = field(default_factory=list[_LostPart])
    _weakened: list[_LostPart] = field(default_factory=list[_LostPart])
    _values: list[_LostPart] = field(default_factory=list[_LostPart])
    _gained: Counter[str] = field(default_factory=Counter[str])
    _gone: set[str] = field(default_factory=set[str])
    _skips: Counter[str] = field(default_factory=Counter[str])
    _onlys: Counter[str] = field(default_factory=Counter[str])
    _swallowed: Counter[str] = field(default_factory=Counter[str])
    _left_out: Counter[str] = field(default_factory=Counter[str])
    _failed_run: str = ""
    _edits_tests_alone: bool = True
    _snapshots: list[str] = field(default_factory=list[str])

    def note_read(self, path: str, text: str) -> None:
        """Keep the text of a test file that was read as a whole, to compare it with what is written."""
        if is_test_file(path):
            self._keep(path, _LINE_NUMBERS.sub("", text[:_MOST_TEXT]))

    def note_command(self, command: str, output: str, written: Sequence[str]) -> None:
        """Note a command: it may have rewritten snapshots; the files that it writes are the session's own."""
        self._written.update(path for path in written if path not in self._texts)
        if not all(map(is_test_file, written)):
            self._note_other_edit()
        if rewrites_snapshots(command, output):
            self._snapshots.append(
                f"snapshots were rewritten by `{' '.join(command.split())[:60]}`"
            )

    def note_output(self, output: str) -> None:
        """Note what a command printed: where a run of tests failed, it shows what came back."""
        end_of_output = output[-_MOST_OUTPUT:]
        if self._edits_tests_alone and has_failed_tests(end_of_output):
            self._failed_run = end_of_output

    def forget(self) -> None:
        """Forget what got easier: git has brought other states of the files."""
        for lost in (self._tests, self._assertions, self._weakened, self._values, self._snapshots):
            lost.clear()
        for counted in (self._skips, self._onlys, self._swallowed, self._left_out):
            counted.clear()
        self._texts.clear()

    def note_deleted(self, path: str) -> None:
        """Note a file that was deleted; of one that was never read nobody knows which tests it had."""
        old = self._texts.pop(path, None)
        if old is not None and path not in self._written:
            self._compare(path, old, "")
        elif not is_test_file(path):
            self._gone.add(path.rpartition("/")[2].partition(".")[0])

    def note_edit(self, edit: FileEdit) -> None:
        """Note an edit of any file, by what the file is.

        - a snapshot: it got easier where its old text is known and is not the session's own
        - a test: the tests and assertions of the old text and the new one are compared
        - other source: the names that it no longer defines, because their tests may go with them

        An edit has a piece of the file, old and new, or the whole new file (`old` is None), or it deletes it (`new`).
        """
        if edit.new is None:
            self.note_deleted(edit.path)
            return
        path, new = edit.path, edit.new
        kept_text = self._texts.get(path)
        old = kept_text if edit.old is None else edit.old
        if is_snapshot_file(path):
            if old and path not in self._written:
                self._snapshots.append(f"the snapshots in {path} were edited")
        elif is_test_file(path) or holds_rust_tests(path, f"{old}\n{new}"):
            if old is None:  # nobody read it: the session's own file, as far as can be known
                self._written.add(path)
            self._compare(path, old or "", new)
        else:
            self._note_other_edit()
            self._gone |= defined_names(old or "") - defined_names(new)
        if old is not None:
            _count_up(self._left_out, path, tests_left_out(path, new) - tests_left_out(path, old))
        if edit.old is None:
            self._keep(path, new)
        elif kept_text is not None:
            self._keep(path, kept_text.replace(edit.old, new, 1))

    def facts(self) -> list[str]:
        """Return what got easier and still is, one fact a file and a kind: "tests/test_a.py has 2 more skips"."""
        facts = [
            _counted(path, f"lost {{}} test{{}} ({_some(lost)})", len(lost))
            for path, lost in self._still_lost(self._tests)
        ]
        lost_assertions = (
            ("lost {} assertion{}", self._assertions),
            ("has {} assertion{} that says less", self._weakened),
            ("now expects what the failed run returned, in {} assertion{}", self._values),
        )
        for sentence, lost in lost_assertions:
            for path, lines in self._still_lost(lost):
                facts.append(_counted(path, sentence, len(lines)))
        more_of = (
            ("has {} more skip{}", self._skips),
            ("has {} more `only`", self._onlys),
            ("hides {} more failure{}", self._swallowed),
            ("leaves out tests in {} more place{}", self._left_out),
        )
        for sentence, counts in more_of:
            for path, count in counts.items():
                if count > 0:
                    facts.append(_counted(path, sentence, count))
        return [*facts, *self._snapshots[-1:]]

    def _note_other_edit(self) -> None:
        """Note that something else than tests changed: what the tests now expect may be what it was changed to do."""
        self._edits_tests_alone = False
        self._failed_run = ""
        self._values.clear()

    def _keep(self, path: str, text: str) -> None:
        """Keep a file's text, put last, so that the oldest is dropped first where there are too many."""
        self._texts.pop(path, None)
        self._texts[path] = text[:_MOST_TEXT]
        while len(self._texts) > _MOST_FILES:
            self._texts.pop(next(iter(self._texts)))

    def _compare(self, path: str, old_text: str, new_text: str) -> None:
        """Note what the new text of a test file lacks. A file that the session wrote itself loses nothing.

        - what is new is gained, wherever it stands: a test that moves to another file is lost there and gained here
        - more skips, `only` or hidden failures count, unless the edit adds a test: a new test that is skipped takes
          nothing away
        - tests count as lost where none is added: "test_a" in the place of "test_b" is another name for it. With another
          table of cases they may be cases now
        - assertions count as lost or weakened only while the tests stay the same
        """
        old, new = read_suite_text(old_text), read_suite_text(new_text)
        added, removed = new.tests - old.tests, old.tests - new.tests
        self._gained.update(added)
        self._gained.update(new.assertions - old.assertions)
        if path in self._written or added:
            return
        _count_up(self._skips, path, new.skips - old.skips)
        _count_up(self._onlys, path, new.onlys - old.onlys)
        _count_up(self._swallowed, path, new.swallowed - old.swallowed)
        has_more_tables = new.parametrized > old.parametrized
        if has_more_tables:
            return
        if removed:
            self._tests += [_LostPart(path, name, old_text) for name in sorted(removed)]
        elif not _is_a_fixture(old_text, old):
            self._compare_assertions(path, old, new)
        for lost in (self._tests, self._assertions, self._weakened, self._values):
            del lost[:-_MOST_LOST]

    def _compare_assertions(self, path: str, old: SuiteText, new: SuiteText) -> None:
        """Note which assertions are gone, which say less, and which expect what the failed run returned."""
        self._assertions += [_LostPart(path, line, line) for line in _removed_assertions(old, new)]
        removed = (old.assertions - new.assertions).elements()
        added = (new.assertions - old.assertions).elements()
        for old_line, new_line in zip(removed, added, strict=False):
            if is_weaker(new_line, old_line):
                self._weakened.append(_LostPart(path, old_line, old_line))
            elif self._is_value_of_the_failed_run(new_line, old_line):
                self._values.append(_LostPart(path, old_line, old_line))

    def _is_value_of_the_failed_run(self, new: str, old: str) -> bool:
        """True where an assertion now expects what the failed run showed in the place of what it expected."""
        changed = changed_value(new, old)
        return changed is not None and all(
            re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", self._failed_run)
            for value in changed
        )

    def _still_lost(self, lost: list[_LostPart]) -> list[tuple[str, list[str]]]:
        """Return by file what is nowhere again; what the session had added itself is not lost."""
        gained = self._gained.copy()
        lost_by_path: dict[str, list[str]] = {}
        for part in lost:
            if gained[part.what] > 0:
                gained[part.what] -= 1
                continue
            is_of_what_is_gone = not self._gone.isdisjoint(_NAME.findall(part.context))
            if not is_of_what_is_gone:
                lost_by_path.setdefault(part.path, []).append(part.what)
        return list(lost_by_path.items())


def easier_text(facts: Sequence[str]) -> str:
    """Return what is said of a suite that got easier, as a fact."""
    named = list(facts[:_MOST_NAMED])
    if len(facts) > _MOST_NAMED:
        named.append(f"{len(facts) - _MOST_NAMED} more")
    return f"By this session's own edits the tests got easier: {'; '.join(named)}."


def _removed_assertions(old: SuiteText, new: SuiteText) -> list[str]:
    """Return the assertions that nothing took the place of.

    - another assertion took it, or a call that may hold it: not a call of what the assertion itself called
    - the same one is still there, or one that says more of the same value
    """
    removed = list((old.assertions - new.assertions).elements())
    added_calls = new.own_calls - old.own_calls
    holds_assertions = any(not _is_called_in(call, removed) for call in added_calls)
    if new.assertions - old.assertions or holds_assertions:
        return []
    remaining = list(new.assertions)
    return [
        line for line in removed if line not in new.assertions and not is_implied(line, remaining)
    ]


def _is_called_in(call: str, assertions: Sequence[str]) -> bool:
    """True for `withdraw(1)` where `assertThrows(..., () -> withdraw(-1))` stood: it asserts nothing by itself."""
    called = call.partition("(")[0].split()[-1:]
    return any(f"{name}(" in assertion for name in called for assertion in assertions)


def _is_a_fixture(text: str, read: SuiteText) -> bool:
    """True for a piece that only has a fixture, whose assertions are no test."""
    return not read.tests and "fixture" in text


def _count_up(counts: Counter[str], path: str, more: int) -> None:
    """Add to what a file has more of than before; what it has less of takes nothing from other files."""
    counts[path] = max(0, counts[path] + more)


def _some(names: Sequence[str]) -> str:
    """Return the first two names, cut where they are long."""
    shown = ", ".join(name[:_MOST_NAME] for name in names[:2])
    if len(names) > 2:
        return f"{shown}, ..."
    return shown


def _counted(path: str, sentence: str, count: int) -> str:
    """Return a fact about a file: "lost {} assertion{}" and 2 give "tests/test_a.py lost 2 assertions"."""
    shown_path = path
    if len(path) > _MOST_PATH:
        shown_path = f"...{path[3 - _MOST_PATH :]}"
    plural = "" if count == 1 else "s"
    return f"{shown_path} {sentence.format(count, plural)}"
