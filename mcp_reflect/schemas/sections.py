"""Read a text by its headings: what its sections are, which items they list, and what they mean."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.models.reflection import Insights
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.schemas.analysis_fields import KNOWN_FIELDS
from mcp_reflect.schemas.fields import normalized

_LONGEST_TITLE: Final = 80  # characters of an unknown title in bold: a longer one is a sentence
_MARKDOWN: Final = " #*_"  # signs around a title


def _read_titles() -> Mapping[str, str]:
    """Return the meaning of each title in section_titles.txt, whose lines are `MEANING: TITLE TITLE…`."""
    meaning_by_title: dict[str, str] = {}
    path = Path(__file__).with_name("section_titles.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        meaning, _, titles = line.partition(":")
        if titles and not line.startswith("#"):
            meaning_by_title |= dict.fromkeys(titles.split(), meaning)
    return meaning_by_title


_TITLES_BY_NAME: Final = _read_titles()
_TITLES: Final = KNOWN_FIELDS.union(
    _TITLES_BY_NAME,
    "overview executive_summary tldr conclusion strengths what_went_well what_worked improvements weaknesses "
    "areas_for_improvement what_did_not_work what_could_be_better recommendations next_steps suggestions advice".split(),
)
"""Names of sections that are known where nothing but a colon marks them as headings."""

_BULLET: Final = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_COLON: Final = re.compile(r"[:：]|(?:\*\*|__) ?[–—-]")
# A known title inside of a line: after the end of a sentence, or with a capital after a small letter.
_INSIDE: Final = lazy_compile(
    r"(?:^|(?<=[^\W\d][.!?;,…。！？；])\s+|(?<=[*`)])\s+|(?<=[a-z])\s+(?=[A-Z*]))(?=(?:(?:[-*•|]|\d{1,2}[.)])\s+)?(?:\*\*|__)?"
    rf"(?i:({'|'.join(_TITLES).replace('_', '[ _]')}))(?:\*\*|__)?\s*[:：])",
    re.MULTILINE,
)


def field_name(title: str) -> str:
    """Return a title as the name of a field: `3. **What WentWrong?**` -> `what_went_wrong`."""
    without_bullet = _BULLET.sub("", title.replace("’", "'"))
    words = re.sub(r"[^\w\s-]+", "", without_bullet)
    separated = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words)
    return re.sub(r"_+", "_", normalized(separated)).strip("_")


def split_sections(markdown: str) -> list[tuple[str, str]]:
    r"""Return the sections of a text in order, each with its title without marks; a text before any title has "".

    `Fine.\n## Summary\nIt ran.\n**Advice:** wait` is `[("", "Fine."), ("Summary", "It ran."), ("Advice", "wait")]`.

    | a line, or a part of one | is a heading                                                           |
    |--------------------------|------------------------------------------------------------------------|
    | `## Title`               | always                                                                 |
    | `**Title:** text`        | at the start of a line                                                 |
    | `Title: text`, `- Title` | for the known `_TITLES`, since any sentence may begin so               |
    | `... Title: text`        | for these, where a text has two: models write all sections on one line |
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

        `Advice: do this` is one paragraph, and of those that follow only lists still belong to it. Below a title on a line
        of its own, all do.
        """
        if not self.is_inline:
            return self.body
        first, *others = re.split(r"\n\s*\n", self.body)
        listed = [paragraph for paragraph in others if _BULLET.match(paragraph)]
        return "\n\n".join((first, *listed))


def _sections_of(markdown: str) -> list[_Section]:
    """Return the sections of a text: the lines "Intro.", "## Fix", "Use uv." are ("", "Intro.") and ("Fix", "Use uv.").

    Headings that stand inside of one line begin lines first, where the text has two or more of them. A line in a code
    block is no heading. Empty text before the first heading is left out.
    """
    titles_inside = {title.lower() for title in _INSIDE.findall(markdown)}
    if len(titles_inside) > 1:
        markdown = _INSIDE.sub("\n", markdown)
    headings = [_Heading("", "")]
    bodies: list[list[str]] = [[]]
    is_in_code = False
    for line in markdown.splitlines():
        if _FENCE.match(line):
            is_in_code = not is_in_code
        heading: _Heading | None = None
        if not is_in_code:
            heading = _heading(line)
        if heading is None:
            bodies[-1].append(line)
        else:
            headings.append(heading)
            bodies.append([heading.text])
    sections: list[_Section] = []
    for heading, lines in zip(headings, bodies, strict=True):
        is_inline = bool(heading.title and heading.text)
        sections.append(_Section(heading.title, "\n".join(lines).strip(), is_inline))
    return [section for section in sections if section.title or section.body]


class _Heading(NamedTuple):
    """The title that a line gives, and the text behind it."""

    title: str
    text: str


def _heading(line: str) -> _Heading | None:
    """Return the heading that a line is, None if it is none.

    A known title is one behind a hash, in bold, in a list, or before a colon; any other title behind a hash, or in bold
    at the start of a line.
    """
    without_bullet = _BULLET.sub("", line, count=1).strip()
    parts = [part.strip(_MARKDOWN) for part in _COLON.split(without_bullet, maxsplit=1)]
    title = parts[0]
    has_colon = len(parts) > 1
    text = parts[1] if has_colon else ""
    is_hash = without_bullet.startswith("#")
    is_bold = without_bullet.startswith(("**", "__"))
    is_item = without_bullet != line.strip()
    if field_name(title) in _TITLES:
        if has_colon or is_hash or is_bold or is_item:
            return _Heading(title, text)
        return None
    if is_hash:
        return _Heading(without_bullet.strip(_MARKDOWN), "")
    if is_bold and not is_item and len(title) <= _LONGEST_TITLE and "**" not in title:
        return _Heading(title, text)
    return None


def items(body: str) -> list[str]:
    """Return the items of a list, at any depth and with any bullet, each on one line; other text is one item.

    The lines `- Read the`, `  log` and `2. Wait` are the items "Read the log" and "Wait".
    """
    listed: list[str] = []
    for line in filter(str.strip, body.splitlines()):
        text = _BULLET.sub("", line, count=1)
        if text != line or not listed:
            listed.append(text.strip())
        else:
            listed[-1] = f"{listed[-1]} {text.strip()}"
    return listed


# The meaning of a heading by a part of its name ("Key strengths of the run").
_STEMS: Final = {
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
    raw: dict[str, str] = {}
    bodies: dict[str | None, list[str]] = {}
    for section in _sections_of(markdown):
        title, body = section.title, section.body
        meaning: str | None = _INTRODUCTION
        if title:
            raw[title] = f"{raw.get(title, '')}\n\n{body}".strip()
            meaning = _meaning_of(field_name(title))
        if meaning == "recommendation":
            body = section.advice
        bodies.setdefault(meaning, []).append(body)
    return Insights(
        summary=_joined(bodies.get("summary")) or _joined(bodies.get(_INTRODUCTION)),
        strengths=_all_items(bodies.get("strengths")),
        improvements=_all_items(bodies.get("improvements")),
        recommendation=_joined(bodies.get("recommendation")),
        raw_sections=raw,
    )


_INTRODUCTION: Final = "introduction"
"""The meaning of text before any heading."""


def _meaning_of(title: str) -> str | None:
    """Return what a section is by its title: one that is known, or one of the `_STEMS`; None if neither tells.

    A title that begins with the name of a thing, such as "Decision on the strengths", only names what it is about.
    """
    if title in _TITLES_BY_NAME:
        return _TITLES_BY_NAME[title]
    if title.startswith(("reflection_on_", "decision_", "execution_")):
        return None
    for meaning, stem in _STEMS.items():
        if stem.search(title):
            return meaning
    return None


def _joined(bodies: Sequence[str] | None) -> str | None:
    """Return the texts of sections as paragraphs of one, None if there is no text."""
    return "\n\n".join(filter(None, bodies or ())) or None


def _all_items(bodies: Sequence[str] | None) -> tuple[str, ...]:
    """Return the items of all lists of some sections."""
    listed: list[str] = []
    for body in bodies or ():
        listed += items(body)
    return tuple(listed)
