"""The texts of a list that are read as the lines of one: a secret's name may end one, and its value begin the next."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, cast

from mcp_reflect.security.normal_form import normalize

CleanLines: TypeAlias = Callable[[str], str]
"""Cleans a text and keeps its lines."""


def cut_across(items: Sequence[Any], clean_lines: CleanLines) -> list[Any]:
    """Return a list without the secrets that stand across its texts, or across one field of its objects.

    Other items are passed over: the texts around them are read as one. `clean_lines` cleans a text and keeps its lines.
    """
    cut: list[Any] = [
        dict(cast("dict[Any, Any]", item)) if isinstance(item, dict) else item for item in items
    ]
    for column in _columns_of(cut):
        cut_texts = _cut_lines([cell.text for cell in column], clean_lines)
        for cell, text in zip(column, cut_texts, strict=True):
            cell.put(text)
    return cut


def joined_columns(items: list[Any]) -> Iterator[str]:
    """Yield each of the texts as which `cut_across` reads a list."""
    for column in _columns_of(items):
        if len(column) > 1:
            yield _joined_lines(_parts_of([cell.text for cell in column]))


class _Cell(NamedTuple):
    """A text of a list, or of an object in it: where it stands, and by which number or name."""

    holder: Any
    key: Any

    @property
    def text(self) -> str:
        """The text itself."""
        return self.holder[self.key]

    def put(self, text: str) -> None:
        """Put another text in its place."""
        self.holder[self.key] = text


def _columns_of(items: list[Any]) -> list[list[_Cell]]:
    """Return what is read as the lines of one text: the texts of a list, and those of each field of its objects."""
    texts: list[_Cell] = []
    fields: dict[Any, list[_Cell]] = {}
    for place, item in enumerate(items):
        if isinstance(item, str):
            texts.append(_Cell(items, place))
        elif isinstance(item, dict):
            for name, value in cast("dict[Any, Any]", item).items():
                if isinstance(value, str):
                    fields.setdefault(name, []).append(_Cell(item, name))
    return [texts, *fields.values()]


_EDGE: Final = (
    200  # characters of a long text's first and last lines, which may belong to the text beside it
)
_APART: Final = "--"  # a line in place of the middle of a long text


class _EndsOfText(NamedTuple):
    """A text as it is read beside others: its first lines, its middle, which is not read, and its last lines."""

    head: str
    middle: str
    tail: str


def _cut_lines(texts: Sequence[str], clean_lines: CleanLines) -> Sequence[str]:
    """Return texts without the secrets that stand across several of them; of a long one only its two ends are read."""
    if len(texts) < 2:
        return texts
    parts = _parts_of(texts)
    lines = iter(clean_lines(_joined_lines(parts)).split("\n"))
    return [_part_of_lines(part, lines) for part in parts]


def _parts_of(texts: Sequence[str]) -> list[_EndsOfText]:
    return [_ends_and_middle(normalize(text)) for text in texts]


def _joined_lines(parts: Sequence[_EndsOfText]) -> str:
    """Return the lines of several texts as those of one."""
    return "\n".join(
        _APART.join((part.head, part.tail)) if part.middle else part.head for part in parts
    )


def _part_of_lines(part: _EndsOfText, lines: Iterator[str]) -> str:
    """Take a text's lines off the clean ones, and return it with them."""
    kept = "\n".join(islice(lines, part.head.count("\n") + 1))
    if not part.middle:
        return kept
    last_lines = [f"\n{line}" for line in islice(lines, part.tail.count("\n"))]
    return "".join((kept.removesuffix(_APART), part.middle, *last_lines))


def _ends_and_middle(text: str) -> _EndsOfText:
    """Return the first lines of a long text, its middle, and its last lines, if it has any; a short text is whole."""
    if len(text) <= 2 * _EDGE:
        return _EndsOfText(text, "", "")
    start = text.rfind("\n", 0, _EDGE) + 1
    end = text.find("\n", len(text) - _EDGE)
    if end < 0:
        end = len(text)
    return _EndsOfText(text[:start], text[start:end], text[end:])
