"""Texts with very many names of secrets: logs come through whole, and what is made to stall costs a bounded number of reads."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.security.reading_allowance import MOST_READ, shared_allowance
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.security.secret_labels import SecretName, labels_in, name_at
from mcp_reflect.security.secret_names import values_of_name
from mcp_reflect.security.secret_surroundings import Surroundings
from tests.security.corpus import CASES, texts
from tests.security.honest_logs import honest_logs

LOGS = dict(honest_logs())
# Each takes half a second of the processor: one of four in the suite, the others where CI tests what is long by nature.
_SOME_LOGS = [
    pytest.param(log, id=name, marks=[pytest.mark.long] if place % 4 else [])
    for place, (name, log) in enumerate(LOGS.items())
]


@pytest.mark.parametrize("log", [*LOGS.values()], ids=[*LOGS])
def test_a_long_log_that_names_secrets_and_tells_none_stays_whole(log: str) -> None:
    assert clean_text(log) == log


@pytest.mark.parametrize("log", _SOME_LOGS)
def test_a_secret_in_the_middle_of_such_a_log_is_cut(log: str) -> None:
    lines = log.split("\n")
    lines.insert(len(lines) // 2, "the password is Kelp4Dune7x")
    lines.insert(len(lines) // 3, "token=aB3dE5gH7jK9mN1pQ3sT")
    cleaned = clean_text("\n".join(lines))
    assert "Kelp4Dune7x" not in cleaned
    assert "aB3dE5gH7jK9mN1pQ3sT" not in cleaned


STALLING = (
    "password: token: key: ",
    "x_y_secret_",
    "token: ",
    "the password is Kelp4Dune and ",
    "api_key=aB3dE5gH7jK9mN1pQ\n",
)


@pytest.mark.parametrize("unit", STALLING)
@pytest.mark.parametrize(
    ("count", "length"),
    [
        pytest.param(400, 900, marks=pytest.mark.long),
        (20, 19_000),
        pytest.param(2, 190_000, marks=pytest.mark.long),
    ],
)
def test_texts_of_one_value_share_the_names_that_are_read(
    unit: str, count: int, length: int
) -> None:
    value = [f"case {place} of {unit}\n{unit * (length // len(unit))}" for place in range(count)]
    with shared_allowance() as allowance:
        clean(value)
        assert allowance.read < 4 * MOST_READ  # the text that passes the limit is read to its end


def test_a_short_text_behind_one_that_used_up_the_allowance_is_read() -> None:
    crowd = [f"case {place}\n" + "token: " * 2_000 for place in range(40)]
    last = "the token was refreshed\npassword: none yet, see the vault\nno key is needed here"
    assert clean([*crowd, last])[-1] == last


def _names_in(text: str) -> Iterator[SecretName]:
    folded = text.lower()
    if len(folded) != len(text):
        return
    for label in labels_in(text, folded, " ".join(re.findall(r"[a-z]+", folded))):
        name = name_at(text, label, 0)
        if name.kind:
            yield name


def _wrongly_quiet(text: str) -> list[str]:
    """The names that are passed over although one who reads them in full finds a value."""
    around = Surroundings(text)
    return [
        text[name.start : name.end]
        for name in _names_in(text)
        if around.is_quiet(name) and values_of_name(text, name)
    ]


@pytest.mark.parametrize("file", sorted(path.stem for path in CASES.glob("*.jsonl")))
def test_a_quiet_name_of_the_cases_has_no_value(file: str) -> None:
    assert {text: names for text in texts(file) if (names := _wrongly_quiet(text))} == {}


WORDS = (
    "password", "token", "pass", "api key", "api_key", "`token`", '"password"', "auth", "PASS", "is", "was", "the", "my", "with",
    "use", "changed", "to", "as", "Bearer", "default", ":", "=", "=>", "->", "|", ",", ".", ";", "(", ")", "[3]", "'", '"', "\n",
    "\n\n", "  ", "Kelp4Dune7x", "sunflower", "aB3dE5gH7jK9mN1pQ3sT", "hunter2!", "8f14e45fceea167a", "12", "none", "value",
    "src/", ".py", "::", "--", "<", ">", "パスワード", "は", "密码", "x1",
)  # fmt: skip


@settings(max_examples=1_500, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=12), st.sampled_from(("", " ")))
def test_a_quiet_name_among_any_words_has_no_value(words: list[str], between: str) -> None:
    text = between.join(words)
    assert _wrongly_quiet(text) == []
