"""`mcp-reflect embed`."""

from mcp_reflect.cli.running import parser, say, say_json, vectors_said, with_engine
from mcp_reflect.engine import Engine
from mcp_reflect.errors import InputError


def run(arguments: list[str]) -> int:
    """Give every lesson its vector now. Returns 1 where some have none at the end."""
    words = parser(
        "embed",
        "Give every lesson of this project and every global one its vector now, rather than when the server is idle.",
    )
    given = words.parse_args(arguments)

    async def work(engine: Engine) -> tuple[int, dict[str, object]]:
        meaning = engine.bank.meaning
        if meaning is None:
            raise InputError("MCP_REFLECT_EMBEDDINGS", "it is off", "Set it, as docs/embeddings.md says.")
        total = 0
        async for done in meaning.caught_up():
            total += done
            if not given.json:
                say(f"{total} lessons embedded ...")
        return total, dict(await meaning.state(engine.scopes.own))

    total, state = with_engine(work)
    if given.json:
        say_json({"embedded": total, **state})
    else:
        say(f"{total} lessons embedded: {vectors_said(state)}.")
        if "problem" in state:
            say(str(state["problem"]))
    return 0 if state["with_vector"] == state["lessons"] else 1
