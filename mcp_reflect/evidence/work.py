"""A piece of work with its steps, and its statements: every sentence, but for those that state nothing by their form.

Premises, conclusions and answers are statements like all others. A question, a greeting, an exclamation, a plan, a heading
and the words of somebody else are none; how many were left out is said.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, pairwise
from typing import Final, NamedTuple

from mcp_reflect.evidence.sentences import sentences_of
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.models.critique import Claim, ToolResult

MOST_STEPS: Final = 200
_MOST_SENTENCES: Final = 200  # sentences of a step
_LONGEST_STEP: Final = 60_000  # characters that are read
_LONGEST_LINE: Final = 5_000  # characters that are read
_LONGEST_SENTENCE: Final = 900  # characters that are kept
_MOST_LINES: Final = 2_000  # lines of a step
_LONGEST_GREETING: Final = 6  # words
_MOST_TITLE: Final = 80  # characters of the first line of a block of code
_LONGEST_HEAD: Final = 6  # words of a sentence that only heads what comes behind it

_FENCE: Final = re.compile(r"^[ \t]{0,40}(`{3,40}|~{3,40})[ \t]*(.{0,200})$")
_LANGUAGE: Final = re.compile(r"^\{?\.?([A-Za-z][\w+#-]{0,30})")
_NUMBERED: Final = re.compile(
    r"^[ \t]{0,3}(?:(?:step[ \t]+)?\d{1,3}[.):]|step[ \t]+\d{1,3}\b)[ \t]*", re.IGNORECASE
)
_BULLET: Final = re.compile(r"^\s{0,40}(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?:\[[ xX]\]\s+)?")
_ITEM_OF_LIST: Final = re.compile(r"^\s{0,40}(?:[-*+•]\s|\d{1,3}[.)]\s)")
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s|^\s*(?:\*\*|__)?[^.!?=\d]{1,80}:(?:\*\*|__)?\s*$")
_AROUND_WORDS: Final = " \t.!…。！¡*_~🎉✅👍🚀"
_BOLD: Final = re.compile(r"\*\*|(?<![^\s(\"'*])__(?=\S)|(?<=\S)__(?![^\s.,:;!?)\"'*])")
_BEFORE_PLAN: Final = re.compile(
    r"^(?:(?:(?:before|after|once|when|if|to|in|for)\b[^,]{1,100}|first|then|next),|first|so|and|but) "
)
_LETTERS: Final = re.compile(r"[^\W_]")


class SentenceForm(StrEnum):
    """The form of a sentence that states nothing."""

    QUESTION = "question"
    GREETING = "greeting"
    EXCLAMATION = "exclamation"
    PLAN = "plan"
    HEADING = "heading"
    QUOTATION = "quotation"


class Sentence(NamedTuple):
    """A sentence of a step, and its form where it states nothing."""

    text: str
    form: SentenceForm | None


class WorkBlock(NamedTuple):
    """A line of a response, or a whole fenced block, which no rule for lines may cut."""

    text: str
    is_fence: bool


@dataclass(frozen=True, slots=True)
class Fence:
    """An outermost fenced block: `language` in lower case, empty if none is named; `lines` with the marks."""

    language: str
    lines: tuple[str, ...]
    closed: bool

    @property
    def body(self) -> tuple[str, ...]:
        """The lines between the marks; a block that nobody closed goes on to the end."""
        if self.closed:
            return self.lines[1:-1]
        return self.lines[1:]

    @property
    def title(self) -> str:
        """Name the block by its language and its first line."""
        first = next((line.strip() for line in self.body if line.strip()), "")
        return f"{self.language or 'code'} block: {first[:_MOST_TITLE]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work to check: what was asked, the steps of the answer, and the evidence for it.

    `decided` is the component or tool that was decided on and `executed` the one that ran, where the
    caller said so. `older_results` were sent before `tool_results` and are not read.
    """

    goal: str
    steps: tuple[str, ...]
    tool_results: tuple[ToolResult, ...] = ()
    older_results: int = 0
    decided: str | None = None
    executed: str | None = None


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of a work, and how many sentences of each form were left out."""

    claims: tuple[Claim, ...]
    left_out: dict[SentenceForm, int]

    @property
    def note(self) -> str | None:
        """Say what was left out."""
        parts: list[str] = []
        for form, count in self.left_out.items():
            parts.append(f"1 {form}" if count == 1 else f"{count} {form}s")
        if not parts:
            return None
        return f"no statements, left out: {', '.join(parts)}"


def statements_of(steps: Sequence[str]) -> Statements:
    """Return every sentence of the steps that states something, numbered, each once; and each block of code."""
    step_of: dict[str, int] = {}
    left_out = Counter[SentenceForm]()
    plan = _ListOfPlan()
    for number, step in enumerate(steps, start=1):
        for text, form in _sentences(step, plan):
            if form is None:
                step_of.setdefault(text, number)
            else:
                left_out[form] += 1
    claims = tuple(
        Claim(number=number, step=step, text=text)
        for number, (text, step) in enumerate(step_of.items(), start=1)
    )
    return Statements(claims, dict(left_out))


class _ListOfPlan:
    """Knows the list behind "I need to:": its items say what is to come, also where each is a step of its own."""

    def __init__(self) -> None:
        self._is_open = False

    def read(self, line: str, sentences: list[Sentence]) -> list[Sentence]:
        """Return the sentences of a line, as plans where it is an item of such a list."""
        if self._is_open and _ITEM_OF_LIST.match(line):
            return [Sentence(text, form or SentenceForm.PLAN) for text, form in sentences]
        last = sentences[-1].text if sentences else ""
        is_head = last.rstrip().endswith((":", "："))
        self._is_open = is_head and form_of(last) is SentenceForm.PLAN
        return sentences


def _sentences(step: str, plan: _ListOfPlan) -> list[Sentence]:
    """Return the sentences of a step, each with its form where it states nothing.

    Of very many, those in the middle are left out: a report sums up at its end.
    """
    sentences: list[Sentence] = []
    for part in islice(parts(step[:_LONGEST_STEP]), _MOST_LINES):
        if isinstance(part, Fence):
            sentences.append(Sentence(part.title, None))
        elif part.strip():
            sentences += plan.read(part, list(_sentences_of_line(part)))
    if len(sentences) <= _MOST_SENTENCES:
        return sentences
    half = _MOST_SENTENCES // 2
    return [*sentences[:half], *sentences[-half:]]


def _sentences_of_line(line: str) -> Iterator[Sentence]:
    """Yield the sentences of a line, each with its form; a heading and a quoted line are one sentence each."""
    if _HEADING.match(line):
        yield Sentence(line.strip(), SentenceForm.HEADING)
        return
    if line.lstrip().startswith(">"):
        yield Sentence(line.strip(), SentenceForm.QUOTATION)
        return
    body = _without_marks(_BULLET.sub("", line[:_LONGEST_LINE], count=1))
    for piece in sentences_of(body.lstrip("✓✔✅❌✗☑ \t").strip()):
        text = piece.strip()
        if _LETTERS.search(text):
            yield Sentence(text[:_LONGEST_SENTENCE], form_of(text))


def _without_marks(line: str) -> str:
    """Return a line without the marks of bold words. What stands in backticks, and a name such as `a__b`, keeps its own."""
    pieces: list[str] = []
    is_code = False
    for piece in line.split("`"):
        pieces.append(piece if is_code else _BOLD.sub("", piece))
        is_code = not is_code
    return "`".join(pieces)


def form_of(sentence: str) -> SentenceForm | None:
    """Return the form of a sentence that states nothing, None for a statement; the first row that fits decides.

    | the sentence                                             | form        |
    |----------------------------------------------------------|-------------|
    | ends with a question mark                                | QUESTION    |
    | is "Great!", "I see the issue." or the like as a whole   | EXCLAMATION |
    | is short, and begins as a greeting: "Hi there."          | GREETING    |
    | begins as a plan: "I will add tests.", "First, let me …" | PLAN        |
    | is short, and ends with a colon: "The scale is:"         | HEADING     |
    """
    text = sentence.lower()
    if text.rstrip("\"')*_ ").endswith(("?", "？")):
        return SentenceForm.QUESTION
    forms = read_word_list("forms")
    if text.strip(_AROUND_WORDS) in forms["exclamations"]:
        return SentenceForm.EXCLAMATION
    is_short = len(text.split()) <= _LONGEST_GREETING
    if is_short and _begins_with(text, forms["greetings"]):
        return SentenceForm.GREETING
    main_clause = _BEFORE_PLAN.sub("", text, count=1)
    if _begins_with(text, forms["plans"]) or _begins_with(main_clause, forms["plans"]):
        return SentenceForm.PLAN
    if text.endswith((":", "：")) and len(text.split()) <= _LONGEST_HEAD:
        return SentenceForm.HEADING
    return None


def _begins_with(text: str, beginnings: tuple[str, ...]) -> bool:
    """Return whether a text begins with one of these as whole words; Japanese and Chinese part no words."""
    if not text.startswith(beginnings):
        return False
    for beginning in beginnings:
        if text.startswith(beginning):
            ends_inside_word = text[len(beginning) : len(beginning) + 1].isalnum()
            if not beginning.isascii() or not ends_inside_word:
                return True
    return False


def parts(text: str) -> list[str | Fence]:
    """Return the lines outside of fences one by one, and each fence as a whole; each line is looked at once.

    A fence ends at a mark of the same sign that is at least as long, with nothing behind it. So a shorter one within it, and
    one with a language, belong to its text.
    """
    parts_of_text: list[str | Fence] = []
    inside: list[str] = []
    mark = ""
    language = ""
    for line in text.split("\n"):
        fence = None
        if line.lstrip()[:3] in ("```", "~~~"):
            fence = _FENCE.match(line)
        if inside:
            inside.append(line)
            if fence and fence[1].startswith(mark) and not fence[2].strip():
                parts_of_text.append(Fence(language, tuple(inside), closed=True))
                inside = []
        elif fence:
            named = _LANGUAGE.match(fence[2])
            inside = [line]
            mark = fence[1]
            language = named[1].lower() if named else ""
        else:
            parts_of_text.append(line)
    if inside:
        return [*parts_of_text, Fence(language, tuple(inside), closed=False)]
    return parts_of_text


def split(response: str) -> tuple[str, ...]:
    """Return the steps of a response, in order; more than 200 end in the last one.

    - two numbered lines or more, "1. Add. 2. Test.": a step each
    - else paragraphs: a step each
    - a single paragraph without code: a line each, or a clause each where these are equations, "a = b; c = d"
    """
    blocks = [_block_of(part) for part in parts(response.replace("\r\n", "\n"))]
    steps = _by_number(blocks) or _paragraphs(blocks)
    if len(steps) == 1 and "```" not in steps[0]:
        steps = _lines_or_clauses(steps[0])
    if len(steps) > MOST_STEPS:
        steps[MOST_STEPS - 1 :] = ["\n\n".join(steps[MOST_STEPS - 1 :])]
    return tuple(steps)


def _block_of(part: str | Fence) -> WorkBlock:
    """Return a line, or a fence with its marks, as a block."""
    if isinstance(part, Fence):
        return WorkBlock("\n".join(part.lines), is_fence=True)
    return WorkBlock(part, is_fence=False)


def _lines_or_clauses(step: str) -> list[str]:
    """`a = b; c = d` is two steps; a sentence with a semicolon and no equation stays whole."""
    lines = [line.strip() for line in step.splitlines() if line.strip()]
    if len(lines) > 1:
        return lines
    clauses = [part.strip() for part in re.split(r";[ \t]+", step) if part.strip()]
    if sum("=" in part for part in clauses) > 1:
        return clauses
    return lines


def _by_number(blocks: list[WorkBlock]) -> list[str]:
    """Return a step for each numbered line with what follows it; none where fewer than two lines are numbered.

    What stands before the first numbered line is a step of its own.
    """
    starts = [
        index
        for index, block in enumerate(blocks)
        if not block.is_fence and _NUMBERED.match(block.text)
    ]
    if len(starts) < 2:
        return []
    cuts = [*starts, len(blocks)]
    if starts[0] > 0:
        cuts.insert(0, 0)
    lines = [block.text for block in blocks]
    steps = ("\n".join(lines[start:end]).strip() for start, end in pairwise(cuts))
    return [step for step in steps if step]


def _paragraphs(blocks: list[WorkBlock]) -> list[str]:
    """Return the texts between blank lines: ["We add.", "", "It works."] are two.

    A fenced block belongs to the text around it, also where it is empty, because only a blank line outside of it parts
    paragraphs.
    """
    paragraphs: list[str] = []
    lines: list[str] = []
    for block in blocks:
        is_blank_line = not block.is_fence and not block.text.strip()
        if not is_blank_line:
            lines.append(block.text)
        elif lines:
            paragraphs.append("\n".join(lines).strip())
            lines = []
    if lines:
        paragraphs.append("\n".join(lines).strip())
    return paragraphs
