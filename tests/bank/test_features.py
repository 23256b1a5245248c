"""What is kept of a lesson's words is read as it was."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import LessonDraft
from mcp_reflect.storage.lessons import from_draft
from mcp_reflect.storage.retrieval.features import HELD, features_read, kind_mark, tag_mark, terms_kept, type_mark
from mcp_reflect.storage.retrieval.terms import STOP_WORDS, terms_of

TEXT = st.text(max_size=40) | st.sampled_from(["the cache of the proxy", "parse_invoice_date", "图书馆的书", "x"])


@given(TEXT, TEXT, st.lists(TEXT, max_size=2), st.text(min_size=1, max_size=9), st.lists(TEXT, max_size=2), TEXT)
def test_every_term_is_counted_as_often_as_it_is_there_and_by_what_its_field_weighs(
    mistake: str, correction: str, symptoms: list[str], task_type: str, tags: list[str], context: str
) -> None:
    draft = LessonDraft(
        text=f"{mistake} {correction}",
        mistake=mistake,
        correction=correction,
        symptoms=tuple(symptoms),
        task_type=task_type,
        tags=tuple(tags),
        context=context,
    )
    lesson = from_draft(draft, Scope("local", "app"), Clock())
    found = features_read(7, terms_kept(lesson))
    wanted = Counter[str]()
    for weight, texts in (
        (10, (lesson.text, lesson.why or "", *lesson.symptoms)),
        (6, dict.fromkeys((lesson.task_type or "", *lesson.tags))),
        (3, (lesson.context or "",)),
    ):
        for term in (term for text in texts for term in terms_of(text)):
            wanted[term] += weight
    marks = {HELD, kind_mark("lesson"), type_mark(lesson.task_type or ""), *map(tag_mark, lesson.tags)}
    assert {term: round(10 * count) for term, count in found.counts.items() if term not in marks} == dict(wanted)
    assert {term for term in found.counts if term in marks} == marks - ({HELD} - {*found.counts})
    assert {*found.telling} == wanted.keys() - STOP_WORDS
    assert round(10 * found.length) == sum(weight for term, weight in wanted.items() if term not in STOP_WORDS)
