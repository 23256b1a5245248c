"""The ledger of a session: what its calls proved, and the source files that changed after that.

Calls come one by one, in order. The reading is linear in what they say, and what cannot be read is left out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from mcp_reflect.evidence.answered_call import AnsweredCall, exit_code
from mcp_reflect.evidence.background import task_asked_for, task_end
from mcp_reflect.evidence.easier_suite import EasierSuite
from mcp_reflect.evidence.file_edits import edits_in, edits_in_patch
from mcp_reflect.evidence.kinds import ProofKind, kinds_of, kinds_of_name, may_show_any
from mcp_reflect.evidence.other_tools import is_by_agent, may_have_run
from mcp_reflect.evidence.outcomes import Ending, Outcome, read_outcome
from mcp_reflect.evidence.source_files import is_scratch, is_source
from mcp_reflect.evidence.unknown_scripts import RecordedTexts, is_script, kinds_that_end
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.shell_tools import command_text, joined
from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import Command, is_viewer, read_script, unwrapped, written_files

_MOST_PROOFS: Final = 400  # of a session, the latest
_MOST_COMMAND: Final = 120
_END: Final = 40_000  # characters of an answer that are kept at either end
_MOST_WRITTEN: Final = 20  # files of one call

_BACKGROUND_ID: Final = lazy_compile(
    r"(?:background with ID:?|session ID:?|[Bb]ackground (?:task|shell) (?:ID|id):?) ?[\"']?([\w-]{1,60})"
)
_WRITES: Final = lazy_compile(
    r"\.write(?:_text|_bytes|lines)?\(|open\([^)\n]{0,200}['\"][wa]b?\+?['\"]|writeFile|File\.write"
)
_RUNS_CHECKS: Final = lazy_compile(r"run_?(?:tests?|task|build)", re.IGNORECASE)
_AGENTS: Final = frozenset(
    {
        "task",
        "agent",
        "spawn_agent",
        "runsubagent",
        "delegate",
        "subagent",
        "wait_agent",
        "workflow",
    }
)
_READERS: Final = frozenset(
    {"explore", "plan", "statusline-setup", "claude-code-guide", "codebase_investigator"}
)
_PREPARING: Final = frozenset(
    "cd pushd popd export set source . true echo printf sleep mkdir clear date pwd wait ls cat".split()
)
_UNCHANGED: Final = lazy_compile(
    r"Already up[ -]to[ -]date|No local changes|no changes|Already on |0 files? changed|Nothing to"
)
_CHANGED: Final = lazy_compile(
    r"\breformatted\b|\bFixed [1-9]|(?<!\d)[1-9]\d* (?:(?:file|error)s? (?:changed|fixed)|fixed)"
)

# Commands of git that change files of the working tree, and the words with which they do not.
_GIT_CHANGES: Final = frozenset(
    "checkout restore stash reset merge pull rebase cherry-pick apply revert am switch clean".split()
)
_READ_PATHS: Final = ("file_path", "path", "absolute_path", "filePath")
_GIT_KEEPS: Final = frozenset(
    "-b -B -c -C --soft list show --abort create --orphan -n --dry-run --staged --cached drop".split()
)

# Options with which formatters print the files that they would change.
_LISTING: Final = frozenset(
    "-l --list-different --check -check --check-only --dry-run --test --diff".split()
)

_Link = tuple[Command, list[str]]  # with its words without wrappers


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
    def outcome(self) -> Outcome:
        """Whether it passed, and the line that says so."""
        return (
            Outcome(passed=None)
            if self.ending is None
            else read_outcome(self.kind, self.answer, self.ending)
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A change of source: the number of its call, and the file, or the command where the files are not known."""

    step: int
    what: str


@dataclass(slots=True)
class Ledger:
    """What a session proved and changed.

    `folder` is where the session works; `programs` extends the table of proofs. `partial`: the beginning is not known.
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
            for path in (
                seen.written if not call.failed and arguments.get("command") != "view" else ()
            ):
                self._changed(path)
            if not call.failed:
                self._note_edits(call)
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
        while len(self.proofs) > _MOST_PROOFS:  # runs whose kind is known say more
            del self.proofs[
                next((at for at, proof in enumerate(self.proofs) if proof.kind is ProofKind.ANY), 0)
            ]

    def _note_edits(self, call: AnsweredCall) -> None:
        """Note what a call edited, for what it does to the tests."""
        arguments = call.arguments
        edits = edits_in(arguments if isinstance(arguments, dict) else {"patch": arguments})
        for edit in edits:
            self.suite.note_edit(replace(edit, path=self._relative(edit.path)))

    def _note_read(self, arguments: dict[str, Json], call: AnsweredCall) -> None:
        """Keep the text of a file that a call read as a whole."""
        path = next((str(arguments[key]) for key in _READ_PATHS if arguments.get(key)), "")
        if path and not call.failed and not {"offset", "limit", "pattern"} & arguments.keys():
            self.suite.note_read(self._relative(path), call.answer)

    def _note_shell_edits(
        self, commands: Sequence[Command], links: Sequence[_Link], call: AnsweredCall
    ) -> None:
        """Note what commands of the shell did to the tests."""
        for command, words in links:
            written = [self._relative(path) for path in command.writes]
            self.suite.note_command(" ".join(words), call.answer, written)
            for path in words[1:] if words[:1] == ["rm"] else ():
                self.suite.note_deleted(self._relative(path))
            if words[:1] == ["git"] and not _GIT_CHANGES.isdisjoint(words[1:3]):
                self.suite.forget()
        for patch in (one.document for one in commands if "*** Begin Patch" in one.document):
            for edit in edits_in_patch(patch):
                self.suite.note_edit(replace(edit, path=self._relative(edit.path)))

    def _add_other(self, call: AnsweredCall, seen: Call) -> None:
        """Note a call of a tool that is no shell as a run of something: it may be the proof, and never speaks against."""
        if not seen.shell and may_have_run(call.tool):
            self._add_proof(ProofKind.ANY, call.tool, call.tool, call.answer, None)

    def _add_tool(self, kinds: frozenset[ProofKind], call: AnsweredCall) -> None:
        for kind in sorted(kinds):
            self._add_proof(
                kind, call.tool, call.tool, call.answer, Ending(1 if call.failed else 0)
            )

    def _add_proof(
        self, kind: ProofKind, program: str, command: str, answer: str, ending: Ending | None
    ) -> None:
        shown = " ".join(command[: 2 * _MOST_COMMAND].split())
        shown = shown if len(shown) <= _MOST_COMMAND else f"{shown[: _MOST_COMMAND - 3]}..."
        answer = answer if len(answer) <= 2 * _END else f"{answer[:_END]}\n{answer[-_END:]}"
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
        return path.removeprefix(f"{self.folder.rstrip('/')}/") if self.folder else path

    def _more_output(self, call: AnsweredCall, arguments: Mapping[str, Json]) -> bool:
        """Read what a command in the background has printed since."""
        found = task_asked_for(arguments, self._running)
        if found is None:
            return False
        end = task_end(call.answer, call.code, failed=call.failed)
        if end is None:
            return True
        code = 1 if end.code is None and end.failed else end.code
        for proof in self._running[found]:
            told = replace(proof, answer=end.output, ending=Ending(code, own=code is not None))
            if told.outcome.passed is not None and proof in self.proofs:
                self.proofs[self.proofs.index(proof)] = told
        return True

    def _run(self, command: str, call: AnsweredCall, *, background: bool) -> None:
        background = background or call.is_unended
        before = len(self.proofs)
        script = read_script(command)
        if script.is_partial:  # nobody knows what ran: no last message is held on its account
            self.delegated = self.step
            return
        commands = script.commands
        chains: dict[int, list[_Link]] = {}
        for one in commands:
            if one.script >= 0:
                chains.setdefault(one.script, []).append((one, unwrapped(one.words)))
        bodies = "\n".join(one.document for one in commands)
        for number, links in chains.items():
            # What follows a script may end otherwise than the script.
            alone = number == 0 or all(one.before in ("", "&&") for one, _ in chains.get(0, ()))
            self._chain(links, command, call, background=background, alone=alone)
            if call.code in (0, None) and not (call.failed and len(links) == 1):
                for _, words in links:
                    self._shell_change(words, bodies, call.answer)
        if call.code in (0, None) and not call.failed:
            for path in [file for one in commands for file in written_files(one)][:_MOST_WRITTEN]:
                self._changed(path)
            self._note_shell_edits(
                commands, [link for chain in chains.values() for link in chain], call
            )
        added = self.proofs[before:]
        if background and added and (found := _BACKGROUND_ID.search(call.answer[:2_000])):
            self._running[found[1]] = added

    def _chain(
        self,
        links: Sequence[_Link],
        text: str,
        call: AnsweredCall,
        *,
        background: bool,
        alone: bool,
    ) -> None:
        kinds = [kinds_of(bare, self.programs) for _, bare in links]
        code = exit_code(call)
        passing = ("&&", "|") if "pipefail" in text else ("&&",)
        for at, (command, bare) in enumerate(links):
            own = (
                alone
                and all(one.before in passing for one, _ in links[at + 1 :])
                and not text.rstrip().endswith("&")
            )
            others = [
                found
                for place, found in enumerate(kinds)
                if place != at and not _prepares(links[place][1])
            ]
            found = kinds[at]
            if not _prepares(bare) and may_show_any(bare, found, self.programs):
                found |= self._of_unknown(bare, found, text, call)
            for kind in sorted(found):
                lists = kind is ProofKind.FORMAT and not _LISTING.isdisjoint(bare)
                ending = Ending(
                    code, own=own, alone=all(kind in found for found in others), lists=lists
                )
                shown = text if len(text) <= _MOST_COMMAND else " ".join(command.line)
                known = call.answered and not background
                self._add_proof(kind, bare[0], shown, call.answer, ending if known else None)

    def _of_unknown(
        self, words: Sequence[str], kinds: frozenset[ProofKind], text: str, call: AnsweredCall
    ) -> frozenset[ProofKind]:
        """Return what else a run shows that the table does not know; what it only may show is noted here.

        A program that is not known may be the proof of anything. A script shows what its text or its output names.
        """
        if not is_script(words):
            return frozenset({ProofKind.ANY})
        ended = kinds_that_end(call.answer)
        maybe = self._texts.kinds_of_run(words, call.answer, self.programs) - ended - kinds
        for kind in sorted(maybe):
            self._add_proof(kind, words[0], text, call.answer, None)
        if ended or maybe or kinds:
            return ended
        if exit_code(call) not in (0, None):
            return frozenset({ProofKind.ANY})
        # It worked: which of those that failed before it that puts right is not known.
        self.proofs = [
            proof
            for proof in self.proofs
            if not (proof.kind is ProofKind.ANY and proof.outcome.passed is False)
        ]
        return frozenset()

    def _shell_change(self, words: Sequence[str], bodies: str, answer: str) -> None:
        """Note what a command of the shell changes of the source, as far as its words say it."""
        if not words:
            return
        program, *rest = words
        plain = [word for word in rest if not word.startswith("-")]
        what = ""
        for path in plain if program == "rm" else ():
            self._changed(path)
        if program in {"python", "node", "ruby"} and _WRITES.search(
            f"{' '.join(rest)[:20_000]}\n{bodies}"
        ):
            what = f"a script of `{program}`"
        elif (
            program == "git"
            and plain[:1]
            and plain[0] in _GIT_CHANGES
            and not _UNCHANGED.search(answer[-2_000:])
        ):
            if plain[0] == "stash":  # what runs meanwhile runs on other files
                self.delegated = self.step
            elif not _GIT_KEEPS & set(rest) and (plain[0] != "reset" or "--hard" in rest):
                what = f"`git {' '.join(rest)[:60]}`"
        elif {ProofKind.FORMAT, ProofKind.LINT} & kinds_of(
            words, self.programs
        ) and _CHANGED.search(answer):
            what = f"`{' '.join(words)[:60]}`"
        if what:
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
    return command_text(arguments) or (words if isinstance(words, str) else "")


def _prepares(words: Sequence[str]) -> bool:
    return (
        not words
        or words[0] in _PREPARING
        or is_viewer(words)
        or (words[0] == "git" and words[1:2] in (["add"], ["log"], ["status"]))
    )
