"""Dreaming over real reflections: `python -m benchmarks.dreaming --data ../shared/data`.

Every reflection of rfx_hotpot is stored as an agent sends it, in two orders, in a bank each; both banks dream
twice, by rules. Printed: whether both orders give the same clusters and merges, whether every record can still be
reached (active, or archived and tied to the one it was merged into, its wording in that one's versions),
what the second dream changes, and whether undoing the first puts everything back.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp_reflect.config import Settings
from mcp_reflect.models.consolidation import DreamPlan
from mcp_reflect.models.lesson import Lesson, RecordKind, State
from mcp_reflect.services.engine import Engine

Sets = frozenset[frozenset[str]]


@dataclass(frozen=True)
class Dreamt:
    """What two dreams over one bank made of it; clusters and merges by text, for ids differ between banks."""

    records: int
    clusters: Sets
    merges: Sets
    reached: int
    versions: int
    again: str
    same_again: bool
    changed: int
    back: int
    seconds: float


def read(data: Path) -> list[tuple[str, str]]:
    """(task, reflection) of each document; the task is the first question that it was written for."""
    folder = data / "recall" / "rfx_hotpot"
    tasks: dict[str, str] = {}
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        for name in query["relevant"]:
            tasks.setdefault(name, query["text"])
    docs = [json.loads(line) for line in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(tasks.get(doc["id"], "a question"), doc["text"]) for doc in docs]


async def dreamt(docs: list[tuple[str, str]]) -> Dreamt:
    """Store, dream, dream again, undo."""
    with TemporaryDirectory() as folder:
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="app")) as engine:
            for number, (task, text) in enumerate(docs):
                events: list[dict[str, Any]] = [{"type": "observation", "content": f"trial {number}"}]
                await engine.reflect(task=task, outcome="failure", events=events, analysis={"reflection": text})
            before = await _records(engine)
            start = time.process_time()
            first = await engine.dream()
            seconds = time.process_time() - start
            after = await _records(engine)
            reached, versions = await _reached(engine, before)
            second = await engine.dream()
            changed = sum(one != after[name] for name, one in (await _records(engine)).items())
            if first.dream_id is not None:
                await engine.undo_dream(first.dream_id)
            restored = await _records(engine)
            back = sum(_content(restored[name]) == _content(one) for name, one in before.items())
            return Dreamt(
                records=len(before),
                clusters=_sets(first.plan, before),
                merges=frozenset(
                    frozenset(before[name].text for name in (merge.keep, *merge.gone)) for merge in first.plan.merges
                ),
                reached=reached,
                versions=versions,
                again=second.status,
                same_again=_sets(second.plan, before) == _sets(first.plan, before),
                changed=changed,
                back=back,
                seconds=seconds,
            )


async def _records(engine: Engine) -> dict[str, Lesson]:
    found = await engine.bank.lessons.latest(engine.scopes.own, kind=RecordKind.REFLECTION, state=None, limit=10_000)
    return {one.id: one for one in found}


async def _reached(engine: Engine, before: dict[str, Lesson]) -> tuple[int, int]:
    """How many records are active, or archived and tied to an active one; how many texts of these it holds."""
    scope = engine.scopes.own
    reached = held = 0
    for name, record in before.items():
        now = await engine.bank.lessons.get(scope, name)
        if now.state is State.ACTIVE:
            reached += 1
            continue
        ties = [
            link["to_id"] for link in await engine.bank.lessons.links(scope, name) if link["relation"] == "merged_into"
        ]
        kept = await engine.bank.lessons.get(scope, ties[0]) if ties else None
        if kept is not None and kept.state is State.ACTIVE and now.text == record.text:
            reached += 1
            texts = {kept.text, *(version["text"] for version in await engine.bank.lessons.history(scope, kept.id))}
            held += record.text in texts
    return reached, held


def _sets(plan: DreamPlan, records: dict[str, Lesson]) -> Sets:
    return frozenset(frozenset(records[name].text for name in cluster) for cluster in plan.clusters)


def _content(record: Lesson) -> tuple[object, ...]:
    return (record.state, record.text, record.tags, record.importance, record.confidence, record.strength)


def main() -> int:
    parser = argparse.ArgumentParser(description="Dreaming over real reflections.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seed", type=int, default=1, help="of the other order")
    chosen = parser.parse_args()
    if not (chosen.data / "recall" / "rfx_hotpot").is_dir():
        print(
            f"There is no folder {chosen.data / 'recall' / 'rfx_hotpot'}. Give the data with --data DIR.",
            file=sys.stderr,
        )
        return 2
    docs = read(chosen.data)
    shuffled = random.Random(chosen.seed).sample(docs, len(docs))  # noqa: S311 - an order
    one, other = asyncio.run(dreamt(docs)), asyncio.run(dreamt(shuffled))
    for name, found in (("as they come", one), ("in another order", other)):
        sizes = sorted((len(cluster) for cluster in found.clusters), reverse=True)
        print(f"{name}: {found.records} records, {len(found.clusters)} clusters (sizes {sizes[:8]} …)")
        print(f"  merged groups {len(found.merges)}; reachable {found.reached} of {found.records}")
        print(f"  of those merged, wordings found at the kept record: {found.versions}")
        print(f"  the second dream: {found.again}, same clusters: {found.same_again}, {found.changed} records changed")
        print(
            f"  after undoing the first: {found.back} of {found.records} as before; {found.seconds:.2f} s of processor"
        )
    print(f"same clusters in both orders: {one.clusters == other.clusters}; same merges: {one.merges == other.merges}")
    good = one.clusters == other.clusters and one.merges == other.merges and one.reached == one.records == one.back
    good = good and one.same_again and other.same_again
    return 0 if good and one.changed == other.changed == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
