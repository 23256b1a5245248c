"""Text that speaks to whoever reads it with an authority that a lesson does not have, and how it is recognised.

A lesson says what went wrong and what works. A sentence that wants its reader to drop their instructions,
to hide something from their user, to hand out what they know, or that poses as a system message or a tool
call, is held in quarantine until a person has looked at it.
"""

from mcp_reflect.bank.poison.judge import suspicion

__all__ = ["suspicion"]
