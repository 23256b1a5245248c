"""Which records a person wants to see."""

from dataclasses import dataclass

from mcp_reflect.records.lesson import Kind, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a record must be; null and empty mean any. All `words` must be in it, in whatever case (of ASCII letters).

    `held` asks for what waits in quarantine, false for what does not. Effectiveness is in 0..1; a record without an
    outcome has none, and is not found by it.
    """

    words: tuple[str, ...] = ()
    kind: Kind | None = Kind.LESSON
    state: State | None = State.ACTIVE
    held: bool | None = None
    task_type: str | None = None
    tag: str | None = None
    min_effectiveness: float | None = None
    limit: int = 50
    offset: int = 0
