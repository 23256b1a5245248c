"""The ledger of a session: what its calls proved, and the source files that changed after that.

Here each call is told to those who keep an account of it: its proofs (`proofs`, `shell_proofs`), the changes of source
(`source_changes`), what became of the tests (`suite_watcher`), and the texts of scripts (`unknown_scripts`). Calls come one by
one, in order. The reading is linear in what they say, and what cannot be read is left out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final

from mcp_reflect.evidence.answered_call import AnsweredCall
from mcp_reflect.evidence.chains import ChainedCommand, chains_of
from mcp_reflect.evidence.easier_suite import EasierSuite
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.name_kinds import kinds_of_name
from mcp_reflect.evidence.other_tools import is_by_agent, may_have_run
from mcp_reflect.evidence.outcomes import ReportedEnding
from mcp_reflect.evidence.proofs import Proof, SessionProofs
from mcp_reflect.evidence.shell_changes import puts_changes_away, removed_files, what_changed
from mcp_reflect.evidence.shell_proofs import AnsweredScript, ChainReader
from mcp_reflect.evidence.source_changes import SourceChange, SourceChanges
from mcp_reflect.evidence.suite_watcher import SuiteWatcher
from mcp_reflect.evidence.unknown_scripts import RecordedTexts
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.shell_tools import command_text, joined
from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import Command, read_script, written_files

_MOST_WRITTEN: Final = 20  # files of one call
_MOST_OPENING: Final = 2_000  # characters of an answer in which the id of a task stands

_BACKGROUND_ID: Final = lazy_compile(
    r"(?:background with ID:?|session ID:?|[Bb]ackground (?:task|shell) (?:ID|id):?) ?[\"']?([\w-]{1,60})"
)
_CHECKING_TOOL: Final = lazy_compile(r"run_?(?:tests?|task|build)", re.IGNORECASE)
"""The beginning of the name of a tool that runs checks: `run_tests`, `runTask`."""

_AGENTS: Final = frozenset(
    "task agent spawn_agent runsubagent delegate subagent wait_agent workflow sendmessage".split()
)
"""Names of tools that have another agent work."""

_READING_AGENTS: Final = frozenset(
    {"explore", "plan", "statusline-setup", "claude-code-guide", "codebase_investigator"}
)
"""Kinds of agents that change nothing and run no checks."""


@dataclass(slots=True)
class Ledger:
    """What a session proved and changed.

    | field              | what it has                                                                            |
    |--------------------|----------------------------------------------------------------------------------------|
    | `folder`           | where the session works                                                                |
    | `programs`         | entries that extend the table of proofs                                                |
    | `partial`          | whether the beginning of the session is not known                                      |
    | `step`             | the number of calls until now, which is the number of the latest one                   |
    | `last_unseen_step` | the last call at which anything may have run or changed unseen, -1 before any          |
    | `suite`            | what became of the tests                                                               |

    Something is unseen where another agent worked, a command could not be read as a whole, or git put changes away. What a
    run before that shows is not held against a claim.
    """

    folder: str = ""
    programs: tuple[str, ...] = ()
    partial: bool = False
    step: int = 0
    last_unseen_step: int = -1
    suite: EasierSuite = field(default_factory=EasierSuite)
    _proofs: SessionProofs = field(default_factory=SessionProofs)
    _changes: SourceChanges = field(default_factory=lambda: SourceChanges(""))
    _texts: RecordedTexts = field(default_factory=RecordedTexts)

    def __post_init__(self) -> None:
        """Name files within the folder of the session."""
        self._changes.folder = self.folder

    @property
    def proofs(self) -> list[Proof]:
        """The runs that show something, in the order of their calls."""
        return self._proofs.proofs

    @property
    def changes(self) -> list[SourceChange]:
        """The changes of source, in the order of their calls."""
        return self._changes.changes

    @property
    def _suite_watcher(self) -> SuiteWatcher:
        """Tells the suite what calls do to its files."""
        return SuiteWatcher(self.suite, self.folder)

    def note(self, call: AnsweredCall) -> None:
        """Add a call; the first row that fits decides.

        | the call                                                | is noted as                               |
        |---------------------------------------------------------|-------------------------------------------|
        | was refused, or the person interrupted it               | nothing                                   |
        | had another agent work, which may run and change things | something unseen                          |
        | had an agent work that only reads                       | nothing                                   |
        | is the agent's own                                      | what it changed, ran or read              |
        """
        self.step += 1
        if call.was_not_run:
            return
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        name = call.tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1]
        if _is_by_working_agent(call, name, arguments):
            self.last_unseen_step = self.step
            return
        is_by_reading_agent = name.lower() in _AGENTS
        if is_by_reading_agent:
            return
        if isinstance(call.arguments, dict | str):
            self._note_own_call(call, name, arguments)
            self._proofs.drop_excess()

    def _note_own_call(self, call: AnsweredCall, name: str, arguments: dict[str, Json]) -> None:
        """Note what a call of the agent itself changed, ran or read; the first row that fits decides.

        | the call                             | is noted as                                                        |
        |--------------------------------------|--------------------------------------------------------------------|
        | writes files, without a shell        | changes of source and of the tests                                 |
        | has a command                        | what the command ran and changed                                   |
        | asks for the output of a task        | the end of the runs in that task                                   |
        | any other                            | the text of a file that it read, and what its name says that it ran |
        """
        guarded_call = Call(call.tool, call.arguments)
        command = _command_in(arguments)
        if not guarded_call.shell and guarded_call.written:
            self._note_editor(call, guarded_call.written, arguments)
        elif command:
            self._texts.keep_shown(command, call.answer)
            self._note_command(
                command, call, is_in_background=arguments.get("run_in_background") is True
            )
            self._note_other_tool(call, is_shell=guarded_call.shell)
        elif not self._proofs.note_output_of_task(call, arguments):
            self._texts.keep_file(arguments, call.answer, failed=call.failed)
            self._suite_watcher.note_reader(arguments, call)
            self._note_checking_tool(call, name)
            self._note_other_tool(call, is_shell=guarded_call.shell)

    def _note_editor(
        self, call: AnsweredCall, written: Sequence[str], arguments: dict[str, Json]
    ) -> None:
        """Note what a call wrote, and what its edits do to the tests; an editor's `view` only looks."""
        if not call.failed:
            if arguments.get("command") != "view":
                self._changes.note_files(self.step, written)
            self._suite_watcher.note_editor(call.arguments)
        self._texts.keep_file(arguments, call.answer, failed=call.failed)

    def _note_checking_tool(self, call: AnsweredCall, name: str) -> None:
        """Note what a tool of a server, or one that runs checks, shows by its name: tests of `runTests`."""
        if "__" not in call.tool and not _CHECKING_TOOL.match(name):
            return
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("pull_request", "push")
        for kind in sorted(kinds_of_name(words)):
            self._add_proof_of_tool(kind, call, ReportedEnding(int(call.failed)))

    def _note_other_tool(self, call: AnsweredCall, *, is_shell: bool) -> None:
        """Note a call of a tool that is no shell as a run of something: it may be the proof, and never speaks against."""
        if not is_shell and may_have_run(call.tool):
            self._add_proof_of_tool(ProofKind.ANY, call, None)

    def _add_proof_of_tool(
        self, kind: ProofKind, call: AnsweredCall, ending: ReportedEnding | None
    ) -> None:
        """Keep a proof that a tool gives, which is its own program."""
        self._proofs.add(
            kind,
            program=call.tool,
            command=call.tool,
            step=self.step,
            answer=call.answer,
            ending=ending,
        )

    def _note_command(self, text: str, call: AnsweredCall, *, is_in_background: bool) -> None:
        """Note what a command of a shell ran and changed, one of its scripts after the other."""
        self.suite.note_output(call.answer)
        script = read_script(text)
        if script.is_partial:  # nobody knows what ran: no last message is held on its account
            self.last_unseen_step = self.step
            return
        is_unended = is_in_background or call.is_unended
        run = AnsweredScript(script=text, call=call, step=self.step, is_unended=is_unended)
        count_before = len(self.proofs)
        chains = chains_of(script.commands)
        self._note_chains(chains, script.commands, run)
        if call.code in (0, None) and not call.failed:
            written = chain.from_iterable(map(written_files, script.commands))
            self._changes.note_files(self.step, [*islice(written, _MOST_WRITTEN)])
            links = [*chain.from_iterable(chains.values())]
            self._suite_watcher.note_shell(script.commands, links, call)
        added = self.proofs[count_before:]
        if is_unended and added:
            task = _BACKGROUND_ID.search(call.answer[:_MOST_OPENING])
            if task is not None:
                self._proofs.keep_for_task(task[1], added)

    def _note_chains(
        self,
        chains: Mapping[int, Sequence[ChainedCommand]],
        commands: Sequence[Command],
        run: AnsweredScript,
    ) -> None:
        """Note what the chains of a script prove and change; `chains` has them by their script, the outermost by 0.

        The exit code is that of an inner script (`bash -c "…"`) only where nothing but `&&` stands in the outermost one:
        what follows may end otherwise.
        """
        reader = ChainReader(self._proofs, self._texts, self.programs)
        documents = "\n".join(command.document for command in commands)
        passes_code_on = all(link.command.before in ("", "&&") for link in chains.get(0, ()))
        call = run.call
        for script, links in chains.items():
            is_outermost = script == 0
            reader.note_chain(links, run, is_alone=is_outermost or passes_code_on)
            is_failed_command = call.failed and len(links) == 1
            if call.code in (0, None) and not is_failed_command:
                for link in links:
                    self._note_changes_by(link.words, documents, call.answer)

    def _note_changes_by(self, words: Sequence[str], documents: str, answer: str) -> None:
        """Note what a command of a shell changes of the source, as far as its words say it."""
        if not words:
            return
        self._changes.note_files(self.step, removed_files(words))
        if puts_changes_away(words, answer):
            self.last_unseen_step = self.step
        changing_command = what_changed(words, documents, answer, self.programs)
        if changing_command:
            self._changes.note_command(self.step, changing_command)


def _is_by_working_agent(call: AnsweredCall, name: str, arguments: Mapping[str, Json]) -> bool:
    """Return whether a call had another agent work, which may have run or changed anything."""
    if name.lower() in _AGENTS:
        kind = str(arguments.get("subagent_type", arguments.get("agent_type", "")))
        return kind.lower() not in _READING_AGENTS
    return is_by_agent(call.tool, call.answer)


def _command_in(arguments: dict[str, Json]) -> str:
    """Return the command among the arguments of a call, also where it stands as a list of words; empty for none."""
    words = arguments.get("argv")
    if isinstance(words, list) and words:
        return joined([str(word) for word in words])
    command = command_text(arguments)
    if command or not isinstance(words, str):
        return command
    return words
