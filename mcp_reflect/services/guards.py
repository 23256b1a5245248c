"""The guard of a lesson: a pattern of calls, such as "Bash: `tsc` without `--noEmit`".

At a call that it matches, the lesson is told or the call is refused. It is derived from the lesson's wrong and right
call, or written by a person, and tried on both and on the recorded calls of the project before it is stored.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.following import call_of
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.derivation import derive
from mcp_reflect.guards.guard import FORMS, Guard, parse_guard
from mcp_reflect.guards.matching import matches
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, LessonDraft, RecordKind, Source, Trust
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
from mcp_reflect.moments.guarded import may_hold
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.services.context import Context
from mcp_reflect.speaker import Speaker

MOST_MET: Final = 0.05
"""The share of a project's recorded calls above which a guard is off until a person turns it on."""

_LEAST_RECORDED: Final = 10  # calls of a project: a share of fewer says nothing
_EXAMPLE: Final = (
    'like wrong_call "tsc -p .", right_call "tsc --noEmit", or {"tool": …, "arguments": {…}}'
)
_NO_DIFFERENCE: Final = "none: the two calls do not differ by a flag, a subcommand or a program alone, so it is only shown"
_ONE_CALL: Final = "none: it takes the right call as well"
_TURN_ON: Final = "`mcp-reflect lessons guard ID tell`"
_CHARACTER_OF_TOOL_NAME: Final = lazy_compile(r"[A-Z_]")
"""In names of tools (`Bash`, `read_file`), and in few other words that somebody may write in the place of one."""

PROJECT_RULE: Final = "project-rule"
"""The tag of a lesson that an agent read in the project's files: a person arms its guard."""

UNARMED_RULE: Final = "a rule that an agent read in the project's files: a person arms it"
_Draft = TypeVar("_Draft", bound=LessonDraft)


async def guarded(
    context: Context,
    scope: Scope,
    draft: _Draft,
    recorded_calls: Sequence[Call] | None = None,
    *,
    is_chosen: bool = True,
) -> tuple[_Draft, str | None]:
    """Return a draft with its guard, and the sentence about it for the caller (None: nobody asked for a guard).

    | the draft                                   | its guard                                               |
    |---------------------------------------------|---------------------------------------------------------|
    | is no lesson, or is by rules                | as it is                                                |
    | has a guard that a person wrote             | the same, tried; InputError if it fails on its calls    |
    | has a wrong and a right call                | derived from them, if they differ in their structure    |
    | any other                                   | none                                                    |

    A guard is tried on the `recorded_calls` of the project, which are read from the bank where the caller has none at
    hand: one that meets many of them would disturb sound work. `is_chosen`: somebody sent both calls, rather than that
    they were found in a session. InputError also for two calls that are the same.
    """
    if draft.kind is not RecordKind.LESSON or draft.source is Source.RULES:
        return draft, None
    wrong = call_of(draft.wrong_call) if draft.wrong_call else None
    right = call_of(draft.right_call) if draft.right_call else None
    _refuse_bad_calls(wrong, right)
    guard = parse_guard(draft.guard) if draft.guard else None
    if guard is not None:
        _refuse_bad_guard(guard, wrong, right)
    elif wrong is not None and right is not None:
        guard = derive(wrong, right, is_chosen=is_chosen)
    if guard is None:
        return replace(draft, guard=None, unarmed=None), _why_none(wrong, right)
    if recorded_calls is None:
        recorded_calls = await context.bank.guards.recorded_calls(scope)
    other_calls = [call for call in recorded_calls if not _does_the_same(call, wrong)]
    return _with_tried_guard(draft, guard, _Trial(guard, other_calls))


def _with_tried_guard(draft: _Draft, guard: Guard, trial: "_Trial") -> tuple[_Draft, str]:
    """Return a draft with a guard, and the sentence about it.

    | the guard                                                  | the sentence       | it is off (`unarmed`)              |
    |------------------------------------------------------------|--------------------|------------------------------------|
    | of a rule that an agent read in the project's files        | "would meet …"     | until a person arms it in a review |
    | of an agent, meeting more recorded calls than MOST_MET     | "would tell at …"  | until a person turns it on         |
    | any other                                                  | "tells at …" or "holds at …" | no                       |
    """
    if draft.source is Source.AGENT and PROJECT_RULE in draft.tags:
        sentence = f"would meet {guard.in_words}; {trial.in_words}: it is off until a person arms it in a review"
        return replace(draft, guard=str(guard), unarmed=UNARMED_RULE), sentence
    verb = _verb(draft)
    if verb == "tells" and trial.why_too_many:
        sentence = f"would tell at {guard.in_words}, but {trial.in_words}: it is off until a person turns it on ({_TURN_ON})"
        return replace(draft, guard=str(guard), unarmed=trial.why_too_many), sentence
    sentence = f"{verb} at {guard.in_words}; {trial.in_words}"
    return replace(draft, guard=str(guard), unarmed=None), sentence


def _why_none(wrong: Call | None, right: Call | None) -> str | None:
    """Return why calls give no guard; None where no wrong call was sent, so that nobody asked for one."""
    if wrong is None:
        return None
    if right is None:
        return _ONE_CALL
    return _NO_DIFFERENCE


def _verb(draft: LessonDraft) -> str:
    """Return what the guard does at a call, as a verb; the first row that fits decides.

    | the lesson                                  | its guard                       |
    |---------------------------------------------|---------------------------------|
    | has a mode that a person chose: OFF         | "is off"                        |
    | has the mode TELL                           | "tells"                         |
    | has another mode                            | "holds": it refuses the call    |
    | is a person's, or trusted by one            | "holds"                         |
    | is any other, as an agent's                 | "tells"                         |
    """
    mode = draft.guard_mode if isinstance(draft, Lesson) else None
    if mode is GuardMode.OFF:
        return "is off"
    if mode is GuardMode.TELL:
        return "tells"
    if mode is not None:
        return "holds"
    if draft.source is Source.PERSON or draft.trust is Trust.TRUSTED:
        return "holds"
    return "tells"


class _Trial:
    """How many of the recorded calls of its project a guard meets."""

    def __init__(self, guard: Guard, recorded_calls: Sequence[Call]) -> None:
        self._call_count = len(recorded_calls)
        self._met_count = sum(matches(guard, call) for call in recorded_calls)

    @property
    def in_words(self) -> str:
        """How many calls it meets: "it meets 2 of 40 recorded calls of this project"."""
        if not self._call_count:
            return "there is no recorded call to try it on"
        return f"it meets {self._met_count} of {self._call_count} recorded calls of this project"

    @property
    def why_too_many(self) -> str | None:
        """The reason why the guard is off: it meets more than MOST_MET of the calls; None if it does not."""
        if self._call_count < _LEAST_RECORDED or self._met_count <= MOST_MET * self._call_count:
            return None
        return f"it meets {self._met_count} of {self._call_count} recorded calls"


def _does_the_same(call: Call, other: Call | None) -> bool:
    """Return whether two calls do the same: in a shell by their commands alone, else by all arguments."""
    if other is None or call.commands != other.commands:
        return False
    return call.shell or call.arguments == other.arguments


def _names_nothing(call: Call) -> bool:
    """Return whether a call has neither a command nor the name of a tool, so that no guard can come of it."""
    if call.shell:
        return not call.commands
    return not call.tool.strip()


def _refuse_bad_calls(wrong: Call | None, right: Call | None) -> None:
    """Raise InputError for a call that names nothing, and for two calls that are the same."""
    for field, call in (("wrong_call", wrong), ("right_call", right)):
        if call is not None and _names_nothing(call):
            raise InputError(field, "it names no command and no tool", f"Send both, {_EXAMPLE}.")
    if wrong is None or right is None or wrong.tool != right.tool:
        return
    if _does_the_same(wrong, right):
        fix = f"Send the call that works, {_EXAMPLE}."
        raise InputError("right_call", "it is the same as wrong_call", fix)


def _refuse_bad_guard(guard: Guard, wrong: Call | None, right: Call | None) -> None:
    """Raise InputError for a guard that a person wrote and that fails on the lesson's own calls.

    Without a wrong call to try it on, a guard that is a single word has to look like the name of a tool.
    """
    is_one_word = not guard.has and not guard.lacks
    if wrong is None and is_one_word and not _CHARACTER_OF_TOOL_NAME.search(guard.tool):
        raise InputError(
            "guard",
            f"`{guard.tool}` is not the name of a tool, and it names no program or file",
            FORMS,
        )
    if wrong is not None and not matches(guard, wrong):
        raise InputError(
            "guard",
            f"{guard} does not meet the lesson's wrong_call",
            "Correct it, or edit wrong_call.",
        )
    if right is not None and matches(guard, right):
        raise InputError(
            "guard",
            f"{guard} meets the lesson's right_call too",
            "Add what the right call has: without …",
        )


async def keep_calls(
    context: Context, scope: Scope, lesson_id: str, wrong: str, right: str
) -> None:
    """Give a lesson that was stored in reply to an ask the two calls of its finding, and the guard that they make.

    A lesson that names calls of its own keeps them, and nobody changes what a person keeps. Nothing is done where the
    lesson is gone, the two calls are the same, or they make no guard.
    """
    try:
        lesson = await context.bank.lessons.get(scope, lesson_id)
        has_calls = bool(lesson.wrong_call or lesson.right_call or lesson.guard)
        if has_calls or lesson.is_kept_by_person:
            return
        with_calls = replace(lesson, wrong_call=wrong, right_call=right)
        draft, _ = await guarded(context, scope, with_calls, is_chosen=False)
    except InputError:
        return
    if draft.guard is None:
        return
    changed_fields = {
        "wrong_call": draft.wrong_call,
        "right_call": draft.right_call,
        "guard": draft.guard,
        "unarmed": draft.unarmed,
    }
    await context.bank.lessons.edit(scope, lesson_id, changed_fields)


def without_guard(lesson: Lesson) -> InputError:
    """Return the error of a lesson without a guard: its id, and the command that gives it one."""
    name = short_id(lesson.id)
    fix = f"Give it one: mcp-reflect lessons edit {name} --guard 'Bash: `tsc` without `--noEmit`'."
    return InputError("id", f"{name} has no guard", fix)


async def set_mode(
    context: Context, lesson_id: str, mode: GuardMode, seen: Seen = NOTHING_SEEN
) -> Lesson:
    """Set what a lesson's guard does at a call, on a person's behalf, and turn on one that was off.

    InputError without a guard, and for holding where the lesson came from outside; ChangedError if it is not as the
    person was shown it (`seen`).
    """
    lesson = await context.bank.lessons.get(context.scopes.own, lesson_id)
    if lesson.guard is None:
        raise without_guard(lesson)
    if mode in (GuardMode.ENFORCE, GuardMode.HOLD) and not may_hold(lesson):
        fix = "Write a lesson of your own: mcp-reflect lessons add."
        raise InputError("mode", "a lesson from outside never holds a call", fix)
    return await context.bank.lessons.edit(
        context.scopes.own,
        lesson_id,
        {"guard_mode": mode, "unarmed": None, "guard_repeats": 0},
        by=Speaker.PERSON,
        seen=seen,
    )
