"""Markdown read by its headings: a model's reply in prose becomes sections, whose titles say what they mean."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.models.reflection import Insights
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.schemas.analysis_fields import KNOWN_FIELDS
from mcp_reflect.schemas.fields import normalized

_MAX_TITLE_CHARS: Final = 80  # of an unknown title in bold: a longer one is a sentence
_TITLE_MARKS: Final = " #*_"  # of Markdown, around a title


def _read_titles() -> Mapping[str, str]:
    """Return the meaning of each title in section_titles.txt, whose lines are `MEANING: TITLE TITLE…`."""
    meaning_by_title: dict[str, str] = {}
    path = Path(__file__).with_name("section_titles.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        meaning, _, titles = line.partition(":")
        if titles and not line.startswith("#"):
            meaning_by_title |= dict.fromkeys(titles.split(), meaning)
    return meaning_by_title


_MEANING_BY_TITLE: Final = _read_titles()
_KNOWN_TITLES: Final = KNOWN_FIELDS.union(
    _MEANING_BY_TITLE,
    "overview executive_summary tldr conclusion strengths what_went_well what_worked improvements weaknesses "
    "areas_for_improvement what_did_not_work what_could_be_better recommendations next_steps suggestions advice".split(),
)
"""Names of sections that are known where nothing but a colon marks them as headings."""

_INTRODUCTION: Final = "introduction"
"""The meaning of text before any heading."""

_BULLET: Final = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_CODE_FENCE: Final = re.compile(r"\s*(```|~~~)")
_COLON: Final = re.compile(r"[:：]|(?:\*\*|__) ?[–—-]")
# A known title inside of a line: after the end of a sentence, or with a capital after a small letter.
_TITLE_INSIDE_LINE: Final = lazy_compile(
    r"(?:^|(?<=[^\W\d][.!?;,…。！？；])\s+|(?<=[*`)])\s+|(?<=[a-z])\s+(?=[A-Z*]))(?=(?:(?:[-*•|]|\d{1,2}[.)])\s+)?(?:\*\*|__)?"
    rf"(?i:({'|'.join(_KNOWN_TITLES).replace('_', '[ _]')}))(?:\*\*|__)?\s*[:：])",
    re.MULTILINE,
)


def field_name(title: str) -> str:
    """Return a title as the name of a field: `3. **What WentWrong?**` -> `what_went_wrong`."""
    without_bullet = _BULLET.sub("", title.replace("’", "'"))
    words = re.sub(r"[^\w\s-]+", "", without_bullet)
    separated = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words)
    return re.sub(r"_+", "_", normalized(separated)).strip("_")


def split_sections(markdown: str) -> list[tuple[str, str]]:
    r"""Return the sections of a text in order, each as its title and its body; text before any heading has the title "".

    `Fine.\n## Summary\nIt ran.\n**Advice:** wait` -> `[("", "Fine."), ("Summary", "It ran."), ("Advice", "wait")]`

    | a line, or a part of one | is a heading                                                              |
    |--------------------------|---------------------------------------------------------------------------|
    | `## Title`               | always                                                                    |
    | `**Title:** text`        | at the start of a line                                                    |
    | `Title: text`, `- Title` | if the title is one of _KNOWN_TITLES, since any sentence may begin so     |
    | `... Title: text`        | if two such titles stand inside of lines: models write all on one line    |
    """
    return [(section.title, section.body) for section in _sections_of(markdown)]


class _Section(NamedTuple):
    """A section of a text."""

    title: str
    body: str
    is_inline: bool  # its body begins on the line of its title

    @property
    def advice(self) -> str:
        """The body without paragraphs that may be about something else.

        | the title stands           | paragraphs of the body that are advice                     |
        |----------------------------|------------------------------------------------------------|
        | on a line of its own       | all                                                        |
        | before text: `Advice: …`   | the one on the title's line, and lists that follow it      |
        """
        if not self.is_inline:
            return self.body
        first_paragraph, *other_paragraphs = re.split(r"\n\s*\n", self.body)
        lists = [paragraph for paragraph in other_paragraphs if _BULLET.match(paragraph)]
        return "\n\n".join((first_paragraph, *lists))


def _sections_of(markdown: str) -> list[_Section]:
    """Return the sections of a text: the lines "Intro.", "## Fix", "Use uv." -> ("", "Intro.") and ("Fix", "Use uv.").

    1. Known titles inside of a line get lines of their own, if the text has two or more of them.
    2. Each heading begins a section, and the lines up to the next one are its body. A line in a code block is no
       heading.
    3. Empty text before the first heading is left out.
    """
    titles_inside_lines = {title.lower() for title in _TITLE_INSIDE_LINE.findall(markdown)}
    if len(titles_inside_lines) > 1:
        markdown = _TITLE_INSIDE_LINE.sub("\n", markdown)
    headings = [_Heading("", "")]
    body_lines: list[list[str]] = [[]]  # of each heading
    is_in_code = False
    for line in markdown.splitlines():
        if _CODE_FENCE.match(line):
            is_in_code = not is_in_code
        heading: _Heading | None = None
        if not is_in_code:
            heading = _heading(line)
        if heading is None:
            body_lines[-1].append(line)
        else:
            headings.append(heading)
            body_lines.append([heading.text])
    sections: list[_Section] = []
    for heading, lines in zip(headings, body_lines, strict=True):
        is_inline = bool(heading.title and heading.text)
        sections.append(_Section(heading.title, "\n".join(lines).strip(), is_inline))
    return [section for section in sections if section.title or section.body]


class _Heading(NamedTuple):
    """The title that a line gives, and the text behind it."""

    title: str
    text: str


def _heading(line: str) -> _Heading | None:
    """Return the heading that a line is, None if it is none.

    | the line          | a known title      | any other title                            |
    |-------------------|--------------------|--------------------------------------------|
    | `## Title`        | is a heading       | is a heading                               |
    | `**Title** text`  | is a heading       | is a heading, if it is short and no item   |
    | `- Title`         | is a heading       | is none                                    |
    | `Title: text`     | is a heading       | is none                                    |
    | `Title`           | is none            | is none                                    |
    """
    without_bullet = _BULLET.sub("", line, count=1).strip()
    parts = [part.strip(_TITLE_MARKS) for part in _COLON.split(without_bullet, maxsplit=1)]
    title = parts[0]
    has_colon = len(parts) > 1
    text = parts[1] if has_colon else ""
    has_hash = without_bullet.startswith("#")
    is_bold = without_bullet.startswith(("**", "__"))
    is_list_item = without_bullet != line.strip()
    if field_name(title) in _KNOWN_TITLES:
        is_marked = has_colon or has_hash or is_bold or is_list_item
        if is_marked:
            return _Heading(title, text)
        return None
    if has_hash:
        return _Heading(without_bullet.strip(_TITLE_MARKS), "")
    is_short_title = len(title) <= _MAX_TITLE_CHARS and "**" not in title
    if is_bold and not is_list_item and is_short_title:
        return _Heading(title, text)
    return None


def items(body: str) -> list[str]:
    """Return the items of a list, at any depth and with any bullet, each on one line; other text is one item.

    The lines `- Read the`, `  log` and `2. Wait` -> "Read the log" and "Wait"
    """
    list_items: list[str] = []
    for line in filter(str.strip, body.splitlines()):
        text = _BULLET.sub("", line, count=1)
        has_bullet = text != line
        if has_bullet or not list_items:
            list_items.append(text.strip())
        else:
            list_items[-1] = f"{list_items[-1]} {text.strip()}"
    return list_items


# The meaning of a heading by a part of its name ("Key strengths of the run").
_MEANING_PATTERNS: Final = {
    "summary": re.compile(r"summary|overview|conclusion|^(?:tldr|abstract|reflection|analysis)$"),
    "strengths": re.compile(
        r"strength|positive|went_well|worked_well|^(?:what_worked|successes|pros|good)$"
    ),
    "improvements": re.compile(
        r"improve|weakness|limitation|went_wrong|could_be_better|did_?no?t_work|^(?:issues|problems?|mistakes|cons)$"
    ),
    "recommendation": re.compile(
        r"recommend|suggestion|next_step|next_time|action_item|^(?:strategy|advice)$"
    ),
}


def read_insights(markdown: str) -> Insights:
    """Return the sections by meaning; a missing one is None or empty, and `raw_sections` has all by their headings.

    Text before any heading is the summary where no heading gives one.
    """
    body_by_title: dict[str, str] = {}
    bodies_by_meaning: dict[str | None, list[str]] = {}
    for section in _sections_of(markdown):
        title = section.title
        body = section.body
        meaning: str | None = _INTRODUCTION
        if title:
            body_by_title[title] = f"{body_by_title.get(title, '')}\n\n{body}".strip()
            meaning = _meaning_of(field_name(title))
        if meaning == "recommendation":
            body = section.advice
        bodies_by_meaning.setdefault(meaning, []).append(body)
    summary = _joined(bodies_by_meaning.get("summary"))
    return Insights(
        summary=summary or _joined(bodies_by_meaning.get(_INTRODUCTION)),
        strengths=_all_items(bodies_by_meaning.get("strengths")),
        improvements=_all_items(bodies_by_meaning.get("improvements")),
        recommendation=_joined(bodies_by_meaning.get("recommendation")),
        raw_sections=body_by_title,
    )


def _meaning_of(title: str) -> str | None:
    """Return the meaning of a section by its title, None for none; the first row that fits decides.

    | the title                                   | the meaning                                     |
    |---------------------------------------------|-------------------------------------------------|
    | is known: `what_went_well`                  | as section_titles.txt says                      |
    | begins with a thing: `decision_strengths`   | none: it names the subject alone                |
    | has a stem: `key_strengths_of_the_run`      | as _MEANING_PATTERNS says                       |
    """
    if title in _MEANING_BY_TITLE:
        return _MEANING_BY_TITLE[title]
    if title.startswith(("reflection_on_", "decision_", "execution_")):
        return None
    for meaning, stem in _MEANING_PATTERNS.items():
        if stem.search(title):
            return meaning
    return None


def _joined(bodies: Sequence[str] | None) -> str | None:
    """Return the texts of sections as paragraphs of one, None if there is no text."""
    return "\n\n".join(filter(None, bodies or ())) or None


def _all_items(bodies: Sequence[str] | None) -> tuple[str, ...]:
    """Return the items of all lists of some sections."""
    all_items: list[str] = []
    for body in bodies or ():
        all_items += items(body)
    return tuple(all_items)
