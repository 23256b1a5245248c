"""Every provider turns what its server does wrong into the same errors, and keeps its key to itself."""

import pytest

from mcp_reflect.llm.protocol import (
    AuthError,
    BadRequestError,
    GarbledReplyError,
    LLMError,
    NotServedError,
    OverloadedError,
    RateLimitedError,
    Stop,
)
from mcp_reflect.models.common import Json
from tests.llm.contract import ask, every_dialect, failing, fault, left_nothing_behind
from tests.llm.dialects import KEY, Dialect
from tests.llm.loopback import Answer, Loopback

pytestmark = every_dialect
nothing_is_left_behind = pytest.fixture(autouse=True)(left_nothing_behind)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (413, BadRequestError),
        (422, BadRequestError),
        (401, AuthError),
        (402, AuthError),
        (403, AuthError),
        (404, NotServedError),
        (405, NotServedError),
        (408, OverloadedError),
        (429, RateLimitedError),
        (500, OverloadedError),
        (503, OverloadedError),
        (529, OverloadedError),
    ],
)
async def test_each_status_becomes_the_error_of_whoever_has_to_react(
    dialect: Dialect, status: int, kind: type[LLMError]
) -> None:
    error = await fault(dialect, failing(dialect, status, "the server's own words"))
    assert type(error) is kind
    assert error.llm == f"{dialect.name}:test-model"
    assert f"HTTP {status}: the server's own words" in error.fault


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"[]", b"null", b"\xff\xfe"])
async def test_an_error_without_a_readable_body_still_has_its_status(
    dialect: Dialect, status: int, body: bytes
) -> None:
    error = await fault(dialect, Answer(status=status, body=body))
    assert f"HTTP {status}" in error.fault


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("0.5", 0.5)])
async def test_a_rate_limit_says_how_long_to_wait(dialect: Dialect, value: str, seconds: float) -> None:
    answer = Answer(status=429, body=dialect.fail("rate_limit_error", "slow down"), headers={"retry-after": value})
    assert (await fault(dialect, answer)).retry_after == seconds


@pytest.mark.parametrize("value", ["soon", "", "nan", "inf", "Wed, 21 Oct 2026 07:28:00 GMT"])
async def test_a_retry_after_that_is_none_is_ignored(dialect: Dialect, value: str) -> None:
    answer = Answer(status=429, body=dialect.fail("rate_limit_error", "slow"), headers={"retry-after": value})
    assert (await fault(dialect, answer)).retry_after is None


@pytest.mark.parametrize("body", [b'{"id": ', b"hello", b"", b"[]", b"null", b'{"id": "x"}', b"[" * 100_000])
async def test_a_body_that_is_no_reply_is_garbled(dialect: Dialect, body: bytes) -> None:
    assert type(await fault(dialect, Answer(body=body))) is GarbledReplyError


@pytest.mark.parametrize(
    "body",
    [
        {"content": [None, 3, {"type": "text"}], "usage": {"input_tokens": "many"}},
        {"choices": [{"message": {"content": [None, 3, {"type": "text"}]}}], "usage": []},
    ],
)
async def test_a_reply_with_odd_parts_is_read_without_an_accident(dialect: Dialect, body: Json) -> None:
    try:
        reply = await ask(dialect, Answer(body=body))
    except GarbledReplyError:
        return
    assert reply.stop is Stop.EMPTY


async def test_a_redirect_is_not_followed_to_another_host(dialect: Dialect) -> None:
    async with Loopback() as other:
        answer = Answer(status=302, headers={"location": other.url})
        error = await fault(dialect, answer)
    assert isinstance(error, NotServedError)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_a_key_that_the_server_quotes_is_in_no_error_and_no_log(
    dialect: Dialect, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    error = await fault(dialect, failing(dialect, status, f"key {KEY} is wrong, Bearer {KEY}\nsee sk-oth***abcd1234"))
    texts = [
        str(error),
        repr(error),
        error.fault,
        error.fix,
        repr(error.__context__),
        repr(error.__cause__),
        caplog.text,
    ]
    assert not any(KEY in text for text in texts)
    assert "sk-oth" not in str(error)
    assert "\n" not in str(error)
    assert error.__context__ is None


async def test_a_flood_of_words_in_an_error_is_cut(dialect: Dialect) -> None:
    assert len(str(await fault(dialect, failing(dialect, 400, "very " * 10_000)))) < 600


def test_the_key_shows_in_no_repr(dialect: Dialect) -> None:
    llm = dialect.open("http://127.0.0.1:9")
    assert KEY not in repr(llm)
    assert KEY not in str([f"{name}={value!r}" for name, value in vars(llm).items()])
