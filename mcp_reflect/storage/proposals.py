"""What the host or a language model proposes in a consolidation, checked against the records."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from mcp_reflect.models.consolidation import Archiving, Generalisation, Merge, Wording
from mcp_reflect.models.lesson import UNKNOWN_SCORE, Lesson, LessonDraft, RecordKind, Source, lesson_text
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.consolidation import may_archive
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.similarity import codes

LEAST_SOURCES: Final = 3
LEAST_TRIED: Final = 3
_MOST_CHARS: Final = 2000

Proposed = tuple[list[Merge], list[Generalisation], list[Archiving], list[str]]


def proposals(value: Mapping[str, Any], records: Sequence[Lesson], rates: Rates, source: Source) -> Proposed:
    """The merges, generalisations and archivings of a reply that can be taken, and in words what cannot."""
    known = {record.id: record for record in records}
    taken: Proposed = ([], [], [], [])
    used: set[str] = set()
    for entry in _entries(value, "merge"):
        fault = _merge(entry, known, used, taken[0])
        taken[3].extend([f"merge of {_names(entry)}: {fault}"] if fault else [])
    for entry in _entries(value, "generalise"):
        fault = _generalise(entry, known, source, taken[1])
        taken[3].extend([f"generalisation of {_names(entry)}: {fault}"] if fault else [])
    for entry in _entries(value, "archive"):
        fault = _archive(entry, known, used, rates, taken[2])
        taken[3].extend([f"archiving {quoted(entry.get('id'), 40)}: {fault}"] if fault else [])
    return taken


def _merge(entry: Mapping[str, Any], known: Mapping[str, Lesson], used: set[str], found: list[Merge]) -> str | None:
    some = [known[name] for name in _ids(entry) if name in known]
    mistake, correction = _text(entry, "mistake"), _text(entry, "correction")
    if len(some) < 2 or len(some) < len(_ids(entry)):
        return "it names records that were not shown, or fewer than two"
    if any(one.kind is not RecordKind.LESSON for one in some) or len({one.task_type for one in some}) > 1:
        return "only lessons of one task type can become one"
    if used & {one.id for one in some}:
        return "one of them is in another entry"
    if not (mistake and correction):
        return "mistake and correction are missing"
    if len({codes(one.text) for one in some}) > 1 or codes(lesson_text(mistake, correction)) != codes(some[0].text):
        return "they differ in a number, a name, a path or code"
    best = max(some, key=lambda one: (one.wins + one.losses, one.strength, one.importance, one.id))
    gone = tuple(one.id for one in some if one is not best)
    used.update(one.id for one in some)
    found.append(
        Merge(keep=best.id, gone=gone, reason=_reason(entry), wording=Wording(mistake=mistake, correction=correction))
    )
    return None


def _generalise(
    entry: Mapping[str, Any], known: Mapping[str, Lesson], source: Source, found: list[Generalisation]
) -> str | None:
    some = [known[name] for name in _ids(entry) if name in known]
    mistake, correction = _text(entry, "mistake"), _text(entry, "correction")
    if len(some) < LEAST_SOURCES or len(some) < len(_ids(entry)):
        return f"it names records that were not shown, or fewer than {LEAST_SOURCES}"
    tasks = [one.context_hash for one in some if one.context_hash is not None]
    if tasks and len(set(tasks)) == 1 and len(tasks) == len(some):
        return "all of them are from one task"
    if not (mistake and correction):
        return "mistake and correction are missing"
    draft = LessonDraft(
        text=lesson_text(mistake, correction),
        mistake=mistake,
        correction=correction,
        task_type=_text(entry, "task_type")[:200] or None,
        tags=tuple(str(tag)[:100] for tag in _listed(entry.get("tags")))[:20],
        importance=_score(entry.get("importance")),
        confidence=_score(entry.get("confidence")),
        source=source,
    )
    found.append(Generalisation(lesson=draft, sources=tuple(one.id for one in some)))
    return None


def _archive(
    entry: Mapping[str, Any], known: Mapping[str, Lesson], used: set[str], rates: Rates, found: list[Archiving]
) -> str | None:
    record = known.get(str(entry.get("id")))
    if record is None or record.id in used:
        return "it was not shown, or is in another entry"
    if not may_archive(record):
        return "what matters most, or is trusted, is never archived by itself"
    if (
        record.times_applied < LEAST_TRIED
        or record.effectiveness is None
        or rates.mean(record) >= rates.base_rate(record)
    ):
        return "it has not been tried and found wanting"
    used.add(record.id)
    found.append(Archiving(id=record.id, reason=_reason(entry)))
    return None


def _entries(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [cast("Mapping[str, Any]", one) for one in _listed(value.get(name)) if isinstance(one, Mapping)][:50]


def _listed(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _ids(entry: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(str(name) for name in _listed(entry.get("ids"))))


def _names(entry: Mapping[str, Any]) -> str:
    return ", ".join(_ids(entry))[:200] or "nothing"


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value.strip()[:_MOST_CHARS] if isinstance(value, str) else ""


def _reason(entry: Mapping[str, Any]) -> str:
    return _text(entry, "reason")[:200] or "no reason given"


def _score(value: object) -> float:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(cast("float", value)) if usable else UNKNOWN_SCORE
