"""Compares what `mcp_reflect.shell` reads with what bash does: `python -m tools.shell_oracle --data ../shared/data`.

Two questions are asked of each script. *Does bash take it?* (`bash -n`): a script that bash takes should be read. *What does
it run?* The script runs in a namespace of its own, without a network, in an empty root that has nothing but bash: each
program that it names is not there, so that bash calls a function in its place, which only writes its arguments down. What was
written down has to be among what was read, and in its order where the script has no branches. Scripts that name programs by
a path are left out and counted. Each difference is printed.

Recorded commands come from other people: run this on a machine that you can throw away all the same.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from mcp_reflect.guards.shell_tools import command_text, is_shell
from mcp_reflect.models.common import Json
from mcp_reflect.shell import Command, Inside, Script, read_script

_SECONDS = 4
_FIELD, _RECORD = "\x1f", "\x1e"
# What of bash would leave the script, wait or look at files is written down like a program.
_BUILTINS = "cd pushd popd source . exec exit logout read wait kill sleep trap ulimit test [ shopt bind".split()
# In place of each program: its words are written down, and it succeeds.
_PREAMBLE = r"""
PATH=/none; HOME='~'; set +o history; shopt -u expand_aliases
__told() { local IFS=$'\x1f'; printf '%s\x1e' "$*" >&9; }
command_not_found_handle() { __told "$@"; return 0; }
"""
_ROOT = r"""
set -e
mount -t tmpfs -o size=16m tmpfs "$1"
cd "$1"
mkdir -p bin dev tmp lib lib64 usr/lib proc
for folder in lib lib64 usr/lib; do
  [ -d "/$folder" ] && mount --rbind -o ro "/$folder" "$folder"
done
cp "$(command -v bash)" bin/bash
touch dev/null && mount --bind /dev/null dev/null
cat > script
exec 9> "$2"
exec chroot . /bin/bash --norc --noprofile -c 'ulimit -t 2 -f 2000 -v 1000000; cd /tmp; . /script' < /dev/null > /dev/null 2>&1
"""


@dataclass
class Report:
    """What a comparison found: counts, and each difference in a line."""

    counts: Counter[str] = field(default_factory=Counter[str])
    differences: list[str] = field(default_factory=list[str])


@lru_cache(maxsize=1)
def can_isolate() -> bool:
    """Return whether this machine lets a process have a namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    return traced("probe one") == [["probe", "one"]]


def traced(script: str) -> list[list[str]] | None:
    """Return the words of each program that a script would run, None where it did not end in time."""
    overrides = "".join(
        f'{name}() {{ __told {name} "$@"; return 0; }}\n' for name in _BUILTINS if name != "exit"
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        root = Path(folder) / "root"
        root.mkdir()
        # fmt: off
        command = [
            "unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child",
            "bash", "-c", _ROOT, "root", str(root), str(out),
        ]
        # fmt: on
        try:
            subprocess.run(
                command,
                input=f"{_PREAMBLE}{overrides}\n{script}\n".encode(errors="replace"),
                check=False,
                capture_output=True,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return None
        told = out.read_text(encoding="utf-8", errors="replace") if out.exists() else ""
    return [record.split(_FIELD) for record in told.split(_RECORD)[:-1]]


def takes(script: str) -> bool:
    """Return whether bash can parse a script."""
    done = subprocess.run(
        ["bash", "-n"], input=script.encode(errors="replace"), check=False, capture_output=True
    )
    return done.returncode == 0 and b"warning: here-document" not in done.stderr


_BRANCHES = {Inside.IF, Inside.LOOP, Inside.CASE, Inside.FUNCTION, Inside.SUBSTITUTION, Inside.FED}


def is_straight(script: Script) -> bool:
    """Return whether all commands run one after the other, whatever each of them returns."""
    return all(
        command.before in ("", ";")
        and not command.is_background
        and _BRANCHES.isdisjoint(command.inside)
        for command in script.commands
    )


def names_paths(script: Script) -> bool:
    """Return whether a program is named by a path, which bash would look for and not find."""
    return any("/" in command.program for command in script.commands)


# Words of the shell itself, which start what follows them.
_STARTING = frozenset(("time", "command", "builtin", "coproc"))


def fits(command: Command, words: Sequence[str]) -> bool:
    """Return whether a command may have run with these words; a word that is not known may be none or many."""
    start = next((at for at, word in enumerate(command.words) if word not in _STARTING), 0)
    places = {0}
    for at, word in enumerate(command.words[start:], start):
        if at in command.unknown:
            first = min(places)
            places = set(range(first, len(words) + 1))
        else:
            places = {place + 1 for place in places if words[place : place + 1] == [word]}
        if not places:
            return False
    return len(words) in places


def differences(text: str, script: Script, ran: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield what bash ran and was not read, and an order that is another."""
    commands = [command for command in script.commands if command.program]
    missing = [words for words in ran if not any(fits(one, words) for one in commands)]
    for words in missing:
        yield f"not read: {words!r} of {text!r}"
    if not missing and is_straight(script):
        at = 0
        for words in ran:
            place = next((n for n in range(at, len(commands)) if fits(commands[n], words)), None)
            if place is None:
                yield f"another order: {words!r} of {text!r}"
                return
            at = place + 1


def compare(text: str, report: Report) -> None:
    """Compare one script, and add what was found to a report."""
    script, is_taken = read_script(text), takes(text)
    report.counts["scripts"] += 1
    if script.is_partial:
        report.counts["not read, and bash takes it" if is_taken else "not read, nor taken"] += 1
        if is_taken:
            report.differences.append(f"not read ({script.why_partial}): {text!r}")
        return
    if not is_taken:
        report.counts["read, and bash does not take it"] += 1
        report.differences.append(f"read, and bash does not take it: {text!r}")
        return
    if names_paths(script):
        report.counts["left out: a program by its path"] += 1
        return
    ran = traced(text)
    if ran is None:
        report.counts["left out: it did not end"] += 1
        return
    found = list(differences(text, script, ran))
    report.counts["run"] += 1
    report.counts["run in straight order"] += is_straight(script)
    report.counts["programs that ran"] += len(ran)
    report.counts["programs that ran and were not read"] += sum(
        "not read: " in one for one in found
    )
    report.counts["run with a difference"] += bool(found)
    report.differences += found


def recorded(data: Path) -> list[str]:
    """Return the different commands of shells in recorded sessions, in one form and as their hosts wrote them."""
    found: dict[str, None] = {}
    for line in (data / "coding_runs" / "runs.jsonl").read_text(encoding="utf-8").splitlines():
        for event in json.loads(line)["events"]:
            if event["type"] != "tool_call" or not is_shell(event["tool"]):
                continue
            if command := command_text(event.get("arguments")):
                found[command] = None
    native = data / "coding_runs" / "native"
    for path in sorted(native.rglob("*")):
        if path.suffix in (".jsonl", ".traj"):
            found |= dict.fromkeys(_of_host(path))
    return [*found]


def _of_host(path: Path) -> Iterator[str]:
    """Yield the commands in a session of a host: actions of SWE-agent, calls of a shell of the others."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".traj":
        for step in json.loads(text)["trajectory"]:
            if command := str(step.get("action") or "").strip():
                yield command
        return
    for line in text.splitlines():
        waiting: list[Json] = [json.loads(line)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                name, sent = value.get("name"), value.get("input", value.get("arguments"))
                if isinstance(name, str) and isinstance(sent, dict) and is_shell(name):
                    yield command_text(sent)
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value


def main() -> None:
    """Compare all recorded commands, and print counts and differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--most", type=int, default=100_000, help="scripts that are compared")
    options = parser.parse_args()
    if not can_isolate():
        sys.exit("This machine gives no namespace of its own to a process, so nothing is run.")
    if not options.data.exists():
        sys.exit(f"{options.data} is absent: there are no recorded commands.")
    report = Report()
    for text in recorded(options.data)[: options.most]:
        compare(text, report)
    for line in report.differences:
        print(line[:400])
    for name, count in report.counts.items():
        print(f"{count:6d} {name}")


if __name__ == "__main__":
    main()
