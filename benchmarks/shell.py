"""How long it takes to read a script and to compare it with guards: `python -m benchmarks.shell`.

The time is of the processor, the least of several runs: a busy machine changes it least.
"""

import time
from collections.abc import Callable
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches
from mcp_reflect.shell import read_script
from mcp_reflect.shell.bash_reader import read_bash

_RUNS: Final = 7
_LINE: Final = "git -C web{number} push origin main --tags --set-upstream 2>&1 | tail -5\n"
HOSTILE: Final = {
    "`((` 2,500 times": "((" * 2_500,
    '`$(" ` 500 times': '$(" ' * 500,
    "`true;` 500 times": "true;" * 500 + "git push --force",
    "a document of 30,000 lines": "cat > a <<'EOF'\n"
    + "a line\n" * 30_000
    + "EOF\ngit push --force",
    "a pipeline of 30,000": "a|" * 30_000,
}


def milliseconds(work: Callable[[], object]) -> float:
    """Return the least time of some runs."""
    times: list[float] = []
    for _ in range(_RUNS):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return 1_000 * min(times)


def main() -> None:
    """Print the times."""
    read_script("ls")  # the parser is loaded
    script = "".join(_LINE.format(number=number) for number in range(840))
    guards = [
        parse_guard(f"Bash: `git push` with `--x{number}` without `-z`") for number in range(300)
    ]

    def compared() -> bool:
        call = Call("Bash", {"command": script})
        return any(matches(guard, call) for guard in guards)

    print(
        f"a script of {len(script):,} characters: {milliseconds(lambda: read_bash(script)):.1f} ms"
    )
    print(f"the same, and 300 guards of its program: {milliseconds(compared):.1f} ms")
    short = "cd web && npm test 2>&1 | tail -5"
    print(f"a short command: {1_000 * milliseconds(lambda: read_bash(short)):.0f} µs")
    for name, text in HOSTILE.items():
        why = read_bash(text).why_partial or "read"
        print(f"{name}: {milliseconds(lambda text=text: read_bash(text)):.1f} ms ({why})")


if __name__ == "__main__":
    main()
