import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.replan.words import Vocabulary, content, is_name, normalized, similar, telling, terms, tokens
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
        ("veganer", "vegan", ("vegan",)),
        ("trail", "trial", ("trial",)),
    ],
)
def test_a_word_that_the_data_lacks_becomes_one_that_it_has(word: str, data: str, found: tuple[str, ...]) -> None:
    assert _vocabulary(*data.split()).match(word) == found


def test_a_word_that_the_data_has_stays() -> None:
    assert _vocabulary("data", "date").match("data") == ("data",)


def test_short_words_and_numbers_are_not_respelled() -> None:
    known = _vocabulary("cat", "2025")
    assert known.match("car") == ()
    assert known.match("2024") == ()


@pytest.mark.parametrize("written", ["recieve", "receve", "receivee", "rezeive"])
def test_a_swapped_missing_additional_or_wrong_letter_is_a_slip(written: str) -> None:
    assert similar(written, ["give", "receive"]) == "receive"


@pytest.mark.parametrize(
    ("one", "other"), [("costs", "cost"), ("batteries", "battery"), ("planned", "planning"), ("serves", "serve")]
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Show the trains to Kiel", {"Kiel"}),
        ("Trains", set[str]()),
        ("NATO meets", {"NATO"}),
        ("Nato meets", set[str]()),
        ("order 17 and a4", {"17", "a4"}),
        ("is “old Kiel”, (Bonn) or bonn!", {"“old Kiel”", "Bonn"}),
    ],
)
def test_names_have_a_digit_quotes_or_a_capital_that_no_sentence_asks_for(text: str, named: set[str]) -> None:
    assert {term for term in terms(text) if is_name(term, text)} == named


def test_names_tell_more_than_what_was_said_and_rare_words_more_than_common_ones() -> None:
    assert telling(("find", "kiel", "harbour"), "Find the harbour of Kiel") == ("kiel", "harbour", "find")
    assert telling(("cheap", "train", "tickets", "2026"), "a train to Kiel") == ("train", "tickets", "cheap", "2026")


def test_a_term_stays_as_it_is_written() -> None:
    assert terms('ORA-12541, on "Ubuntu 26.04"!') == ("ORA-12541", "on", '"Ubuntu 26.04"')


def test_words_of_conversation_are_left_out() -> None:
    assert content("Can you please tell me where my new card is?") == ("new", "card")


def test_a_text_of_stop_words_keeps_them() -> None:
    assert content("who are you") == ("who", "are", "you")


def test_word_order_and_case_do_not_make_a_text_new_but_quotes_do() -> None:
    assert normalized("Zero Trust!") == normalized("trust, zero") == normalized("zero zero trust")
    assert normalized('"zero trust"') != normalized("zero trust")
    assert normalized('"zero trust"') != normalized('"trust zero"')


@given(st.text())
def test_any_text_can_be_cut_into_words(text: str) -> None:
    assert all(word.strip() for word in tokens(text))
    assert set(content(text)) <= set(terms(text))


def test_words_near_in_meaning_are_offered_only_where_the_data_has_them() -> None:
    assert Vocabulary(("invoice", "number", "lamp")).near("bills") == "invoice"
    assert Vocabulary(("number", "lamp")).near("bills") == ""


@pytest.mark.parametrize(
    ("word", "entry", "words"),
    [
        ("k8s", "Kubernetes", ("kubernetes",)),
        ("ml", "machine learning", ("machine", "learning")),
        ("llms", "large language models", ("large", "language", "models")),
        ("moeller", "Jürgen Möller", ("moller",)),
        ("raten", "Ratenzahlung", ("ratenzahlung",)),
        ("aleksandra", "Alexandra Nowak", ("alexandra",)),
        ("kennwort", "Passwort zurücksetzen", ("passwort",)),
        ("quantum", "edge computing", ()),
    ],
)
def test_a_short_foreign_or_nearly_spelled_word_becomes_that_of_the_data(
    word: str, entry: str, words: tuple[str, ...]
) -> None:
    assert Vocabulary((entry,)).match(word) == words
