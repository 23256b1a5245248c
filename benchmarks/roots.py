"""Whether lessons know when their ground changed: `python -m benchmarks.roots [--seed N]`.

Ten repositories of our own making (roots_cases.json), each with three lessons that an agent could have written there, and
for each an edit after which it may no longer hold. For each lesson, in a fresh copy:

- **changed**: after that edit the lesson is marked (of all);
- **unchanged**: right after it is stored, and after edits of all files that no lesson names, it is not marked;
- **ordinary**: the part of all lessons that are marked at any time over 100 ordinary commits: functions added, lines of
  source changed at random, documents and changelogs edited, patches of packages.

`--cost` prints what the look at roots costs of the processor at a prompt and at a call, in pairs: the same event in a bank of
10,000 lessons of which the three that are shown stand on 24 files, and in one without roots.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import read_hook

CASES: Final = Path(__file__).with_name("roots_cases.json")
COMMITS: Final = 100
FILES: Final = tuple(f"src/part{number}.py" for number in range(24))
SERVER_PAIRS: Final = 100
COMMAND_PAIRS: Final = 15
_FILLER: Final = {
    ".py": "\n\ndef step_{0}(value: int) -> int:\n    total = value + {0}\n    return total * {1}\n",
    ".ts": "\n\nexport function step{0}(value: number): number {{\n  const total = value + {0};\n  return total * {1};\n}}\n",
    ".js": "\n\nexport function step{0}(value) {{\n  const total = value + {0};\n  return total * {1};\n}}\n",
    ".go": "\n\nfunc step{0}(value int) int {{\n\ttotal := value + {0}\n\treturn total * {1}\n}}\n",
    ".rs": "\n\npub fn step_{0}(value: i64) -> i64 {{\n    let total = value + {0};\n    total * {1}\n}}\n",
    ".rb": "\n\ndef step_{0}(value)\n  total = value + {0}\n  total * {1}\nend\n",
}


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write a repository; its sources get a hundred lines more, as real ones have."""
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        filler = _FILLER.get(file.suffix, "")
        file.write_text(text + "".join(filler.format(n, n + 2) for n in range(20)))


class Commits:
    """Ordinary commits in a repository, drawn by a seed."""

    def __init__(self, folder: Path, files: Mapping[str, str], seed: int) -> None:
        self._folder, self._draw = folder, random.Random(seed)  # noqa: S311 - no secret
        self._sources = [folder / name for name in files if Path(name).suffix in _FILLER]
        self._documents = [folder / name for name in files if name.endswith(".md")]
        self._number = 100

    def make(self) -> None:
        """Change the tree as an ordinary commit would."""
        self._number += 1
        kind = self._draw.random()
        source = self._draw.choice(self._sources)
        if kind < 0.45:
            text = _FILLER[source.suffix].format(self._number, self._number + 1)
            source.write_text(source.read_text() + text)
        elif kind < 0.65:
            lines = source.read_text().split("\n")
            place = self._draw.randrange(len(lines))
            lines[place] = f"{lines[place]} // {self._number}"
            source.write_text("\n".join(lines))
        elif kind < 0.8 and self._documents:
            document = self._draw.choice(self._documents)
            document.write_text(f"{document.read_text()}\n- Change {self._number}\n")
        else:
            new = source.with_name(f"part{self._number}{source.suffix}")
            new.write_text(_FILLER[source.suffix].format(self._number, 3))


async def is_marked(engine: Engine, lesson_id: str) -> bool:
    """Return whether a lesson is marked, wherever it is shown."""
    return lesson_id in await services.ground.remarks_on(
        engine.context, engine.scopes.own, [lesson_id]
    )


async def measure(case: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """Return what came of each lesson of a repository."""
    found: list[dict[str, Any]] = []
    for number, lesson in enumerate(case["lessons"]):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "repository"
            lay_out(folder, case["files"])
            async with Engine(Settings(bank=Path(place) / "bank.db", folder=folder)) as engine:
                stored = await engine.store_lesson(**lesson["lesson"])
                one = {"repository": case["name"], "lesson": number}
                one["at_once"] = await is_marked(engine, stored.lesson_id)
                commits, ordinary = Commits(folder, case["files"], seed + number), False
                before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
                for _ in range(COMMITS):
                    commits.make()
                    ordinary = ordinary or await is_marked(engine, stored.lesson_id)
                one["ordinary"] = ordinary
                for file, content in before.items():
                    file.write_bytes(content)
                one["restored"] = await is_marked(engine, stored.lesson_id)
                name, old, new = lesson["change"]
                file = folder / name
                text = file.read_text()
                if new is not None and old not in text:
                    raise ValueError(f"{case['name']}, lesson {number}: {name} has no {old}")
                if new is None:
                    file.unlink()
                else:
                    file.write_text(text.replace(old, new))
                one["changed"] = await is_marked(engine, stored.lesson_id)
                found.append(one)
    return found


@dataclass(frozen=True, slots=True)
class Home:
    """A bank with lessons in a repository, for one side of a pair."""

    folder: Path
    bank: Path

    @property
    def settings(self) -> Settings:
        """The settings of its server."""
        return Settings(bank=self.bank, folder=self.folder)


async def fill(home: Home, lessons: int, names: Sequence[str]) -> None:
    """Fill a bank; the three lessons that a prompt brings stand on eight of the files each, if there are any."""
    lay_out(home.folder, dict.fromkeys(FILES, "import os\n\nLIMIT = 1\n" * 30))
    async with Engine(home.settings) as engine:
        lines = [
            (number, {"mistake": f"Case {number} went wrong", "correction": f"Do {number}"})
            for number in range(lessons)
        ]
        async for _ in engine.import_lessons(lines):
            pass
        for group in range(3):
            await engine.store_lesson(
                mistake=f"LIMIT of the payment retries was too small for group {group}",
                correction=f"Raise LIMIT of the payment retries for group {group}",
                wrong_call=f"retryctl limit {group} --keep",
                right_call=f"retryctl limit {group} --raise",
                files=names[8 * group : 8 * group + 8],
            )


def at_prompt(number: int) -> dict[str, str]:
    """Return what a host sends at a prompt that brings the three lessons."""
    prompt = "The payment retries fail for every group: raise LIMIT of the payment retries"
    return {"session_id": f"session-{number}", "prompt": prompt}


def at_call(number: int) -> dict[str, Any]:
    """Return what a host sends before a call that goes against one of them."""
    call = {"tool_name": "Bash", "tool_input": {"command": f"retryctl limit {number % 3} --keep"}}
    return {"session_id": f"call-{number}", **call}


EVENTS: Final = {"UserPromptSubmit": at_prompt, "PreToolUse": at_call}


async def processor_at_server(engine: Engine, event: str, number: int) -> float:
    """Return the milliseconds of the processor that a server takes for an event."""
    hook = read_hook(event, EVENTS[event](number))
    if hook is None:
        raise ValueError(event)
    began = time.process_time()
    text, _ = await services.hooks.answer(engine.context, hook)
    spent = (time.process_time() - began) * 1000
    if text is None or "LIMIT" not in text:
        raise ValueError(f"no lesson was shown: {text}")
    return spent


def processor_of_command(home: Home, event: str, number: int) -> float | None:
    """Return the milliseconds of the processor that the hook command takes for an event; None if its time ran out."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("mcp-reflect")), "hook", event],
        input=json.dumps({**EVENTS[event](number), "cwd": str(home.folder)}),
        cwd=home.folder,
        env={**os.environ, "MCP_REFLECT_BANK": str(home.bank), "HOME": str(home.folder.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "LIMIT" not in done.stdout:
        return None
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


async def cost(lessons: int) -> None:
    """Print what the look at roots costs of the processor, in pairs: the same event with roots and without any."""
    with tempfile.TemporaryDirectory() as place:
        homes = [Home(Path(place) / name / "shop", Path(place) / f"{name}.db") for name in "ab"]
        for home, names in zip(homes, (FILES, ()), strict=True):
            await fill(home, lessons, names)
        with_roots, without = homes
        async with Engine(with_roots.settings) as one, Engine(without.settings) as other:
            for event in EVENTS:
                pairs: list[tuple[float, float]] = []
                for number in range(SERVER_PAIRS):
                    engines = (one, other)
                    if number % 2:  # neither is always the first of its pair
                        engines = (other, one)
                    spent = {
                        engine: await processor_at_server(engine, event, number)
                        for engine in engines
                    }
                    pairs.append((spent[one], spent[other]))
                tell(f"{event} at the server, {lessons} lessons", pairs)
        for event in EVENTS:
            pairs = []
            for number in range(1000, 1000 + COMMAND_PAIRS):
                homes = (with_roots, without)
                if number % 2:
                    homes = (without, with_roots)
                spent = {home: processor_of_command(home, event, number) for home in homes}
                one_side, other_side = spent[with_roots], spent[without]
                if one_side is not None and other_side is not None:
                    pairs.append((one_side, other_side))
            tell(f"{event} as a command, {lessons} lessons", pairs)


def tell(name: str, pairs: Sequence[tuple[float, float]]) -> None:
    """Print the medians of both sides, and of what one took more than the other in its pair."""
    more = statistics.median(one - other for one, other in pairs)
    (one, other) = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(
        f"{name}: {one:.2f} ms of processor with roots, {other:.2f} without; {more:+.2f} in {len(pairs)} pairs"
    )


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    if options.cost:
        asyncio.run(cost(10_000))
        return
    cases = json.loads(CASES.read_text())
    found = [one for case in cases for one in asyncio.run(measure(case, options.seed))]
    count = len(found)
    for name, wanted in (
        ("changed", True),
        ("at_once", False),
        ("restored", False),
        ("ordinary", False),
    ):
        marked = [one for one in found if one[name]]
        odd = [f"{one['repository']} {one['lesson']}" for one in found if one[name] is not wanted]
        print(f"{name}: {len(marked)} of {count} marked; not as wanted: {', '.join(odd) or 'none'}")


if __name__ == "__main__":
    main()
