"""Tools that are no shell and no editor: whether a call of one may have run what a message claims.

A run configuration of an IDE, a target of a build server, a cell of a notebook and a REPL may run anything, and so may a
skill that works in an agent of its own. Tools that only look, or that talk to people, run nothing.
"""

import re
from typing import Final

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_RUNS: Final = frozenset(
    "run runs runner execute exec eval evaluate test tests build compile check lint repl notebook cell "
    "kernel target configuration deploy push commit script command shell terminal console process job pipeline "
    "workflow python node javascript js jupyter ipython nx gradle maven bazel xcode make task tasks".split()
)
_LOOKS: Final = frozenset(
    "get list read search find fetch view query lookup describe show resolve docs screenshot snapshot navigate "
    "open browse click type hover scroll glob grep ls status web todo todos think thinking plan ask question "
    "recall remember memory store note notes issue issues comment message messages email mail slack calendar "
    "page wiki resource resources tool tools mode diagnostics symbol symbols references definition".split()
)
_OF_TASK_LISTS: Final = frozenset({"taskcreate", "taskupdate", "tasklist", "taskget", "todowrite"})
_AGENTS: Final = frozenset("agent agents subagent subagents delegate dispatch handoff".split())
_SKILLS: Final = frozenset({"skill", "slashcommand", "activate_skill"})
_ONLY_LOADED: Final = ("launching skill", "skill loaded", "<skill", "base directory for this skill")


def _words_of(name: str) -> frozenset[str]:
    """Return the words of a name in lower case: "runTestsNow" and "run_tests_now" have run, tests and now."""
    return frozenset(word.lower() for word in _WORDS.findall(name[:200]))


def may_have_run(tool: str) -> bool:
    """Return whether a call of a tool may have run something that proves a claim; the first row that fits decides.

    | the tool                                             | may have run something   |
    |------------------------------------------------------|--------------------------|
    | keeps a list of tasks, or is one of this server      | no                       |
    | has a word of running in its name: `executeTask`     | yes                      |
    | is of another server, without a word of looking      | yes: nobody knows        |
    | is any other                                         | no                       |
    """
    server, _, name = tool.rpartition("__")
    name = name.rpartition(".")[2]
    if name.lower() in _OF_TASK_LISTS or "reflect" in _words_of(server):
        return False
    words = _words_of(name)
    if words & _RUNS:
        return True
    return bool(server) and not words & _LOOKS


def is_by_agent(tool: str, answer: str) -> bool:
    """Return whether a call of a tool had another agent work, a skill in an agent of its own among them."""
    name = tool.rpartition("__")[2].rpartition(".")[2]
    if name.lower() in _SKILLS:
        return not answer.lstrip().lower().startswith(_ONLY_LOADED)
    return bool(_words_of(name) & _AGENTS)
