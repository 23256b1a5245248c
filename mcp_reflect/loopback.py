"""The socket of the HTTP servers: it listens on this machine's loopback address and nowhere else."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from mcp_reflect.errors import InputError

HOST: Final = "127.0.0.1"
MOST_PORT: Final = 65_535


@contextmanager
def listening(port: int, option: str) -> Generator[socket.socket]:
    """Yield a socket that listens on 127.0.0.1; port 0 takes any free one.

    InputError names `option` where the port is none, or cannot be had.
    """
    if not 0 <= port <= MOST_PORT:
        raise InputError(option, f"{port} is no port", f"Give a number from 0 (any free one) to {MOST_PORT}.")
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise InputError(option, f"port {port} cannot be had: {error.strerror}", "Give another.") from None
        listener.listen()
        yield listener
