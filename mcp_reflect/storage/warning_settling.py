"""The settling of warnings: the agent's next call shows whether a warning was heeded, right or wrong."""

from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.warning import Sequel
from mcp_reflect.storage.outcomes import add_measured_outcome
from mcp_reflect.storage.repository import Writing
from mcp_reflect.storage.rows import Row
from mcp_reflect.storage.values import scoped

MOST_WRONG: Final = 3
"""Wrong warnings after which a failure gives no more warnings."""


def settle_warnings(
    tx: Writing, scope: Scope, session: str, exact: str, *, worked: bool, now: float
) -> bool:
    """Settle the open warnings of a session by its call with the key `exact`.

    Returns whether the session had been shown a warning of this very call.

    | the warning is about    | the call failed | the call worked |
    |-------------------------|-----------------|-----------------|
    | this very call          | right           | wrong           |
    | another call            | heeded          | heeded          |

    One call settles one warning of it. Parallel calls end in any order, so that a warning that seemed heeded is still
    open to the very call that it is about.
    """
    was_shown = False
    has_settled_warning_of_call = False
    for row in tx.rows("warning_open", scoped(scope, session=session, exact=exact)):
        if row["exact"] != exact:
            close_warning(tx, row, Sequel.HEEDED, now)
            continue
        if has_settled_warning_of_call:
            continue
        has_settled_warning_of_call = True
        was_shown = bool(row["shown"])
        if worked:
            _close_as_wrong(tx, scope, row, now)
        else:
            close_warning(tx, row, Sequel.FAILED, now)
    return was_shown


def _close_as_wrong(tx: Writing, scope: Scope, row: Row, now: float) -> None:
    """Settle a warning whose call worked: its failure counts as wrong, and so does the lesson that was shown with it."""
    close_warning(tx, row, Sequel.WORKED, now)
    values = {"row": row["failure"], "most": MOST_WRONG, "now": now, "tenant": scope.tenant}
    tx.run("failure_was_wrong", values)
    if row["shown"] and row["lesson_id"]:
        add_measured_outcome(tx, scope, row["lesson_id"], row["id"], success=0.0, now=now)


def close_warning(tx: Writing, row: Row, sequel: Sequel, now: float) -> None:
    """Settle a warning by what the agent did after it."""
    values = {"id": row["id"], "sequel": sequel, "now": now, "tenant": row["tenant"]}
    tx.run("warning_settle", values)
