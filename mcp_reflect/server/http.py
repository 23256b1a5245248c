"""The same server over HTTP, for clients on this machine: loopback only, and no way to ask for more.

The SDK refuses a foreign Host (421), a foreign Origin (403) and a body over 4 MiB before we see it.
"""

import sys
from typing import Final

import anyio

from mcp_reflect.loopback import HOST, listening
from mcp_reflect.server.app import build
from mcp_reflect.server.bodies import Bodies

PATH: Final = "/mcp"
_GRACE_SECONDS: Final = 1  # that answers have to their end; a stream that a client holds open has none


def serve_http(port: int) -> None:
    """Serve `http://127.0.0.1:PORT/mcp` until SIGINT or SIGTERM; port 0 means any free one.

    The address is printed on stdout when it takes connections. InputError where the port cannot be had.
    """
    import uvicorn  # noqa: PLC0415 - over stdio nobody needs it

    with listening(port, "--http") as door:
        made = build()
        app = Bodies(made.streamable_http_app(streamable_http_path=PATH, host=HOST), made.service.settings)
        config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=_GRACE_SECONDS)
        server = uvicorn.Server(config)
        sys.stdout.write(f"http://{HOST}:{door.getsockname()[1]}{PATH}\n")
        sys.stdout.flush()
        anyio.run(server.serve, [door])
