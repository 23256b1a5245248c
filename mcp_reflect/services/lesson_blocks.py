"""The block of lessons in an instruction file: between our two markers, with a digest of its words in the first.

    <!-- mcp-reflect: lessons 3f2a90c41b7d, change them with `mcp-reflect lessons`, not here -->
    ## Lessons of this project
    - Build before the tests: they read dist.
    <!-- mcp-reflect: end -->

Only what stands between the markers is ever written. By the digest a change by hand is seen, and left alone.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.sessions.text import clip
from mcp_reflect.text.signature import digest

_MAX_LESSON_CHARS: Final = 300  # of a lesson in a block
_DIGEST_LENGTH: Final = 12  # hex digits, as the pattern START asks for
_END: Final = "<!-- mcp-reflect: end -->"
START: Final = re.compile(r"<!-- mcp-reflect: lessons ([0-9a-f]{12})[^\n]{0,200}?-->")
"""The first marker, with the digest of the block."""

_END_LINE: Final = re.compile(rf"{_END}(?:\r?\n)?")
_MOST_MARKERS: Final = 200  # in a file whose block is looked for
_HEADING: Final = "## Lessons of this project"
_ABOUT: Final = "change them with `mcp-reflect lessons`, not here"


@dataclass(frozen=True, slots=True)
class Block:
    """Where our block stands in a text, with its markers and the end of its last line."""

    start: int
    end: int


def block_in(text: str, name: str) -> Block | None:
    """Return our block in the text of the file `name`, None if there is none.

    InputError where nobody can say which text is ours:

    | markers in the file                  | digest of what stands between the outer ones | result            |
    |--------------------------------------|----------------------------------------------|-------------------|
    | none                                 |                                              | None              |
    | any, the starts before the last end  | that of the first marker                     | the block         |
    | one pair                             | another                                      | edited by hand    |
    | any other                            | another                                      | too many markers  |

    The second row has several markers where an earlier release wrote a lesson with a marker in its words.
    """
    starts = [*START.finditer(text)]
    ends = [*_END_LINE.finditer(text)]
    if not starts and not ends:
        return None
    if starts and ends and len(starts) + len(ends) <= _MOST_MARKERS:
        first_start, last_end = starts[0], ends[-1]
        all_start_before_end = starts[-1].end() <= last_end.start()
        body = text[first_start.end() : last_end.start()]
        if all_start_before_end and _digest(body) == first_start[1]:
            return Block(first_start.start(), last_end.end())
    is_one_pair = len(starts) == len(ends) == 1
    if is_one_pair and starts[0].end() <= ends[0].start():
        fix = "Move your lines out of it and remove the rest of the block, or undo your change; then try again."
        raise InputError("file", f"somebody edited our block in {name} by hand", fix)
    fault = f"{name} has {len(starts)} start markers of our block and {len(ends)} end markers"
    raise InputError("file", fault, "Leave one pair, or remove them all and promote again.")


def _digest(body: str) -> str:
    """Return the hex digits by which a change of the block's body is seen.

    Line ends and outer spaces do not count: git changes the former, and editors the latter, with nobody meaning it.
    """
    return digest(body.replace("\r\n", "\n").strip(), _DIGEST_LENGTH)


def block_of(lines: Iterable[str]) -> str:
    """Return the block with these lines, one for each lesson."""
    body = "\n".join([_HEADING, *lines])
    return f"<!-- mcp-reflect: lessons {_digest(body)}, {_ABOUT} -->\n{body}\n{_END}\n"


def line_of(lesson: Lesson) -> str:
    """Return the line of a lesson in a block: "- Build before the tests: they read dist."."""
    return f"- {_without_markers(clip(lesson.text, _MAX_LESSON_CHARS))}"


def lines_in(text: str, block: Block) -> list[str]:
    """Return the lines of the lessons in a block that is there."""
    lines = text[block.start : block.end].replace("\r\n", "\n").strip().split("\n")
    return lines[2:-1]  # without the first marker, the heading and the last marker


def _without_markers(text: str) -> str:
    """Return a text in which no comment begins or ends, so that it can hold none of our markers."""
    return text.replace("<!--", "&lt;!--").replace("-->", "--&gt;")


def without_block(block: Block, text: str, lead: str) -> str:
    """Return a text without our block, and without its `lead`, the line ends that were added before it.

    "My rules", two line ends, the block, "More" -> "My rules", a line end, "More"; the lead is the two line ends.
    """
    text_before = text[: block.start]
    if lead and text_before.endswith(lead):
        text_before = text_before.removesuffix(lead)
    text_after = text[block.end :]
    ends_inside_line = bool(text_before) and not text_before.endswith("\n")
    if text_after and ends_inside_line:
        # The file ended without a line end, so the lead was two of them: what was added since, behind the block, still
        # begins a line of its own.
        one_line_end = lead[: len(lead) // 2]
        text_before += one_line_end
    return text_before + text_after
