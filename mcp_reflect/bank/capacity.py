"""How many records a project keeps active: what is above that is archived, never deleted.

Importance decides in bands what goes first: below .3 first, then below .8; .8 and above never by itself, nor what
a person trusts. In a band goes first what has worked least by its evidence, then what nothing was heard of longest.
"""

from dataclasses import replace
from typing import Final

from mcp_reflect.bank import lessons
from mcp_reflect.bank.sqlite.rows import lesson_from, scope_values
from mcp_reflect.bank.sqlite.statements import Transaction
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Kind, State

FIRST_BELOW: Final = 0.3
NEVER_FROM: Final = 0.8


async def keep_within(
    tx: Transaction, scope: Scope, size: int | None, now: float, spare: str | None = None
) -> tuple[str, ...]:
    """Archive what a project has above `size` active records of a kind (null: no limit), but `spare`; the ids of it.

    In the transaction that added some, so that the limit holds exactly however many processes write.
    """
    if size is None:
        return ()
    gone: list[str] = []
    for kind in Kind:
        bands = {"first": FIRST_BELOW, "never": NEVER_FROM}
        values = {"kind": kind.value, "size": size, "spare": spare, **bands, **scope_values(scope)}
        for row in await tx.rows("lesson_over_size", values):
            lesson = lesson_from(row)
            await lessons.keep_version(tx, lesson.id, "archived: the bank is full", lesson)
            await lessons.change(tx, scope, replace(lesson, state=State.ARCHIVED, updated_at=now))
            gone.append(lesson.id)
    return tuple(gone)
