"""What to tell an agent at a moment of its session, and what to note of it."""

from mcp_reflect import services
from mcp_reflect.models.hook import HookInput, Moment
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.context import Context


async def answer(context: Context, hook: HookInput, transcript: str = "") -> tuple[str | None, bool]:
    """Return the text for the agent, None where there is none, and whether its call is to be refused this once.

    `transcript` is the session so far, where the agent stops.
    """
    session, tool, warnings = hook.session, hook.tool, services.warnings
    match hook.moment:
        case Moment.START if hook.answer_key:
            return await warnings.remind(context, session, anew=hook.anew), False
        case Moment.PROMPT if hook.answer_key:
            return await warnings.remind(context, session, hook.prompt or ""), False
        case Moment.BEFORE if hook.answer_key and tool:
            known = await warnings.before_call(context, tool, hook.arguments, session=session, call_id=hook.call_id)
            return (known.text, known.hold) if known else (None, False)
        case Moment.AFTER if tool:
            after = await warnings.after_call(
                context, tool, hook.arguments, hook.result, error=hook.error, session=session
            )
            return after.text, False
        case Moment.STOP:
            return await services.transcripts.ask_once(context, session, transcript), False
        case Moment.END:
            await context.bank.warnings.end_session(context.scopes.own, clean_text(session))
        case _:
            pass
    return None, False
