"""What recall finds with each kind of embedder, in one run: python -m benchmarks.embedders --local FOLDER

The packaged word vectors, a local model in ONNX from a folder, and an endpoint on loopback that serves the same model as
OpenAI's does. A row of a table for each: lessons among the first five by near words and by a symptom, of three sets
(`benchmarks.recall --lessons`); hits of forty unrelated tasks, and strong ones; rules of past chats shown at a bug report;
and prompts about something else that bring a lesson (`benchmarks.decisions`). A text is embedded once in a run.
"""

import argparse
import asyncio
import json
import sys
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from benchmarks.decisions import unrelated
from benchmarks.recall import (
    OWN_SETS,
    embed_all,
    opened,
    options_of,
    own_lessons,
    unrelated_hits,
)
from benchmarks.retrieval import lines
from mcp_reflect.llm.embedders import SETTING, Embedder, Vector, open_embedder
from tests.moments.past_chats import DECISIONS, SETS, bank_of, outcome_of, shown_at

COLUMNS: Final = (
    "near in 5",
    "symptom in 5",
    "unrelated: hits",
    "strong",
    "reports shown",
    "others bring one",
)


class Remembering:
    """An embedder that is asked for each text once: the sets share their two hundred other lessons."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}
        self.name = embedder.name

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            vectors = await self._embedder.embed(new)
            self._known.update(zip(new, vectors, strict=True))
        return [self._known[text] for text in texts]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--local", type=Path, required=True, help="a folder with a model in ONNX")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    asyncio.run(_measure(arguments.local, arguments.data))
    return 0


async def _measure(folder: Path, data: Path) -> None:
    local = Remembering(open_embedder({SETTING: f"local:{folder}"}))
    async with _served(local) as served:
        embedders: dict[str, str | Embedder] = {
            "words": "words",
            "local": local,
            "endpoint": served,
        }
        rows = {name: await _row(embed, data) for name, embed in embedders.items()}
    print(f"| embedder | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(row)} |")


async def _row(embed: str | Embedder, data: Path) -> list[str]:
    lessons: Counter[str] = Counter()
    for name in OWN_SETS:
        lessons.update(await own_lessons(name, embed))
    tasks: Counter[str] = Counter()
    for half in ("worked on", "kept aside"):
        tasks.update(await unrelated_hits(half, embed))
    prompts = unrelated(data)
    cases = shown = brought = 0
    for name in SETS:
        some = lines(DECISIONS / f"{name}.jsonl")
        async with bank_of(some, opened(embed), **options_of(embed)) as (engine, rules):
            await embed_all(engine)
            for case in some:
                text = await shown_at(engine, case["id"], case["report"])
                shown += outcome_of(case, rules[case["id"]], text)["whole"]
            for place, prompt in enumerate(prompts):
                brought += bool(await shown_at(engine, f"other {place}", prompt))
        cases += len(some)
    asked = len(prompts) * len(SETS)
    return [
        f"{lessons['near_in_5']} of {lessons['lessons']}",
        f"{lessons['symptom_in_5']} of {lessons['lessons']}",
        f"{tasks['hits']} of {tasks['tasks']}",
        str(tasks["strong"]),
        f"{shown} of {cases}",
        f"{brought} of {asked}",
    ]


@asynccontextmanager
async def _served(embedder: Embedder) -> AsyncGenerator[Embedder]:
    """Serve an embedder on loopback; yield one that asks the endpoint, and sends it each text once."""
    with endpoint(embedder, asyncio.get_running_loop()) as url:
        asks = f"openai:served@{url}/v1"
        yield Remembering(open_embedder({SETTING: asks}))


@contextmanager
def endpoint(embedder: Embedder, loop: asyncio.AbstractEventLoop) -> Generator[str]:
    """Serve an embedder of a loop on loopback, as OpenAI's API does, from another thread; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent: Any = json.loads(self.rfile.read(int(self.headers["content-length"])))
            texts = [sent["input"]] if isinstance(sent["input"], str) else sent["input"]
            found = asyncio.run_coroutine_threadsafe(embedder.embed(texts), loop).result()
            data = [
                {"index": place, "embedding": list(vector)} for place, vector in enumerate(found)
            ]
            answer = json.dumps({"data": data, "model": sent["model"]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
