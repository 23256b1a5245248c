"""Write proven lessons and a person's into the files that hosts give to their models, and keep them in step.

Only the block between our two markers is ever written. The first marker has a digest of the block, so that a change by
hand is seen, and left alone.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.finding import Promotion
from mcp_reflect.models.lesson import Lesson, RecordKind, State, Trust
from mcp_reflect.security.redact import quoted
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.text import clip
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.similarity import same_text
from mcp_reflect.text.signature import digest
from mcp_reflect.whole_files import replace_whole

_PLACES: Final = {
    "CLAUDE.md": "CLAUDE.md",
    "AGENTS.md": "AGENTS.md",  # Codex, opencode, Copilot CLI, Cline, pi, Droid and others
    "GEMINI.md": "GEMINI.md",
    "QWEN.md": "QWEN.md",
    "copilot-instructions.md": ".github/copilot-instructions.md",
    ".clinerules": ".clinerules/mcp-reflect.md",
    ".cursor/rules": ".cursor/rules/mcp-reflect.mdc",
}
FILES: Final = tuple(_PLACES)
"""The names of files that hosts give to their models. Of a folder of rules one file is ours."""

MOST_LINES: Final = 40  # of a block, with its markers
LEAST_OF_A_SKILL: Final = 3  # lessons of one subject
_FRAME: Final = 4  # lines of a block that are no lessons
_MOST_LESSON: Final = 300  # characters of a lesson in a block
_MOST_FILE: Final = 2_000_000  # bytes of a file that is read
_END: Final = "<!-- mcp-reflect: end -->"
_START: Final = re.compile(r"<!-- mcp-reflect: lessons ([0-9a-f]{12})[^\n]{0,200}?-->")
_LAST: Final = re.compile(rf"{_END}(?:\r?\n)?")
_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@([^\s`]{1,300})")
_MOST_MARKERS: Final = 200  # in a file whose block is looked for
_HEADING: Final = "## Lessons of this project"
_ABOUT: Final = "change them with `mcp-reflect lessons`, not here"
_RULES: Final = "---\ndescription: Lessons of this project\nalwaysApply: true\n---\n"
_SKILL: Final = (
    "---\nname: {name}\n"
    "description: What was learned about {subject} in this project. Read it before such a task.\n---\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change of a file: its text before and after, what is to be kept of it, and what is left out with the reason.

    `after` is None if the file is removed, which was made for our block alone.
    """

    path: Path
    before: str
    after: str | None
    promotion: Promotion | None
    left_out: tuple[tuple[str, str], ...] = ()


# The block in a text.


@dataclass(frozen=True, slots=True)
class Block:
    """Where our block stands in a text, with its markers and the end of its last line."""

    start: int
    end: int


def block_in(text: str, name: str) -> Block | None:
    """Return our block in a text, None if there is none.

    A lesson that was written by an earlier release may have a marker in its words: the block is what its digest says.
    InputError if there are other markers than its own, or somebody changed it by hand.
    """
    starts, ends = [*_START.finditer(text)], [*_LAST.finditer(text)]
    if not starts and not ends:
        return None
    if starts and ends and len(starts) + len(ends) <= _MOST_MARKERS:
        first, last = starts[0], ends[-1]
        body = text[first.end() : last.start()]
        is_whole = first.end() <= last.start() and _digest(body) == first[1]
        if is_whole and starts[-1].end() <= last.start():
            return Block(first.start(), last.end())
    if (len(starts), len(ends)) == (1, 1) and starts[0].end() <= ends[0].start():
        fix = "Move your lines out of it and remove the rest of the block, or undo your change; then try again."
        raise InputError("file", f"somebody edited our block in {name} by hand", fix)
    fault = f"{name} has {len(starts)} start markers of our block and {len(ends)} end markers"
    raise InputError("file", fault, "Leave one pair, or remove them all and promote again.")


def _digest(body: str) -> str:
    return digest(body.replace("\r\n", "\n").strip(), 12)


def block_of(lines: Iterable[str]) -> str:
    """Return the block with these lines, one for each lesson."""
    body = "\n".join([_HEADING, *lines])
    return f"<!-- mcp-reflect: lessons {_digest(body)}, {_ABOUT} -->\n{body}\n{_END}\n"


def line_of(lesson: Lesson) -> str:
    """Return the line of a lesson in a block."""
    return f"- {_without_markers(clip(lesson.text, _MOST_LESSON))}"


def _lines_in(text: str, block: Block) -> list[str]:
    """Return the lines of the lessons in a block that is there."""
    lines = text[block.start : block.end].replace("\r\n", "\n").strip().split("\n")
    return lines[2:-1]


def _without_markers(text: str) -> str:
    """Return a text in which no comment begins or ends, so that it can hold none of our markers."""
    return text.replace("<!--", "&lt;!--").replace("-->", "--&gt;")


def _without(block: Block, text: str, lead: str) -> str:
    start = block.start
    if lead and text[:start].endswith(lead):
        start -= len(lead)
    rest = text[block.end :]
    # The file had no line end: what was added after the block begins a line of its own.
    between = lead[: len(lead) // 2] if rest and start and text[start - 1] != "\n" else ""
    return text[:start] + between + rest


# The file.


def root_of(context: Context) -> Path:
    """Return the folder of the project: the working tree of its repository, else the working folder."""
    here = (context.settings.folder or Path.cwd()).resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def path_of(root: Path, name: str, subject: str | None = None) -> Path:
    """Return the file of a name in FILES, or of a subject's skill."""
    if subject:
        slug = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-") or "lessons"
        return root / ".claude" / "skills" / slug / "SKILL.md"
    if name == ".clinerules" and (root / name).is_file():  # it may be one file
        return root / name
    return root / _PLACES[name]


def files_there(root: Path) -> list[str]:
    """Return the names in FILES of files that are there, each once, without those that import another one of them."""
    there: dict[Path, str] = {}  # one may be a link to another
    for name in FILES:
        if (path := path_of(root, name)).exists():
            there[path.resolve()] = name
    return [name for path, name in there.items() if not _imported(path) & {*there} - {path}]


def _imported(path: Path) -> set[Path]:
    """Return the files that an instruction file imports: `@AGENTS.md` in its text, as Claude Code reads it."""
    with suppress(InputError, OSError):
        names = {found[1].rstrip(".,;:)") for found in _IMPORT.finditer(_text(path))}
        return {(path.parent / Path(name).expanduser()).resolve() for name in names}
    return set()


def _refuse_second_block(root: Path, path: Path) -> None:
    """InputError if a file that `path` imports, or that imports it, has our block: it would be loaded twice."""
    for name in FILES:
        other = path_of(root, name).resolve()
        if other == path or not other.is_file() or not _START.search(_text(other)):
            continue
        if other in _imported(path):
            fault = f"{path.name} imports {name}, which has the lessons already"
            raise InputError("file", fault, f"Promote into {name} alone.")
        if path in _imported(other):
            fault = f"{name} imports {path.name}, and has the lessons already"
            raise InputError(
                "file", fault, f"Take them out first: mcp-reflect promote {name} --undo"
            )


def _resolved(root: Path, path: Path) -> Path:
    """Return the file that is to be written. InputError if it is not ours to write."""
    name, target = path.name, Path(os.path.realpath(path))
    if not target.is_relative_to(root.resolve()):
        fault = f"{name} is, or is reached by, a link out of the project, to {target}"
        raise InputError("file", fault, "Put a file in its place, or promote into another one.")
    if target.exists() and not target.is_file():
        raise InputError("file", f"{name} is not a file", "Name another one.")
    holder = next(folder for folder in (target, *target.parents) if folder.exists())
    if not holder.stat().st_mode & stat.S_IWUSR or not os.access(holder, os.W_OK):
        raise InputError(
            "file", f"{holder} is read-only", "Make it writable, or promote into another file."
        )
    return target


def _text(path: Path) -> str:
    """Return the text of a file with every byte of it; an empty one for no file."""
    if not path.exists():
        return ""
    if path.stat().st_size > _MOST_FILE:
        raise InputError(
            "file", f"{path.name} has more than {_MOST_FILE} bytes", "Promote into another file."
        )
    content = path.read_bytes()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        fix = "Save it as UTF-8, or promote into another file."
        raise InputError("file", f"{path} is not UTF-8 (it looks like UTF-16)", fix)
    return content.decode("utf-8", "surrogateescape")


def write(path: Path, text: str | None) -> None:
    """Replace a file as a whole; a reader sees the old text or the new one. None removes it."""
    if text is None:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()  # the folder of a skill, if nothing else is in it
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    replace_whole(str(path), text.encode("utf-8", "surrogateescape"), mode)


# The lessons.


async def plan(
    context: Context, name: str, *, subject: str | None = None, ids: Sequence[str] = ()
) -> Plan:
    """Return what promoting into a file would change.

    Without `ids` these are the lessons that a person vouched for, or that were proven; a `subject` has a skill of its
    own. InputError if there is nothing to promote, or the file is not ours to change.
    """
    root = root_of(context)
    path = _resolved(root, path_of(root, name, subject))
    known = {
        one.file: one for one in await context.bank.findings.promotions(context.scopes.own)
    }.get(str(path))
    text = _text(path)
    if not subject:
        _refuse_second_block(root, path)
    block = block_in(text, path.name)
    lessons = await _chosen(context, subject, ids)
    rest = _without(block, text, known.lead if known else "") if block else text
    said = [lesson.id for lesson in lessons if not subject and _says(rest, lesson)]
    kept = [lesson for lesson in lessons if lesson.id not in said]
    room = MOST_LINES - _FRAME + 1
    if not kept and not block:
        told = "the file says them already" if said else "no lesson is proven, or a person's"
        raise InputError(
            "promote",
            f"there is nothing to promote: {told}",
            "Keep some: mcp-reflect lessons review.",
        )
    if known is None or block is None:
        lead = "" if block or not text else ("\n" if text.endswith("\n") else "\n\n")
        lead = lead.replace("\n", "\r\n") if "\r\n" in text else lead
        head = "" if text else _head_of(path, subject)
        known = Promotion(file=str(path), lessons=(), lead=lead, head=head, made=not path.exists())
    left_out = [(one, f"{path.name} says it already") for one in said]
    left_out += [(lesson.id, f"a block has at most {MOST_LINES} lines") for lesson in kept[room:]]
    lines = {lesson.id: line_of(lesson) for lesson in kept[:room]}
    return _planned(replace(known, said=tuple(said)), lines, tuple(left_out))


def _planned(
    known: Promotion, lines: Mapping[str, str], left_out: tuple[tuple[str, str], ...] = ()
) -> Plan:
    """Return the change that puts these lines into the block of a file, or removes the block if there are none.

    The lines stand under the ids of their lessons. InputError if the file is not ours to change.
    """
    path = Path(known.file)
    text = _text(_resolved(path.parent, path))
    block, new = block_in(text, path.name), block_of(lines.values())
    new = new.replace("\n", "\r\n") if "\r\n" in text else new
    if not lines:
        after = _without(block, text, known.lead) if block else text
        after = None if known.made and after == known.head else after
    elif block is None:
        after = f"{text or known.head}{known.lead}{new}"
    else:
        has_line_end = text[: block.end].endswith("\n")
        ending = "" if has_line_end else "\r\n" if "\r\n" in text else "\n"
        after = text[: block.start] + new.removesuffix(ending) + text[block.end :]
    kept = replace(known, lessons=tuple(lines)) if lines else None
    return Plan(path=path, before=text, after=after, promotion=kept, left_out=left_out)


def _head_of(path: Path, subject: str | None) -> str:
    if subject:
        return _SKILL.format(name=path.parent.name, subject=" ".join(subject.split()))
    return _RULES if path.suffix == ".mdc" else ""


def _says(text: str, lesson: Lesson) -> bool:
    """Return whether a text says what a lesson says, in a line or a paragraph."""
    told = lesson.correction or lesson.text
    lines = [line.strip(" \t\r-*#>") for line in text.split("\n")]
    return any(
        line and (told.casefold() in line.casefold() or same_text(line, told)) for line in lines
    )


async def _chosen(context: Context, subject: str | None, ids: Sequence[str]) -> list[Lesson]:
    scope, lessons = context.scopes.own, context.bank.lessons
    if ids:
        found = [
            await lessons.get(scope, await lessons.resolve_id(scope, part), "id") for part in ids
        ]
        for lesson in found:
            if not _is_usable(lesson):
                fix = "Decide about it first: mcp-reflect lessons review."
                raise InputError("id", f"'{quoted(lesson.id)}' is not in use, or not trusted", fix)
        return found
    found = [
        one for one in await lessons.for_start(scope, 500) if _is_usable(one) and _is_proven(one)
    ]
    if subject is None:
        return found
    group = [one for one in found if subject.casefold() in _subjects(one)]
    if len(group) < LEAST_OF_A_SKILL:
        counts = Counter(name for one in found for name in _subjects(one))
        named = ", ".join(
            f"{name} ({count})"
            for name, count in counts.most_common(10)
            if count >= LEAST_OF_A_SKILL
        )
        fault = f"{len(group)} lessons have the task type or tag '{quoted(subject)}', and a skill takes {LEAST_OF_A_SKILL}"
        raise InputError("--skill", fault, f"Subjects with enough: {named or 'none yet'}.")
    return group


def _subjects(lesson: Lesson) -> set[str]:
    return {name.casefold() for name in (lesson.task_type, *lesson.tags) if name}


def _is_usable(lesson: Lesson) -> bool:
    in_use = lesson.state is State.ACTIVE and lesson.kind is RecordKind.LESSON and not lesson.held
    return in_use and not suspicion_of(lesson)


def _is_proven(lesson: Lesson) -> bool:
    return lesson.trust in (Trust.TRUSTED, Trust.CONFIRMED)


async def apply(context: Context, made: Plan) -> None:
    """Write a plan's file. InputError if it changed since the plan was made, or cannot be written."""
    if _text(made.path) != made.before:
        raise InputError("file", f"{made.path.name} changed in the meantime", "Promote again.")
    try:
        write(made.path, made.after)
    except OSError as error:
        raise InputError(
            "file", f"{made.path} cannot be written: {error.strerror}", "Name another one."
        ) from None
    await context.bank.findings.put_promotion(context.scopes.own, str(made.path), made.promotion)


async def undo_plans(
    context: Context, name: str | None = None, subject: str | None = None
) -> list[Plan]:
    """Return the changes that take our blocks out of a file, or out of every file of the project."""
    root = root_of(context)
    only = (
        None
        if name is None and subject is None
        else os.path.realpath(path_of(root, name or "", subject))
    )
    known = await context.bank.findings.promotions(context.scopes.own)
    plans = [_planned(one, {}) for one in known if only in (None, one.file)]
    if not plans:
        raise InputError(
            "--undo", "nothing of this project was promoted", "`mcp-reflect promote` does it."
        )
    return plans


async def refresh(context: Context, by: Speaker, since: float) -> None:
    """Bring our blocks into step with their lessons: new words, and without those that are not in use any more.

    Only a person's word changes a file. So a line follows a lesson that a person keeps, which only a person changes, and
    where a person runs this process one that changed or was erased `since` it began. Any other line stays as the person
    saw it when they promoted it. A file stays as it is if it is gone, cannot be written, or somebody edited its block.
    """
    for known in await context.bank.findings.promotions(context.scopes.own):
        with suppress(InputError, OSError):
            made = _planned(known, await _lines_now(context, known, by, since))
            if made.after != made.before and _START.search(made.before):
                await apply(context, made)


async def _lines_now(
    context: Context, known: Promotion, by: Speaker, since: float
) -> dict[str, str]:
    """Return the lines that a block should have, under the ids of their lessons."""
    text = _text(Path(known.file))
    block = block_in(text, known.file)
    written = _lines_in(text, block) if block else []
    lines: dict[str, str] = {}
    for lesson_id, line in zip(known.lessons, written, strict=False):
        lesson = await _found(context, lesson_id)
        is_of_person = by is Speaker.PERSON and (lesson is None or lesson.updated_at >= since)
        if not is_of_person and (lesson is None or not lesson.is_kept_by_person):
            lines[lesson_id] = line
        elif lesson is not None and _is_usable(lesson):
            lines[lesson_id] = line_of(lesson)
    return lines


async def _found(context: Context, lesson_id: str) -> Lesson | None:
    try:
        return await context.bank.lessons.get(context.scopes.own, lesson_id)
    except NotFoundError:
        return None
