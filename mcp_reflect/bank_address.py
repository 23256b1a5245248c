"""Where a bank is: a file, or a PostgreSQL server."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.errors import InputError
from mcp_reflect.places import BANK

_WINDOWS_PATH: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
"""Begins an absolute path of Windows: `C:\\`, `C:/`, or two backslashes before the name of a server."""


@dataclass(frozen=True, slots=True, repr=False)
class ServerUrl:
    """The address of a bank on a PostgreSQL server. As text it has neither the password nor parameters."""

    whole: str

    def __str__(self) -> str:
        """The address without its secrets; of one that cannot be taken apart surely, its scheme alone."""
        from urllib.parse import urlsplit  # noqa: PLC0415 - most banks are files

        parts = urlsplit(self.whole)
        # An unescaped `/`, `?` or `#` in the password ends the host too early: the `@` then stands behind it.
        if "@" in parts.path + parts.query + parts.fragment:
            return f"{parts.scheme}://..."
        credentials, at_sign, host = parts.netloc.rpartition("@")
        user = credentials.partition(":")[0]
        return f"{parts.scheme}://{user}{at_sign}{host}{parts.path}"

    __repr__ = __str__


def bank_place(text: str) -> Path | ServerUrl:
    """Return the file or server that a setting names; InputError for another kind of address."""
    if text.startswith(("postgresql://", "postgres://")):
        return ServerUrl(text)
    if "://" in text:
        fix = "Set a file, or postgresql://USER:PASSWORD@HOST/DATABASE."
        raise InputError(BANK, "it is neither a file nor the address of a PostgreSQL server", fix)
    if _WINDOWS_PATH.match(text) and os.name != "nt":
        raise InputError(
            BANK, "it is a path of Windows, and this is another system", "Set its path here."
        )
    return whole_path(BANK, text)


def whole_path(setting: str, text: str) -> Path:
    """Return the path that a setting names; InputError for a relative one, which would be a file of the repository."""
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        user = quoted_value(text.partition("/")[0])
        raise InputError(
            setting, f"there is no home of '{user}'", "Write the whole path."
        ) from None
    if path.is_absolute():
        return path
    fault = f"'{quoted_value(text)}' would be a file of the folder that is worked in"
    raise InputError(setting, fault, "Write the whole path, or one that begins with ~/.")


def quoted_value(text: str) -> str:
    """Return what an error may repeat of a value: a key may have been put into the wrong variable."""
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

    return quoted(text)
