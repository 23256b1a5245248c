"""How fast `learn` reads past sessions: `python -m benchmarks.learn_sessions --data ../shared/data/coding_runs`.

A temporary home gets transcripts of Claude Code of the given size, made of the recorded sessions: each copy has ids,
projects and paths of its own. Read by `mcp-reflect learn --all` in a process; printed, and compared with a limit:

- **seconds** and **processor seconds** of the first reading, its **memory** (the largest process, and all together);
- **again**: seconds of a second `learn`, which has nothing to read.

`--recall` replays the labelled sessions instead: of the lessons that a session itself proved, the part whose call is
in a finding that is shown of that session. `--read N` prints N findings of all sessions to be read, as `learn` lists
them: each once, with its sessions, a person's words too.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mcp_reflect.cli.finding_text import text_of
from mcp_reflect.models.finding import Finding, FindingKind, FindingState, Seen, StoredFinding
from mcp_reflect.services.learn import weigh
from mcp_reflect.services.session_workers import kept
from mcp_reflect.services.session_workers import read as session_read
from mcp_reflect.sessions.past_sessions import SessionReader

MOST_SECONDS, MOST_MEMORY, LEAST_RECALL = 60.0, 300.0, 0.7
ROOT: Final = Path(__file__).parent.parent


def make_home(data: Path, home: Path, size: int) -> int:
    """Write transcripts of about `size` bytes; return their number."""
    sources = sorted((data / "native").glob("*/claude-code--*.jsonl"))
    texts = [source.read_text(encoding="utf-8") for source in sources]
    written = number = 0
    while written < size:
        text = texts[number % len(texts)]
        # With the ids of another's records it would be a fork, of which only what is new is read.
        for name in ("sessionId", "uuid", "parentUuid"):
            text = text.replace(f'"{name}":"', f'"{name}":"{number:06}-')
        text = text.replace("/Users/dain/workspace/", f"/Users/dain/w{number % 12}/")
        folder = home / ".claude" / "projects" / f"-Users-dain-w{number % 12}"
        folder.mkdir(parents=True, exist_ok=True)
        written += (folder / f"{number:06}.jsonl").write_text(text, encoding="utf-8")
        number += 1
    return number


def timed(home: Path) -> tuple[float, float, str]:
    """Run `learn` once; return its seconds, its processor seconds, and its last line."""
    env = {
        **os.environ,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "MCP_REFLECT_BANK": str(home / "bank.db"),
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [sys.executable, "-m", "mcp_reflect", "learn", "--all"]
    done = subprocess.run(words, env=env, cwd=home, capture_output=True, text=True, check=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used, done.stdout.strip().splitlines()[-1]


def recall(data: Path, read: int) -> int:
    """Replay the labelled sessions, and compare what is shown of each with its labels."""
    episodes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (data / "episodes.jsonl").open(encoding="utf-8"):
        episodes[(episode := json.loads(line))["run_id"]].append(episode)
    proven = hit = shown_of_all = 0
    by_thing = defaultdict[tuple[str, str], list[tuple[Finding, Seen]]](list)
    for line in (data / "runs.jsonl").open(encoding="utf-8"):
        run = json.loads(line)
        reader = SessionReader(host="claude-code", most_lines=1_000)
        for place, event in enumerate(run["events"]):
            reader.line = place
            if event["type"] == "tool_call":
                reader.called(event["tool"], event["arguments"], event.get("call_id"))
            elif event["type"] == "tool_response":
                code, failed = event.get("exit_code"), bool(event.get("error"))
                reader.answered(
                    event["content"] or "", event.get("call_id"), failed=failed, exit_code=code
                )
        reader.session = run["id"]
        every = [*kept(reader.end())]
        shown = [
            (found, seen) for found, seen in every if weigh(found, 1, seen.times, seen.seconds)
        ]
        places = {int(line.partition(":")[0]) for _, seen in shown for line in seen.lines}
        for episode in episodes[run["id"]]:
            if episode["lesson"] and episode["proved_in_run"]:
                proven, hit = proven + 1, hit + (episode["failed_event"] in places)
        shown_of_all += len(shown)
        words = [
            pair
            for pair in session_read(data / run["native"], "claude-code")[0]
            if pair[0].kind is FindingKind.SAID
        ]
        for pair in [*every, *words]:
            by_thing[run["repo"], pair[0].thing].append(pair)
    print(
        f"recall        {hit} of {proven} = {hit / proven:.2f} (at least {LEAST_RECALL}), {shown_of_all} findings shown"
    )
    for number, one in enumerate(listed(by_thing)[:read], start=1):
        print(text_of(number, one, with_project=True))
    return int(hit / proven < LEAST_RECALL)


def listed(
    by_thing: Mapping[tuple[str, str], Sequence[tuple[Finding, Seen]]],
) -> list[StoredFinding]:
    """What is listed of the findings of all sessions, by project and thing: the costliest first."""
    found: list[StoredFinding] = []
    for (project, _), pairs in by_thing.items():
        finding, seen = (
            max(pairs, key=lambda pair: pair[0].worked is not None)[0],
            [one for _, one in pairs],
        )
        weight = weigh(
            finding, len(seen), sum(one.times for one in seen), sum(one.seconds for one in seen)
        )
        about: dict[str, Any] = {
            "id": "",
            "session": "",
            "asked": 0,
            "lesson_id": None,
            "created_at": 0.0,
        }
        about |= {
            "project": project,
            "state": FindingState.OPEN,
            "sessions": len(seen),
            "seen": tuple(seen),
        }
        found += [StoredFinding(**about, finding=finding, weight=weight)] if weight else []
    return sorted(found, key=lambda one: -one.weight)


def main() -> int:
    """Run the benchmark; 1 where a limit does not hold, 2 without data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/coding_runs"))
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--recall", action="store_true", help="compare with the labels instead")
    parser.add_argument(
        "--read", type=int, default=0, metavar="N", help="with --recall, print N findings"
    )
    chosen = parser.parse_args()
    if not (chosen.data / "native").is_dir():
        print(
            f"There is no {chosen.data / 'native'}. Give the recorded sessions with --data DIR.",
            file=sys.stderr,
        )
        return 2
    if chosen.recall:
        return recall(chosen.data, chosen.read)
    with tempfile.TemporaryDirectory(prefix="past-sessions-") as folder:
        home = Path(folder)
        number = make_home(chosen.data, home, chosen.megabytes * 1_000_000)
        seconds, used, said = timed(home)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_000
        again, _, _ = timed(home)
        bank = (home / "bank.db").stat().st_size / 1e6
    print(f"{number} sessions: {said}")
    print(
        f"seconds       {seconds:.1f} (at most {MOST_SECONDS * chosen.megabytes / 1_000:.0f}), processor {used:.1f}"
    )
    print(
        f"memory        {memory:.0f} MB in the largest of three processes (at most {MOST_MEMORY:.0f} in all)"
    )
    print(f"again         {again:.1f} s; the bank has {bank:.0f} MB")
    return int(seconds > MOST_SECONDS * chosen.megabytes / 1_000 or memory > MOST_MEMORY / 2)


if __name__ == "__main__":
    sys.exit(main())
