"""Patterns that are compiled when they are first needed.

Compiling a pattern takes longer than using it on a short text. The command line and the hooks load rooms of hundreds
of patterns and need a few of them, so those rooms write `late` where others write `re.compile`.
"""

import re
from functools import cached_property
from typing import Any, cast


def lazy_compile(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern, to be used as if it were compiled; a fault in it shows when it is first used."""
    return cast("re.Pattern[str]", Late(pattern, flags))


class Late:
    """Stands for a compiled pattern, and takes its methods over one by one as they are asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern itself."""
        return re.compile(*self._source)

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the compiled pattern, and keep it for the next use."""
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found
