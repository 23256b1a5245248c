"""The gate says of each word of the door whether it is in a text, as looking for each of them would, but quicker."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.door_cases import cases
from mcp_reflect.security import secret_assignments as assigned
from mcp_reflect.security import secret_places as places
from mcp_reflect.security.redact import Gate

WORDS = sorted({*places.WORDS, *assigned.WORDS})
GATE = Gate(WORDS)
PIECES = st.sampled_from([*WORDS, *(word[1:] for word in WORDS), " ", "_", "-", "\n", "7", "é", "密"])


def present(folded: str) -> set[str]:
    return {word for word in WORDS if word in folded}


def test_every_word_of_the_door_in_a_case_is_told_on_first_sight_and_once_its_words_are_known() -> None:
    texts = [case.text.lower() for name in ("secrets", "look_alikes") for case in cases(name)]
    for _ in range(2):
        assert [text for text in texts if set(GATE.opened(text)) != present(text)] == []


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=8).map("".join))
def test_no_word_is_missed_where_others_touch_it(text: str) -> None:
    folded = text.lower()
    assert set(GATE.opened(folded)) == present(folded)


def test_what_was_learnt_of_words_stays_small() -> None:
    gate = Gate(["password"])
    for start in range(0, 100_000, 1000):
        numbers = range(start, start + 1000)
        gate.opened(" ".join("".join(chr(97 + int(digit)) for digit in str(number)) for number in numbers))
    assert gate.known <= 40_000 + 1000
    assert gate.opened("the password") == ["password"]
