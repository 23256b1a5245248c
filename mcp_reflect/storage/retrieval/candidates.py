"""The lessons of the rows that a search found, with what speaks for and against each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.recall import RecallQuery
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.redact import context_hash
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.index import error_marks
from mcp_reflect.storage.retrieval.match import GUESSED, NEAR_FOR_MORE, Relevance
from mcp_reflect.storage.retrieval.question import FewRows, error_codes, own_programs
from mcp_reflect.storage.retrieval.scoring import Search, text_of
from mcp_reflect.storage.retrieval.terms import terms_of
from mcp_reflect.storage.rows import lesson_from
from mcp_reflect.storage.values import scoped

MOST_LINES: Final = 20
"""The last lines of a printed error, each of which may be the one that identifies it."""

_LONGEST_END: Final = 10_000
"""The last characters of a printed error, in which those lines are."""

_MOST_IDENTIFIED: Final = 50
"""Lessons that one error may identify."""

_BY_ERROR: Final = Relevance(row=0, score=1.0, plain=1.0, close=None, words=(), names=())
"""The relevance of a lesson that an error identifies, whatever its words are."""

_TYPE_ROWS: Final = FewRows(3, 0.2)
"""The rows that may hold a word of a task type that a task names."""

_TYPE_SIGNS: Final = lazy_compile(r"[\W_]+")
_WHOLE_WORD: Final = lazy_compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson with its relevance to a question.

    `by_error`: one of the errors that were sent identifies it. `same_type` and `same_context`: it was stored with the
    task type and in the context that were sent. `names_type`: the task has the words of its task type. `misfit` says
    what speaks against it, if anything does: "about another error code".
    """

    lesson: Lesson
    match: Relevance
    by_error: bool = False
    same_type: bool = False
    same_context: bool = False
    names_type: bool = False
    misfit: str = ""

    @property
    def strong(self) -> bool:
        """True if it surely fits: by its error, by its words or meaning, or by its task type and context together."""
        if self.misfit:
            return False
        return self.by_error or self.match.strong or (self.same_type and self.same_context)


class Candidates(NamedTuple):
    """The best lessons for a question, and how many rows of the index have too little in common with it."""

    candidates: list[Candidate]
    not_relevant: int


def candidates_of(search: Search, most: int | None = None) -> Candidates:
    """Return the lessons that one of the errors identifies, and then at most `most` others (None: all).

    An identified lesson is a candidate whatever else it shares with the question. Another one needs enough in common
    with it, or its task type.
    """
    ask = search.query
    matches = search.matches()
    identified = [_candidate(search, lesson, _BY_ERROR) for lesson in _identified(search)]
    identified_ids = {candidate.lesson.id for candidate in identified}
    chosen = matches[:most]
    lessons = lessons_at(search.reading, search.scope, [match.row for match in chosen])
    others: list[Candidate] = []
    for match in chosen:
        lesson = lessons.get(match.row)
        if lesson is None or lesson.id in identified_ids:
            continue
        candidate = _candidate(search, lesson, match)
        if _is_wanted(candidate.match, ask) or _is_of_type(candidate, ask):
            others.append(candidate)
    best = [*identified, *others]
    rows_of_best = {candidate.match.row for candidate in best}
    not_relevant = [
        match for match in matches if not _is_wanted(match, ask) and match.row not in rows_of_best
    ]
    return Candidates(best, len(not_relevant))


def _candidate(search: Search, lesson: Lesson, match: Relevance) -> Candidate:
    """Return a lesson with all that speaks for and against it, beside the relevance that its row has."""
    ask = search.query
    text = text_of(ask)
    return Candidate(
        lesson,
        _without_verbs(match, lesson, own_programs(text)),
        by_error=match is _BY_ERROR,
        same_type=is_same_type(lesson.task_type, ask.task_type),
        same_context=_is_same_context(lesson, ask),
        names_type=_names_type_of(search, lesson),
        misfit=_misfit(lesson, error_codes(text)),
    )


def _is_same_context(lesson: Lesson, ask: RecallQuery) -> bool:
    """Return whether a lesson was stored in the context that was sent; a bank keeps hashes of contexts alone."""
    return ask.context is not None and lesson.context_hash == context_hash(ask.context)


def _names_type_of(search: Search, lesson: Lesson) -> bool:
    """Return whether the question has all words of a lesson's task type, one of which few lessons have.

    "Apply the new terraform module" names terraform; in a bank where every lesson is about code, "code" names none.
    """
    terms = terms_of(" ".join(_TYPE_SIGNS.split(lesson.task_type or "")))
    if not terms or not search.question.own.keys() >= set(terms):
        return False
    few = _TYPE_ROWS.of(search.counts.size)
    rows = search.counts.look_up(terms)
    return any(rows[term] <= few for term in terms)


def _identified(search: Search) -> list[Lesson]:
    """Return the lessons that one of the errors that were sent, or one of their last lines, identifies."""
    symptoms = search.query.symptoms
    errors = list(symptoms)
    for symptom in symptoms:
        errors += symptom[-_LONGEST_END:].splitlines()[-MOST_LINES:]
    marks = error_marks(errors)
    if not marks:
        return []
    rows: list[int] = []
    for scope in search.counts.numbers:
        rows += search.counts.newest(scope, (marks,), _MOST_IDENTIFIED)
    lessons = lessons_at(search.reading, search.scope, rows)
    return sorted(lessons.values(), key=lambda lesson: lesson.id)


def is_same_type(one: str | None, other: str | None) -> bool:
    """Return whether two task types are the same but for their case and signs: API Design, apiDesign and api_design."""
    if one is None or other is None:
        return False
    return _TYPE_SIGNS.sub("", one.casefold()) == _TYPE_SIGNS.sub("", other.casefold())


def _is_of_type(candidate: Candidate, ask: RecallQuery) -> bool:
    """Return whether a lesson may be shown for its task type alone.

    It may where the type was sent together with the lesson's context, or as the whole task. A task that only names the
    type is enough for a recall, and not for a hook, which shows what surely fits.
    """
    if candidate.same_type:
        return candidate.same_context or ask.task == ask.task_type
    return candidate.names_type and not ask.strong_only


def _is_wanted(match: Relevance, ask: RecallQuery) -> bool:
    """Return whether a row may be shown for what it has in common with the question.

    | who asks                             | what a row needs                                    |
    | a caller who wants more than a few   | little in common, or a guess at the cause           |
    | a hook (it chooses among these)      | something in common                                 |
    | any other caller                     | enough to be worth its line                         |
    """
    if ask.wants_more:
        return match.in_common(NEAR_FOR_MORE) or match.guessed >= GUESSED
    if ask.strong_only:
        return match.in_common()
    return match.earns_its_line


def _without_verbs(match: Relevance, lesson: Lesson, programs: frozenset[str]) -> Relevance:
    """Return the match without the names of programs that the lesson has only in another form of the word.

    Terms are stems, so that the program `./books` meets the verb of "book a room". It is that program only where a
    lesson has the very word "books".
    """
    whole_words = {word.lower() for word in _WHOLE_WORD.findall(lesson.text)}
    shared_programs = {name for name in match.names if name.lower() in programs}
    verbs = {name for name in shared_programs if name.lower() not in whole_words}
    if not verbs:
        return match
    names = tuple(name for name in match.names if name not in verbs)
    words = tuple(word for word in match.words if word not in verbs)
    return match._replace(names=names, words=words, names_it=match.names_it and bool(names))


def _misfit(lesson: Lesson, codes: Mapping[str, set[str]]) -> str:
    """Return why a lesson does not surely fit a task that names these error codes, empty if it may.

    A task with TS2345 is not about a lesson on TS1005: both have the form TS, and no number is the same. A lesson on
    "HTTP 404" says nothing of that form.
    """
    if not codes:
        return ""
    codes_of_lesson = error_codes("\n".join((lesson.text, *lesson.symptoms)))
    same_form = codes.keys() & codes_of_lesson.keys()
    if same_form and all(codes[form].isdisjoint(codes_of_lesson[form]) for form in same_form):
        return "about another error code"
    return ""


def lessons_at(reading: Reading, scope: Scope, rows: Sequence[int]) -> dict[int, Lesson]:
    """Return the records of some rows of the index, by row, without those that recall may not show."""
    if not rows:
        return {}
    values: dict[str, Any] = {"rows": rows, **scoped(scope)}
    return {row["row"]: lesson_from(row) for row in reading.rows("index_lessons", values)}
