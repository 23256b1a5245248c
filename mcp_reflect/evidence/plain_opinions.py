"""The opinion of a judge in plain words: with headings or tags that name the fields, as a list of issues, or in prose."""

import json
import re
from typing import Final, cast

from mcp_reflect.evidence.scores import (
    FoundScore,
    read_score,
    score_in_words,
    score_that_begins,
)
from mcp_reflect.models.common import Json

_MOST_READ: Final = 20_000  # characters of prose
NONE: Final = re.compile(
    r"\W*+(?:none|n/a|nothing|(?:there (?:are|were) )?no (?:\w+ )?(?:issues?|faults?|errors?|"
    r"problems?)(?: (?:was|were))?(?: found)?)\W*",
    re.IGNORECASE,
)
"""What only says that there is nothing to say."""

HEAD: Final = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?[*_]{0,2}((?:quality[ _])?score|issues|suggested[ _]fix|corrected[ _]steps|"
    r"improved reasoning)"
    r"(?:[*_]{0,2}:[*_]{0,2}|[*_]{0,2}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading, or the beginning of a line, that names a field."""

BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
"""The mark of an item of a list."""

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_FAULT: Final = re.compile(
    r"\b(?:wrong|incorrect|errors?|mistakes?|missing|contradict\w*|should (?:be|have|say|read)|does not|doesn't|do not|"
    r"is not|isn't|are not|was not|unsupported|false|fail\w*|invalid|inconsistent|lacks?|must be|poor)\b",
    re.IGNORECASE,
)
_PRAISE: Final = re.compile(
    r"\b(?:correct|right|good|fine|sound|accurate|complete|consistent|well|great|excellent|no \w+)\b",
    re.IGNORECASE,
)
_TAG: Final = re.compile(
    r"<(/?)(quality_score|score|issues|suggested_fix|corrected_steps)>", re.IGNORECASE
)
_FENCE: Final = re.compile(r"\A```\w{0,20}")


def read_plain_words(text: str) -> dict[str, Json] | None:
    """Return the fields that plain words name; None where they say nothing of the work. The first row decides.

    | reply                                  | fields                                                     |
    |----------------------------------------|------------------------------------------------------------|
    | headings or tags: "Issues: No tests"   | {"issues": ["No tests"]}                                   |
    | a JSON array: `["No tests"]`           | {"issues": ["No tests"]}                                   |
    | a list: "- No tests"                   | {"issues": ["No tests"]}                                   |
    | prose with a fault: "Tests are missing"| {"issues": ["Tests are missing"]}                          |
    | prose with praise: "Looks good"        | {"issues": []}                                             |
    | a score in any of the last three       | and its "quality_score"; alone it is an opinion as well    |
    | anything else: "I will have a look"    | None, because no issue named is not the same as none found |
    """
    text = _tags_as_headings(text)
    fields = _read_headings(text)
    if fields:
        return fields
    issues = _read_array(text)
    if issues:
        return {"issues": issues}
    score, rest = score_in_words(text[:_MOST_READ])
    fields_of_text = _read_list(rest) or _read_prose(rest)
    if score is None:
        return fields_of_text
    if fields_of_text is None:
        return {"issues": [], "quality_score": score}
    return {**fields_of_text, "quality_score": score}


def _tags_as_headings(text: str) -> str:
    """Return "<score>.8</score>" as a heading "score:" with ".8" below it, so that one reader serves both."""
    return _TAG.sub(lambda tag: "\n" if tag[1] else f"\n{tag[2]}:\n", text)


def _read_array(text: str) -> list[Json]:
    """Return the issues of a reply that is only a JSON array of texts."""
    without_fence = _FENCE.sub("", text[:_MOST_READ].strip()).removesuffix("```").strip()
    if not without_fence.startswith("["):
        return []
    try:
        items = cast("list[Json]", json.loads(without_fence))
    except (ValueError, RecursionError):
        return []
    if all(isinstance(item, str) for item in items):
        return items
    return []


def _read_headings(text: str) -> dict[str, Json]:
    """Read markdown whose headings name the fields: `## Issues`, `**Suggested fix:** …`, `Quality score: 0.8`.

    "Score: 8/10" below "## Issues" and "No tests" gives {"issues": ["No tests"], "quality_score": 0.8}. What stands before
    the first heading, and behind the score, names the issues where no heading does.
    """
    fields: dict[str, Json] = {}
    heads = list(HEAD.finditer(text))
    if not heads:
        return fields
    beside = [text[: heads[0].start()]]  # the texts under no heading that names a field
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=True):
        name = re.sub(r"[ _]+", "_", head[1].lower())
        body = text[head.end() : end].strip()
        if name.endswith("score"):
            score, rest = _score_of(body)
            fields.setdefault("quality_score", score)
            beside.append(rest)
        elif name == "issues":
            fields["issues"] = _items_of(body)
        elif name == "improved_reasoning":
            fields["corrected_steps"] = body
        else:
            fields[name] = body
    if "issues" not in fields:
        text_beside_headings = "\n".join(beside)[:_MOST_READ]
        fields |= _read_list(text_beside_headings) or _read_prose(text_beside_headings) or {}
    return fields


def _items_of(body: str) -> list[Json]:
    """Return the lines of a text that are not blank, without their marks of a list."""
    return [BULLET.sub("", line).strip() for line in body.splitlines() if line.strip()]


def _score_of(body: str) -> FoundScore:
    """Return the score with which the text under its heading begins, and what follows it.

    "**8/10**" is a score alone, and "8/10, issues: no tests" one with issues behind it.
    """
    line, _, later_lines = body.partition("\n")
    without_marks = line.strip("*` ")
    score = read_score(without_marks.rstrip("*` ."))
    if score is not None:
        return FoundScore(score, later_lines)
    beginning = score_that_begins(without_marks)
    rest_of_line = beginning.rest.removeprefix("issues:").lstrip()
    return FoundScore(beginning.score, f"{rest_of_line}\n{later_lines}")


def _read_list(text: str) -> dict[str, Json] | None:
    """Read a list of issues: "- No tests" is one. None where more than one line, such as a first sentence, is no item."""
    lines = [line for line in text.splitlines() if line.strip()]
    items = [line for line in lines if BULLET.match(line)]
    other_lines = len(lines) - len(items)
    if not items or other_lines > 1:
        return None
    texts: list[Json] = [BULLET.sub("", item).strip() for item in items]
    return {"issues": texts}


def _read_prose(text: str) -> dict[str, Json] | None:
    """Read plain prose, sentence by sentence.

    Those that name a fault are issues: "Good. Tests are missing." -> {"issues": ["Tests are missing."]}. Without a
    fault, praise says that there is none; prose without either is no opinion.
    """
    parts = [BULLET.sub("", part).strip() for part in _SENTENCE.split(text) if part.strip()]
    faults: list[Json] = [
        part for part in parts if _FAULT.search(part) and not NONE.fullmatch(part)
    ]
    if faults:
        return {"issues": faults}
    if not _PRAISE.search(text):
        return None
    return {"issues": []}
