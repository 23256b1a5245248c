"""What fills the templates of the prompts: the arguments, and what the bank holds on them. It counts nothing."""

from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.server.service import Service
from mcp_reflect.server.withholding import told

if TYPE_CHECKING:
    from mcp_reflect.config import Limits
    from mcp_reflect.models.lesson import Ask, Lesson, Recall
    from mcp_reflect.models.reflection import StoredReflection

_MOST_REFLECTIONS: Final = 12
_MOST_LESSONS: Final = 30
_LOOK: Final = 200  # how far back a task type is looked for


def outcomes() -> list[str]:
    """How a run can end."""
    from mcp_reflect.models.run import Outcome  # noqa: PLC0415 - nothing of ours at the start

    return [outcome.value for outcome in Outcome]


async def start_task(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """The task with its lessons as a checklist."""
    found = await service.engine().recall_for(_ask(given["task"], given, service.settings), applied=False)
    nothing = "Earlier runs left nothing on this. There is nothing to go through."
    return {"task": given["task"], "lessons": checklist(found) or nothing}


async def review_task(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """The task, how it ended, and what is stored about it."""
    from mcp_reflect.models.run import Outcome  # noqa: PLC0415 - nothing of ours at the start

    engine = service.engine()
    name = given.get("reflection_id")
    before = await engine.bank.reflections.by_id(engine.scopes.own, name) if name else None
    outcome = given.get("outcome", before.outcome if before else "").strip().lower()
    if outcome and outcome not in outcomes():
        from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - nothing of ours at the start

        raise InputError("outcome", f"'{quoted(outcome)}' is none", f"Send one of {', '.join(outcomes())}.")
    return {
        "task": given.get("task") or (told(before.task) if before else None),
        "outcome": Outcome(outcome) if outcome else None,
        "stored": _note(before) if before else None,
    }


async def critique_answer(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """The answer, what it is for, and the lessons that may bear on it."""
    goal, answer = given.get("goal"), given.get("answer")
    about = goal or answer
    found = await service.engine().recall_for(_ask(about, given, service.settings), applied=False) if about else None
    return {"goal": goal, "answer": answer, "lessons": checklist(found) if found else None}


async def replan_search(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """What is looked for, and what was tried."""
    del service
    return {"user_message": given.get("user_message"), "tried": given.get("tried")}


async def distill_lessons(service: Service, given: dict[str, str]) -> dict[str, Any]:
    """Reflections to look over, and the lessons that are kept."""
    engine = service.engine()
    scope, kind = engine.scopes.own, given.get("task_type")
    if name := given.get("reflection_id"):
        reflections = [await engine.bank.reflections.by_id(scope, name)]
    else:
        reflections = await engine.bank.reflections.latest(scope, limit=_LOOK if kind else _MOST_REFLECTIONS)
        reflections = [one for one in reflections if kind is None or _task_type(one) == kind][:_MOST_REFLECTIONS]
    if name := given.get("lesson_id"):
        lessons = [await engine.bank.lesson(scope, name)]
    else:
        lessons = await engine.bank.lessons(scope, limit=_LOOK if kind else _MOST_LESSONS)
        lessons = [one for one in lessons if kind is None or one.task_type == kind][:_MOST_LESSONS]
    return {
        "task_type": kind,
        "reflections": "\n".join(map(_note, reflections)),
        "lessons": "\n".join(map(_kept, lessons)),
    }


def checklist(found: "Recall") -> str:
    """Lessons and strategies as points to go through; nothing where there are none."""
    lines: list[str] = []
    for hit in found.lessons:
        lines.append(f"- [ ] {hit.kind} {hit.id} ({hit.why})")
        if hit.mistake and hit.correction:
            lines += [f"      avoid: {hit.mistake}", f"      instead: {hit.correction}"]
        else:
            lines.append(f"      {hit.text}")
    return "\n".join([f"recall_id: {found.recall_id}", *lines]) if lines else ""


def _ask(task: str, given: dict[str, str], limits: "Limits") -> "Ask":
    """What is asked of the bank. A long answer is searched for by its beginning."""
    from mcp_reflect.arguments.door import read  # noqa: PLC0415 - nothing of ours at the start
    from mcp_reflect.arguments.lessons import RecallShape  # noqa: PLC0415 - nothing of ours at the start
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - same

    arguments = {"task": clean_text(task)[: limits.max_task_chars], "task_type": given.get("task_type")}
    return read(RecallShape, {name: value for name, value in arguments.items() if value}, limits).ask()


def _note(one: "StoredReflection") -> str:
    body: dict[str, Any] = one.body if isinstance(one.body, dict) else {}
    lines = [
        f"- reflection {one.id} by {one.thinker}, {one.outcome}: {told(one.task)}",
        f"      {body.get('reflection')}",
    ]
    return "\n".join([*lines, *([f"      next time: {body['strategy']}"] if body.get("strategy") else [])])


def _kept(one: "Lesson") -> str:
    from mcp_reflect.models.lesson import waits  # noqa: PLC0415 - nothing of ours at the start

    return f"- lesson {one.id}: {waits(one.held) if one.held else one.text}"


def _task_type(one: "StoredReflection") -> object:
    return one.trace.get("task_type") if isinstance(one.trace, dict) else None
