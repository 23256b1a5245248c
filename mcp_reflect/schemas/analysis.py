"""The analysis of a run by an agent or a model, read from an object, from JSON in text, or from markdown by its headings."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar, Final, NamedTuple

from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT, Limits
from mcp_reflect.llm.json_replies import objects_in, read_object, without_thinking
from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson_words import has_content, lesson_parts, text_of_parts
from mcp_reflect.models.reflection import Analysis, Assessment, Insights, Score
from mcp_reflect.schemas.analysis_fields import KNOWN_FIELDS, AnalysisArguments, ScoreArguments
from mcp_reflect.schemas.reading import field_of, read
from mcp_reflect.schemas.sections import field_name, items, read_insights, split_sections
from mcp_reflect.security.redact import quoted

_FIX: Final = (
    'Send an object with any of "reflection", "mistake", "correction", "strategy", '
    "or markdown with such headings."
)
_MAX_LESSON_CHARS: Final = 600  # characters of a text that is a lesson; a longer one is a report
_MAX_KEY_CHARS: Final = 100  # characters of a name that is looked up
_MOST_KEYS: Final = 500  # of an object: it takes time to find what each may mean
_SHOWN_IDS: Final = 5
_LEAST_CONFIDENCE: Final = {"high": 0.75, "medium": 0.4}  # the first that is reached
_ID: Final = re.compile(r"\be\d{1,9}\b")
_CITED: Final = re.compile(
    r"\[\s*e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*\s*\]|\bevents?(?:(?:\s*,|\s+and|\s+or)?\s+e\d{1,9})+\b"
)

_EMPTY_VALUES: Final[tuple[Json, ...]] = (None, "", [])
_NO_SCORES: Final[Mapping[str, Score]] = {}
"""The scores of an analysis are kept beside its verdict on the decision; only an evaluator's are part of that."""
_FIELDS_AS_SENT: Final = (
    "importance",
    "confidence",
    "wrong_call",
    "right_call",
    "symptoms",
    "keywords",
)
"""Fields that an analysis takes over as they were read."""


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
    parts = _parts_of(value, limits)
    sent = _read_fields(parts.fields, limits, lenient=lenient)
    ignored = [f"analysis.{note}" for note in sent.ignored]
    mistake, correction = _lesson_of(sent, parts, lenient=lenient)
    if (mistake or correction) and not has_content(mistake, correction):
        ignored.append("analysis.mistake: it has no content")
        mistake = correction = ""
    reflection = sent.reflection
    if not reflection:
        reflection = _reflection_of(mistake, correction, sent, parts, lenient=lenient)
    if not reflection:
        raise InputError("analysis", "says nothing of the run", _FIX)
    text_with_citations = f"{reflection}\n{mistake}".lower()
    for error in _wrong_citations(sent, text_with_citations, event_ids):
        if not lenient:
            raise error
        ignored.append(f"{error.field}: {error.fault}")
    if not correction and mistake and lenient:
        correction = sent.strategy
    return Analysis(
        reflection=reflection,
        strategy=sent.strategy or None,
        tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in sent.tags if tag.strip("#"))),
        mistake=mistake or None,
        correction=correction or None,
        source_event_ids=_events_cited(sent, text_with_citations, event_ids),
        scores=_scores(sent.scores),
        insights=_insights_of(parts, reflection),
        assessment=_verdict(sent, _NO_SCORES),
        raw_sections=parts.others,
        ignored=tuple(dict.fromkeys(ignored)),
        **{name: getattr(sent, name) for name in _FIELDS_AS_SENT},
    )


class _AnalysisParts(NamedTuple):
    """The parts of an analysis: fields of ours, and texts under other names.

    `{"mistake": "ran npm", "mood": "calm"}` has the field `mistake` and, among the others, the text of `mood`.
    """

    fields: dict[str, Json]  # the values of our fields by their names
    others: dict[str, str]  # the texts under other names, by these
    text: str = ""  # the whole analysis, where it was sent as a text


def _read_fields(values: dict[str, Json], limits: Limits, *, lenient: bool) -> AnalysisArguments:
    """Read the fields of an analysis that say something; `lenient` leaves out those that cannot be read."""
    shape: type[AnalysisArguments] = _ModelAnalysis
    if lenient:
        shape = AnalysisArguments
    stated = {name: item for name, item in values.items() if item not in _EMPTY_VALUES}
    try:
        return read(shape, stated, limits)
    except InputError as error:
        raise InputError(f"analysis.{error.field}", error.fault, error.fix) from None


def _lesson_of(sent: AnalysisArguments, parts: _AnalysisParts, *, lenient: bool) -> tuple[str, str]:
    """Return the mistake and the correction, empty where there is none.

    An agent may send a lesson as one short text, "I ran npm install. Use pnpm instead.": then its two sentences are
    these. A text with fields or headings, a long one, and a model's (not `lenient`) are not taken apart.
    """
    stated = {name for name, item in parts.fields.items() if item not in _EMPTY_VALUES}
    has_fields = bool(stated - {"reflection"} or parts.others)
    if has_fields or not lenient or len(sent.reflection) > _MAX_LESSON_CHARS:
        return sent.mistake, sent.correction
    mistake, correction = lesson_parts(sent.reflection)
    if not correction:
        return "", ""
    return mistake, correction


def _reflection_of(
    mistake: str, correction: str, sent: AnalysisArguments, parts: _AnalysisParts, *, lenient: bool
) -> str:
    """Return the text of a reflection that was not sent, made of the other fields; empty where they are empty.

    They are the lesson, the strategy and the first symptom. A `lenient` reader takes fields under other names, if there
    is nothing else: {"cause": "a typo"} -> "cause: a typo".
    """
    texts = (text_of_parts(mistake, correction), sent.strategy, *sent.symptoms[:1])
    reflection = " ".join(filter(None, texts))
    if reflection or not lenient:
        return reflection
    return " ".join(f"{name}: {text}" for name, text in parts.others.items() if text)


def _wrong_citations(
    sent: AnalysisArguments, text: str, event_ids: Collection[str]
) -> Iterator[InputError]:
    """Yield an error for each cited event that the run does not have; of a run without events nothing can be said.

    A `text` cites as "[e3, e4]" or "event e3".
    """
    if not event_ids:
        return
    cited = [("source_event_ids", name) for name in sent.source_event_ids]
    if all(map(_ID.fullmatch, event_ids)):  # only ids of this form are looked for in a text
        for citation in _CITED.findall(text):
            cited += [("reflection", name) for name in _ID.findall(citation)]
    ids_of_run = ", ".join(list(event_ids)[:_SHOWN_IDS])
    for field, name in cited:
        if name not in event_ids:
            fault = f"cites event {quoted(name)}, which is not in this trace"
            fix = f"Cite ids from the trace ({ids_of_run}, …) or leave them out."
            yield InputError(f"analysis.{field}", fault, fix)


def _events_cited(
    sent: AnalysisArguments, text: str, event_ids: Collection[str]
) -> tuple[str, ...]:
    """Return the events that the analysis names in its field or its `text`, each once."""
    cited = [name for name in sent.source_event_ids if not event_ids or name in event_ids]
    cited += [name for name in _ID.findall(text) if name in event_ids]
    return tuple(dict.fromkeys(cited))


def _insights_of(parts: _AnalysisParts, reflection: str) -> Insights | None:
    """Return the sections of the text, None where all of its headings were fields of the analysis."""
    insights = read_insights(parts.text or reflection)
    has_other_headings = parts.others or parts.text in ("", reflection)
    if not insights.raw_sections or not has_other_headings:
        return None
    return insights


def _parts_of(value: Json, limits: Limits) -> _AnalysisParts:
    """Take an analysis apart that is an object, a text, or a list of one of these. InputError for anything else."""
    if isinstance(value, list) and value:
        objects = [item for item in value if isinstance(item, dict)]
        value = next(iter(objects), "\n".join(map(str, value)))
    if isinstance(value, str):
        limits.refuse_more("max_analysis_chars", "analysis", len(value))
        plain = without_thinking(value).strip()
        value = _object_in(value, plain)
        if value is None:
            return _of_markdown(plain)
    if not isinstance(value, dict):
        raise InputError("analysis", "it is neither an object nor text", _FIX)
    return _of_object(value)


def _object_in(value: str, plain: str) -> dict[str, Json] | None:
    """Return the object that a text stands for, None if it is text; `plain` is the text without the model's thinking.

    | the text                                        | result                                              |
    |-------------------------------------------------|-----------------------------------------------------|
    | begins with `{`, `[` or a code fence            | its object, of whatever keys                        |
    | has an object with a reflection in other words  | that object                                         |
    | any other                                       | None: an object in it is an example, or an output   |
    """
    found_object = read_object(value, KNOWN_FIELDS)
    if found_object is None and plain.startswith("{"):  # keys of another spelling, or none of ours
        found_object = next(iter(objects_in(value)), None)
    is_object_alone = plain.startswith(("{", "[", "```"))
    if found_object is None or is_object_alone:
        return found_object
    if len(found_object) > _MOST_KEYS:
        return None
    has_reflection = any(_field(key) == "reflection" for key in found_object)
    if has_reflection:
        return found_object
    return None


def _of_object(value: dict[str, Json]) -> _AnalysisParts:
    """Take an object apart, perhaps in a wrapper such as `{"analysis": {...}}` or with `{"lesson": {...}}` in it."""
    if len(value) == 1:
        (inner,) = value.values()
        if isinstance(inner, dict) and len(inner) <= _MOST_KEYS and any(map(_field, inner)):
            value = inner
    lesson = value.get("lesson")
    if isinstance(lesson, dict):
        value = {key: item for key, item in value.items() if key != "lesson"} | lesson
    if len(value) > _MOST_KEYS:
        fix = f"Send at most {_MOST_KEYS}, and longer data as text."
        raise InputError("analysis", f"it has {len(value):,} fields", fix)
    return _by_field(value.items())


def _by_field(pairs: Iterable[tuple[str, Json]]) -> _AnalysisParts:
    """Return the values of our fields, of each the first that is not empty, and all else as text under its own key."""
    values: dict[str, Json] = {}
    others: dict[str, str] = {}
    for key, item in pairs:
        name = _field(key)
        if name is not None and values.get(name) in _EMPTY_VALUES:
            values[name] = item
        elif name is None or item not in _EMPTY_VALUES:
            others[key[:_MAX_KEY_CHARS]] = _as_words(item)
    return _AnalysisParts(values, others)


def _as_words(item: Json) -> str:
    """Return a text as it is, any other value as JSON."""
    if isinstance(item, str):
        return item
    return json.dumps(item, ensure_ascii=False)


def _of_markdown(text: str) -> _AnalysisParts:
    """Take a text apart by its headings: some mean a field of ours, and some do not.

    | the text                                          | its reflection                      |
    |---------------------------------------------------|-------------------------------------|
    | has no heading of ours                            | is the whole text                   |
    | has a heading for the reflection                  | is the section below it             |
    | has other headings of ours, and text before them  | is the text before the first one    |
    | has other headings of ours, and other sections    | is the whole text                   |
    | has other headings of ours alone                  | is none                             |
    """
    sections = split_sections(text)
    if not any(_field(title) for title, _ in sections):
        return _AnalysisParts({"reflection": text}, {}, text)
    values, others, _ = _by_field(sections)
    for name in values.keys() & {"tags", "symptoms", "keywords"}:
        list_items = items(str(values[name]))
        values[name] = [*list_items] if len(list_items) > 1 else "".join(list_items)
    if not values.get("reflection") and any(others.values()):
        values["reflection"] = others.pop("", text)
    body_by_heading = {title or "preamble": body for title, body in others.items()}
    return _AnalysisParts(values, body_by_heading, text)


def _field(key: str) -> str | None:
    """Return the field of an analysis that a key or a heading means, None for none."""
    name = field_name(key[:_MAX_KEY_CHARS])
    if not name:
        return None
    return field_of(AnalysisArguments, name)


def _verdict(sent: AnalysisArguments, scores: Mapping[str, Score]) -> Assessment | None:
    """Return the verdict on a decision and its execution, None if there is none and no score."""
    if not scores and sent.decision_appropriate is sent.execution_effective is None:
        return None
    return Assessment(
        decision_appropriate=sent.decision_appropriate,
        execution_effective=sent.execution_effective,
        confidence=_level_of(sent.confidence),
        scores=scores,
    )


def _level_of(confidence: float | None) -> str | None:
    """Return a share of confidence (0..1) as a word: .8 -> "high", .5 -> "medium", .1 -> "low"; None for None."""
    if confidence is None:
        return None
    for level, least in _LEAST_CONFIDENCE.items():
        if confidence >= least:
            return level
    return "low"


def _scores(sent: Mapping[str, ScoreArguments]) -> dict[str, Score]:
    """Return the scores by criterion as our models have them."""
    return {name: Score(score=item.score, reason=item.reason) for name, item in sent.items()}


def read_evaluation(value: Json) -> Assessment:
    """Read an evaluator's reply. InputError names what cannot be used."""
    if not isinstance(value, dict):
        raise InputError("reply", "it is not an object", "Send one object.")
    sent = read(_ModelAnalysis, value)
    return _verdict(sent, _scores(sent.scores)) or Assessment()
