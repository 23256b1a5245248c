"""What to tell an agent at a moment of its session, and what to note of it."""

from pathlib import Path

from mcp_reflect import services
from mcp_reflect.hooks.corrections import ask_to_keep
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.context import Context


async def answer(context: Context, hook: HookInput, transcript: str = "") -> tuple[str | None, bool]:
    """Return the text for the agent, None where there is none, and whether its call is to be refused this once.

    `transcript` is the session so far, where the agent stops.
    """
    session, tool, warnings = hook.session, hook.tool, services.warnings
    match hook.moment:
        case Moment.START if hook.answer_key:
            told = await _told_by_files(context, hook)
            return await warnings.remind(context, session, anew=hook.anew, told=told), False
        case Moment.PROMPT if hook.answer_key:
            due = await services.last_word.due(context, session)
            told = await _told_by_files(context, hook)
            lessons = await warnings.remind(context, session, hook.prompt or "", told=told)
            asked = await _ask_once_more(context, hook)
            keep = ask_to_keep(hook.prompt or "", context.settings.ask)
            return "\n\n".join(filter(None, (due, lessons, asked, keep))) or None, False
        case Moment.BEFORE if tool and (hook.answer_key or hook.holds):
            known = await warnings.before_call(
                context,
                tool,
                hook.arguments,
                session=session,
                call_id=hook.call_id,
                holds=hook.holds,
                only_advice=True,
            )
            return (known.text, known.hold) if known else (None, False)
        case Moment.AFTER if tool:
            after = await warnings.after_call(
                context, tool, hook.arguments, hook.result, error=hook.error, session=session, shows_late=True
            )
            return after.text, False
        case Moment.STOP:
            held = await services.last_word.check(context, hook, transcript)
            if held is None and hook.watched and not (hook.again or hook.of_agent):
                held = await _ask_once_more(context, hook, at_stop=True)
            return held, False
        case Moment.END:
            await context.bank.warnings.end_session(context.scopes.own, clean_text(session))
            await context.bank.findings.end_session(context.scopes.own, clean_text(session))
        case _:
            pass
    return None, False


async def _ask_once_more(context: Context, hook: HookInput, *, at_stop: bool = False) -> str | None:
    scope = context.scopes.own
    state = await services.warnings.session_state(context, scope, hook.session)
    return await services.findings.ask_once_more(context, scope, state, at_stop=at_stop)


async def _told_by_files(context: Context, hook: HookInput) -> frozenset[str]:
    """Return the ids of promoted lessons that are in a file which the session's host gives to its model."""
    promotions = await context.bank.findings.promotions(context.scopes.own)
    read = [one for one in promotions if _reads(hook, Path(one.file))]
    return frozenset(name for one in read for name in (*one.lessons, *one.said))


def _reads(hook: HookInput, file: Path) -> bool:
    transcript = (hook.transcript or "").replace("\\", "/")
    if hook.event[:1].islower():
        names = ("mcp-reflect.mdc", "AGENTS.md")  # Cursor
    elif hook.event.startswith("Before") or "/.gemini/" in transcript:
        names = ("GEMINI.md",)
    else:
        names = ("AGENTS.md",) if "/.codex/" in transcript else ("CLAUDE.md",)
    return any((file.parent / name).exists() and file.samefile(file.parent / name) for name in names)
