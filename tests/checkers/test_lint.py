"""Each rule of the linter finds its defect and leaves the sound twin alone."""

import pytest

pytest.importorskip("sqlglot", reason="the extra checkers is not installed")
pytest.importorskip("tree_sitter_bash", reason="the extra checkers is not installed")

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.code import CodeChecker
from mcp_reflect.models.critique import Status

DEFECTS = [
    ("python", "def f(x, seen=[]):\n    seen.append(x)\n    return seen", "B006"),
    ("python", "def f(xs):\n    for x in xs:\n        totl += x\n    return xs", "F821"),
    ("sql", "SELECT id FROM t WHERE phone = NULL;", "IS NULL"),
    ("sql", "SELECT a.x FROM a LEFT JOIN b ON b.i = a.i WHERE b.state = 'x';", "inner join"),
    ("sql", "SELECT city, COUNT(*) FROM people;", "city is neither"),
    ("sql", "SELECT city, zip, COUNT(*) FROM people GROUP BY city;", "zip is neither"),
    ("ts", "const x: number = (1;\n", "is missing"),
    ("bash", 'if [ -d "$1" ]; then\n  ls\nelse\n  exit 1\n', "is missing"),
    ("json", '{"a": 1, "b": {"c": 1, "c": 2}}', "stands twice"),
    ("yaml", "a:\n  b:\n    c: 1\n   d: 2\n", "block mapping"),
    ("yaml", "a:\n  b: 1\n  b: 2\n", "duplicate key"),
]
SOUND = [
    ("python", "def f(x, seen=None):\n    seen = [] if seen is None else seen\n    seen.append(x)\n    return seen"),
    ("python", "def f(x, names=()):\n    total = 0\n    total += x\n    return total"),
    ("python", "count = 0\ndef f():\n    global count\n    count += 1"),
    ("python", 'def f(x):\n    if x == "a" or x == "b":\n        return 1\n    return 2'),
    ("python", "def f(x, cache={}):\n    return cache.get(x)"),
    ("sql", "UPDATE t SET phone = NULL WHERE id = 1;"),
    ("sql", "SELECT a.x FROM a LEFT JOIN b ON b.i = a.i WHERE b.i IS NULL;"),
    ("sql", "SELECT city, COUNT(*) FROM people WHERE age > 3 GROUP BY city HAVING COUNT(*) > 1;"),
    ("sql", "SELECT date_trunc('month', at), SUM(x) FROM t GROUP BY date_trunc('month', at);"),
    ("sql", "SELECT * FROM a WHERE x IN (SELECT y FROM b WHERE z <> 'null');"),
    ("js", "function f(a) {\n  let m;\n  while ((m = a.next())) { use(m); }\n  return g();\n  function g() {}\n}"),
    ("typescript", "async function g(): Promise<U> { return h(); }\nconst u = await g();\nu.name; g().then(f);"),
    ("tsx", "export const A = () => <b>{x ? 1 : 2}</b>;"),
    ("js", "switch (x) {\n  case 1:\n    return a;\n  default:\n    break;\n}"),
    ("sh", 'for f in *.txt; do\n  [[ -f $f ]] && echo "$f"\ndone\ncase $x in a) ls;; esac'),
    ("yaml", "a:\n  - b: 1\n    c: 2\n  - b: 3\n    c: 4\nd: |\n  if: x\n   y: z\n"),
]


def faults(language: str, code: str) -> list[str]:
    found = CodeChecker().check(Work(goal="", steps=(f"```{language}\n{code}\n```",)))
    return [finding.detail or "" for finding in found if finding.status is Status.FAIL]


@pytest.mark.parametrize(("language", "code", "rule"), DEFECTS)
def test_a_defect_is_reported_by_its_rule(language: str, code: str, rule: str) -> None:
    assert rule in "".join(faults(language, code))


@pytest.mark.parametrize(("language", "code"), SOUND)
def test_sound_code_is_left_alone(language: str, code: str) -> None:
    assert faults(language, code) == []
