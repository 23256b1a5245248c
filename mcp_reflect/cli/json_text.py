"""Change a JSON text into another document, and leave every byte of what stays as it is.

`json.dumps` would write all of it anew: other line ends, indentation, numbers and escapes.
"""

import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Final, cast

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_SCALAR: Final = re.compile(r"[^\s,\]}]+")
_MARGIN: Final = re.compile(r"[ \t]*")
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
_HALF_OF_A_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(slots=True)
class _Item:
    """A member of an object, or an element of a list: where it starts (with its key), its value, and its end."""

    start: int
    value: int
    end: int
    key: str | None = None


@dataclass(frozen=True, slots=True)
class _TextEdit:
    """A part of the text, and what stands there instead."""

    start: int
    end: int
    text: str


def changed_json(text: str, before: Any, after: Any) -> str:
    """Return `text`, which is the JSON of `before`, as that of `after`: only what differs is written."""
    changes = _Editor(text).change(_end_of_match(_BLANK, text, 0), before, after)
    for change in sorted(changes, key=lambda one: one.start, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text


class _Editor:
    """Finds the changes of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_end = "\n"
        if "\r\n" in text:
            self._line_end = "\r\n"
        self._unit = "  "
        indent = _INDENT.search(text)
        if indent:
            self._unit = indent[1]
        # Half a pair of surrogates can only be written as an escape.
        self._as_escapes = _HALF_OF_A_PAIR.search(text) is not None

    def change(self, start: int, before: Any, after: Any) -> list[_TextEdit]:
        """Return the changes that make the value at `start`, which is `before`, into `after`."""
        if _is_same(before, after):
            return []
        if isinstance(before, dict) and isinstance(after, dict):
            return self._change_object(
                start, cast("dict[str, Any]", before), cast("dict[str, Any]", after)
            )
        if isinstance(before, list) and isinstance(after, list):
            return self._change_list(start, cast("list[Any]", before), cast("list[Any]", after))
        return [_TextEdit(start, self._end(start), self._written(after, self._margin(start)))]

    def _change_object(
        self, start: int, before: dict[str, Any], after: dict[str, Any]
    ) -> list[_TextEdit]:
        items = self._items(start)
        last = {item.key: item for item in items}  # of a key that is there twice, the last counts
        gone = [item for item in items if item.key not in after]
        added = [f"{json.dumps(key)}: {{}}" for key in after if key not in before]
        values = [after[key] for key in after if key not in before]
        changes = [
            change
            for key, item in last.items()
            if key is not None and key in after
            for change in self.change(item.value, before[key], after[key])
        ]
        return changes + self._exchange(start, items, gone, [*zip(added, values, strict=True)])

    def _change_list(self, start: int, before: list[Any], after: list[Any]) -> list[_TextEdit]:
        items = self._items(start)
        old, new = [_key(value) for value in before], [_key(value) for value in after]
        gone: list[_Item] = []
        added: list[tuple[str, Any]] = []
        for kind, first, end, first_new, end_new in SequenceMatcher(
            None, old, new, autojunk=False
        ).get_opcodes():
            if kind != "equal":
                gone += items[first:end]
                added += [("{}", value) for value in after[first_new:end_new]]
        return self._exchange(start, items, gone, added)

    def _exchange(
        self, start: int, items: list[_Item], gone: list[_Item], added: list[tuple[str, Any]]
    ) -> list[_TextEdit]:
        """Take items out of a container, and put others at its end; each comes as its frame and its value."""
        kept = [item for item in items if item not in gone]
        changes: list[_TextEdit] = []
        if gone and not kept:
            changes.append(_TextEdit(start + 1, self._end(start) - 1, ""))
        elif gone:
            changes += self._without(items, gone)
        if added:
            changes = self._with(start, kept, added, changes)
        return changes

    def _without(self, items: list[_Item], gone: list[_Item]) -> list[_TextEdit]:
        """Take items out with the comma before each; those at the beginning with the comma behind them."""
        first_kept = next(place for place, item in enumerate(items) if item not in gone)
        changes: list[_TextEdit] = []
        if first_kept:
            changes.append(_TextEdit(items[0].start, items[first_kept].start, ""))
        changes += [
            _TextEdit(before.end, item.end, "")
            for before, item in pairwise(items[first_kept:])
            if item in gone
        ]
        return changes

    def _with(
        self,
        start: int,
        kept: list[_Item],
        added: list[tuple[str, Any]],
        changes: list[_TextEdit],
    ) -> list[_TextEdit]:
        end = self._end(start)
        outer = self._margin(start)
        inside = self._text[start + 1 : end - 1]
        is_one_line = bool(kept) and "\n" not in inside
        inner = outer + self._unit
        if kept and not is_one_line:
            inner = self._margin(kept[-1].start)
        between = self._line_end + inner
        if is_one_line:
            between = " "
        texts = [
            frame.replace("{}", self._written(value, inner, is_one_line=is_one_line), 1)
            for frame, value in added
        ]
        joined = f",{between}".join(texts)
        if kept:
            return [*changes, _TextEdit(kept[-1].end, kept[-1].end, f",{between}{joined}")]
        whole = f"{self._line_end}{inner}{joined}{self._line_end}{outer}"
        return [_TextEdit(start + 1, end - 1, whole)]

    def _written(self, value: Any, margin: str, *, is_one_line: bool = False) -> str:
        indent: str | None = self._unit
        if is_one_line:
            indent = None
        text = json.dumps(value, ensure_ascii=self._as_escapes, indent=indent)
        return text.replace("\n", self._line_end + margin)

    def _margin(self, place: int) -> str:
        """Return the blanks at the beginning of the line of a place."""
        line = self._text.rfind("\n", 0, place) + 1
        return self._text[line : _end_of_match(_MARGIN, self._text, line)]

    def _skip(self, place: int) -> int:
        return _end_of_match(_BLANK, self._text, place)

    def _items(self, start: int) -> list[_Item]:
        """Return the items of the object or list at `start`."""
        is_object, place = self._text[start] == "{", self._skip(start + 1)
        items: list[_Item] = []
        while self._text[place] not in "]}":
            item = _Item(place, place, place)
            if is_object:
                item.key, place = _string(self._text, place)
                item.value = self._skip(self._skip(place) + 1)  # behind the colon
            item.end = self._end(item.value)
            items.append(item)
            place = self._skip(item.end)
            if self._text[place] == ",":
                place = self._skip(place + 1)
        return items

    def _end(self, start: int) -> int:
        """Return where the value at `start` ends."""
        first = self._text[start]
        if first == '"':
            return _string(self._text, start)[1]
        if first not in "{[":
            return _end_of_match(_SCALAR, self._text, start)
        depth, place = 0, start
        while True:
            char = self._text[place]
            if char == '"':
                place = _string(self._text, place)[1]
                continue
            depth += (char in "{[") - (char in "]}")
            place += 1
            if depth == 0:
                return place


def _end_of_match(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where what fits a pattern at `start` ends; `start` itself if nothing does."""
    found = pattern.match(text, start)
    if found is None:
        return start
    return found.end()


def _string(text: str, start: int) -> tuple[str, int]:
    """Return the string that begins at `start` with its quote, and where it ends."""
    return json.JSONDecoder().raw_decode(text, start)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON: to Python 1 is True."""
    return _key(one) == _key(other)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
