"""Run benchmarks and write their output into benchmarks/results.md.

    python -m benchmarks                 # every section; half an hour on two quiet cores
    python -m benchmarks recall start    # these sections; the others stay as they are
    python -m benchmarks --beside hooks  # print what the page says and what is measured now; write nothing

Each section names the command, the machine and the date, so that anybody can run it again.
"""

import fcntl
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "benchmarks" / "results.md"
HEAD: Final = """# Benchmarks

Written by `python -m benchmarks [NAME ...]`: each section is the output of its command. Times are ratios taken in one
run where the text says so; other times depend on the machine. `--data DIR` is a folder of development records that are
not part of this repository; the figures on them are development figures, for the rules were written with them at hand.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page: its name on the command line, its title, what it shows, and the module with its words."""

    name: str
    title: str
    about: str
    words: tuple[str, ...]

    @property
    def command(self) -> str:
        return f"python -m benchmarks.{' '.join(self.words)}"


SECTIONS: Final = (
    Section(
        "recall", "Recall", "nDCG@10 by default settings, each question asked once.", ("recall",)
    ),
    Section(
        "own-lessons",
        "Lessons in other words",
        "Lessons asked for in near words and by a symptom: first, among the first five, and with a strong fit.",
        ("recall", "--lessons"),
    ),
    Section(
        "fit", "The score of recall", "Each part's worth, leaving one set out at a time.", ("fit",)
    ),
    Section(
        "scale",
        "Recall in large banks",
        "Processor time of a whole recall, each question asked once.",
        ("scale",),
    ),
    Section(
        "asks",
        "Asked for a lesson",
        "Recorded sessions, replayed call by call as hooks see them.",
        ("asks",),
    ),
    Section(
        "guards",
        "Guards",
        "Calls that go against a lesson, met by the guard made of it.",
        ("guards",),
    ),
    Section(
        "shell",
        "Commands of a shell",
        "Processor time of reading scripts, and of comparing one with guards.",
        ("shell",),
    ),
    Section(
        "critique",
        "Critique",
        "What exact checks and a recorded judge find. The judge's verdicts on fresh_a and fresh_b were written on 2026-11-23 "
        "by a language model that worked on critique: it read goals, steps, outputs and claims, neither labels nor "
        "findings.",
        ("critique",),
    ),
    Section(
        "digest",
        "Deciding lines",
        "Wrong claims behind the outputs of their own session.",
        ("digest",),
    ),
    Section(
        "replan", "Failed searches", "Queries that find what the failed one missed.", ("replan",)
    ),
    Section(
        "injection",
        "Injected instructions",
        "Attacks recognized, and honest texts held back.",
        ("injection",),
    ),
    Section(
        "redaction",
        "Secrets",
        "Secrets cut in twelve disguises, look-alikes kept, and throughput.",
        ("redaction",),
    ),
    Section(
        "parse",
        "JSON of language models",
        "Replies read exactly, beside json-repair alone.",
        ("parse",),
    ),
    Section(
        "learning",
        "Lessons that mature",
        "Effectiveness after many uses with noisy outcomes.",
        ("learning",),
    ),
    Section(
        "last-words",
        "Last messages",
        "Held where the session does not show the claim (failed, stale, never), and held wrongly (honest, quiet).",
        ("last_words", "--ends"),
    ),
    Section("recurrence", "Warnings before calls", "Recorded runs, call by call.", ("recurrence",)),
    Section(
        "calls",
        "Calls of agents",
        "Recorded calls in many forms: refused, and bytes of answers.",
        ("calls",),
    ),
    Section(
        "path", "Files of a call", "Files of the package that one call runs through.", ("path",)
    ),
    Section(
        "hooks",
        "Hooks",
        "The command beside a bare Python, and the server's answers.",
        ("hooks", "--lessons", "1000", "--rounds", "5"),
    ),
    Section(
        "latency",
        "Recall in a small bank",
        "Milliseconds of a whole recall and of a store.",
        ("scale", "--sizes", "1000", "--data", "none"),
    ),
    Section("start", "Start", "First answers beside a bare MCP server, in one run.", ("start",)),
    Section(
        "team",
        "A team's service",
        "Two replicas on PostgreSQL beside one local file.",
        ("team", "load"),
    ),
    Section(
        "team-faults",
        "A team's service that fails",
        "Replicas and connections are ended.",
        ("team", "faults"),
    ),
    Section(
        "tenants",
        "Tenants of a service",
        "Random calls of tenants with the same ids and texts.",
        ("tenants",),
    ),
)


def machine() -> str:
    """Return the machine in a line: cores, processor, Python."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.partition(":")[2].strip()
            for line in cpuinfo.read_text().splitlines()
            if "model name" in line
        ]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"


def run(section: Section) -> str:
    """Run the section's command and return the section as text; its output names a failure."""
    load = os.getloadavg()[0]
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{section.words[0]}", *section.words[1:]],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    failed = (
        "" if done.returncode == 0 else f"Exit status {done.returncode}: not every limit is met.\n"
    )
    date = datetime.now(UTC).date().isoformat()
    facts = f"`{section.command}`, {machine()}, {date}, load average {load:.1f} before it began."
    return f"{section.about} {facts}\n{failed}\n```\n{done.stdout.rstrip()}\n```\n"


def sections_of(page: str) -> dict[str, str]:
    """Return the texts of a page's sections by their titles."""
    parts = page.split("\n## ")[1:]
    return {
        title: text.strip("\n") + "\n"
        for title, _, text in (part.partition("\n") for part in parts)
    }


def write(section: Section, text: str, path: Path = PAGE) -> None:
    """Replace a section of the page; sections that a person wrote stay behind the others.

    The page is read under a lock: another process may have written a section.
    """
    with path.open("a+", encoding="utf-8") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        page.seek(0)
        sections = {**sections_of(page.read()), section.title: text}
        own = [each.title for each in SECTIONS if each.title in sections]
        by_hand = [title for title in sections if title not in own]
        texts = [f"## {title}\n\n{sections[title]}" for title in (*own, *by_hand)]
        page.truncate(0)
        page.write("\n".join([HEAD, *texts]))


def beside(section: Section, path: Path = PAGE) -> str:
    """Run the section's command and return its output behind what the page says of it."""
    last = sections_of(path.read_text(encoding="utf-8")).get(section.title, "Nothing yet.\n")
    return f"## {section.title}: last\n\n{last}\n## {section.title}: now\n\n{run(section)}"


def main(names: list[str]) -> int:
    """Run the named sections, or all, and write the page (or print, with `--beside`); 2 for an unknown name."""
    prints = "--beside" in names
    names = [name for name in names if name != "--beside"]
    known = {section.name: section for section in SECTIONS}
    if unknown := [name for name in names if name not in known]:
        print(
            f"There is no benchmark {', '.join(unknown)}. There are: {', '.join(known)}.",
            file=sys.stderr,
        )
        return 2
    for name in names or known:
        print(known[name].command, flush=True)
        if prints:
            print(beside(known[name]), flush=True)
        else:
            write(known[name], run(known[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
