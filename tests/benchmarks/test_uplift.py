"""The benchmark that a user plays with an agent of their own: here a scripted model plays it."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.uplift import host as uplift_host
from benchmarks.uplift.agents import Loop, Program, command_of, tokens_in
from benchmarks.uplift.by_hand import laid_out, lay, played_results
from benchmarks.uplift.playing import harmed, kept_lessons, play_all, sums_of
from benchmarks.uplift.tasks import (
    VARIANTS,
    WITH,
    WITHOUT,
    Task,
    all_tasks,
    grade,
    is_right,
    lay_out,
)
from mcp_reflect.llm.protocol import Reply, Request
from tests.clients.forked import run_forked
from tests.scripted import Scripted

SOLVES = {
    "parcel": "./parcel weigh {t} && ./parcel ship {t}",
    "ledger": "./ledger export {t}",
    "fleet": "./fleet drain {t} && ./fleet restart {t}",
    "keyring": "./keyring unlock --reason leak && ./keyring rotate {t}",
    "atlas": "./atlas tile {t}",
    "queue": "./queuectl purge {t} --include-delayed",
    "press": "./press fonts --refresh && ./press build {t}",
    "relay": "./relay send {t}",
    "vault": "./vaultctl put {t} blue && ./vaultctl commit {t}",
    "meter": "./meter read {t} --zone local",
    "stencil": "./stencil render {t} --profile eu",
    "cast": "./cast deploy {t} --ring canary && ./cast deploy {t} --ring all",
}
FIXED = {
    "cents": "def discount(cents, percent):\n    return round(cents * (100 - percent) / 100)\n",
    "names": "def ordered(names):\n    return sorted(names, key=lambda n: (not n, n.casefold()))\n",
    "weeks": (
        "import datetime\n\n\ndef week_start(day):\n"
        "    return day - datetime.timedelta(days=(day.weekday() - 5) % 7)\n"
    ),
    "slugs": (
        "import re\n\n\ndef slug(title):\n    text = title.lower()\n"
        "    for one, two in (('ä', 'ae'), ('ö', 'oe'), ('ü', 'ue'), ('ß', 'ss')):\n"
        "        text = text.replace(one, two)\n    return re.sub('[^a-z0-9]+', '-', text).strip('-')\n"
    ),
    "retries": "def waits(tries):\n    return [0.2 * 2**n for n in range(min(tries, 4))]\n",
    "errors": (
        "def handle(request):\n    try:\n        return {'result': request['number'] * 2}\n"
        "    except Exception as error:\n"
        "        return {'error': 'bad_request', 'detail': repr(error)}\n"
    ),
}


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )


def solution(task: Task, variant: str) -> str:
    """A command that solves a task, as somebody does who knows its rule."""
    if task.kind == "trap":
        return SOLVES[task.name].replace("{t}", task.facts["targets"][variant])
    [file] = task.facts["files"]
    return f"cat > {file} <<'EOF'\n{FIXED[task.name]}EOF"


def test_there_are_twelve_traps_and_six_fixes() -> None:
    assert [task.kind for task in all_tasks()].count("trap") == 12
    assert [task.kind for task in all_tasks()].count("fix") == 6


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_task_is_unsolved_at_first_and_solved_by_who_knows_the_rule(
    tmp_path: Path, task: Task, variant: str
) -> None:
    sandbox = lay_out(task, variant, tmp_path / "task", tmp_path / "hidden")
    is_chat = task.kind == "fix" and variant == "first"
    assert grade(sandbox).solved is is_chat
    done = run(sandbox.folder, solution(task, variant))
    assert done.returncode == 0, done
    found = grade(sandbox)
    assert found.solved
    assert found.trapped == 0


def test_the_way_that_who_does_not_know_goes_first_falls_into_the_trap(tmp_path: Path) -> None:
    [task] = all_tasks(["parcel"])
    sandbox = lay_out(task, "first", tmp_path / "task", tmp_path / "hidden")
    assert run(sandbox.folder, "./parcel ship A17").returncode == 3
    assert run(sandbox.folder, "./parcel help").stdout.startswith("parcel ship CODE")
    found = grade(sandbox)
    assert (found.solved, found.calls, found.trapped) == (False, 2, 1)
    assert not list(sandbox.folder.glob("*.json"))


def acts(*values: Any) -> list[str]:
    return [json.dumps(value) for value in values]


def ship(code: str) -> list[Any]:
    return [{"bash": f"./parcel weigh {code} && ./parcel ship {code}"}, {"end": "Shipped."}]


def fails(code: str) -> list[Any]:
    return [{"bash": f"./parcel ship {code}"}, {"end": "It does not work."}]


LESSON = {
    "mistake": "./parcel ship failed with error E7: no tariff",
    "correction": "Run ./parcel weigh CODE before ./parcel ship CODE",
}


class Reader:
    """A scripted model that solves what a hook tells it to, and nothing else."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request.user)
        code = next(one for one in ("A17", "C40", "B22") if one in request.user)
        step = request.user.count("You: ")
        knows = "weigh" in request.user.partition("You: ")[0]
        plan = ship(code) if knows else fails(code)
        if not knows and "store_lesson" in request.system:
            plan.insert(1, {"tool": "store_lesson", "arguments": LESSON})
        return await Scripted(json.dumps(plan[step])).complete(request)


async def test_a_scripted_model_plays_it_without_and_with_memory(tmp_path: Path) -> None:
    tasks = all_tasks(["parcel"])
    out = tmp_path / "out"
    results = await play_all(Loop(Reader()), tasks, out)
    assert [one.error for one in results] == [""] * 6
    for variant in ("near", "other"):
        assert sums_of(results, WITHOUT, variant).solved == 0
        with_memory = sums_of(results, WITH, variant)
        assert (with_memory.solved, with_memory.trapped) == (1, 0)
    assert sums_of(results, WITH, "first").trapped == 1
    assert harmed(results) == []
    right, lessons = await kept_lessons(tasks, out / WITH / "bank.db")
    assert (right, len(lessons)) == (1, 1)
    raw = (out / WITH / "raw" / "near-1.txt").read_text()
    assert "[from a hook]" in raw
    assert "weigh" in raw
    assert len(list(out.glob("*/raw/*.txt"))) == 6


async def test_what_memory_made_worse_is_named(tmp_path: Path) -> None:
    first, good = acts(*fails("A17")), acts(*ship("C40"))
    script = [*first, *good, *acts(*fails("B22")), *first, *acts(*fails("C40"), *ship("B22"))]
    results = await play_all(Loop(Scripted(*script)), all_tasks(["parcel"]), tmp_path / "out")
    assert harmed(results) == [("parcel", "near")]


def test_a_lesson_is_right_where_it_says_what_works_and_of_what() -> None:
    [task] = all_tasks(["parcel"])
    assert is_right(task, "Run ./parcel weigh before ship")
    for text in ("Be careful with ./parcel", "Weigh first", "./parcel weigh " + "x" * 2_000):
        assert not is_right(task, text)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "copilot"])
async def test_an_agent_program_is_run_in_the_sandbox_and_its_output_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    stand_in = programs / agent
    stand_in.write_text(
        "#!/bin/sh\n./parcel weigh A17 && ./parcel ship A17\n"
        'echo "bank $MCP_REFLECT_BANK ask $MCP_REFLECT_ASK"\n'
        """echo '{"usage": {"input_tokens": 5, "output_tokens": 7}}'\n"""
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    [task] = all_tasks(["parcel"])
    for bank in (None, tmp_path / "bank.db"):
        name = "with" if bank else "without"
        sandbox = lay_out(task, "first", tmp_path / name / "task", tmp_path / name / "hidden")
        program = Program(agent)
        assert program.is_there()
        played = await program.play(sandbox.folder, "Ship the parcel A17", "s", bank)
        assert played.error == ""
        assert played.tokens == 12
        assert ("ask off" in played.raw) is (bank is None)
        assert grade(sandbox).solved


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "copilot"])
def test_only_with_memory_a_program_is_told_of_the_server(tmp_path: Path, agent: str) -> None:
    def told(*, memory: bool) -> str:
        words = command_of(agent, tmp_path, "Do it", memory=memory)
        settings = tmp_path / ".gemini" / "settings.json"
        return " ".join(words[words.index("Do it") + 1 :] if agent != "codex" else words) + (
            settings.read_text() if settings.exists() else ""
        )

    assert "mcp-reflect/" not in told(memory=False).replace("mcp__mcp-reflect", "")
    assert "bin/mcp-reflect" not in told(memory=False)
    assert "mcp-reflect" in told(memory=True)


def test_tokens_are_those_that_the_output_tells() -> None:
    cases: Sequence[tuple[str, int | None]] = (
        ("", None),
        ("no JSON", None),
        ('{"usage": {"input_tokens": 5, "output_tokens": 7}}', 12),
        ('{"type": "start"}\n{"usage": {"input_tokens": 5}}\n', 5),
    )
    for output, tokens in cases:
        assert tokens_in(output) == tokens


def acted(host: Path, *words: str) -> str:
    """What an agent sees that runs the host of its folder, whose program starts quicker here."""
    folder = host.parent
    play = folder.parents[1] / ".hidden" / f"{folder.parent.name}-{folder.name}.json"
    assert f'-m {uplift_host.__name__} "{play}" "$@"' in host.read_text()
    code = f"from {uplift_host.__name__} import main; main()"
    done = run_forked([str(play), *words], code=code)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_an_agent_with_a_shell_alone_plays_what_is_laid_out_and_is_graded_later(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    tasks = all_tasks(["parcel", "errors"])
    readmes = lay(out, tasks)
    assert [Path(one).parent.relative_to(out).as_posix() for one in readmes] == [
        "with/first",
        "with/near",
        "with/other",
        "without/near",
        "without/other",
    ]
    first, near, bare = (
        out / name / "host" for name in ("with/first", "with/near", "without/near")
    )
    assert f"{first} begin N" in Path(readmes[0]).read_text()
    assert "host begin N | " in run(out, str(first)).stdout
    begun = acted(first, "begin", "1")
    assert "- store_lesson: " in begun
    assert "Ship the parcel A17" in begun
    assert "Exit code 3" in acted(first, "bash", "./parcel ship A17")
    acted(first, "bash", "./parcel weigh A17")
    assert "[from the hook PostToolUse]" in acted(first, "bash", "./parcel ship A17")
    assert "kept" in acted(first, "mcp", "store_lesson", json.dumps(LESSON))
    assert "The session ended." in acted(first, "end", "Shipped.")
    assert "weigh CODE" in acted(near, "begin", "1")
    acted(near, "bash", "./parcel weigh C40 && ./parcel ship C40")
    acted(near, "end", "Shipped.")
    assert "[from the hook" not in acted(bare, "begin", "1")
    assert "There is no MCP server" in acted(bare, "mcp", "recall_lessons", "{}")
    assert [task.name for task in laid_out(out)] == ["parcel", "errors"]
    found = {(one.memory, one.variant): one.grade for one in played_results(out)}
    assert found.keys() == {(WITH, "first"), (WITH, "near"), (WITHOUT, "near")}
    assert (found[WITH, "first"].solved, found[WITH, "first"].trapped) == (True, 1)
    assert (found[WITH, "near"].solved, found[WITH, "near"].trapped) == (True, 0)
    assert not found[WITHOUT, "near"].solved
    assert (await kept_lessons(tasks, out / WITH / "bank.db"))[0] == 1
