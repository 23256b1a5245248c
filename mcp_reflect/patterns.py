"""Patterns that are compiled when they are first needed.

Compiling a pattern takes longer than its use on a short text. The command line and the hooks load modules with hundreds
of patterns and need a few of them, so those modules write `lazy_compile` where others write `re.compile`.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, cast


def lazy_compile(pattern: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Return an object that is used like `re.compile(pattern, flags)`; a fault in the pattern is raised at its first use.

    `pattern` may be a function that returns the text of the pattern; it is called at the first use, since it may read
    the words of a file.
    """
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))


class LazyPattern:
    """A pattern that compiles itself at its first use, and then has the methods of the compiled one."""

    def __init__(self, pattern: str | Callable[[], str], flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern itself."""
        pattern = self._pattern
        if not isinstance(pattern, str):
            pattern = pattern()
        return re.compile(pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the compiled pattern, and keep it for the next use."""
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value


CAMEL: Final = lazy_compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The places between the words of a name in camelCase: `parse|HTTP|Reply`."""
