"""Make, list and revoke the tokens of a team's service: `mcp-reflect tokens`."""

from argparse import SUPPRESS, Namespace

from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.cli.output import table, write_result
from mcp_reflect.cli.place import with_engine
from mcp_reflect.clock import iso
from mcp_reflect.config import DEFAULT
from mcp_reflect.errors import InputError
from mcp_reflect.models.access import Role, Token
from mcp_reflect.models.common import plain
from mcp_reflect.projects import stored_name
from mcp_reflect.services.engine import Engine

_MOST_DAYS = 3650.0


def add_tokens_arguments(parser: CliParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="make a token; it is shown once")
    add.add_argument("name", metavar="NAME", help="who uses it: stands beside all that is stored with it")
    add.add_argument("--tenant", required=True, metavar="T", help="the team; no other team sees its lessons")
    add.add_argument(
        "--projects", required=True, nargs="+", metavar="P", help="the projects, the usual one first; '*' is every one"
    )
    roles = "reader recalls; writer also stores; admin also decides about quarantine and trust"
    add.add_argument("--role", required=True, choices=[role.value for role in Role], help=roles)
    add_number(add, "--days", 0.001, _MOST_DAYS, help="after so many days it no longer works (default: never)")
    actions.add_parser("list", help="all tokens; their text is not kept")
    revoke = actions.add_parser("revoke", help="refuse a token from now on, on every replica")
    revoke.add_argument("name", metavar="NAME")
    for action in actions.choices.values():
        action.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON for a program")


def run_tokens(options: Namespace) -> None:
    """Make, list and revoke the tokens with which a team uses `mcp-reflect serve --http HOST:PORT`."""
    with_engine(lambda engine: {"add": _add, "list": _list, "revoke": _revoke}[options.action](engine, options))


async def _add(engine: Engine, options: Namespace) -> None:
    projects = [stored_name(name.strip()) for text in options.projects for name in text.split(",")]
    for field, value in (("name", options.name), ("--tenant", options.tenant), *(("--projects", p) for p in projects)):
        if not value.strip() or not value.isprintable():
            raise InputError(field, "it is empty, or has invisible characters", "Send a name, such as shop.")
        DEFAULT.refuse_more("max_label_chars", field, len(value))
    text = await engine.bank.tokens.add(
        stored_name(options.name),
        tenant=stored_name(options.tenant),
        projects=projects,
        role=Role(options.role),
        days=options.days,
    )
    said = f"{text}\nThis is the only time that it is shown. Whoever has it is '{options.name}' ({options.role})."
    write_result(options, {"name": options.name, "token": text}, said)


async def _list(engine: Engine, options: Namespace) -> None:
    tokens = await engine.bank.tokens.list_all()
    rows = [(t.name, t.tenant, ", ".join(t.projects), t.role.value, _state(t, engine.clock.now())) for t in tokens]
    text = table(rows, ("NAME", "TENANT", "PROJECTS", "ROLE", "STATE"), flexible=2) if rows else "There is no token."
    write_result(options, [plain(token) for token in tokens], text)


async def _revoke(engine: Engine, options: Namespace) -> None:
    await engine.bank.tokens.revoke(options.name)
    write_result(
        options, {"revoked": options.name}, f"Revoked: the next request with the token of '{options.name}' is refused."
    )


def _state(token: Token, now: float) -> str:
    if token.revoked_at is not None:
        return f"revoked {iso(token.revoked_at)}"
    if token.expires_at is None:
        return "works"
    return f"{'works until' if token.expires_at > now else 'expired'} {iso(token.expires_at)}"
