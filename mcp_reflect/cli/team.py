"""The service of a team: the options of `mcp-reflect serve --http HOST:PORT`, and how it starts with them."""

import os
from argparse import Namespace
from typing import Final

from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.errors import InputError
from mcp_reflect.loopback import HOST

_MOST: Final = 1 << 40  # of lessons or bytes of a tenant: more than any bank holds
_LEAST_KEY_CHARS: Final = 32


def add_team_arguments(parser: CliParser) -> None:
    """Add the options for --http HOST:PORT."""
    team = parser.add_argument_group(
        "a team's service (docs/team.md)", "These options are for --http HOST:PORT."
    )
    team.add_argument(
        "--public-url", metavar="URL", help="the address that clients use, such as https://NAME/mcp"
    )
    team.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="another Host that the proxy sends",
    )
    team.add_argument(
        "--without-authentication", action="store_true", help="answer without a token"
    )
    team.add_argument(
        "--oauth-issuer", metavar="URL", help="accept JWTs of this authorization server"
    )
    team.add_argument("--oauth-jwks", metavar="URL", help="the address of its keys")
    team.add_argument(
        "--oauth-audience",
        metavar="TEXT",
        help="the audience of its tokens (default: --public-url)",
    )
    team.add_argument(
        "--oauth-tenant-claim",
        default="tenant",
        metavar="NAME",
        help="the claim that names the tenant",
    )
    team.add_argument(
        "--oauth-projects-claim",
        default="projects",
        metavar="NAME",
        help="the claim of the projects",
    )
    keys = "the variable with a key of 32 characters or more, the same for all replicas; several, the newest first"
    team.add_argument("--state-key-env", metavar="NAME", help=keys)
    add_number(
        team,
        "--tenant-lessons",
        0,
        _MOST,
        default=0,
        metavar="N",
        help="lessons of a tenant; 0: any number",
    )
    add_number(
        team,
        "--tenant-bytes",
        0,
        _MOST,
        default=0,
        metavar="N",
        help="bytes a minute of a tenant; 0: any",
    )
    about = "answer Prometheus there, without a token; loopback without HOST"
    team.add_argument("--metrics", metavar="[HOST:]PORT", type=_address, help=about)
    team.add_argument(
        "--metrics-by-tenant", action="store_true", help="name the tenants in the metrics of calls"
    )


def serve_http(options: Namespace) -> None:
    """Serve as the options say, until Ctrl-C. InputError names the option that cannot be used."""
    from mcp_reflect.server.authentication import OAuthOptions  # noqa: PLC0415 - same
    from mcp_reflect.server.team import TeamOptions, serve_team  # noqa: PLC0415 - a web server, which help does not need

    host, _, port = options.http.rpartition(":")
    if not port.isdecimal() or not port.isascii():
        raise InputError(
            "--http", "it is not [HOST:]PORT", "Give a number from 0 to 65535, or 0.0.0.0:8000."
        )
    for name in ("public_url", "oauth_issuer", "oauth_jwks"):
        value = getattr(options, name)
        if value is not None and not value.startswith(("https://", "http://")):
            raise InputError(
                f"--{name.replace('_', '-')}", "it is not an address", "Begin it with https://."
            )
    oauth = None
    if options.oauth_issuer or options.oauth_jwks:
        oauth = OAuthOptions(
            issuer=options.oauth_issuer,
            jwks=options.oauth_jwks,
            audience=_oauth_audience(options),
            tenant_claim=options.oauth_tenant_claim,
            projects_claim=options.oauth_projects_claim,
        )
    team = TeamOptions(
        host=host.strip("[]") or HOST,
        port=int(port),
        public_url=options.public_url,
        allowed_hosts=tuple(options.allow_host),
        authenticates=not options.without_authentication,
        own=not host,
        oauth=oauth,
        state_keys=_state_keys(options.state_key_env),
        lessons=options.tenant_lessons,
        bytes_a_minute=options.tenant_bytes,
        metrics=options.metrics,
        names_tenants=options.metrics_by_tenant,
    )
    serve_team(team)


def _oauth_audience(options: Namespace) -> str:
    """Return the audience of an authorization server's tokens; InputError if an option that goes with it is missing."""
    audience = options.oauth_audience or options.public_url
    if not (options.oauth_issuer and options.oauth_jwks and audience):
        fix = "Give --oauth-issuer, --oauth-jwks, and --public-url or --oauth-audience."
        raise InputError("--oauth-issuer", "it needs three options, and one is missing", fix)
    return audience


def _address(text: str) -> tuple[str, int]:
    """Return the host and the port of `[HOST:]PORT`, without a host that of this machine alone."""
    host, _, port = text.rpartition(":")
    return host.strip("[]") or HOST, int(port)


def _state_keys(variable: str | None) -> tuple[str, ...]:
    """Return the keys in a variable, the newest first; none if no variable is named. InputError for short ones."""
    if not variable:
        return ()
    keys = tuple(os.environ.get(variable, "").split())
    if not keys or any(len(key) < _LEAST_KEY_CHARS for key in keys):
        fix = "Make one: openssl rand -base64 48."
        raise InputError(variable, "it has no key, or one of fewer than 32 characters", fix)
    return keys
