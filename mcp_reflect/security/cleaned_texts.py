"""The clean forms of texts that were read lately: a call meets the same text at its entrance, in the index, on the disk."""

from _thread import allocate_lock  # threading takes a hook's process some milliseconds to load
from collections import OrderedDict
from typing import Final

from mcp_reflect.security.clean import Clean

_EACH: Final = 200  # bytes that an entry takes beside its texts


class CleanedTexts:
    """Clean forms by their texts, those that were not asked for longest given up first. Threads may share one."""

    def __init__(self, most_chars: int) -> None:
        """Keep texts with at most so many characters in all."""
        self._forms: OrderedDict[str, Clean] = OrderedDict()
        self._left = most_chars
        self._lock = allocate_lock()

    def get(self, text: str) -> Clean | None:
        """Return the clean form of a text, if it is known."""
        with self._lock:
            form = self._forms.get(text)
            if form is not None:
                self._forms.move_to_end(text)
            return form

    def add(self, text: str, form: Clean) -> None:
        """Note the clean form of a text, which is its own clean form."""
        with self._lock:
            self._put(text, form)
            self._put(form, form)
            while self._left < 0 and self._forms:
                first_text, first_form = self._forms.popitem(last=False)
                self._left += _size(first_text, first_form)

    def _put(self, text: str, form: Clean) -> None:
        if text not in self._forms:
            self._forms[text] = form
            self._left -= _size(text, form)


def _size(text: str, form: Clean) -> int:
    return len(text) + len(form) + _EACH
