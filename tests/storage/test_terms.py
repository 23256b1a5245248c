"""Terms: the forms of one word give one stem, words of other meanings do not, and an identifier gives its parts."""

import pytest

from mcp_reflect.stemmer import stem
from mcp_reflect.storage.retrieval.index import terms_of


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deploys deployed deploying deployment deployments",
        "migrate migrates migrated migrating migration migrations",
        "retry retries retried retrying",
        "velocity velocities",
        "configure configured configuring configuration configurations",
        "cancel cancels canceled cancelled cancelling cancellation",
        "install installs installed installation",
        "access accesses accessed accessible",
        "stop stops stopped stopping",
        "monitor monitors monitoring",
        "quick quickly quickness",
        "building buildings",
        "thought thoughtful thoughtfulness",
        "cache caches cached caching",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1, [stem(form) for form in forms.split()]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("string", "stride"),
        ("status", "state"),
        ("user", "us"),
        ("order", "ordeal"),
        ("number", "nun"),
        ("signal", "sign"),
        ("alloy", "allow"),
        ("bus", "bush"),
    ],
)
def test_words_of_other_meanings_keep_their_stems_apart(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize("word", ["set", "été", "e4012", "thing", "status", "need"])
def test_a_short_word_and_one_that_would_lose_its_vowel_stay_as_they_are(word: str) -> None:
    assert stem(word) == word


def test_an_identifier_gives_itself_and_its_parts() -> None:
    for name in ("parse_invoice_date", "initialDelaySeconds", "api.retry.limits"):
        whole, *parts = terms_of(name)
        assert whole.startswith(name[:5].lower().replace(".", "_"))
        assert parts == terms_of(name.replace("D", " D").replace("S", " S").replace("_", " ").replace(".", " "))
