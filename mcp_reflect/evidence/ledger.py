"""The ledger of a session: what its calls proved, and the source files that changed after that.

Calls come one by one, in order. The reading is linear in what they say, and what cannot be read is left out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Final

from mcp_reflect.evidence.answered_call import AnsweredCall, exit_code
from mcp_reflect.evidence.background import task_asked_for, task_end
from mcp_reflect.evidence.chains import Link, chains_of, ends_the_chain, is_shown_by_all, prepares
from mcp_reflect.evidence.easier_suite import EasierSuite
from mcp_reflect.evidence.file_edits import FileEdit, edits_in, edits_in_patch
from mcp_reflect.evidence.kinds import ProofKind, kinds_of, kinds_of_name, may_show_any
from mcp_reflect.evidence.other_tools import is_by_agent, may_have_run
from mcp_reflect.evidence.outcomes import Ending, RunEnding, read_outcome
from mcp_reflect.evidence.shell_changes import (
    changes_with_git,
    puts_changes_away,
    removed_files,
    what_changed,
)
from mcp_reflect.evidence.shell_edits import edits_by_shell, file_shown_by
from mcp_reflect.evidence.source_files import is_scratch, is_source
from mcp_reflect.evidence.unknown_scripts import (
    RecordedTexts,
    is_script,
    kinds_named_by,
    kinds_that_end,
)
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.shell_tools import command_text, joined
from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import Command, read_script, written_files

_MOST_PROOFS: Final = 400  # of a session, the latest
_MOST_RUNNING: Final = 100  # commands in the background, the latest
_MOST_COMMAND: Final = 120
_END: Final = 40_000  # characters of an answer that are kept at either end
_MOST_WRITTEN: Final = 20  # files of one call

_BACKGROUND_ID: Final = lazy_compile(
    r"(?:background with ID:?|session ID:?|[Bb]ackground (?:task|shell) (?:ID|id):?) ?[\"']?([\w-]{1,60})"
)
_RUNS_CHECKS: Final = lazy_compile(r"run_?(?:tests?|task|build)", re.IGNORECASE)
_AGENTS: Final = frozenset(
    "task agent spawn_agent runsubagent delegate subagent wait_agent workflow sendmessage".split()
)
_READERS: Final = frozenset(
    {"explore", "plan", "statusline-setup", "claude-code-guide", "codebase_investigator"}
)
_READ_PATHS: Final = ("file_path", "path", "absolute_path", "filePath")
# Options with which formatters print the files that they would change.
_LISTING: Final = frozenset(
    "-l --list-different --check -check --check-only --dry-run --test --diff".split()
)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A run that shows something: its kind, program and command, and the number of its call.

    Its output is parsed only when `outcome` is read, because few runs of a session are needed. `ending` is None
    where that is not known.
    """

    kind: ProofKind
    program: str
    command: str
    step: int
    answer: str
    ending: Ending | None

    @cached_property
    def outcome(self) -> RunEnding:
        """Whether it passed, and the line that says so."""
        if self.ending is None:
            return RunEnding(passed=None)
        return read_outcome(self.kind, self.answer, self.ending)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of source: the number of its call, and the file, or the command where the files are not known."""

    step: int
    what: str


@dataclass(slots=True)
class Ledger:
    """What a session proved and changed.

    `folder` is where the session works; `programs` extends the table of proofs. `partial`: the beginning is not known.
    `delegated` is the last step at which anything may have run or changed unseen, -1 before any: another agent worked, a
    command could not be read as a whole, or git put changes away. What a run before it shows is not held against a claim.
    """

    folder: str = ""
    programs: tuple[str, ...] = ()
    partial: bool = False
    proofs: list[Proof] = field(default_factory=list[Proof])
    changes: list[Change] = field(default_factory=list[Change])
    step: int = 0
    delegated: int = -1
    suite: EasierSuite = field(default_factory=EasierSuite)
    _texts: RecordedTexts = field(default_factory=RecordedTexts)
    _running: dict[str, list[Proof]] = field(default_factory=dict[str, list[Proof]])

    def note(self, call: AnsweredCall) -> None:
        """Add a call. One that was refused, or that the person interrupted, is left out."""
        self.step += 1
        if call.was_not_run:
            return
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        name = call.tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1]
        if _is_delegated(call, name, arguments):
            self.delegated = self.step
            return
        if name.lower() in _AGENTS:  # one that only reads
            return
        if isinstance(call.arguments, dict | str):
            self._note_own(call, name, arguments)

    def _note_own(self, call: AnsweredCall, name: str, arguments: dict[str, Json]) -> None:
        """Note what a call of the agent itself changed, ran or read."""
        seen = Call(call.tool, call.arguments)
        if not seen.shell and seen.written:
            if not call.failed:
                self._note_written(call, seen, arguments)
            self._texts.keep_file(arguments, call.answer, failed=call.failed)
        elif command := _command_in(arguments):
            self._texts.keep_shown(command, call.answer)
            self._run(command, call, background=arguments.get("run_in_background") is True)
            self._add_other(call, seen)
        elif not self._more_output(call, arguments):
            self._texts.keep_file(arguments, call.answer, failed=call.failed)
            self._note_read(arguments, call)
            if "__" in call.tool or _RUNS_CHECKS.match(name):
                words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
                self._add_tool(kinds_of_name(words.replace("pull_request", "push")), call)
            self._add_other(call, seen)
        self._drop_excess()

    def _drop_excess(self) -> None:
        """Keep a bounded number of runs; those whose kind is known say more, and stay longest."""
        while len(self.proofs) > _MOST_PROOFS:
            unknown = (at for at, proof in enumerate(self.proofs) if proof.kind is ProofKind.ANY)
            del self.proofs[next(unknown, 0)]

    def _note_written(self, call: AnsweredCall, seen: Call, arguments: dict[str, Json]) -> None:
        """Note what a call wrote, and what its edits do to the tests; an editor's `view` only looks."""
        if arguments.get("command") != "view":
            for path in seen.written:
                self._changed(path)
        edited = call.arguments
        if not isinstance(edited, dict):
            edited = {"patch": edited}
        self._note_edits(edits_in(edited))

    def _note_edits(self, edits: Iterable[FileEdit]) -> None:
        for edit in edits:
            self.suite.note_edit(replace(edit, path=self._relative(edit.path)))

    def _note_read(self, arguments: dict[str, Json], call: AnsweredCall) -> None:
        """Keep the text of a file that a call read as a whole."""
        path = next((str(arguments[key]) for key in _READ_PATHS if arguments.get(key)), "")
        if path and not call.failed and not {"offset", "limit", "pattern"} & arguments.keys():
            self.suite.note_read(self._relative(path), call.answer)

    def _note_shell_edits(
        self, commands: Sequence[Command], links: Sequence[Link], call: AnsweredCall
    ) -> None:
        """Note what commands of the shell did to the tests."""
        for command, words in links:
            written = [self._relative(path) for path in command.writes]
            self.suite.note_command(" ".join(words), call.answer, written)
            for path in removed_files(words):
                self.suite.note_deleted(self._relative(path))
            self._note_edits(edits_by_shell(command, words))
            shown = file_shown_by(words)
            if shown and len(links) == 1:
                self.suite.note_read(self._relative(shown), call.answer)
            if changes_with_git(words):
                self.suite.forget()
        for command in commands:
            if "*** Begin Patch" in command.document:
                self._note_edits(edits_in_patch(command.document))

    def _add_other(self, call: AnsweredCall, seen: Call) -> None:
        """Note a call of a tool that is no shell as a run of something: it may be the proof, and never speaks against."""
        if not seen.shell and may_have_run(call.tool):
            self._add_proof(ProofKind.ANY, call.tool, call.tool, call.answer, None)

    def _add_tool(self, kinds: frozenset[ProofKind], call: AnsweredCall) -> None:
        ending = Ending(int(call.failed))
        for kind in sorted(kinds):
            self._add_proof(kind, call.tool, call.tool, call.answer, ending)

    def _add_proof(
        self, kind: ProofKind, program: str, command: str, answer: str, ending: Ending | None
    ) -> None:
        """Keep a run as a proof, with the start of its command, and of a long answer the start and the end, which tell most."""
        shown = " ".join(command[: 2 * _MOST_COMMAND].split())
        if len(shown) > _MOST_COMMAND:
            shown = f"{shown[: _MOST_COMMAND - 3]}..."
        if len(answer) > 2 * _END:
            answer = f"{answer[:_END]}\n{answer[-_END:]}"
        proof = Proof(
            kind=kind, program=program, command=shown, step=self.step, answer=answer, ending=ending
        )
        self.proofs.append(proof)

    def _changed(self, path: str) -> None:
        """Note the change of a file of source; documents, scratch files and files of unknown types do not count."""
        relative = self._relative(path)
        inside = relative != path
        if is_source(relative) and (inside or not is_scratch(path)):
            self.changes.append(Change(self.step, relative))

    def _relative(self, path: str) -> str:
        """Return a path as the folder of the session has it."""
        if self.folder:
            return path.removeprefix(f"{self.folder.rstrip('/')}/")
        return path

    def _more_output(self, call: AnsweredCall, arguments: Mapping[str, Json]) -> bool:
        """Read what a command in the background has printed since."""
        found = task_asked_for(arguments, self._running)
        if found is None:
            return False
        end = task_end(call.answer, call.code, failed=call.failed)
        if end is None:
            return True
        code = end.code
        if code is None and end.failed:
            code = 1
        for proof in self._running[found]:
            told = replace(proof, answer=end.output, ending=Ending(code, own=code is not None))
            if told.outcome.passed is not None and proof in self.proofs:
                self.proofs[self.proofs.index(proof)] = told
        return True

    def _run(self, command: str, call: AnsweredCall, *, background: bool) -> None:
        """Note what a command of the shell ran and changed, one of its scripts after the other."""
        self.suite.note_output(call.answer)
        script = read_script(command)
        if script.is_partial:  # nobody knows what ran: no last message is held on its account
            self.delegated = self.step
            return
        is_unended = background or call.is_unended
        count_before = len(self.proofs)
        chains = chains_of(script.commands)
        bodies = "\n".join(link.document for link in script.commands)
        for number, links in chains.items():
            # What follows a script may end otherwise than the script.
            outer = chains.get(0, ())
            alone = number == 0 or all(link.before in ("", "&&") for link, _ in outer)
            self._chain(links, command, call, background=is_unended, alone=alone)
            if call.code in (0, None) and not (call.failed and len(links) == 1):
                for _, words in links:
                    self._shell_change(words, bodies, call.answer)
        if call.code in (0, None) and not call.failed:
            written = chain.from_iterable(map(written_files, script.commands))
            for path in islice(written, _MOST_WRITTEN):
                self._changed(path)
            self._note_shell_edits(script.commands, [*chain.from_iterable(chains.values())], call)
        added = self.proofs[count_before:]
        if is_unended and added and (task := _BACKGROUND_ID.search(call.answer[:2_000])):
            self._running[task[1]] = added
            while len(self._running) > _MOST_RUNNING:
                del self._running[next(iter(self._running))]

    def _chain(
        self,
        links: Sequence[Link],
        text: str,
        call: AnsweredCall,
        *,
        background: bool,
        alone: bool,
    ) -> None:
        """Note what each command of a chain shows, with how it ended as far as the end of the chain says it."""
        kinds = [kinds_of(bare, self.programs) for _, bare in links]
        code = exit_code(call)
        is_known = call.answered and not background
        for at, (command, bare) in enumerate(links):
            shows = kinds[at]
            if not prepares(bare) and may_show_any(bare, shows, self.programs):
                shows |= self._note_unknown(bare, shows, text, call)
            shown = text
            if len(text) > _MOST_COMMAND:
                shown = " ".join(command.line)
            own = alone and ends_the_chain(links, at, text)
            for kind in sorted(shows):
                ending = None
                if is_known:
                    is_only_one = is_shown_by_all(kind, links, kinds, at)
                    lists = kind is ProofKind.FORMAT and not _LISTING.isdisjoint(bare)
                    ending = Ending(code, own=own, alone=is_only_one, lists=lists)
                self._add_proof(kind, bare[0], shown, call.answer, ending)

    def _note_unknown(
        self, words: Sequence[str], kinds: frozenset[ProofKind], text: str, call: AnsweredCall
    ) -> frozenset[ProofKind]:
        """Note what a run that the table does not know only may show; return what it shows beside the known `kinds`."""
        if is_script(words):
            return self._note_script(words, kinds, text, call)
        return self._note_unknown_program(words, kinds, text, call)

    def _note_unknown_program(
        self, words: Sequence[str], kinds: frozenset[ProofKind], text: str, call: AnsweredCall
    ) -> frozenset[ProofKind]:
        """A program that is not known may be the proof of anything: `frobnicate --all` shows `ANY`.

        Where it has not failed, it also may show what its words name (`frobnicate test`) or its output ends with.
        """
        has_failed = exit_code(call) not in (0, None)
        if not has_failed:
            named = kinds_named_by(words, self.programs) | kinds_that_end(call.answer)
            self._add_possible(named - kinds, words[0], text, call)
        return frozenset({ProofKind.ANY})

    def _note_script(
        self, words: Sequence[str], kinds: frozenset[ProofKind], text: str, call: AnsweredCall
    ) -> frozenset[ProofKind]:
        """A script, such as `python tool.py`, shows what its output ends with, and may show what its text names.

        One that neither says anything shows `ANY` where it failed. Where it worked, it shows nothing, but which of the
        unknown runs that failed before it was put right is not known: these no longer count.
        """
        ended = kinds_that_end(call.answer)
        maybe = self._texts.kinds_of_run(words, call.answer, self.programs) - ended - kinds
        self._add_possible(maybe, words[0], text, call)
        if ended or maybe or kinds:
            return ended
        has_failed = exit_code(call) not in (0, None)
        if has_failed:
            return frozenset({ProofKind.ANY})
        self._drop_unknown_failures()
        return frozenset()

    def _drop_unknown_failures(self) -> None:
        """Forget failed runs of unknown programs, since a later good end outdates them."""
        self.proofs = [
            proof
            for proof in self.proofs
            if not (proof.kind is ProofKind.ANY and proof.outcome.passed is False)
        ]

    def _add_possible(
        self, kinds: frozenset[ProofKind], program: str, text: str, call: AnsweredCall
    ) -> None:
        """Add what a run may show; how it ended is not known."""
        for kind in sorted(kinds):
            self._add_proof(kind, program, text, call.answer, None)

    def _shell_change(self, words: Sequence[str], bodies: str, answer: str) -> None:
        """Note what a command of the shell changes of the source, as far as its words say it."""
        if not words:
            return
        for path in removed_files(words):
            self._changed(path)
        if puts_changes_away(words, answer):
            self.delegated = self.step
        if what := what_changed(words, bodies, answer, self.programs):
            self.changes.append(Change(self.step, what))


def _is_delegated(call: AnsweredCall, name: str, arguments: Mapping[str, Json]) -> bool:
    """Return whether a call had another agent work, which may have run or changed anything."""
    if name.lower() in _AGENTS:
        kind = str(arguments.get("subagent_type", arguments.get("agent_type", "")))
        return kind.lower() not in _READERS
    return is_by_agent(call.tool, call.answer)


def _command_in(arguments: dict[str, Json]) -> str:
    """Return the command among the arguments of a call, also where it stands as a list of words."""
    words = arguments.get("argv")
    if isinstance(words, list) and words:
        return joined([str(word) for word in words])
    command = command_text(arguments)
    if command or not isinstance(words, str):
        return command
    return words
