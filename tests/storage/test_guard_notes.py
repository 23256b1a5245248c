"""What a session notes of a call against a lesson, and the text as which the bank keeps it."""

import pytest

from mcp_reflect.models.session_state import GuardNote, GuardStage, SessionNotes


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("les_4f2a 9c31 told", GuardNote("les_4f2a", "9c31", GuardStage.CALL_RUNS)),
        ("les_4f2a 9c31", GuardNote("les_4f2a", "9c31", GuardStage.WAITS)),
        ("les_4f2a 9c31 settled", GuardNote("les_4f2a", "9c31", GuardStage.SETTLED)),
    ],
)
def test_a_note_is_kept_as_the_text_that_earlier_releases_wrote(text: str, note: GuardNote) -> None:
    assert GuardNote.from_text(text) == note
    assert note.to_text() == text


def test_a_note_changes_its_stage_where_it_stands() -> None:
    first, second = GuardNote("les_a", "1"), GuardNote("les_b", "2", GuardStage.CALL_RUNS)
    notes = SessionNotes().after_guard(first).after_guard(second)
    settled = notes.with_guard_stage(first, GuardStage.SETTLED)
    assert settled.guarded == ("les_a 1 settled", "les_b 2 told")
    assert settled.has_met_guard("les_a", "1")
    assert not settled.has_met_guard("les_a", "2")
