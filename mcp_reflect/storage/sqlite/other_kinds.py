"""Tell a damaged database from a file of another kind, which was named as the bank by mistake."""

import codecs
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

_HEAD_BYTES: Final = 4096  # of a file that are looked at
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Control characters that no text has; tabs, line ends and the escape of terminal colors are not among them."""

_OTHER_KINDS: Final = (
    *(b"\xff\xfe", b"\xfe\xff"),  # text in UTF-16
    *(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF", b"MZ"),
)
"""How other kinds of files begin."""


def is_of_another_kind(path: Path) -> bool:
    """Return whether a file that does not begin like a database is a text, or begins like a file of another kind.

    Damage leaves blocks of zeros or of other files, and no whole text.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_OTHER_KINDS):
        return True
    with suppress(UnicodeDecodeError):
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
        return bool(text) and not _CONTROL.search(text)
    return False
