"""Why a completion failed, by who has to react. Each ends on a lower rung, never in a failed tool.

The person who runs the server: `LLMSettingError` (a setting), `AuthError` (a key or an account),
`NotServedError` (a model's name or an address), `BudgetExceededError` (a limit they set).
Time: `RateLimitedError`, `OverloadedError`, `UnreachableError` (these three are worth another try),
`TimedOutError`. Whoever wrote the question: `BadRequestError`, `RefusedError`. The endpoint's maker:
`GarbledReplyError`.
"""

from typing import ClassVar

from mcp_reflect.errors import McpReflectError


class LLMError(McpReflectError):
    """A completion that did not come. `kind` is its short name in results and logs.

    `llm` names who was asked (`provider:model`), `fault` says what happened, `fix` what to do about it;
    the three together are the message. `retry_after` is the seconds the endpoint asked us to wait, null
    where it did not. None of them holds a key.
    """

    kind: ClassVar[str] = "llm_error"
    retryable: ClassVar[bool] = False

    def __init__(self, llm: str, fault: str, fix: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{llm}: {fault}. {fix}")
        self.llm = llm
        self.fault = fault
        self.fix = fix
        self.retry_after = retry_after


class LLMSettingError(LLMError):
    """A setting that cannot be used; `setting` is its name and stands first in the message."""

    kind = "setting"

    def __init__(self, setting: str, fault: str, fix: str) -> None:
        super().__init__(setting, fault, fix)
        self.setting = setting


class AuthError(LLMError):
    """The endpoint does not accept the key, or the account behind it is out of credit (401, 402, 403)."""

    kind = "auth"


class NotServedError(LLMError):
    """There is no such model, or no such API, at the address (404, 405, 410, a redirect)."""

    kind = "not_served"


class RateLimitedError(LLMError):
    """Too many requests or tokens for now (429)."""

    kind = "rate_limited"
    retryable = True


class OverloadedError(LLMError):
    """The endpoint is there and cannot answer now (408, 409, 5xx, 529)."""

    kind = "overloaded"
    retryable = True


class UnreachableError(LLMError):
    """No connection, or one that broke before the reply was whole."""

    kind = "unreachable"
    retryable = True


class TimedOutError(LLMError):
    """The reply was not there in time. There is no time left to try again in."""

    kind = "timeout"


class BadRequestError(LLMError):
    """The endpoint does not understand what was sent (400, 413, 422 and the like)."""

    kind = "bad_request"


class GarbledReplyError(LLMError):
    """The endpoint says all is well, and what it sent is not a reply of its API."""

    kind = "garbled_reply"


class RefusedError(LLMError):
    """The endpoint would not put the question to the language model.

    One that the model itself declined is a reply that stops with `refusal`: it was read, and paid for.
    """

    kind = "refused"


class BudgetExceededError(LLMError):
    """The completion might cost more than a limit leaves. Nothing was sent."""

    kind = "budget"
