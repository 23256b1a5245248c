"""Text that speaks to whoever reads it with an authority that a lesson does not have, and how it is recognised.

A lesson says what went wrong and what works. A sentence that wants its reader to drop their instructions,
to hide something from their user, to hand out what they know, or that poses as a system message or a tool
call, is held in quarantine until a person has looked at it.
"""

from collections.abc import Iterable

__all__ = ["suspicion"]


def suspicion(texts: Iterable[str | None]) -> str | None:
    """What is suspicious about a record of these texts, in words; null where nothing is. Each text counts alone."""
    from mcp_reflect.security.injection import judge  # noqa: PLC0415 - the command line recalls without it

    return judge.suspicion(texts)
