"""Give every lesson its vector: `mcp-reflect embed`."""

from argparse import Namespace
from typing import Any, NamedTuple

from mcp_reflect.cli.output import counted, write_line, write_result
from mcp_reflect.cli.running import with_engine
from mcp_reflect.cli.stats import vector_summary
from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine


class _Embedded(NamedTuple):
    """The lessons that got a vector now, and the state of all vectors, as `vector_summary` reads it."""

    lessons: int
    state: Any


def run_embed(options: Namespace) -> int:
    """Give every lesson of this project and every global one its vector now, not when the server is idle."""

    async def embed_all(engine: Engine) -> _Embedded:
        """Give lessons vectors; return how many got one, and the state of all vectors of the bank.

        After each batch it says how many have one, since a large bank takes minutes.
        """
        embeddings = engine.bank.embeddings
        if embeddings is None:
            fault = "it names no embedder: every lesson got its word vector when it was stored"
            raise InputError(
                "MCP_REFLECT_EMBEDDINGS", fault, "Name one, as docs/embeddings.md says."
            )
        total = 0
        async for count in embeddings.embed_all():
            total += count
            if not options.json:
                write_line(f"{total} lessons embedded ...")
        return _Embedded(total, await engine.bank.recalls.embedding_state(engine.scopes.own))

    total, state = with_engine(embed_all)
    text = f"{counted(total, 'lesson')} embedded: {vector_summary(state)}."
    if "problem" in state:
        text = f"{text}\n{state['problem']}"
    write_result(options, {"embedded": total, **state}, text)
    is_complete = state["with_vector"] == state["lessons"]
    return 0 if is_complete else 1
