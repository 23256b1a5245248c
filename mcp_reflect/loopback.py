"""The socket of the HTTP servers: it listens on this machine's loopback address, unless another one is named."""

import ipaddress
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from mcp_reflect.errors import InputError

HOST: Final = "127.0.0.1"
"""Where servers listen unless a person names another host: only this machine can reach it."""

MOST_PORT: Final = 65_535


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def listening(port: int, option: str, host: str = HOST) -> Generator[socket.socket]:
    """Yield a socket that listens on a host's address; port 0 takes any free one.

    InputError names `option` if the port is not one, or the address cannot be used.
    """
    if not 0 <= port <= MOST_PORT:
        raise InputError(
            option, f"{port} is not a port", f"Give a number from 0 (any free one) to {MOST_PORT}."
        )
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family)
    except OSError as error:
        raise InputError(
            option, f"{host}:{port} cannot be used: {error.strerror}", "Give another."
        ) from None
    with listener:
        yield listener
