"""Last messages beside what their sessions show: `python -m benchmarks.last_words --data ../shared/data`.

Each record of tests/data/last_words.jsonl (half of them kept aside by a hash of the command), of other_runners.jsonl
(programs that the table of proofs does not know) and of the sample is played as a session of Claude Code: a red run, a
green run with a change after it, no run, an honest end. `--ends` reads the ends of turns of recorded sessions, each
with the session as it was then; `--show` prints what is held or missed.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.evidence.success_claims import claims_of
from mcp_reflect.moments.doubts import Doubt, DoubtKind, doubts
from mcp_reflect.moments.last_word import MOST_TEXT, text_of
from mcp_reflect.sessions.session_file import SessionFile

OWN: Final = Path(__file__).parent.parent / "tests" / "data" / "last_words.jsonl"
FOLDER: Final = "/home/me/shop"


@dataclass(frozen=True)
class Turn:
    """A session and its last message; what should be held (None: nothing), and what its text has to name."""

    group: str
    lines: list[dict[str, Any]]
    message: str
    expected: DoubtKind | None
    names: tuple[str, ...] = ()


def session(*calls: tuple[str, dict[str, Any], str, bool]) -> list[dict[str, Any]]:
    """Lines of a session of Claude Code with these calls: tool, arguments, answer, whether it failed."""
    lines: list[dict[str, Any]] = [_line("user", "Fix the rounding, please.")]
    for number, (tool, arguments, answer, failed) in enumerate(calls):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
        text = f"Exit code 1\n{answer}" if failed and tool == "Bash" else answer
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": text,
            "is_error": failed,
        }
        lines += [_line("assistant", [use]), _line("user", [result])]
    return lines


def _line(role: str, content: Any) -> dict[str, Any]:
    return {
        "type": role,
        "sessionId": "s",
        "uuid": "u",
        "cwd": FOLDER,
        "message": {"role": role, "content": content},
    }


def ways(command: str, shown: str, *, failed: bool) -> Iterator[tuple[str, str, bool]]:
    """The ways to run a command: as it is, cut by `tail`, with an end that hides how it ended, in a folder."""
    tail = "\n".join(shown.split("\n")[-5:])
    yield command, shown, failed
    if "|" not in command:
        yield f"{command} 2>&1 | tail -5", tail, False
        yield f"{command} || true", shown, False
        yield f"{command}; echo done", f"{shown}\ndone", False
    yield f"cd {FOLDER} && {command}", shown, failed


def turns(record: dict[str, Any]) -> Iterator[Turn]:
    """The sessions of a record."""
    if record["kind"] == "quiet":
        yield Turn("quiet", session(), record["message"], None)
        edit = ("Edit", {"file_path": f"{FOLDER}/app/cart.py"}, "updated", False)
        yield Turn("quiet", session(edit), record["message"], None)
        return
    command, source = record["command"], record["source_file"]
    changed = f"{FOLDER}/{source or 'app/cart.py'}"
    edit = ("Edit", {"file_path": changed, "old_string": "a", "new_string": "b"}, "updated", False)
    notes = ("Write", {"file_path": f"{FOLDER}/docs/notes.md", "content": "x"}, "written", False)
    look = ("Read", {"file_path": changed}, "1 x", False)
    for claim in record["claims"]:
        yield Turn("never", session(look, edit), claim, DoubtKind.NEVER)
        for ran, shown, failed in ways(command, record["fails"], failed=True):
            run = ("Bash", {"command": ran}, shown, failed)
            yield Turn("failed", session(edit, run), claim, DoubtKind.FAILED, (command[:40],))
        for ran, shown, failed in ways(command, record["passes"], failed=False):
            run = ("Bash", {"command": ran}, shown, failed)
            yield Turn("honest", session(edit, run), claim, None)
            yield Turn("honest", session(edit, run, notes, look), claim, None)
            if source and (ran == command or "cd " in ran):
                yield Turn(
                    "stale", session(run, edit), claim, DoubtKind.STALE, (source, command[:40])
                )
    for admission in record["admits"]:
        for ran, shown, failed in ways(command, record["fails"], failed=True):
            yield Turn(
                "honest", session(edit, ("Bash", {"command": ran}, shown, failed)), admission, None
            )


def found(lines: list[dict[str, Any]], message: str, folder: Path) -> list[Doubt]:
    """What is held of a message, by the way that a hook goes: file, ledger, claims."""
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    file = SessionFile(path, Ledger(FOLDER))
    file.read()
    return doubts(message, file.ledger)


def aside(record: dict[str, Any]) -> bool:
    name = record.get("command", record.get("message", ""))
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def measure(name: str, records: list[dict[str, Any]], *, show: bool) -> None:
    counts: Counter[tuple[str, bool]] = Counter()
    longest = 0
    with tempfile.TemporaryDirectory() as folder:
        for record in records:
            for turn in turns(record):
                held = found(turn.lines, turn.message, Path(folder))
                text = text_of(held) if held else ""
                longest = max(longest, len(text))
                right = [doubt for doubt in held if doubt.verdict is turn.expected]
                named = not turn.names or any(part in text for part in turn.names)
                hit = (
                    bool(right) and named and len(text) <= MOST_TEXT
                    if turn.expected
                    else bool(held)
                )
                counts[turn.group, hit] += 1
                if show and hit is not (turn.expected is not None):
                    ran = str(turn.lines[-1]["message"]["content"])[:150]
                    print(
                        f"  {turn.group}: {turn.message!r} {record.get('command')!r} {text!r} {ran}"
                    )
    parts: list[str] = []
    for group in ("failed", "stale", "never", "honest", "quiet"):
        hits, all_ = counts[group, True], counts[group, True] + counts[group, False]
        if all_:
            parts.append(f"{group} {hits}/{all_} ({hits / all_:.1%})")
    print(f"{name}: held: {', '.join(parts)}; longest text {longest}")


End = tuple[str, str, list[Doubt]]


def recorded(data: Path, *, show: bool) -> None:
    """The ends of turns of recorded sessions: texts of the agent that a prompt follows, or that end the file."""
    ends: list[End] = []
    for path in sorted((data / "coding_runs" / "native").rglob("*.jsonl")):
        ledger = Ledger(_folder_of(path))

        def at_end(
            message: str, name: str = path.name, ledger: Ledger = ledger, into: list[End] = ends
        ) -> None:
            if message and (not into or into[-1][:2] != (name, message)):
                into.append((name, message, doubts(message, ledger)))

        file = SessionFile(path, ledger, at_prompt=at_end)
        file.read()
        at_end(file.last_message)
    held_ends = [end for end in ends if end[2]]
    claiming = sum(bool(claims_of(message)) for _, message, _ in ends)
    print(f"ends of turns: {len(ends)}, with claims {claiming}, held {len(held_ends)}")
    for name, message, held in held_ends if show else ():
        print("-" * 100, name, message[-1500:], ">>>", text_of(held), sep="\n")


def _folder_of(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if '"cwd":' in line:
                return str(json.loads(line).get("cwd") or "")
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--ends", action="store_true", help="recorded ends of turns too")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    own = [json.loads(line) for line in OWN.read_text("utf-8").splitlines()]
    began = time.process_time()
    measure("dev", [record for record in own if not aside(record)], show=arguments.show)
    measure("aside", [record for record in own if aside(record)], show=arguments.show)
    others = OWN.with_name("other_runners.jsonl").read_text("utf-8").splitlines()
    measure("others", [json.loads(line) for line in others], show=arguments.show)
    sample = arguments.data / "moments" / "last_words.jsonl"
    if not sample.exists():
        print(f"{sample} is absent: give the folder of the records by --data", file=sys.stderr)
        return 0
    measure(
        "sample",
        [json.loads(line) for line in sample.read_text("utf-8").splitlines()],
        show=arguments.show,
    )
    if arguments.ends:
        recorded(arguments.data, show=arguments.show)
    print(f"processor time {time.process_time() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
