import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.search import EmptyCause
from mcp_reflect.replan.vocabulary import Vocabulary, edit_distance
from mcp_reflect.replan.words import (
    content,
    normalized,
    other_number,
    short_forms,
    stem,
    telling,
    tokens,
)

_WORDS = st.text("abcde", max_size=8)


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
        ("sso", "single sign on", ("single", "sign")),
        ("ml", "machine learning", ("machine", "learning")),
        ("config", "configuration", ("configuration",)),
    ],
)
def test_a_word_that_the_data_lacks_becomes_one_that_it_has(word: str, data: str, found: tuple[str, ...]) -> None:
    assert _vocabulary(*data.split()).mended(word).words == found


def test_initials_of_a_phrase_in_the_data_are_expanded() -> None:
    assert _vocabulary("customer lifetime value", "churn").mended("clv").words == ("customer", "lifetime", "value")


def test_a_word_that_the_data_has_stays() -> None:
    assert _vocabulary("data", "date").mended("data") == (None, ("data",))


def test_short_words_and_numbers_are_not_respelled() -> None:
    known = _vocabulary("cat", "2025")
    assert known.mended("car").words == ()
    assert known.mended("2024") == (EmptyCause.UNKNOWN_WORDS, ())


def test_a_long_form_knows_its_short_one() -> None:
    assert "ml" in short_forms("Machine learning for everyone")


def test_swapped_neighbours_are_one_slip() -> None:
    assert edit_distance("recieve", "receive", 2) == 1


@given(_WORDS, _WORDS)
def test_edit_distance_does_not_depend_on_order(one: str, other: str) -> None:
    assert edit_distance(one, other, 3) == edit_distance(other, one, 3)


@given(_WORDS, st.integers(0, 8), st.sampled_from("abcde"))
def test_one_inserted_letter_is_at_most_one_slip(word: str, place: int, letter: str) -> None:
    assert edit_distance(word, word[:place] + letter + word[place:], 3) <= 1


@given(_WORDS, _WORDS, st.integers(0, 3))
def test_edit_distance_says_most_plus_one_for_anything_farther(one: str, other: str, most: int) -> None:
    assert edit_distance(one, other, most) == min(edit_distance(one, other, 20), most + 1)


@pytest.mark.parametrize(
    ("one", "other"), [("costs", "cost"), ("batteries", "battery"), ("planned", "planning"), ("serves", "serve")]
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


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


def test_a_synonym_is_offered_only_where_the_data_has_it() -> None:
    assert _vocabulary("invoice", "number").synonyms("bills") == ("invoice",)
    assert _vocabulary("number").synonyms("bills") == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("cost", "costs"), ("battery", "batteries"), ("match", "matches"), ("class", "classes"), ("ai", "ai")],
)
def test_a_singular_has_a_plural(one: str, other: str) -> None:
    assert other_number(one) == other


def test_a_plural_has_a_singular() -> None:
    assert [other_number(word) for word in ("costs", "batteries", "boxes")] == ["cost", "battery", "box"]
