"""What the calls of a session do to the tests: their edits of files, told to the `EasierSuite`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.evidence.answered_call import AnsweredCall
from mcp_reflect.evidence.chains import ChainedCommand
from mcp_reflect.evidence.easier_suite import EasierSuite
from mcp_reflect.evidence.file_edits import FileEdit, edits_in, edits_in_patch
from mcp_reflect.evidence.shell_changes import changes_with_git, removed_files
from mcp_reflect.evidence.shell_edits import edits_by_shell, file_shown_by
from mcp_reflect.evidence.source_files import path_within
from mcp_reflect.models.common import Json
from mcp_reflect.shell import Command

_PATHS: Final = ("file_path", "path", "absolute_path", "filePath")
_PARTIAL_READS: Final = frozenset({"offset", "limit", "pattern"})
"""Arguments with which a call reads a part of a file."""


@dataclass(frozen=True, slots=True)
class SuiteWatcher:
    """Tells a suite what calls do to its files, by their paths within the `folder` of the session."""

    suite: EasierSuite
    folder: str

    def note_editor(self, arguments: Json) -> None:
        """Note the edits of a call of an editor; a text in place of arguments is a patch."""
        if not isinstance(arguments, dict):
            arguments = {"patch": arguments}
        self._note_edits(edits_in(arguments))

    def note_reader(self, arguments: Mapping[str, Json], call: AnsweredCall) -> None:
        """Note the text of a file that a call read as a whole."""
        if call.failed or not _PARTIAL_READS.isdisjoint(arguments):
            return
        named = [str(arguments[key]) for key in _PATHS if arguments.get(key)]
        if named:
            self.suite.note_read(path_within(self.folder, named[0]), call.answer)

    def note_shell(
        self, commands: Sequence[Command], links: Sequence[ChainedCommand], call: AnsweredCall
    ) -> None:
        """Note what commands of a shell did to the tests: what they write, remove, edit, print or bring back with git."""
        is_only_command = len(links) == 1
        for link in links:
            self._note_command(link, call, is_only_command=is_only_command)
        for command in commands:
            if "*** Begin Patch" in command.document:
                self._note_edits(edits_in_patch(command.document))

    def _note_command(
        self, link: ChainedCommand, call: AnsweredCall, *, is_only_command: bool
    ) -> None:
        """Note one command; what it prints is known where it is the only one of the call."""
        command, words = link
        written = [path_within(self.folder, path) for path in command.writes]
        self.suite.note_command(" ".join(words), call.answer, written)
        for path in removed_files(words):
            self.suite.note_deleted(path_within(self.folder, path))
        self._note_edits(edits_by_shell(command, words))
        printed_file = file_shown_by(words)
        if printed_file and is_only_command:
            self.suite.note_read(path_within(self.folder, printed_file), call.answer)
        if changes_with_git(words):
            self.suite.forget()

    def _note_edits(self, edits: Iterable[FileEdit]) -> None:
        """Note edits by their paths within the session's folder."""
        for edit in edits:
            self.suite.note_edit(replace(edit, path=path_within(self.folder, edit.path)))
