"""Ask a team's service: one request, with the standard library alone, for commands that have to answer at once."""

import http.client
import json
import os
from contextlib import closing
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_reflect.errors import BankError, InputError
from mcp_reflect.loopback import is_loopback

TOKEN_VARIABLE: Final = "REFLECT_TOKEN"  # noqa: S105 - the name of a variable
MOST_TRANSCRIPT_CHARS: Final = 900_000  # the end of a longer one: with four bytes a character it is below 4 MiB
_CONNECT_SECONDS: Final = 1.0  # a service that is down costs an agent no more
_SECONDS: Final = 2.5
_MOST_BYTES: Final = 4 << 20  # of an answer


def ask(address: str, token_variable: str | None, name: str, value: Any, project: str | None = None) -> Any:
    """Return the JSON that the service at `address` (as it was registered) answers to `value`.

    InputError where it refuses, in its words; BankError where it cannot be reached.
    """
    place = checked_address(address)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    token = os.environ.get(token_variable or TOKEN_VARIABLE, "")
    headers = {"Content-Type": "application/json", "Authorization": token and f"Bearer {token}"}
    headers |= {"Mcp-Reflect-Project": project or ""}
    path = f"{place.path.rstrip('/').removesuffix('/mcp')}/api/{name}"
    with closing(kind(place.netloc, timeout=_CONNECT_SECONDS)) as connection:
        try:
            connection.connect()
            connection.sock.settimeout(_SECONDS)
            sent = {header: text for header, text in headers.items() if text}
            connection.request("POST", path, json.dumps(value).encode("utf-8", "replace"), sent)
            answer = connection.getresponse()
            body = answer.read(_MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise BankError(f"The service {place.netloc} does not answer: {type(error).__name__}.") from None
    if answer.status != http.client.OK:
        refused = answer.status == http.client.UNAUTHORIZED
        fix = f"Set {token_variable or TOKEN_VARIABLE} to a token of the service." if refused else "Ask again."
        raise InputError(place.netloc, f"it answers {answer.status}: {body[:300].decode('utf-8', 'replace')}", fix)
    return json.loads(body)


def checked_address(address: str) -> Any:
    """Return the parts of a service's address. InputError where it is none, or would carry a token without TLS."""
    place = urlsplit(address)
    if place.scheme not in ("https", "http") or not place.hostname:
        raise InputError("--url", "it is no address", "Send one such as https://lessons.example.com/mcp.")
    if place.scheme == "http" and not is_loopback(place.hostname):
        raise InputError("--url", "a token would travel without encryption", "Use https.")
    return place
