import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.search import EmptyCause
from mcp_reflect.replan.catalog import Vocabulary, nearest
from mcp_reflect.replan.words import (
    content,
    names,
    normalized,
    other_number,
    telling,
    tokens,
)
from mcp_reflect.stemmer import stem


def _vocabulary(*entries: str) -> Vocabulary:
    return Vocabulary(entries)


@pytest.mark.parametrize(
    ("word", "data", "found"),
    [
        ("kuberentes", "kubernetes", ("kubernetes",)),
        ("botle", "bottle", ("bottle",)),
        ("tents", "tent", ("tent",)),
        ("glove", "gloves", ("gloves",)),
        ("headlamp", "head lamp", ("head", "lamp")),
        ("email", "e mail", ("e", "mail")),
    ],
)
def test_a_word_that_the_data_lacks_becomes_one_that_it_has(word: str, data: str, found: tuple[str, ...]) -> None:
    assert _vocabulary(*data.split()).mended(word).words == found


def test_a_word_that_the_data_has_stays() -> None:
    assert _vocabulary("data", "date").mended("data") == (None, ("data",))


def test_short_words_and_numbers_are_not_respelled() -> None:
    known = _vocabulary("cat", "2025")
    assert known.mended("car").words == ()
    assert known.mended("2024") == (EmptyCause.UNKNOWN_WORDS, ())


@pytest.mark.parametrize("written", ["recieve", "receve", "receivee", "rezeive"])
def test_a_swapped_missing_additional_or_wrong_letter_is_one_slip(written: str) -> None:
    assert nearest(written, ["give", "receive"]) == "receive"


@pytest.mark.parametrize(
    ("one", "other"), [("costs", "cost"), ("batteries", "battery"), ("planned", "planning"), ("serves", "serve")]
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Show the trains to Kiel", {"kiel"}),
        ("Trains", set[str]()),
        ("NATO meets", {"nato"}),
        ("Nato meets", set[str]()),
        ("order 17 and a4", {"17", "a4"}),
        ("is “Kiel”, (Bonn) or bonn!", {"kiel", "bonn"}),
        ("who? Me", {"me"}),
    ],
)
def test_names_have_a_digit_or_a_capital_that_no_sentence_asks_for(text: str, named: set[str]) -> None:
    assert names(text) == named


def test_names_tell_more_than_long_words_and_long_words_more_than_short_ones() -> None:
    assert telling(("find", "kiel", "harbour"), "Find the harbour of Kiel") == ("kiel", "harbour", "find")
    assert telling(("slow", "fast", "rapid")) == ("rapid", "slow", "fast")


def test_words_of_conversation_are_left_out() -> None:
    assert content("Can you please tell me where my new card is?") == ("new", "card")


def test_a_text_of_stop_words_keeps_them() -> None:
    assert content("who are you") == ("who", "are", "you")


def test_names_are_more_telling_than_long_words() -> None:
    assert telling(("directed", "arledge"), "who directed the film with Arledge")[0] == "arledge"


def test_word_order_and_case_do_not_make_a_text_new_but_quotes_do() -> None:
    assert normalized("Zero Trust!") == normalized("trust, zero") == normalized("zero zero trust")
    assert normalized('"zero trust"') != normalized("zero trust")
    assert normalized('"zero trust"') != normalized('"trust zero"')


@given(st.text())
def test_any_text_can_be_cut_into_words(text: str) -> None:
    assert all(word.strip() for word in tokens(text))
    assert set(content(text)) <= set(tokens(text))


def test_words_near_in_meaning_are_offered_only_where_the_data_has_them() -> None:
    assert Vocabulary(("invoice", "number", "lamp")).near("bills") == ("invoice",)
    assert Vocabulary(("number", "lamp")).near("bills") == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("cost", "costs"), ("battery", "batteries"), ("match", "matches"), ("class", "classes"), ("ai", "ai")],
)
def test_a_singular_has_a_plural(one: str, other: str) -> None:
    assert other_number(one) == other


def test_a_plural_has_a_singular() -> None:
    assert [other_number(word) for word in ("costs", "batteries", "boxes")] == ["cost", "battery", "box"]
