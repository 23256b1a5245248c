"""The tokens with which a team uses its service: `mcp-reflect tokens`."""

from argparse import Namespace
from typing import Final

from mcp_reflect.cli.commands import CliParser, add_actions, add_number
from mcp_reflect.cli.output import table, write_result
from mcp_reflect.cli.running import with_engine
from mcp_reflect.clock import iso
from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT
from mcp_reflect.models.access import AccessRole, StoredToken
from mcp_reflect.models.common import plain
from mcp_reflect.projects import stored_name
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import refuse_agent, refuse_in_host, speaker_of_process

_MOST_DAYS: Final = 3650.0  # for which a token works


def add_tokens_arguments(parser: CliParser) -> None:
    """Add the actions of `mcp-reflect tokens`."""
    action = add_actions(parser)
    make = action(
        "add",
        "make a token; it is shown once",
        "ada --tenant acme --projects shop,billing --role writer",
    )
    make.add_argument(
        "name", metavar="NAME", help="who uses it: stands beside all that is stored with it"
    )
    make.add_argument(
        "--tenant", required=True, metavar="T", help="the team; no other team sees its lessons"
    )
    about = "the projects, the usual one first; '*' is every one"
    make.add_argument("--projects", required=True, nargs="+", metavar="P", help=about)
    roles = "reader recalls; writer also stores; admin also decides about quarantine and trust"
    make.add_argument(
        "--role", required=True, choices=[role.value for role in AccessRole], help=roles
    )
    add_number(
        make, "--days", 0.001, _MOST_DAYS, help="the days for which it works (default: forever)"
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
    """Return whether a token works: "works", "works until 2027-01-31T…", "expired …" or "revoked …".

    `now` is in seconds since 1970.
    """
    if token.revoked_at is not None:
        return f"revoked {iso(token.revoked_at)}"
    if token.expires_at is None:
        return "works"
    if token.expires_at > now:
        return f"works until {iso(token.expires_at)}"
    return f"expired {iso(token.expires_at)}"
