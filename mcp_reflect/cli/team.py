"""A team's service: the options of `mcp-reflect serve --http HOST:PORT`, and `mcp-reflect tokens`."""

import os
from argparse import Namespace
from typing import Final

from mcp_reflect.cli.commands import CliParser, add_actions, add_number
from mcp_reflect.cli.output import table, write_result
from mcp_reflect.cli.place import with_engine
from mcp_reflect.clock import iso
from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT
from mcp_reflect.loopback import HOST
from mcp_reflect.models.access import AccessRole, StoredToken
from mcp_reflect.models.common import plain
from mcp_reflect.projects import stored_name
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import refuse_agent, refuse_in_host, speaker_of_process

_MOST: Final = 1 << 40  # of lessons or bytes of a tenant: more than any bank holds
_LEAST_KEY_CHARS: Final = 32
_MOST_DAYS: Final = 3650.0  # for which a token works


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


def add_tokens_arguments(parser: CliParser) -> None:
    """Add the actions of `mcp-reflect tokens`."""
    action = add_actions(parser)
    add = action(
        "add",
        "make a token; it is shown once",
        "ada --tenant acme --projects shop,billing --role writer",
    )
    add.add_argument(
        "name", metavar="NAME", help="who uses it: stands beside all that is stored with it"
    )
    add.add_argument(
        "--tenant", required=True, metavar="T", help="the team; no other team sees its lessons"
    )
    about = "the projects, the usual one first; '*' is every one"
    add.add_argument("--projects", required=True, nargs="+", metavar="P", help=about)
    roles = "reader recalls; writer also stores; admin also decides about quarantine and trust"
    add.add_argument(
        "--role", required=True, choices=[role.value for role in AccessRole], help=roles
    )
    add_number(
        add, "--days", 0.001, _MOST_DAYS, help="the days for which it works (default: forever)"
    )
    action("list", "all tokens; their text is not kept", "")
    revoke = action("revoke", "refuse a token from now on, on every replica", "ada")
    revoke.add_argument("name", metavar="NAME")


def run_tokens(options: Namespace) -> None:
    """Make, list and revoke the tokens with which a team uses `mcp-reflect serve --http HOST:PORT`."""
    actions = {"add": _add, "list": _list, "revoke": _revoke}
    with_engine(lambda engine: actions[options.action](engine, options))


async def _add(engine: Engine, options: Namespace) -> None:
    """Make a token and print it."""
    refuse_in_host("tokens", "make a token")
    if options.role == AccessRole.ADMIN or await engine.bank.tokens.list_all():
        # The first token of a container's setup may come from a script; an admin's word is a person's.
        refuse_agent(speaker_of_process(), "tokens", "make a token of an admin, or one more")
    names = ",".join(options.projects).split(",")
    projects = [stored_name(name.strip()) for name in names]
    _refuse_bad_name("name", options.name)
    _refuse_bad_name("--tenant", options.tenant)
    for project in projects:
        _refuse_bad_name("--projects", project)
    text = await engine.bank.tokens.add(
        stored_name(options.name),
        tenant=stored_name(options.tenant),
        projects=projects,
        role=AccessRole(options.role),
        days=options.days,
    )
    notice = "This is the only time that it is shown."
    owner = f"Whoever has it is '{options.name}' ({options.role})."
    write_result(options, {"name": options.name, "token": text}, f"{text}\n{notice} {owner}")


def _refuse_bad_name(field: str, name: str) -> None:
    """Raise InputError for a name that is empty, too long, or not to be read as it is."""
    if not name.strip() or not name.isprintable():
        raise InputError(
            field, "it is empty, or has invisible characters", "Send a name, such as shop."
        )
    DEFAULT.refuse_more("max_label_chars", field, len(name))


async def _list(engine: Engine, options: Namespace) -> None:
    """Print all tokens, without their text."""
    tokens = await engine.bank.tokens.list_all()
    now = engine.clock.now()
    rows = [_row_of(token, now) for token in tokens]
    text = "There is no token."
    if rows:
        text = table(rows, ("NAME", "TENANT", "PROJECTS", "ROLE", "STATE"), flexible=2)
    write_result(options, [plain(token) for token in tokens], text)


def _row_of(token: StoredToken, now: float) -> tuple[str, ...]:
    """Return the row of a token in the table."""
    projects = ", ".join(token.projects)
    return (token.name, token.tenant, projects, token.role.value, _state(token, now))


async def _revoke(engine: Engine, options: Namespace) -> None:
    """Refuse a token from now on."""
    refuse_in_host("tokens", "revoke a token")
    await engine.bank.tokens.revoke(options.name)
    write_result(
        options,
        {"revoked": options.name},
        f"Revoked: the next request with the token of '{options.name}' is refused.",
    )


def _state(token: StoredToken, now: float) -> str:
    """Return whether a token works, until when, or since when it does not; `now` is in seconds since 1970."""
    if token.revoked_at is not None:
        return f"revoked {iso(token.revoked_at)}"
    if token.expires_at is None:
        return "works"
    state = "works until" if token.expires_at > now else "expired"
    return f"{state} {iso(token.expires_at)}"
