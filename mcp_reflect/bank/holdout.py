"""Hold-out: in a share of the tasks the recalled lessons are not shown, so that their use can be measured.

Chosen by the task itself, not by chance: the same task in the same scope is always in the same arm, in every
process and on every day, so nobody can ask again until lessons come.
"""

import hashlib
from typing import Final

from mcp_reflect.models.common import Scope

_STEPS: Final = 2**64


def withheld(scope: Scope, task: str, share: float) -> bool:
    """Whether lessons are held out from a task; `share` (0..1) of all tasks are. Case and spacing do not matter."""
    named = "\0".join((scope.tenant, scope.project, *task.casefold().split()))
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:8]) < share * _STEPS
