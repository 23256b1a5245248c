"""A lesson as text: a row of a list, a page, its history."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from mcp_reflect.cli.common import BOLD, DIM, GREEN, RED, YELLOW, styled, visible, wrapped
from mcp_reflect.models.lesson import Lesson, State, Trust
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.results import compact, plain
from mcp_reflect.storage.effectiveness import rounded_effectiveness

HEADS: Final = ("id", "lesson", "effective", "applied", "state")
TEXT_COLUMN: Final = 1
_LONG: Final = ("mistake", "correction", "why", "context")
_SHORT: Final = ("task_type", "tags", "symptoms", "keywords")
_COLOURS: Final[Mapping[str, str]] = {"trusted": GREEN, "confirmed": GREEN, "quarantined": YELLOW, "retired": RED}


def row(lesson: Lesson) -> tuple[str, ...]:
    """A line of a list, as HEADS names it."""
    score = "" if lesson.effectiveness is None else f"{lesson.effectiveness:.2f}"
    return (lesson.id, lesson.text, score, str(lesson.times_applied), standing_word(lesson))


def standing_word(lesson: Lesson) -> str:
    """Its state, or its trust where it is in use."""
    return lesson.state.value if lesson.state is not State.ACTIVE else lesson.trust.value


def page(lesson: Lesson, standing: Mapping[str, Any]) -> str:
    """All that a lesson says, and what it is worth."""
    word = standing_word(lesson)
    head = styled(lesson.id, BOLD) + f"  {lesson.kind}, " + styled(word, _COLOURS.get(word, DIM))
    lines = [f"{head}, from {lesson.source}, of {lesson.project or 'all projects'}"]
    if lesson.held:
        lines.append(wrapped(f"waits for a person: {lesson.held}"))
    if lesson.mistake is None:
        lines += ["", wrapped(visible(lesson.text))]
    for name in _LONG:
        if getattr(lesson, name):
            lines += ["", styled(name, BOLD), wrapped(visible(getattr(lesson, name)))]
    lines.append("")
    for name in _SHORT:
        value = getattr(lesson, name)
        if value:
            lines.append(_pair(name.replace("_", " "), visible(value if isinstance(value, str) else ", ".join(value))))
    lines += [
        _pair("importance", f"{lesson.importance:.2f}"),
        _pair("worth", worth(lesson, standing)),
        _pair("learnt", f"{_times(lesson.strength)}, first {day(lesson.created_at)}, changed {day(lesson.updated_at)}"),
    ]
    return "\n".join(lines)


def worth(lesson: Lesson, standing: Mapping[str, Any]) -> str:
    """What its outcomes say, in words."""
    if lesson.effectiveness is None:
        return f"not known yet, shown {_times(lesson.times_applied)}"
    harmful = "; proved harmful" if standing.get("harmful") else ""
    interval = f"{standing['low']:.2f} to {standing['high']:.2f}"
    return f"{lesson.effectiveness:.2f} ({interval} by its evidence), shown {_times(lesson.times_applied)}{harmful}"


async def history(engine: Engine, lesson: Lesson) -> dict[str, list[dict[str, Any]]]:
    """What a lesson was, what became of using it, and where it was shown."""
    own = engine.scopes.own
    versions = compact(await engine.bank.lessons.history(own, lesson.id))
    return {"versions": versions, **await engine.bank.views.use_of(own, lesson.id)}


async def whole(engine: Engine, lesson: Lesson) -> dict[str, Any]:
    """Everything there is to know about a lesson, for a program."""
    own = engine.scopes.own
    return {
        **plain(lesson),
        "standing": rounded_effectiveness(await engine.bank.lessons.effectiveness(own, lesson)),
        "versions": compact(await engine.bank.lessons.history(own, lesson.id)),
        "links": await engine.bank.lessons.links(own, lesson.id),
        "neighbours": await engine.bank.views.neighbors(own, "record", lesson.id),
    }


def told(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """A history in lines."""
    return "\n\n".join(
        (
            _part("wordings before", found["versions"], _version),
            _part("what became of it", found["outcomes"], _outcome),
            _part("where it was shown", found["recalls"], _recall),
        )
    )


def _part(title: str, entries: Sequence[Mapping[str, Any]], words: Callable[[Mapping[str, Any]], str]) -> str:
    lines = [wrapped(f"{day(one['created_at'])} {' '.join(visible(words(one)).split())}") for one in entries]
    return "\n".join([styled(title, BOLD), *(lines or ["  nothing yet"])])


def _version(one: Mapping[str, Any]) -> str:
    return f"{one['reason']}: {one['text']}"


def _outcome(one: Mapping[str, Any]) -> str:
    return f"{_went(one['success'])}, by {one['evidence']}" + (f": {one['note']}" if one["note"] else "")


def _recall(one: Mapping[str, Any]) -> str:
    return one["task"] + ("" if one["success"] is None else f" ({_went(one['success'])})")


def day(seconds: float) -> str:
    """A time as its day (UTC)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _went(success: float) -> str:
    return {1.0: "worked", 0.0: "failed"}.get(success, "worked in part")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _pair(name: str, value: str) -> str:
    return f"{styled(name, DIM)}: {value}"


def waits(lesson: Lesson) -> bool:
    """Whether a person is to decide about it."""
    return lesson.trust is Trust.QUARANTINED and lesson.state is State.ACTIVE
