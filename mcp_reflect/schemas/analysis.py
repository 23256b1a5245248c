"""The analysis of a run by an agent or a model: an object, JSON in text, or markdown by its headings."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, NamedTuple, cast

from pydantic import AfterValidator, BeforeValidator, Field

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import as_mapping, objects_in, read_object, without_thinking
from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson import has_content, lesson_parts, told_lesson
from mcp_reflect.models.reflection import Analysis, Assessment, Insights, Score
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.fields import Arguments, field_of, normalized, read
from mcp_reflect.security.redact import quoted

_FIX: Final = 'Send an object with any of "reflection", "mistake", "correction", "strategy", or markdown with such headings.'
_LONGEST_TITLE: Final = 80
_MOST_TOLD: Final = (
    600  # characters of a text that is a lesson as a whole; a longer one is a report
)
_ID: Final = re.compile(r"\be\d{1,9}\b")
_CITED: Final = re.compile(
    r"\[\s*e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*\s*\]|\bevents?(?:(?:\s*,|\s+and|\s+or)?\s+e\d{1,9})+\b"
)


class ScoreArguments(Arguments):
    """The score of one criterion, with its reason."""

    score: fields.Share | None = None
    reason: str = ""


def _as_scores(value: Any) -> Any:
    """Return scores by criterion from `{"safety": 0.9}`, `{"safety": {...}}`, or a list of {criterion, score}."""
    value = as_mapping(value, "criterion")
    if not isinstance(value, Mapping):
        return value
    scores: dict[str, dict[str, Any]] = {}
    for name, item in cast("Mapping[str, Any]", value).items():
        entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {"score": item}
        scores[name[:60]] = {
            key: entry[key] for key in ("score", "reason") if entry.get(key) is not None
        }
    return scores


_Passage = Annotated[
    str, fields.most("max_lesson_chars"), AfterValidator(str.strip), BeforeValidator(fields.as_text)
]
_Call = Annotated[str, fields.most("max_lesson_chars"), BeforeValidator(fields.as_text)]
_Scores = Annotated[dict[str, ScoreArguments], BeforeValidator(_as_scores)]


class AnalysisArguments(Arguments):
    """The fields of an analysis; all are optional, and one of the first four has to be there."""

    SYNONYMS: ClassVar = {
        "reflection": "reflection_text reflections root_cause what_went_wrong what_happened what_went_right why "
        "diagnosis analysis summary",
        "strategy": "strategy_text strategies next_time next_strategy recommendation",
        "importance": "importance_score",
        "confidence": "confidence_score",
        "tags": "tag labels",
        "mistake": "the_mistake key_mistake problem issue what_failed pitfall",
        "correction": "lesson lesson_text lesson_learned lessons_learned learned fix prevention solution what_to_do "
        "what_works resolution takeaway",
        "wrong_call": "failing_call wrong_command",
        "right_call": "working_call right_command",
        "symptoms": "symptom",
        "keywords": "keyword",
        "scores": "evaluation criteria ratings",
        "source_event_ids": "event_ids source_events cited_events",
    }

    reflection: Annotated[
        str,
        fields.most("max_judgment_chars"),
        AfterValidator(str.strip),
        BeforeValidator(fields.as_text),
    ] = ""
    strategy: _Passage = ""
    mistake: _Passage = ""
    correction: _Passage = ""
    importance: fields.Share | None = None
    confidence: fields.Share | None = None
    tags: fields.Labels = ()
    wrong_call: _Call | None = None
    right_call: _Call | None = None
    symptoms: fields.Phrases = ()
    keywords: fields.Labels = ()
    decision_appropriate: bool | None = None
    execution_effective: bool | None = None
    scores: _Scores = Field(default_factory=dict[str, ScoreArguments])
    source_event_ids: fields.Labels = ()


_NOTHING: Final[tuple[Json, ...]] = (None, "", [])
_KNOWN: Final = {
    *AnalysisArguments.model_fields,
    *" ".join(AnalysisArguments.SYNONYMS.values()).split(),
}


_AS_SENT: Final = ("importance", "confidence", "wrong_call", "right_call", "symptoms", "keywords")


class _ModelAnalysis(AnalysisArguments):
    """The analysis of a language model, which is asked again where a field cannot be read."""

    STRICT: ClassVar = frozenset(AnalysisArguments.model_fields)


def read_analysis(
    value: Json, event_ids: Collection[str] = (), limits: Limits = DEFAULT, *, lenient: bool = False
) -> Analysis:
    """Read an analysis: an object, JSON in text, or markdown.

    Args:
        value: The analysis as it was sent.
        event_ids: The ids of the run's events, which citations must name.
        limits: Sizes of texts and lists.
        lenient: Leave out scores, lists and citations that cannot be used, and note them in `ignored`. Otherwise they
            are errors, so that a language model can be asked again.

    Raises:
        InputError: Names the field (`analysis.importance`), the fault and the fix.
    """
    found, aside, text = _fields_of(value, limits)
    named = {name: item for name, item in found.items() if item not in _NOTHING}
    shape = AnalysisArguments if lenient else _ModelAnalysis
    try:
        sent = read(shape, named, limits)
    except InputError as error:
        raise InputError(f"analysis.{error.field}", error.fault, error.fix) from None
    ignored = [f"analysis.{note}" for note in sent.ignored]
    mistake, correction, reflection = sent.mistake, sent.correction, sent.reflection
    if not (named.keys() - {"reflection"} or aside) and lenient and len(reflection) <= _MOST_TOLD:
        told = lesson_parts(reflection)
        mistake, correction = told if told[1] else ("", "")
    if (mistake or correction) and not has_content(mistake, correction):
        ignored.append("analysis.mistake: it has no content")
        mistake = correction = ""
    if not reflection:
        parts = (told_lesson(mistake, correction), sent.strategy, *sent.symptoms[:1])
        own = (f"{name}: {said}" for name, said in aside.items() if said and lenient)
        reflection = " ".join(filter(None, parts)) or " ".join(own)
    if not reflection:
        raise InputError("analysis", "says nothing of the run", _FIX)
    text_said = f"{reflection}\n{mistake}".lower()
    cited = [("source_event_ids", name) for name in sent.source_event_ids]
    if all(map(_ID.fullmatch, event_ids)):  # only ids of this form are looked for in a text
        cited += [
            ("reflection", name) for part in _CITED.findall(text_said) for name in _ID.findall(part)
        ]
    for field, name in cited if event_ids else ():
        if name not in event_ids:
            fix = (
                f"Cite ids from the trace ({', '.join(list(event_ids)[:5])}, …) or leave them out."
            )
            error = InputError(
                f"analysis.{field}", f"cites event {quoted(name)}, which is not in this trace", fix
            )
            if not lenient:
                raise error
            ignored.append(f"{error.field}: {error.fault}")
    known = [name for name in sent.source_event_ids if not event_ids or name in event_ids]
    known += [name for name in _ID.findall(text_said) if name in event_ids]
    insights = read_insights(text or reflection)
    return Analysis(
        reflection=reflection,
        strategy=sent.strategy or None,
        tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in sent.tags if tag.strip("#"))),
        mistake=mistake or None,
        correction=correction or (sent.strategy if mistake and lenient else None) or None,
        source_event_ids=tuple(dict.fromkeys(known)),
        scores=_scores(sent.scores),
        insights=insights
        if insights.raw_sections and (aside or text in ("", reflection))
        else None,
        assessment=_verdict(sent, {}),
        raw_sections=aside,
        ignored=tuple(dict.fromkeys(ignored)),
        **{name: getattr(sent, name) for name in _AS_SENT},
    )


def _fields_of(value: Json, limits: Limits) -> tuple[dict[str, Json], dict[str, str], str]:
    """Return the fields of an analysis, what it says beside them by its own names, and its text if it is no object."""
    if isinstance(value, list) and value:
        objects = [item for item in value if isinstance(item, dict)]
        value = objects[0] if objects else "\n".join(map(str, value))
    if isinstance(value, str):
        limits.refuse_more("max_analysis_chars", "analysis", len(value))
        plain = without_thinking(value).strip()
        found = read_object(value, _KNOWN)
        if found is None and plain.startswith(
            "{"
        ):  # keys of another spelling, or none that is known
            found = next(iter(objects_in(value)), None)
        reflects = found is not None and any(_field(key) == "reflection" for key in found)
        if found is None or not (reflects or plain.startswith(("{", "[", "```"))):
            return *_of_markdown(plain), plain
        value = found
    if not isinstance(value, dict):
        raise InputError("analysis", "it is neither an object nor text", _FIX)
    return *_of_object(value), ""


def _of_object(value: dict[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
    """Read an object, perhaps in a wrapper such as `{"analysis": {...}}` or with `{"lesson": {...}}` in it."""
    inner = next(iter(value.values())) if len(value) == 1 else None
    if isinstance(inner, dict) and any(map(_field, inner)):
        value = inner
    lesson = value.get("lesson")
    if isinstance(lesson, dict):
        value = {key: item for key, item in value.items() if key != "lesson"} | lesson
    return _placed(value.items())


def _placed(pairs: Iterable[tuple[str, Json]]) -> tuple[dict[str, Json], dict[str, str]]:
    """Return the values of fields by their names, the first of each that says something, and all else as text."""
    named: dict[str, Json] = {}
    aside: dict[str, str] = {}
    for key, item in pairs:
        name = _field(key)
        if name is not None and named.get(name) in _NOTHING:
            named[name] = item
        elif name is None or item not in _NOTHING:
            aside[key[:100]] = (
                item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
            )
    return named, aside


def _of_markdown(text: str) -> tuple[dict[str, Json], dict[str, str]]:
    """Read known headings as fields and keep the others; without a known one the whole text is the reflection."""
    sections = split_sections(text)
    if not any(_field(title) for title, _ in sections):
        return {"reflection": text}, {}
    named, aside = _placed(sections)
    for name in named.keys() & {"tags", "symptoms", "keywords"}:
        listed = items(str(named[name]))
        named[name] = [*listed] if len(listed) > 1 else "".join(listed)
    if not named.get("reflection") and any(aside.values()):
        named["reflection"] = aside.pop("", text)
    return named, {title or "preamble": body for title, body in aside.items()}


def _field(key: str) -> str | None:
    name = field_name(key[:100])
    return field_of(AnalysisArguments, name) if name else None


def _verdict(sent: AnalysisArguments, scores: Mapping[str, Score]) -> Assessment | None:
    """Return the verdict on a decision and its execution, None if there is none and no score."""
    if not scores and sent.decision_appropriate is sent.execution_effective is None:
        return None
    share = sent.confidence
    return Assessment(
        decision_appropriate=sent.decision_appropriate,
        execution_effective=sent.execution_effective,
        confidence=None
        if share is None
        else "high"
        if share >= 0.75
        else "medium"
        if share >= 0.4
        else "low",
        scores=scores,
    )


def _scores(sent: Mapping[str, ScoreArguments]) -> dict[str, Score]:
    return {name: Score(score=item.score, reason=item.reason) for name, item in sent.items()}


def read_evaluation(value: Json) -> Assessment:
    """Read an evaluator's reply. InputError names what cannot be used."""
    if not isinstance(value, dict):
        raise InputError("reply", "it is not an object", "Send one object.")
    sent = read(_ModelAnalysis, value)
    return _verdict(sent, _scores(sent.scores)) or Assessment()


# Sections of a text, by their headings.


def _read_titles() -> Mapping[str, str]:
    """The meaning of each title in section_titles.txt."""
    titles: dict[str, str] = {}
    path = Path(__file__).with_name("section_titles.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, _, names = line.partition(":")
        if names and not line.startswith("#"):
            titles |= dict.fromkeys(names.split(), kind)
    return titles


_TITLES_BY_NAME: Final = _read_titles()
_TITLES: Final = _KNOWN.union(
    _TITLES_BY_NAME,
    "overview executive_summary tldr conclusion strengths what_went_well what_worked improvements weaknesses "
    "areas_for_improvement what_did_not_work what_could_be_better recommendations next_steps suggestions advice".split(),
)
"""Names of sections that are known where nothing but a colon marks them as headings."""

_BULLET: Final = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_COLON: Final = re.compile(r"[:：]|(?:\*\*|__) ?[–—-]")
# A known title inside of a line: after the end of a sentence or a mark, or with a capital after a small letter.
_INSIDE: Final = lazy_compile(
    r"(?:^|(?<=[^\W\d][.!?;,…。！？；])\s+|(?<=[*`)])\s+|(?<=[a-z])\s+(?=[A-Z*]))(?=(?:(?:[-*•|]|\d{1,2}[.)])\s+)?(?:\*\*|__)?"
    rf"(?i:({'|'.join(_TITLES).replace('_', '[ _]')}))(?:\*\*|__)?\s*[:：])",
    re.MULTILINE,
)


def field_name(title: str) -> str:
    """Return a title in lower case with underscores, without its number and the signs around it."""
    words = re.sub(r"[^\w\s-]+", "", _BULLET.sub("", title.replace("’", "'")))
    return re.sub(r"_+", "_", normalized(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words))).strip("_")


def split_sections(markdown: str) -> list[tuple[str, str]]:
    """Return the sections of a text in order, titles without their marks; that before the first heading has none.

    Headings are `## Title` and `**Title:** text`, and of the known `_TITLES` also `Title: text` and a title in a list;
    inside of a line where the text has several of them.
    """
    return [(section.title, section.body) for section in _sections_of(markdown)]


class _Section(NamedTuple):
    """A section; `is_inline`: its text begins on the line of its title."""

    title: str
    body: str
    is_inline: bool

    @property
    def advice(self) -> str:
        """The body without a paragraph that follows a title's own line: it is about something else."""
        paragraphs = re.split(r"\n\s*\n", self.body)
        if not self.is_inline:
            return self.body
        listed = [part for part in paragraphs[1:] if _BULLET.match(part)]
        return "\n\n".join((paragraphs[0], *listed))


def _sections_of(markdown: str) -> list[_Section]:
    if len({title.lower() for title in _INSIDE.findall(markdown)}) > 1:
        markdown = _INSIDE.sub("\n", markdown)
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in markdown.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _heading(line)
        if heading is None:
            parts[-1][1].append(line)
        else:
            parts.append((heading[0], [heading[1]]))
    sections = [
        _Section(title, "\n".join(body).strip(), bool(title and body[0])) for title, body in parts
    ]
    return [section for section in sections if section.title or section.body]


def _heading(line: str) -> tuple[str, str] | None:
    """Return the title that a line gives and the text after it; None if it gives none."""
    bare = _BULLET.sub("", line, count=1).strip()
    title, *rest = (part.strip(" #*_") for part in _COLON.split(bare, maxsplit=1))
    is_hash, is_bold, is_item = (
        bare.startswith("#"),
        bare.startswith(("**", "__")),
        bare != line.strip(),
    )
    if field_name(title) in _TITLES:
        return (title, "".join(rest)) if rest or is_hash or is_bold or is_item else None
    if is_hash:
        return bare.strip(" #*_"), ""
    is_title = is_bold and not is_item and len(title) <= _LONGEST_TITLE and "**" not in title
    return (title, "".join(rest)) if is_title else None


def items(body: str) -> list[str]:
    """Return the items of a list, at any depth and with any sign, each on one line; other text is one item."""
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
        if title:
            raw[title] = f"{raw.get(title, '')}\n\n{body}".strip()
        name = field_name(title)
        about = name.startswith(("reflection_on_", "decision_", "execution_"))  # it names a thing
        stems = (kind for kind, stem in _STEMS.items() if not about and stem.search(name))
        kind = _TITLES_BY_NAME.get(name) or next(stems, None)
        body = section.advice if kind == "recommendation" else body
        bodies.setdefault(kind if title else "intro", []).append(body)
    texts = {kind: "\n\n".join(filter(None, parts)) or None for kind, parts in bodies.items()}
    return Insights(
        summary=texts.get("summary") or texts.get("intro"),
        strengths=tuple(item for body in bodies.get("strengths", ()) for item in items(body)),
        improvements=tuple(item for body in bodies.get("improvements", ()) for item in items(body)),
        recommendation=texts.get("recommendation"),
        raw_sections=raw,
    )
