"""Change a JSON text into another document, and leave every byte of what stays as it is.

`json.dumps` would write all of it anew: other line ends, indentation, numbers and escapes. The text is JSON: whoever
calls has parsed it. All numbers here are indexes into the text.
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
"""An escaped surrogate, as `\\ud83d`: two of them stand for one character beyond the first 65,536."""


@dataclass(frozen=True, slots=True)
class _NewItem:
    """A value that is added to an object or a list; `key` is its key in the object, None in a list."""

    value: Any
    key: str | None = None


@dataclass(slots=True)
class _Item:
    """A member of an object, or an element of a list: the indexes of its start (its key), of its value, and of its end."""

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
    """Return `text`, which is the JSON of `before`, as that of `after`: only what differs is written.

    The text `{"a":1,  "b": 2}` becomes `{"a":1,  "b": 3}` where `after` has 3 for "b".
    """
    edits = _Editor(text).change(_end_of_match(_BLANK, text, 0), before, after)
    # From the end of the text, so that the indexes of the others stay right.
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


class _Editor:
    """Finds the edits of one text, written with its own line ends and indentation."""

    def __init__(self, text: str) -> None:
        """Note how the text is written, so that an edit looks like what is around it."""
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
        """Return the edits that make an object into another one, for members that changed, are gone, or are new."""
        items = self._items(start)
        # Of a key that is there twice, the last item counts, as JSON readers have it.
        item_by_key = {item.key: item for item in items}
        edits: list[_TextEdit] = []
        for key, item in item_by_key.items():
            if key is not None and key in after:
                edits += self.change(item.value, before[key], after[key])
        gone = [item for item in items if item.key not in after]
        added = [_NewItem(value, key) for key, value in after.items() if key not in before]
        return edits + self._exchange(start, items, gone, added)

    def _change_list(self, start: int, before: list[Any], after: list[Any]) -> list[_TextEdit]:
        """Return the edits that make a list into another one; new values come at its end.

        A value that changed is taken out and added again: `[1, 2, 3]` becomes `[1, 3, 4]` for a 2 that is 4 now.
        """
        items = self._items(start)
        old_texts = [_text_of(value) for value in before]
        new_texts = [_text_of(value) for value in after]
        matcher = SequenceMatcher(None, old_texts, new_texts, autojunk=False)
        gone: list[_Item] = []
        added: list[_NewItem] = []
        for operation, old_start, old_end, new_start, new_end in matcher.get_opcodes():
            if operation != "equal":
                gone += items[old_start:old_end]
                added += [_NewItem(value) for value in after[new_start:new_end]]
        return self._exchange(start, items, gone, added)

    def _exchange(
        self, start: int, items: list[_Item], gone: list[_Item], added: list[_NewItem]
    ) -> list[_TextEdit]:
        """Return the edits that take items out of the object or list at `start`, and put others at its end.

        Where no item stays, all between the brackets is replaced.
        """
        staying = [item for item in items if item not in gone]
        if added and not staying:
            return [self._fill(start, added)]
        if gone and not staying:
            return [_TextEdit(start + 1, self._end(start) - 1, "")]
        edits: list[_TextEdit] = []
        if gone:
            edits += self._without(items, gone)
        if added:
            edits.append(self._append(start, staying[-1], added))
        return edits

    def _without(self, items: list[_Item], gone: list[_Item]) -> list[_TextEdit]:
        """Return the edits that take items out with one comma each, where at least one item stays.

        Items before the first that stays go with the comma behind them, `1, ` of `[1, 2]`; any other with the one before
        it, `, 2`.
        """
        first_staying = 0
        while items[first_staying] in gone:
            first_staying += 1
        edits: list[_TextEdit] = []
        if first_staying:
            edits.append(_TextEdit(items[0].start, items[first_staying].start, ""))
        for previous, item in pairwise(items[first_staying:]):
            if item in gone:
                edits.append(_TextEdit(previous.end, item.end, ""))
        return edits

    def _append(self, start: int, last: _Item, added: list[_NewItem]) -> _TextEdit:
        """Return the edit that puts items behind the last one that stays, on lines of their own if the others are."""
        inside = self._text[start + 1 : self._end(start) - 1]
        if "\n" in inside:
            margin = self._margin(last.start)
            separator = f",{self._line_end}{margin}"
            texts = [self._written_item(item, margin) for item in added]
        else:
            separator = ", "
            texts = [self._written_item(item, None) for item in added]
        return _TextEdit(last.end, last.end, separator + separator.join(texts))

    def _fill(self, start: int, added: list[_NewItem]) -> _TextEdit:
        """Return the edit that puts items into an object or list in which none stays, each on a line of its own."""
        outer = self._margin(start)
        margin = outer + self._unit
        separator = f",{self._line_end}{margin}"
        joined = separator.join(self._written_item(item, margin) for item in added)
        whole = f"{self._line_end}{margin}{joined}{self._line_end}{outer}"
        return _TextEdit(start + 1, self._end(start) - 1, whole)

    def _written_item(self, item: _NewItem, margin: str | None) -> str:
        """Return an item as JSON, with its key in an object; `margin` as for `_written`."""
        text = self._written(item.value, margin)
        if item.key is None:
            return text
        return f"{json.dumps(item.key)}: {text}"

    def _written(self, value: Any, margin: str | None) -> str:
        """Return a value as JSON: on lines with this margin before each but the first, or (None) on one line."""
        if margin is None:
            return json.dumps(value, ensure_ascii=self._as_escapes)
        text = json.dumps(value, ensure_ascii=self._as_escapes, indent=self._unit)
        return text.replace("\n", self._line_end + margin)

    def _margin(self, index: int) -> str:
        """Return the blanks at the beginning of the line in which an index lies."""
        line = self._text.rfind("\n", 0, index) + 1
        return self._text[line : _end_of_match(_MARGIN, self._text, line)]

    def _skip(self, index: int) -> int:
        """Return the index of the first character from here on that is no blank."""
        return _end_of_match(_BLANK, self._text, index)

    def _items(self, start: int) -> list[_Item]:
        """Return the items of the object or list at `start`, in order: two for `{"a": 1, "b": [2, 3]}`."""
        is_object = self._text[start] == "{"
        index = self._skip(start + 1)
        items: list[_Item] = []
        while self._text[index] not in "]}":
            item = _Item(index, index, index)
            if is_object:
                item.key, index = _string(self._text, index)
                item.value = self._skip(self._skip(index) + 1)  # behind the colon
            item.end = self._end(item.value)
            items.append(item)
            index = self._skip(item.end)
            if self._text[index] == ",":
                index = self._skip(index + 1)
        return items

    def _end(self, start: int) -> int:
        """Return the index behind the value at `start`; brackets within strings do not count."""
        first = self._text[start]
        if first == '"':
            return _string(self._text, start)[1]
        if first not in "{[":
            return _end_of_match(_SCALAR, self._text, start)
        depth = 1  # of open objects and lists
        index = start + 1
        while depth:
            char = self._text[index]
            if char == '"':
                index = _string(self._text, index)[1]
                continue
            if char in "{[":
                depth += 1
            elif char in "]}":
                depth -= 1
            index += 1
        return index


def _end_of_match(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return the index behind what a pattern matches at `start`, `start` itself where it matches nothing."""
    match = pattern.match(text, start)
    if match is None:
        return start
    return match.end()


def _string(text: str, start: int) -> tuple[str, int]:
    """Return the value of the string that begins at `start` with its quote, and the index behind it."""
    return json.JSONDecoder().raw_decode(text, start)


def _is_same(first: Any, second: Any) -> bool:
    """Return whether two values are the same JSON. Python's `==` takes 1 for True."""
    return _text_of(first) == _text_of(second)


def _text_of(value: Any) -> str:
    """Return the JSON of a value in one form, by which values are compared."""
    return json.dumps(value, sort_keys=True)
