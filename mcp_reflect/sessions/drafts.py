"""What differs between two calls of one kind, and lessons that are drafted from it.

A draft says what failed with its most telling line, and what differed in what worked. It is a lesson by rules alone
where the correction is a form, or a preference of the user; all else the agent, a person or a model writes.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import Draft, Finding, FindingKind, SessionCall
from mcp_reflect.models.run import Correction, ErrorCategory
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.calls import Call
from mcp_reflect.sessions.text import (
    COMMON_WORDS,
    brief,
    pattern,
    sentence,
    unique,
    without_own_values,
    word_set,
)
from mcp_reflect.sessions.tools import file_of
from mcp_reflect.shell import INTERPRETERS, Part, line_of


class Change(NamedTuple):
    """One place in which two calls differ: what was there, and what came instead.

    `name` is the flag before words of a command, or the argument; nested arguments are one. `""` and None are absent.
    """

    name: str
    before: Json
    after: Json


class Difference(NamedTuple):
    """The part of a call that failed, the part that worked instead, and the places in which they differ.

    `added` are commands that only the working call has, before the part that is the same; `wrong` and `right` are
    None for a call that is not a command.
    """

    changes: tuple[Change, ...]
    wrong: Part | None = None
    right: Part | None = None
    added: tuple[Part, ...] = ()
    removed: tuple[Part, ...] = ()


def same_kind(one: Part, other: Part) -> bool:
    """True for two commands of one program that do the same thing with it."""
    if one.program != other.program:
        return False
    if one.program.rsplit("/", 1)[-1] in INTERPRETERS:
        scripts = [
            next((word for word in part.operands if "." in word or "/" in word), "-c")
            for part in (one, other)
        ]
        return scripts[0] == scripts[1]
    return one.subcommand == other.subcommand or not (one.subcommand and other.subcommand)


def difference_of(
    wrong: Sequence[Part], right: Sequence[Part], *, missing: bool = False
) -> Difference | None:
    """The difference between two calls to a shell that makes the second a corrected form of the first, or None.

    `missing`: the first failed because a program or a path was not there.
    """
    gone = [part for part in wrong if part not in right]
    come = [part for part in right if part not in wrong]
    if not gone:  # all of it is there again, with steps in front
        added = tuple(part for part in right[: right.index(wrong[-1])] if part in come)
        return Difference((), wrong[-1], wrong[-1], added=added) if added else None
    if not come:
        kept = next((part for part in wrong if part in right), None)
        before = tuple(part for part in wrong[: wrong.index(kept)] if part in gone) if kept else ()
        return Difference((), kept, kept, removed=before) if before else None
    pairs = [(one, two) for one in gone for two in come if same_kind(one, two)]
    if pairs:
        one, two = max(pairs, key=lambda pair: _shared(*pair))
        return Difference(_changes_of(one, two), one, two)
    one, rest = gone[0], gone[0].words[1:]
    two = next((part for part in come if missing and rest and part.words[1:] == rest), None)
    return (
        Difference((Change("", one.program, two.program),), one, two)
        if two and len(gone) == 1
        else None
    )


def _changes_of(wrong: Part, right: Part) -> tuple[Change, ...]:
    """The places in which the words of two commands differ; the name is the flag before the words, if there is one."""
    changes: list[Change] = []
    old, new = wrong.words, right.words
    for kind, start, end, new_start, new_end in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            name = old[start - 1] if start and old[start - 1].startswith("-") else ""
            gone, come = old[start:end], new[new_start:new_end]
            paired = (
                [(line_of(gone), line_of(come))]
                if len(gone) != len(come)
                else zip(gone, come, strict=True)
            )
            changes += [
                Change(name if place == 0 else "", *pair) for place, pair in enumerate(paired)
            ]
    return tuple(changes)


def _shared(one: Part, two: Part) -> float:
    return 2 * len({*one.words} & {*two.words}) / max(len(one.words) + len(two.words), 1)


# The form in which two values differ, in words that hold no value of the task.

_SHAPES: Final = (
    (lazy_compile(r"\d{4}-\d\d-\d\d$"), "a date as YYYY-MM-DD"),
    (
        lazy_compile(r"[\d-]{10}T\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)$"),
        "a time as YYYY-MM-DDThh:mm with its offset",
    ),
    (lazy_compile(r"[\d-]{10}T\d\d:\d\d(?::\d\d)?$"), "a time as YYYY-MM-DDThh:mm"),
    (lazy_compile(r"\+\d{8,15}$"), "a phone number with + and its country code"),
    (lazy_compile(r"[^@\s]+@[^@\s]+\.[a-z]+$"), "an e-mail address"),
)
_MOST_AROUND: Final = 8  # characters around a value; a longer addition is a value itself


def form_of(before: Json, after: Json) -> str | None:
    """How the second value differs from the first in its form, None where it only is another value."""
    for kind, words in ((list, "as a list"), (bool, "as true or false")):
        if isinstance(after, kind) and not isinstance(before, kind):
            return words
    one, two = str(before), str(after)
    if type(before) is not type(after) and one == two:
        return "as a number" if isinstance(after, int | float) else "as text"
    left, found, right = two.partition(one)
    around = max(len(left), len(right))
    if len(one) > 1 and found and 0 < around <= _MOST_AROUND and not (left + right).isdigit():
        places = (left and f"`{left}` in front", right and f"`{right}` at the end")
        return f"with {' and '.join(filter(None, places))}"
    if one.lower() == two.lower() and one != two:
        return "in its exact case"
    return next(
        (words for shape, words in _SHAPES if shape.match(two) and not shape.match(one)), None
    )


# Arguments of tools that are not a shell.

_NAME_LIMIT: Final = (
    80  # characters of names that are compared letter by letter, which takes quadratic time
)
_NAME_RATIO: Final = (
    0.86  # one or two letters in a name of eight to fifteen; `test_a.py` and `test_b.py` stay apart
)


def changes_between(before: dict[str, Json], after: dict[str, Json]) -> tuple[Change, ...]:
    """The arguments that differ; 1 is neither True nor "1"."""
    pairs = [(name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]
    return tuple(
        Change(*pair) for pair in pairs if type(pair[1]) is not type(pair[2]) or pair[1] != pair[2]
    )


def names_alike(first: str, second: str) -> bool:
    """True for names that differ in case, quotation marks, separators, or one or two letters (never digits alone)."""
    one, two = (re.sub(r"[\W_]+", "", text).casefold() for text in (first, second))
    if one == two:
        return bool(one)
    letters = {re.sub(r"\d", "", text) for text in (one, two)}
    ratio = SequenceMatcher(None, one[:_NAME_LIMIT], two[:_NAME_LIMIT], autojunk=False).ratio()
    return len(letters) == 2 and "*" not in f"{first}{second}" and ratio >= _NAME_RATIO


# Drafts.

MOST_COMMAND: Final = 90  # characters of a command in a draft
MOST_LINE: Final = 100
MOST_VALUE: Final = 40
# Words of commands and tools that change the state in which others run.
_PREPARES: Final = word_set("""
    install add sync ci restore i login auth authenticate sso checkout switch pull fetch rebase merge stash submodule
    migrate migration upgrade export use-context update-kubeconfig set-context build rebuild reindex index init setup
    configure config bootstrap generate compile seed refresh up start restart enable register unlock link mkdir chmod
    chown ln source . activate conda nvm eval module workon pyenv use approve grant connect
""")
# Hiding a failure does not correct it.
_SUPPRESSES: Final = re.compile(
    r"(?i)continue-on-error|allow[_-]failure|--no-verify|--force\b|--legacy-peer-deps|\|\|\s*(?:true|:)|skip[_-]|ignore"
    r"|noqa|--fake|\bdisabled?\b|--no-check"
)
HIDES: Final = re.compile(
    r"(?i)--no-verify|--no-check|--exit-zero|continue-on-error|allow[_-]failure"
)
"""What a changed call has that only keeps a failure from being seen."""

REFUSED_IT: Final = "the user refused it: "
"""What stands before the preference with which a person refused a call."""

_VALUE: Final = re.compile(r"[=\d]")
_ASSIGNED: Final = re.compile(r"=.*(?:\d|://|@)")
_KEEPS: Final = "the shell keeps its working folder between calls"
ALREADY_THERE: Final = (
    "`cd` into a folder of the project failed: the shell was already in it.",
    f"Leave out the `cd`, or use absolute paths: {_KEEPS}.",
)
_ELSEWHERE: Final = (
    "A path relative to the project's root was not found: the shell was in another folder.",
    f"Use the absolute path, or change back to the root: {_KEEPS}.",
)

# The errors of the tools with which agents edit files, each with the mistake and the correction.
EDIT_REFUSALS: Final = (
    (
        pattern(r"""
            (?i)found \d+ (?:matches|occurrences)|multiple (?:matches|occurrences)|expected 1 occurrence|is not unique
            |appears (?:\d+|multiple) times|must be unique"""),
        "`{tool}` with text that occurs more than once in the file is refused.",
        "Include more context (the neighboring lines), so that the text is unique.",
    ),
    (
        re.compile(
            r"(?i)has not been read|read (?:it|the file) (?:first|before)|modified since (?:it was )?(?:last )?read"
        ),
        "`{tool}` on a file that was not read in this session, or that changed since, is refused.",
        "Read the file first; then the same edit works.",
    ),
    (
        pattern(r"""
            (?i)string to replace not found|could not find the exact text|did not appear verbatim
            |no replacement was performed|\b0 occurrences found|failed to find (?:expected lines|context)
            |invalid context|search block .{0,40}not|does not match (?:any|the) (?:text|content)
            |no match(?:es)? (?:was |were )?found for (?:old|search)"""),
        "`{tool}` with text that is not exactly in the file (from memory, or from before it changed) is refused.",
        "Read those lines of the file again and copy their exact text, then edit.",
    ),
)


def draft_of(
    kind: FindingKind,
    failed: SessionCall,
    worked: SessionCall,
    difference: Difference,
    line: str,
    times: int,
) -> tuple[Draft, bool]:
    """The draft, and whether its correction is a form that holds for any task."""
    wrong, right = difference.wrong, difference.right
    calls = (_call(failed, wrong, difference.removed), _call(worked, right, difference.added))
    if line.startswith(REFUSED_IT):
        reason = line.removeprefix(REFUSED_IT)
        refused, accepted = (
            brief(part.text, MOST_COMMAND) if part else failed.tool for part in (wrong, right)
        )
        correction = f"{reason[:1].upper()}{reason[1:]}: `{accepted}` was accepted."
        return Draft(f"The user refused `{refused}`.", correction, *calls), wrong is not None
    refusal = (
        next((row for row in EDIT_REFUSALS if row[0].search(line)), None) if wrong is None else None
    )
    if refusal is not None:
        return Draft(refusal[1].format(tool=failed.tool), refusal[2], *calls), True
    if (place := _place(difference, line) or _misspelled(failed, difference)) is not None:
        return Draft(*place, *calls), True
    correction, form = _correction(kind, difference, line)
    changes, what, said = difference.changes, failed.tool, brief(line, MOST_LINE)
    # A step that came first may come in a call of its own, and the values of another tool belong to the task.
    guards = kind is FindingKind.CHANGED and not difference.added and not difference.removed
    if wrong is not None:
        what = f"`{brief(wrong.text, MOST_COMMAND)}`"
    else:
        guards = guards and any(None in (item.before, item.after) for item in changes)
        names = [
            f"`{change.name}`" for change in changes if change.name and change.before is not None
        ]
        what = f"`{failed.tool}`" + (
            f" with {' and '.join(names)} in another form" if names else ""
        )
        for value in (str(value) for change in changes for value in change[1:]):
            said = (
                said.replace(value, "…") if len(value) > 2 else said
            )  # another task would take it for its own
    often = f" {times} times" if times > 1 else ""
    mistake = f"{what} failed{often}: {said}" if failed.failed else f"{what} did not do it: {said}"
    return Draft(mistake, correction, *calls, guards=guards), form


def _call(call: SessionCall, part: Part | None, before: tuple[Part, ...]) -> Json:
    """The call, reduced to the part that mattered."""
    if part is None:
        return {"tool": call.tool, "arguments": call.arguments}
    return {
        "tool": call.tool,
        "arguments": {"command": " && ".join(item.text for item in (*before, part))},
    }


def _place(difference: Difference, line: str) -> tuple[str, str] | None:
    """Mistake and correction if the command was right and only its folder was wrong."""
    absent = "no such file" in line.lower()
    if [part.program for part in difference.removed] == ["cd"] and absent:
        return ALREADY_THERE
    if difference.right is not None and [part.program for part in difference.added] == ["cd"]:
        folder = difference.added[0].words[-1]
        where = "the project's root" if folder.startswith(("/", "~")) else f"`{folder}`"
        mistake = f"`{brief(difference.right.text, MOST_COMMAND)}` failed: {brief(line, MOST_LINE)}"
        return mistake, f"Run it in {where}: `cd` there in the same command."
    if len(difference.changes) == 1 and difference.wrong and absent:
        before, after = (
            str(difference.changes[0].before).removeprefix("./"),
            str(difference.changes[0].after),
        )
        if (
            before
            and not before.startswith(("/", "-"))
            and after.startswith("/")
            and after.endswith(f"/{before}")
        ):
            return _ELSEWHERE
    return None


def _misspelled(failed: SessionCall, difference: Difference) -> tuple[str, str] | None:
    """Mistake and correction if one or two letters of a file name were wrong: the right name is useful for any task."""
    file, changes = file_of(failed.arguments), difference.changes
    if difference.wrong or len(changes) != 1 or file is None or file != changes[0].before:
        return None
    if not names_alike(file, right := str(changes[0].after)):
        return None
    return f"`{file}` does not exist (`{failed.tool}`).", f"The file is `{right}`."


def _correction(kind: FindingKind, difference: Difference, line: str) -> tuple[str, bool]:
    wrong, right = difference.wrong, difference.right
    if kind is FindingKind.RETRIED:
        return "", False
    if difference.added and right is not None:
        steps = " and ".join(f"`{brief(part.text, MOST_COMMAND)}`" for part in difference.added)
        form = all(_prepares(part, right) for part in difference.added)
        one_kind = any(part.head == right.head for part in difference.added)
        return (
            f"Run {steps} before `{brief(right.text, MOST_COMMAND) if one_kind else right.head}`.",
            form,
        )
    if difference.removed:
        return f"Leave out `{brief(difference.removed[0].text, MOST_COMMAND)}` before it.", False
    if wrong is None or right is None:
        named = [change for change in difference.changes if change.name]
        form = all(
            None in change[1:] and change.name.casefold() in line.casefold() for change in named
        )
        return (f"{'; '.join(map(_of_argument, named))}.", form) if named else ("", False)
    if wrong.program != right.program:
        return f"Use `{right.program}` in place of `{wrong.program}`.", True
    form = all(_is_form(change, wrong, right, line) for change in difference.changes)
    told = "; ".join(_of_word(change, with_value=not form) for change in difference.changes)
    if form:
        return f"{told}." if wrong.runner == right.runner else f"Run it as `{right.text}`.", True
    return f"{told}: `{brief(right.text, MOST_COMMAND)}` worked.", False


def _prepares(step: Part, right: Part) -> bool:
    """Return whether a step prepares the command, so that the lesson is an order of two commands."""
    valued = any(_VALUE.search(word) for word in step.operands)  # it is the task's
    own = step.program in (right.program, "cd") and not valued
    prepares = own or not _PREPARES.isdisjoint(step.words[:3])
    return prepares and not _SUPPRESSES.search(step.text) and len(step.text) <= MOST_COMMAND


def _of_argument(change: Change) -> str:
    if change.before is None:
        return f"Send `{change.name}` too"
    if change.after is None:
        return f"Leave out `{change.name}`"
    return f"Give `{change.name}` {form_of(change.before, change.after) or 'in the form that the error names'}"


def _of_word(change: Change, *, with_value: bool) -> str:
    before, after = (brief(str(word), MOST_VALUE) for word in (change.before, change.after))
    if not with_value:  # the flag holds for any task, its value does not
        before, after = (re.split(r"[ =]", word)[0] for word in (before, after))
    if not before or not after:
        return f"Add `{after}`" if after else f"Leave out `{before}`"
    form = form_of(change.before, change.after)
    where = f"`{change.name}`" if change.name else "it"
    return f"Give {where} {form}" if form else f"Use `{after}` in place of `{before}`"


def _is_form(change: Change, wrong: Part, right: Part, line: str) -> bool:
    """Return whether a flag that the error names changed, or what starts the program; a value belongs to its task."""
    words = [str(word) for word in change[1:] if word]
    if any(_SUPPRESSES.search(word) for word in words):
        return False
    if [change.before, change.after] == [" ".join(wrong.runner), " ".join(right.runner)]:
        return not any(map(_ASSIGNED.search, right.runner))
    names = [
        word.strip("-").split("=")[0].split(" ")[0].casefold()
        for word in words
        if word.startswith("-")
    ]
    return len(names) == len(words) and any(
        len(name) > 1 and name in line.casefold() for name in names
    )


# The lessons of a run.

MAX_CORRECTIONS: Final = 5
MAX_KEYWORDS: Final = 8
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w.-]{2,60}")


def corrections_from(tried: Sequence[Call], found: Sequence[Finding]) -> tuple[Correction, ...]:
    """The lessons of a run; failures with one remedy are one lesson."""
    lessons: dict[tuple[str, str], Correction] = {}
    for finding in found:
        failed, worked = [tried[number - 1] for number in finding.failed], tried[finding.worked - 1]
        says = worked.answer.strip() not in ("", "(empty)")  # silence proves little
        if not (finding.form and says):
            continue
        mistake = f"{without_own_values(finding.draft.mistake).rstrip('.')}."
        correction = without_own_values(finding.draft.correction)
        error, before = (
            sentence(without_own_values(finding.line), 200),
            lessons.get((mistake, correction)),
        )
        names = [name.strip(".-") for name in _IDENTIFIER.findall(f"{error} {correction}")]
        telling = [name for name in names if name.lower() not in COMMON_WORDS and len(name) >= 3]
        category = failed[0].category or ErrorCategory.UNKNOWN
        events = [
            *((*before.also, before.failed_event_id) if before else ()),
            *(item.failing_event for item in failed),
        ]
        lessons[mistake, correction] = Correction(
            failed_event_id=failed[-1].failing_event,
            also=tuple(name for name in dict.fromkeys(events) if name != failed[-1].failing_event),
            tool=failed[0].tool,
            category=category,
            mistake=mistake,
            correction=correction,
            symptoms=(error,),
            keywords=unique([failed[0].tool, category.short, *telling])[:MAX_KEYWORDS],
        )
    return tuple(lessons.values())[:MAX_CORRECTIONS]
