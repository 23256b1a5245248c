"""A view of a text: the text with parts of it changed, and the way back to what each part was."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

Change = tuple[int, int, str]
"""Where a view differs from its text: start and end in the text, and what stands there in the view."""


class Changes(NamedTuple):
    """The changes that make a view, sorted and apart; whether only secrets that cross one of them count."""

    changes: Sequence[Change]
    only_across: bool = False
    is_local: bool = False
    """Few changes of a long text: only the text around them has to be read again."""


class _Position(NamedTuple):
    """Where a sign of a view comes from: what the change `number` put in, or the text behind that change.

    `text_index` is that of the sign in the text itself, -1 where a change put it in. `number` is -1 before the first change.
    """

    number: int
    is_changed: bool
    text_index: int = -1


class View:
    """A text with changes applied (`text`), and the way back from its indexes to those of the text itself."""

    def __init__(self, text: str, changes: Sequence[Change]) -> None:
        r"""Apply changes, which are sorted and apart, and note where in the view each of them begins.

        `a\tb` with the change of `\t` to a tab is `a<tab>b`, where the change begins at index 1.
        """
        self._changes = changes
        self._starts: list[int] = []  # of what each change put in, in the view
        pieces: list[str] = []
        end_of_last = 0  # change, in the text
        length = 0  # of the view so far
        for start, end, instead in changes:
            length += start - end_of_last
            self._starts.append(length)
            length += len(instead)
            pieces += (text[end_of_last:start], instead)
            end_of_last = end
        pieces.append(text[end_of_last:])
        self.text = "".join(pieces)

    def crosses_a_change(self, start: int, end: int) -> bool:
        """True where a part of the view does not lie in one piece."""
        first = self._position(start)
        last = self._position(end - 1)
        return (first.number, first.is_changed) != (last.number, last.is_changed)

    def changes_in(self, start: int, end: int) -> range:
        """Return the numbers of the changes of which a part of the view has something."""
        first = self._position(start)
        last = self._position(end - 1)
        return range(first.number if first.is_changed else first.number + 1, last.number + 1)

    def span_in_text(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the view stands in the text; a change counts as a whole."""
        first = self._position(start)
        last = self._position(end - 1)
        begins = first.text_index
        if first.is_changed:
            begins = self._changes[first.number][0]
        ends = last.text_index + 1
        if last.is_changed:
            ends = self._changes[last.number][1]
        return begins, ends

    def _position(self, view_index: int) -> _Position:
        """Return where the sign at an index of the view comes from."""
        number = bisect_right(self._starts, view_index) - 1
        if number < 0:  # before the first change, where the view is as the text
            return _Position(number, is_changed=False, text_index=view_index)
        _, end, instead = self._changes[number]
        distance_behind_change = view_index - self._starts[number] - len(instead)
        if distance_behind_change < 0:
            return _Position(number, is_changed=True)
        return _Position(number, is_changed=False, text_index=end + distance_behind_change)
