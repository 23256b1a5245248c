"""Ask a team's service over HTTP, with the standard library alone: a hook or a recall must answer at once."""

import json
import os
import re
from contextlib import closing, suppress
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_reflect.errors import BankError, ChangedError, InputError, NotAllowedError
from mcp_reflect.loopback import is_loopback
from mcp_reflect.speaker import HEADER, speaker_to_service

TOKEN_VARIABLE: Final = "REFLECT_TOKEN"  # noqa: S105 - the name of a variable
MOST_TRANSCRIPT_CHARS: Final = 900_000
"""Characters of the end of a session that a service is sent: at four bytes each they are below its limit of 4 MiB."""
_VARIABLE: Final = re.compile(r"(?!mcpr_)[A-Za-z_]\w*", re.ASCII)
_CONNECT_SECONDS: Final = 10.0  # in which a service that runs takes a connection
_MOST_ERROR: Final = 1_000  # bytes of an answer that says what is wrong
_MOST_FAULT: Final = 300  # characters of it that are shown
_SECONDS: Final = 120.0  # that a person waits: a service that is busy answers late
_MOST_BYTES: Final = 1 << 30  # of an answer
_OK, _UNAUTHORIZED, _FORBIDDEN, _CONFLICT = 200, 401, 403, 409
_TOO_MANY_REQUESTS, _INTERNAL_SERVER_ERROR = 429, 500
"""Statuses of HTTP. Hooks load this module, and not `http`, which has names for them."""


def ask_service(
    address: str,
    token_variable: str | None,
    name: str,
    value: Any,
    project: str | None = None,
    *,
    seconds: float = _SECONDS,
) -> Any:
    """Return the JSON that a service answers to the request `name` with this value.

    `address` is as it was registered, `token_variable` the variable with the token (None: TOKEN_VARIABLE).

    | the service                                        | raises          |
    |----------------------------------------------------|-----------------|
    | does not answer within `seconds`, or cannot now    | BankError       |
    | refuses the token                                  | NotAllowedError |
    | refuses the request for any other reason           | InputError      |
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
    """Return the headers of a request; those without a value, as where there is no token, are left out."""
    token = os.environ.get(token_variable, "")
    headers = {
        "Content-Type": "application/json",
        "Authorization": token and f"Bearer {token}",
        "Mcp-Reflect-Project": project or "",
        HEADER: speaker_to_service().value,
    }
    return {name: text for name, text in headers.items() if text}


def _refusal(host: str, status: int, body: bytes, token_variable: str) -> Exception:
    """Return the error for an answer of the service at `host` with another status than 200, in the service's words.

    Its first sentence is the fault, the others are what to do about it.
    """
    text = body[:_MOST_ERROR].decode("utf-8", "replace")
    with suppress(ValueError, LookupError, TypeError):
        text = str(json.loads(text)["error"])
    first_sentence, _, other_sentences = text[:_MOST_FAULT].partition(". ")
    fault = f"it answers {status}: {first_sentence.rstrip('.')}"
    fix = other_sentences or "Ask again."
    if status == _UNAUTHORIZED:
        fix = f"The token is missing, wrong or revoked: set {token_variable} to one that works."
        return NotAllowedError(host, fault, fix)
    if status == _FORBIDDEN:
        return NotAllowedError(host, fault, fix)
    if status == _CONFLICT:
        return ChangedError(host, fault, fix)
    if status >= _INTERNAL_SERVER_ERROR or status == _TOO_MANY_REQUESTS:
        return BankError(f"{host}: {fault}. {fix}")
    return InputError(host, fault, fix)


def ask_as(options: Any, name: str, value: Any) -> Any:
    """Return what the service that a command's options name answers to the request `name`."""
    return ask_service(options.url, options.token_env, name, value, options.project)


def checked_variable(name: str | None) -> str:
    """Return the name of the variable with the token. InputError for another text, which may be the token itself."""
    if name and not _VARIABLE.fullmatch(name):
        fix = f"Put the token into a variable such as {TOKEN_VARIABLE}, and give its name."
        raise InputError("--token-env", "it is not the name of a variable", fix)
    return name or TOKEN_VARIABLE


def checked_address(address: str) -> Any:
    """Return the parts of a service's address. InputError if it is not one, or would send a token without TLS."""
    url = urlsplit(address)
    if url.scheme not in ("https", "http") or not url.hostname:
        raise InputError(
            "--url", "it is not an address", "Give one such as https://lessons.example.com/mcp."
        )
    if url.scheme == "http" and not is_loopback(url.hostname):
        raise InputError("--url", "it would send the token without encryption", "Use https.")
    return url
