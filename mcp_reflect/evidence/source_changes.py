"""The changes of source in a session: what ran before them may be stale."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mcp_reflect.evidence.source_files import is_scratch, is_source, path_within


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A change of source: the number of its call, and the file, or the command where the files are not known."""

    step: int
    what: str


@dataclass(slots=True)
class SourceChanges:
    """The changes of source in a session, in the order of their calls; `folder` is where the session works."""

    folder: str
    changes: list[SourceChange] = field(default_factory=list[SourceChange])

    def note_files(self, step: int, paths: Sequence[str]) -> None:
        """Note changed files; documents, scratch files and files of unknown types are left out."""
        for path in paths:
            named = path_within(self.folder, path)
            is_inside = named != path
            if is_source(named) and (is_inside or not is_scratch(path)):
                self.changes.append(SourceChange(step, named))

    def note_command(self, step: int, command: str) -> None:
        """Note a command that changed files whose names it does not say."""
        self.changes.append(SourceChange(step, command))
