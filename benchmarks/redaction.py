"""Redaction: what is cut of secrets in disguise, what is touched of look-alikes, how fast, and who waits meanwhile.

`python -m benchmarks.redaction`. The cases and disguises stand in tests/security. With `--set FILE`, only the shares of
that file: JSON with a case a line, which has `text`, `secret` (null in a look-alike) and `kind`; `--list` names the cases.
"""

import argparse
import asyncio
import base64
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mcp_reflect import Engine, Settings
from mcp_reflect.security.redact import clean, clean_text
from tests.security.corpus import cases
from tests.security.disguise import DISGUISES, readable, survives

MEGABYTE = 1_000_000


def _as_text(text: str) -> str:
    return clean_text(text)


def _as_steps(text: str) -> str:
    return "\n".join(clean({"steps": text.split("\n")})["steps"])


def _as_events(text: str) -> str:
    events = [{"type": "observation", "content": line} for line in text.split("\n")]
    return "\n".join(event["content"] for event in clean({"events": events})["events"])


ENTRANCES: dict[str, Callable[[str], str]] = {
    "text": _as_text,
    "steps": _as_steps,
    "events": _as_events,
}
"""The shapes in which tools take texts: a text, a list with a line an item, objects with a line each."""


def print_shares() -> None:
    """Print the shares by disguise and entrance."""
    disguises: dict[str, Callable[[str], str]] = {"plain": str, **DISGUISES}
    for entrance, sent in ENTRANCES.items():
        cut = kept = count = others = 0
        for name, disguise in disguises.items():
            left = sum(
                survives(sent(disguise(case["text"])), case["secret"]) for case in cases("secrets")
            )
            touched = sum(
                not readable(sent(disguise(case["text"])), case["keep"])
                for case in cases("lookalikes")
            )
            print(f"{entrance:8} {name:14} {left:4} secrets left, {touched:4} look-alikes touched")
            count, others = count + len(cases("secrets")), others + len(cases("lookalikes"))
            cut, kept = (
                cut + len(cases("secrets")) - left,
                kept + len(cases("lookalikes")) - touched,
            )
        print(
            f"{entrance:8} all            {cut / count:.1%} cut, {1 - kept / others:.2%} look-alikes touched"
        )


def print_set(file: Path, *, lists_cases: bool) -> None:
    """Print the shares of a file of cases: of its secrets found, of its look-alikes changed at all."""
    lines = file.read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
    secrets = [row for row in rows if row["secret"]]
    others = [row for row in rows if not row["secret"]]
    left = [row for row in secrets if survives(clean_text(row["text"]), row["secret"])]
    cut = [row for row in others if clean_text(row["text"]) != row["text"]]
    if secrets:
        found = len(secrets) - len(left)
        print(f"{found} of {len(secrets)} secrets found ({found / len(secrets):.1%})")
    if others:
        print(f"{len(cut)} of {len(others)} look-alikes cut ({len(cut) / len(others):.1%})")
    for row in [*left, *cut] if lists_cases else []:
        print(f"{'left' if row['secret'] else 'cut'}: {row['text']!r}")


def kinds(size: int) -> Iterator[tuple[str, str]]:
    """Yield texts of `size` characters by their kind."""
    chance = random.Random(1)  # noqa: S311 - the same texts each time
    words = [
        f"{a}{b}"
        for a in ("re", "in", "con", "pre")
        for b in ("port", "duct", "form", "vent", "gate", "ple", "sist")
    ]
    code = base64.b64encode(chance.randbytes(size)).decode()
    rows = [
        {"id": at, "name": chance.choice(words), "value": chance.random()}
        for at in range(size // 60)
    ]
    log = (
        f"2026-01-02 10:11:12,123 INFO app.worker: job {at} took {chance.randint(1, 999)} ms"
        for at in range(size // 60)
    )
    table = (
        f"| {chance.choice(words):12} | {chance.randint(0, 9999):8} | ok |"
        for _ in range(size // 34)
    )
    texts = {
        **{f"rule {sign}": f"{sign * 80}\n" * (size // 81) for sign in "-=*/_#"},
        "one rule": "-" * size,
        "log": "\n".join(log),
        "table": "\n".join(table),
        "password": "password " * (size // 9),
        "base64": code[:size],
        "base64 lines": "\n".join(code[at : at + 76] for at in range(0, size, 76)),
        "minified": "function a(b,c){var d=b.e;return d?c(d.f,1):null};" * (size // 50),
        "JSON": json.dumps(rows),
        "prose": " ".join(chance.choice(words) for _ in range(size // 7)),
    }
    yield from texts.items()


def print_throughput() -> None:
    """Print megabytes a second of processor time."""
    clean_text("warm up, password=" + "x" * 40)
    for name, text in kinds(MEGABYTE // 5):
        began = time.process_time()
        clean_text(text)
        print(f"{name:14} {len(text) / (time.process_time() - began) / MEGABYTE:7.1f} MB/s")


async def print_wait() -> None:
    """Print how long two reflections on a log of 1 MB take, and the longest wait of a recall beside each."""
    log = "".join(text[: MEGABYTE // 16] for _, text in kinds(MEGABYTE // 16))
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="app")) as engine:
            await engine.store_lesson(
                mistake="The gateway timed out", correction="Raise its timeout"
            )
            waits: list[float] = []

            async def recall() -> None:
                while True:
                    began = time.monotonic()
                    await engine.recall(task="The gateway timed out")
                    waits.append(time.monotonic() - began)
                    await asyncio.sleep(0.01)

            beside = asyncio.create_task(recall())
            for name in ("first", "second"):
                await asyncio.sleep(0.5)
                waits.clear()
                began = time.monotonic()
                event: dict[str, Any] = {
                    "type": "tool_response",
                    "tool": "bash",
                    "content": f"{name} {log}",
                }
                await engine.reflect(task="Run the tests", outcome="failure", events=[event])
                print(f"{name} reflect on {len(log)} characters: {time.monotonic() - began:.2f} s")
                print(f"longest wait of a recall beside it: {max(waits) * 1000:.0f} ms")
            beside.cancel()


def main() -> int:
    """Print every figure, or those of one file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redaction")
    parser.add_argument("--set", type=Path, metavar="FILE", help="a file of cases")
    parser.add_argument("--list", action="store_true", help="name the cases that fail")
    arguments = parser.parse_args()
    if arguments.set:
        print_set(arguments.set, lists_cases=arguments.list)
        return 0
    print_shares()
    print_throughput()
    asyncio.run(print_wait())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
