r"""The words of a script that could not be read: among them are the programs that it may start.

It reads line by line, and errs on the side of a word too many: `may_start` holds enforced guards and does nothing else.
What is left out is the body of a here-document that nothing runs. Such a document has its end in the text, no shell or
unknown program on its line, and no shell behind a pipe anywhere; of a body whose name is not quoted, what stands in
`$(…)` counts all the same. Quotes and backslashes within words are taken off: `r''m` and `r\m` are `rm`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_reflect.shell.tables import words_of_table

_WORD: Final = re.compile(r"[\w.+-]+")
_DOCUMENT: Final = re.compile(r"(?<!<)<<-?(?!<)[ \t]*(?P<quote>['\"\\]?)(?P<name>\w+)")
_JOINING: Final = {ord(sign): None for sign in "'\"\\\0"}
_CONTINUED: Final = "\\\n"
_READERS_OF_SCRIPTS: Final = "|".join(sorted(map(re.escape, words_of_table("readers of scripts"))))
_RUNS_SCRIPTS: Final = re.compile(rf"(?<![\w.-])(?:{_READERS_OF_SCRIPTS})(?![\w-])|^\s*[\"']?\$")
_SHELL_BEHIND_PIPE: Final = re.compile(
    rf"(?:\||>\()(?:[^|\n>]|>(?!\()){{0,200}}?(?<![\w.-])(?:{_READERS_OF_SCRIPTS})(?![\w-])"
)
_SUBSTITUTION: Final = re.compile(r"(?:^|[^\\])(\$\(|`)")
_CLOSING: Final = re.compile(r".*[)`]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Document:
    """A here-document: its body stands between the lines numbered `start` (with the `<<EOF`) and `end` (`EOF`)."""

    start: int
    end: int
    is_quoted: bool


def words_that_may_run(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, without here-documents that nothing runs.

    `cat > notes <<EOF`, `rm -rf x`, `EOF`, `make` on four lines have "cat", "notes", "eof" and "make", and not "rm".
    """
    lines = text.replace(_CONTINUED, "").split("\n")
    documents = list(_documents(lines))
    outside = "\n".join(_lines_outside(lines, documents))
    if _SHELL_BEHIND_PIPE.search(outside):
        return words_in(text)
    inside = (_run_by_document(lines, document) for document in documents if not document.is_quoted)
    return words_in("\n".join((outside, *inside)))


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, each as it is written and without the quotes within it.

    Blanks divide it first: a pattern that goes through megabytes at once lets no other thread run meanwhile.
    """
    words: set[str] = set()
    for piece in set(text.replace(_CONTINUED, "").lower().split()):
        words.update(_WORD.findall(piece))
        words.update(_WORD.findall(piece.translate(_JOINING)))
    return frozenset(words)


def _documents(lines: list[str]) -> Iterator[_Document]:
    """Yield the here-documents that nothing runs, as far as the line tells that begins each.

    The lines `cat <<EOF`, `rm x`, `EOF`, `make` have one, from line 0 to line 2. A document without its end in the text is
    none.
    """
    numbers_by_line: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        numbers_by_line.setdefault(line.strip(), []).append(number)
    behind_document = 0  # the first line that is in none of those so far
    for number, line in enumerate(lines):
        opening = _document_of_line(line) if number >= behind_document else None
        if opening is None:
            continue
        end = _next_after(numbers_by_line.get(opening["name"], []), number)
        if end is not None:
            yield _Document(number, end, bool(opening["quote"]))
            behind_document = end + 1


def _document_of_line(line: str) -> re.Match[str] | None:
    """Return where a line begins a document that only a program reads that runs no scripts.

    Behind a quote, a comment or in arithmetic `<<` may begin none, and a pipe at the end may lead to a shell.
    """
    opening = _DOCUMENT.search(line)
    if opening is None or _RUNS_SCRIPTS.search(line) or line.rstrip().endswith("|"):
        return None
    text_before = line[: opening.start()]
    is_in_arithmetic_or_comment = "((" in text_before or "#" in text_before
    is_in_quotes = text_before.count("'") % 2 == 1 or text_before.count('"') % 2 == 1
    if is_in_arithmetic_or_comment or is_in_quotes:
        return None
    return opening


def _next_after(line_numbers: list[int], number: int) -> int | None:
    """Return the first of ascending line numbers that comes after another: 7 for [2, 7, 9] and 4; None for no such."""
    index = bisect_right(line_numbers, number)
    return line_numbers[index] if index < len(line_numbers) else None


def _lines_outside(lines: list[str], documents: list[_Document]) -> Iterator[str]:
    """Yield the lines that stand in no here-document, with those that begin one."""
    first_line = 0
    for document in documents:
        yield from lines[first_line : document.start + 1]
        first_line = document.end + 1
    yield from lines[first_line:]


def _run_by_document(lines: list[str], document: _Document) -> str:
    """Return what may stand in substitutions of a body: from where the first begins to where the last may end.

    "a $(rm x) b `ls` c" gives "$(rm x) b `ls`".
    """
    body = "\n".join(lines[document.start + 1 : document.end])
    opening = _SUBSTITUTION.search(body)
    if opening is None:
        return ""
    from_opening_on = body[opening.start(1) :]
    up_to_last_closing = _CLOSING.match(from_opening_on)
    if up_to_last_closing is None:
        return from_opening_on
    return up_to_last_closing[0]
