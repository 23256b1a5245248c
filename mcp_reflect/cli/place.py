"""Run a command on the bank of this machine, or by a team's service (`--url`).

A use is what a person does with lessons (`services.curation.USES`); the two places carry it out alike. Only the standard
library is used to call a service, because a hook or a recall must answer at once.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError, InputError, NotAllowedError
from mcp_reflect.loopback import is_loopback
from mcp_reflect.models.common import from_json
from mcp_reflect.services.claims import accept_claim
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import HEADER, Speaker, speaker_of_process, speaker_to_service

if TYPE_CHECKING:
    from argparse import Namespace  # hooks load this module, and not argparse

_Result = TypeVar("_Result")

TOKEN_VARIABLE: Final = "REFLECT_TOKEN"  # noqa: S105 - the name of a variable
MOST_TRANSCRIPT_CHARS: Final = 900_000
"""Of the end of a session that a service is sent: with four bytes a character it is below its limit of 4 MiB."""

_VARIABLE: Final = re.compile(r"(?!mcpr_)[A-Za-z_]\w*", re.ASCII)
_CONNECT_SECONDS: Final = 10.0  # in which a service that runs takes a connection
_MOST_ERROR: Final = 1_000  # bytes of an answer that says what is wrong
_MOST_FAULT: Final = 300  # characters of it that are shown
_SECONDS: Final = 120.0  # that a person waits: a service that is busy answers late
_MOST_BYTES: Final = 1 << 30  # of an answer
_OK, _UNAUTHORIZED, _FORBIDDEN, _TOO_MANY_REQUESTS, _INTERNAL_SERVER_ERROR = 200, 401, 403, 429, 500
"""Of HTTP. Hooks load this module, and not `http`, which has names for them."""


def with_engine(
    work: Callable[[Engine], Awaitable[_Result]],
    settings: Settings | None = None,
    *,
    opens: bool = True,
) -> _Result:
    """Run `work` with an engine over the bank of the settings (default: the environment's), and close it.

    Without `opens`, `work` opens the bank itself: it may be damaged.
    """

    async def run() -> _Result:
        """Work in one event loop, and close the engine also where the work fails."""
        engine = Engine(settings)
        try:
            if opens:
                await engine.open()
                await _tell_claim(engine)
            return await work(engine)
        finally:
            await engine.close()

    return asyncio.run(run())


async def _tell_claim(engine: Engine) -> None:
    """Tell a person, before anything of it is shown, that the folder belongs to a project by its origin alone."""
    if engine.scopes.claimed and speaker_of_process() is Speaker.PERSON:
        sys.stderr.write(f"{await accept_claim(engine)}\n")


Do = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Carries out a use of `services.curation` with the values of a request."""


def settings_of(options: "Namespace") -> Settings:
    """Return the settings with the project of a command's options."""
    settings = Settings.from_env()
    if options.project is None:
        return settings
    return replace(settings, project=options.project)


def with_place(options: "Namespace", work: Callable[[Do], Awaitable[_Result]]) -> _Result:
    """Run a command's work by the service that its options name, else on the bank of this machine.

    `work` is given a function `do`: `await do("show", {"id": "les_…"})` carries out one use and returns its result.
    """
    if options.url:
        return _with_service(options, work)
    from mcp_reflect.services.curation import USES  # noqa: PLC0415 - a recall and hooks need none of it

    speaker = speaker_of_process()

    def work_here(engine: Engine) -> Awaitable[_Result]:
        return work(lambda use, sent: USES[use].work(engine, sent, speaker=speaker))

    return with_engine(work_here, settings_of(options))


def _with_service(options: "Namespace", work: Callable[[Do], Awaitable[_Result]]) -> _Result:
    """Run a command's work by a team's service, whose answers become values of the uses' types."""
    from mcp_reflect.services.curation import USES  # noqa: PLC0415 - same

    async def do(use: str, sent: Mapping[str, Any]) -> Any:
        """Ask the service for a use of `USES`; its JSON becomes a value of that use's type."""
        answer = ask_as(options, use, sent)
        result_type = USES[use].result
        if result_type is None:
            return answer
        return from_json(result_type, answer)

    async def work_there() -> _Result:
        return await work(do)

    return asyncio.run(work_there())


def ask(
    address: str,
    token_variable: str | None,
    name: str,
    value: Any,
    project: str | None = None,
    *,
    seconds: float = _SECONDS,
) -> Any:
    """Return the JSON that a service answers to the request `name` with this value.

    `address` is as it was registered, `token_variable` the variable with the token (None: TOKEN_VARIABLE). InputError
    where the service refuses, in its words (NotAllowedError: for its token); BankError where it does not answer in
    time, or cannot now.
    """
    import http.client  # noqa: PLC0415 - most commands have a bank of their own

    url = checked_address(address)
    token_variable = checked_variable(token_variable)
    connection_type = http.client.HTTPConnection
    if url.scheme == "https":
        connection_type = http.client.HTTPSConnection
    path = f"{url.path.rstrip('/').removesuffix('/mcp')}/api/{name}"
    sent = json.dumps(value).encode("utf-8", "replace")
    connection = connection_type(url.netloc, timeout=min(seconds, _CONNECT_SECONDS))
    with closing(connection):
        try:
            connection.connect()
            connection.sock.settimeout(seconds)
            connection.request("POST", path, sent, _headers(token_variable, project))
            answer = connection.getresponse()
            body = answer.read(_MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or "not in time, or not as HTTP"
            raise BankError(f"The service {url.netloc} does not answer: {reason}.") from None
    if answer.status != _OK:
        raise _refusal(url.netloc, answer.status, body, token_variable)
    return json.loads(body)


def _headers(token_variable: str, project: str | None) -> dict[str, str]:
    """Return the headers of a request, without those that have nothing to say."""
    token = os.environ.get(token_variable, "")
    headers = {
        "Content-Type": "application/json",
        "Authorization": token and f"Bearer {token}",
        "Mcp-Reflect-Project": project or "",
        HEADER: speaker_to_service().value,
    }
    return {name: text for name, text in headers.items() if text}


def _refusal(place: str, status: int, body: bytes, token_variable: str) -> Exception:
    """Return the error for an answer of the service at `place` with another status than 200, in the service's words."""
    text = body[:_MOST_ERROR].decode("utf-8", "replace")
    with suppress(ValueError, LookupError, TypeError):
        text = str(json.loads(text)["error"])
    first_sentence, _, other_sentences = text[:_MOST_FAULT].partition(". ")
    fault = f"it answers {status}: {first_sentence.rstrip('.')}"
    fix = other_sentences or "Ask again."
    if status == _UNAUTHORIZED:
        fix = f"The token is missing, wrong or revoked: set {token_variable} to one that works."
        return NotAllowedError(place, fault, fix)
    if status == _FORBIDDEN:
        return NotAllowedError(place, fault, fix)
    if status >= _INTERNAL_SERVER_ERROR or status == _TOO_MANY_REQUESTS:
        return BankError(f"{place}: {fault}. {fix}")
    return InputError(place, fault, fix)


def ask_as(options: Any, name: str, value: Any) -> Any:
    """Return what the service of a command's options answers to a use."""
    return ask(options.url, options.token_env, name, value, options.project)


def checked_variable(name: str | None) -> str:
    """Return the name of the variable with the token. InputError for another text, which may be the token itself."""
    if name and not _VARIABLE.fullmatch(name):
        fix = f"Put the token into a variable such as {TOKEN_VARIABLE}, and give its name."
        raise InputError("--token-env", "it is not the name of a variable", fix)
    return name or TOKEN_VARIABLE


def checked_address(address: str) -> Any:
    """Return the parts of a service's address. InputError if it is not one, or would send a token without TLS."""
    place = urlsplit(address)
    if place.scheme not in ("https", "http") or not place.hostname:
        raise InputError(
            "--url", "it is not an address", "Give one such as https://lessons.example.com/mcp."
        )
    if place.scheme == "http" and not is_loopback(place.hostname):
        raise InputError("--url", "it would send the token without encryption", "Use https.")
    return place
