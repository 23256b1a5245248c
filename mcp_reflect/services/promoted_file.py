"""A file with our block of lessons in it: how it is read, and which text it has with other lines in the block.

What was promoted into a file is kept in the bank as a `Promotion`, so that all that we added can be taken out again:

| field    | what it has                                                                     |
|----------|---------------------------------------------------------------------------------|
| `lead`   | the line ends that we put before the block, where the file had a text           |
| `head`   | the header with which we began the file, where it is new or was empty           |
| `made`   | whether the file was not there before: without its block it is removed          |
| `said`   | ids of lessons that the rest of the file says already                           |
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcp_reflect.models.finding import Promotion
from mcp_reflect.services.instruction_files import text_of, writable_path
from mcp_reflect.services.lesson_blocks import (
    Block,
    block_in,
    block_of,
    lines_in,
    without_block,
)

_CURSOR_RULE_HEADER: Final = "---\ndescription: Lessons of this project\nalwaysApply: true\n---\n"
_SKILL_HEADER: Final = (
    "---\nname: {name}\n"
    "description: What was learned about {subject} in this project. Read it before such a task.\n---\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change of a file, and what the bank is to keep of it."""

    path: Path
    before: str  # its text now
    after: str | None  # None: the file is removed, which was made for our block alone
    promotion: Promotion | None  # None if nothing stays promoted
    left_out: tuple[tuple[str, str], ...] = ()  # ids of lessons that are not written, each with why


@dataclass(frozen=True, slots=True)
class PromotedFile:
    """A file as it is now, with or without our block."""

    path: Path
    text: str
    block: Block | None

    @classmethod
    def read(cls, path: Path) -> "PromotedFile":
        """Read a file. InputError if it cannot be read, or somebody changed our block in it."""
        text = text_of(path)
        return cls(path, text, block_in(text, path.name))

    @classmethod
    def of(cls, promotion: Promotion) -> "PromotedFile":
        """Read the file of an earlier promotion. InputError also if it may not be written any more."""
        path = Path(promotion.file)
        return cls.read(writable_path(path.parent, path))

    def without_block(self, lead: str) -> str:
        """Return the text without our block, and without the line ends (`lead`) that we added before it."""
        if self.block is None:
            return self.text
        return without_block(self.block, self.text, lead)

    def lesson_lines(self) -> list[str]:
        """Return the lines of the lessons in our block."""
        if self.block is None:
            return []
        return lines_in(self.text, self.block)


def first_promotion(file: PromotedFile, subject: str | None) -> Promotion:
    """Return what the bank keeps of a file into which nothing was promoted before; a skill has a `subject`.

    | file             | `lead`                            | `head`                  |
    |------------------|-----------------------------------|-------------------------|
    | new, or empty    | nothing                           | its header (`_header`)  |
    | has a text       | line ends, so that a line is free | nothing                 |
    | has our block    | nothing: the block stays in place | nothing                 |

    The block of the last row comes with git, from another bank.
    """
    lead = ""
    head = ""
    if not file.text:
        head = _header(file.path, subject)
    elif file.block is None:
        free_line = "\n" if file.text.endswith("\n") else "\n\n"
        lead = _with_line_ends_of(file.text, free_line)
    is_new = not file.path.exists()
    return Promotion(file=str(file.path), lessons=(), lead=lead, head=head, made=is_new)


def _header(path: Path, subject: str | None) -> str:
    """Return the lines with which a new file begins: a skill's and a Cursor rule's have a header, others none."""
    if subject:
        return _SKILL_HEADER.format(name=path.parent.name, subject=" ".join(subject.split()))
    if path.suffix == ".mdc":
        return _CURSOR_RULE_HEADER
    return ""


def change_to_lines(file: PromotedFile, promotion: Promotion, lines: Mapping[str, str]) -> Plan:
    """Return the change that puts these lines, under the ids of their lessons, into our block of a file.

    Without any lines the block is taken out: an empty one would be noise for the model that reads the file.
    """
    if not lines:
        return change_without_block(file, promotion)
    text_with_block = _with_block(file, promotion, lines.values())
    promoted = replace(promotion, lessons=tuple(lines))
    return Plan(path=file.path, before=file.text, after=text_with_block, promotion=promoted)


def change_without_block(file: PromotedFile, promotion: Promotion) -> Plan:
    """Return the change that takes our block out of a file.

    | the file without the block        | the change                |
    |-----------------------------------|---------------------------|
    | has more than we wrote            | the block is taken out    |
    | has no more: we made it           | the file is removed       |
    """
    remaining_text = file.without_block(promotion.lead)
    is_ours_alone = promotion.made and remaining_text == promotion.head
    if is_ours_alone:
        return Plan(path=file.path, before=file.text, after=None, promotion=None)
    return Plan(path=file.path, before=file.text, after=remaining_text, promotion=None)


def _with_block(file: PromotedFile, promotion: Promotion, lines: Iterable[str]) -> str:
    """Return the text of a file with these lines in our block, which stands where it stood, or else at the end.

    A file whose last line, that of the block, had no line end still has none.
    """
    text = file.text
    old_block = file.block
    new_block = _with_line_ends_of(text, block_of(lines))
    if old_block is None:
        text_before = text or promotion.head
        return f"{text_before}{promotion.lead}{new_block}"
    old_block_ends_line = text[: old_block.end].endswith("\n")
    if not old_block_ends_line:
        new_block = new_block.removesuffix(_with_line_ends_of(text, "\n"))
    return text[: old_block.start] + new_block + text[old_block.end :]


def _with_line_ends_of(text: str, added: str) -> str:
    """Return `added` with the line ends of the text that it is added to: those of Windows, if that has any."""
    if "\r\n" in text:
        return added.replace("\n", "\r\n")
    return added
