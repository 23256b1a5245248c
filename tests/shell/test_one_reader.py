"""Only `mcp_reflect.shell` takes a command apart: no other module splits one, or looks for a pattern in it."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "mcp_reflect"
# A program of a person's settings, which no shell runs.
SPLITTING = {"children.py"}
# What is looked for in a command as in any text, each with the reason why the parser has no part in it.
SEARCHING = {
    "evidence/command_kinds.py": "one word, which may name a file that an interpreter runs",
    "replan/syntax.py": "a search with grep, which is given back with `-i`",
    "evidence/shell_changes.py": "words of programs that write, in a script of another language",
    "evidence/deciding.py": "whether a command names a script, where the claim says that one was run",
    "sessions/call_forms.py": "whether a command has more than plain words, so that it is compared as it is written",
    "evidence/shell_edits.py": "the script of sed, which is another language",
    "security/secret_inputs.py": "programs that read secrets from their input, in any text, also where none is run",
    "evidence/suite_text.py": "patterns that are data, for each runner, with the flags that rewrite snapshots",
    "sessions/tools.py": "the files of a patch, which stands in a call like a command and is none",
    "evidence/outputs.py": "whether it has arguments, by which a run is told from another",
    "guards/empty_variables.py": "a word of a command that was read: whether it is a variable alone",
    "sessions/hosts/script_words.py": "a script of JavaScript",
}
WITH_PATTERNS = frozenset("search match fullmatch findall finditer sub subn split".split())
NAMES = frozenset("command commands script line_of_shell shell_line".split())
GIVING = frozenset("command_of command_text".split())


def trees_with(words: Iterable[str]) -> Iterator[tuple[str, ast.Module]]:
    """The modules outside of the shell's package whose text has one of the words."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        text = path.read_text(encoding="utf-8")
        if not name.startswith("shell/") and any(word in text for word in words):
            yield name, ast.parse(text)


def splits(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "shlex"
        and node.attr in ("split", "shlex")
        for node in ast.walk(tree)
    )


def names_a_command(node: ast.AST) -> bool:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and (one.id in NAMES or one.id in GIVING):
            return True
        if isinstance(one, ast.Attribute) and one.attr in ("command", "command_text"):
            return True
    return False


def is_pattern(node: ast.expr) -> bool:
    """True for `re`, for a constant in capitals and for a call that gives a pattern."""
    if isinstance(node, ast.Name):
        return node.id == "re" or node.id.strip("_").isupper() or "pattern" in node.id
    return isinstance(node, ast.Call)


def searches(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in WITH_PATTERNS or not is_pattern(node.func.value):
            continue
        if any(names_a_command(argument) for argument in node.args):
            return True
    return False


def test_no_module_but_the_shell_splits_commands() -> None:
    assert {name for name, tree in trees_with(["shlex"]) if splits(tree)} == SPLITTING


def test_no_module_but_the_shell_looks_for_patterns_in_commands() -> None:
    searching = {name for name, tree in trees_with(NAMES | GIVING) if searches(tree)}
    assert searching == SEARCHING.keys()


def test_a_pattern_that_reads_a_command_is_noticed() -> None:
    for line in (
        "_GIT.search(command)",
        "re.match('git', command)",
        "re.findall(_X, command_of(arguments) or '')",
        "_PUSH.finditer(script[:4_000])",
        "pattern.search(call.command)",
    ):
        assert searches(ast.parse(line)), line
    for line in ("_GIT.search(answer)", "re.match('a', text)", "command.split()"):
        assert not searches(ast.parse(line)), line
