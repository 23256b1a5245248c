"""A model's opinion on what waits in quarantine, in batches: it may release to `observed`, never to `trusted`."""

from collections.abc import Mapping
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT
from mcp_reflect.models.common import Json
from mcp_reflect.security.injection import HIDES_TEXT
from mcp_reflect.services.context import Context

_MOST_WAITING: Final = 1_000
_BATCH: Final = 40
_MOST_CHARS: Final = 2_000  # of one record; a longer one is for a person


async def second_opinion(context: Context) -> tuple[str, ...]:
    """Ask the model about the records in quarantine, 40 at once, the newest first; return the ids that it released.

    Records that hid text, and long ones, wait for a person. InputError where no model is configured, or none answers.
    """
    scope = context.scopes.own
    texts: dict[str, str] = {}
    for lesson in await context.bank.lessons.latest(scope, kind=None, limit=_MOST_WAITING, held=True):
        words = (lesson.text, lesson.why, lesson.task_type, *lesson.symptoms, *lesson.keywords, *lesson.tags)
        text = " ".join(" | ".join(filter(None, words)).split())  # on one line: a text must not forge another
        if HIDES_TEXT not in (lesson.held or "") and len(text) <= _MOST_CHARS:
            texts[lesson.id] = f"- {lesson.id} ({lesson.held}): {text}"
    ids, released = list(texts), list[str]()
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        inputs = {"waiting": "\n".join(texts[name] for name in batch)}
        reply = await context.runner.generate(Role.EVALUATOR, "second_opinion", inputs, host=NO_CLIENT, read=_harmless)
        if reply.value is None:
            fault = reply.note or "no language model is configured"
            raise InputError("model", fault, "Set MCP_REFLECT_LLM, or decide yourself: `mcp-reflect lessons review`.")
        released += [name for name in reply.value if name in batch and await context.bank.lessons.release(scope, name)]
    return tuple(released)


def _harmless(answer: Json) -> list[str]:
    names: Any = cast("Mapping[str, Any]", answer).get("harmless") if isinstance(answer, Mapping) else None
    if not isinstance(names, list):
        raise InputError("harmless", "it is not a list", "Send a list of ids.")
    return [name for name in cast("list[Any]", names) if isinstance(name, str)]
