"""What memory does for an agent of yours: `python -m benchmarks.uplift --agent claude` (codex, gemini, copilot, endpoint).

Twelve small programs with a trap each and six fixes whose rule a person settled in an earlier chat, all of our own
writing, are played by your own agent program with your login: first sessions, then later ones in near and in other words,
once without memory and once with it, 108 sessions in all. Each is graded by what the agent does not see. Printed: solved,
calls that fell into a trap, lessons that are right and whole, later sessions that were solved without memory and not with
it, and tokens where the agent tells them. Raw outputs stay in the folder of --out.

`--agent endpoint --model openai:MODEL@http://localhost:11434/v1` plays a model of that address in a small loop instead.
`--agent hand lay DIR` lays the same tasks out for an agent that has only a shell, and `--agent hand grade DIR` grades
what it played (see `host.py`; each folder has a README for the agent). First sessions come before later ones.
The sandboxes are folders of this machine: an agent that looks beside them sees more than it should.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.uplift.agents import Agent, Loop, Program
from benchmarks.uplift.by_hand import laid_out, lay, played_results
from benchmarks.uplift.playing import (
    Result,
    harmed,
    kept_lessons,
    play_all,
    sums_of,
)
from benchmarks.uplift.tasks import VARIANTS, WITH, WITHOUT, Task, all_tasks
from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import LLM, Role
from mcp_reflect.llm.providers import MAIN, Registry, parse_spec

PROGRAMS = ("claude", "codex", "gemini", "copilot")


def agent_of(name: str, model: str | None) -> Agent:
    """Return the agent of a name; SystemExit where it cannot be used."""
    if name in PROGRAMS:
        program = Program(name)
        if not program.is_there():
            sys.exit(
                f"There is no program {name} on PATH. Install it and log in, or give another --agent."
            )
        return program
    if model is None or parse_spec(MAIN, model) is None:
        sys.exit("--agent endpoint needs --model, such as openai:MODEL@http://localhost:11434/v1")
    return Loop(endpoint(model))


class _Uncounted:
    """Counts no tokens: what the tasks take is printed."""

    async def add(self, tokens: int) -> int:
        """Return that nothing was used."""
        return min(tokens, 0)


def endpoint(model: str) -> LLM:
    """Return the model of an address, as the settings open it."""
    found = Registry(Settings(llm=model).llm_settings, _Uncounted()).llm(Role.REFLECTOR)
    if found is None:
        sys.exit(f"{model} is no model. Give --model openai:MODEL@URL.")
    return found


async def measure(agent: Agent, names: list[str], out: Path) -> None:
    """Play the tasks and print what came of them."""
    tasks = all_tasks(names)
    await tell(await play_all(agent, tasks, out), tasks, out)


async def tell(results: list[Result], tasks: list[Task], out: Path) -> None:
    """Keep what came of the tasks, and print it."""
    (out / "results.jsonl").write_text(
        "".join(json.dumps(one.record()) + "\n" for one in results), encoding="utf-8"
    )
    right, lessons = await kept_lessons(tasks, out / WITH / "bank.db")
    for variant in VARIANTS:
        for memory in (WITHOUT, WITH):
            sums = sums_of(results, memory, variant)
            if not sums.played:
                continue
            tokens = "not told" if sums.tokens is None else f"{sums.tokens}"
            print(
                f"{variant} {memory}: solved {sums.solved} of {sums.played}, {sums.trapped} calls into a trap, "
                f"tokens {tokens}, {sums.errors} errors"
            )
    hurt = harmed(results)
    print(f"lessons: {len(lessons)} kept, right and whole for {right} of {len(tasks)} tasks")
    print(f"solved without memory and not with it: {len(hurt)} {hurt or ''}")
    print(f"raw outputs: {out}")


def by_hand(step: str, folder: Path, tasks: list[Task]) -> None:
    """Lay the tasks out for an agent with a shell, or grade what it played."""
    if step == "lay":
        print("\n".join(lay(folder, tasks)))
        return
    asyncio.run(tell(played_results(folder), laid_out(folder), folder))


def main() -> None:
    """Play what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agent", required=True, choices=(*PROGRAMS, "endpoint", "hand"))
    parser.add_argument("--model", help="provider:MODEL@URL, for --agent endpoint")
    parser.add_argument(
        "--task", action="append", default=[], dest="tasks", help="only this one; may be repeated"
    )
    parser.add_argument("step", nargs="?", choices=("lay", "grade"), help="of --agent hand")
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="of --agent hand")
    parser.add_argument("--out", type=Path, help="a new folder for raw outputs")
    options = parser.parse_args()
    if options.agent == "hand":
        if options.step is None or options.folder is None:
            parser.error("--agent hand needs lay DIR or grade DIR")
        by_hand(options.step, options.folder.resolve(), all_tasks(options.tasks))
        return
    agent = agent_of(options.agent, options.model)
    out = options.out or Path(tempfile.mkdtemp(prefix="uplift-"))
    asyncio.run(measure(agent, options.tasks, out.resolve()))


if __name__ == "__main__":
    main()
