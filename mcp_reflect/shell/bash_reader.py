"""Reads a script of bash into commands: one walk over the tree of the parser, with a stack in place of recursion.

A function or an alias is only noted where it is defined, and read where it is called. What a command feeds to a shell
(`bash -c`, `eval`, a here-document) is parsed and read right after it. Stretches that may be left out, and shells of
their own, are scopes: behind them variables are what they were, or not known. The walk takes from one `Budget`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.shell.bounds import TooMuchError
from mcp_reflect.shell.changes import note_arithmetic, note_loop
from mcp_reflect.shell.commands import SUBSTITUTED, Inside, PipePlace, Script
from mcp_reflect.shell.here_strings import with_here_strings_first
from mcp_reflect.shell.parser import Node, descendants, name_of, parse, text_of
from mcp_reflect.shell.reading import (
    Emit,
    Enter,
    Function,
    FunctionCall,
    Leave,
    ScriptPlace,
    ScriptReading,
    Task,
    VariableScope,
    Visit,
)
from mcp_reflect.shell.redirects import document_chars, scripts_in_backticks, with_redirect
from mcp_reflect.shell.running import Runner
from mcp_reflect.shell.unread import words_that_may_run
from mcp_reflect.shell.words import plain_command, source_of, words_of_all

_SUBSTITUTIONS: Final = frozenset(("command_substitution", "process_substitution"))
_NOT_RUN: Final = frozenset(("function_definition",))
_INSIDE: Final = {
    "if_statement": Inside.IF,
    "while_statement": Inside.LOOP,
    "for_statement": Inside.LOOP,
    "c_style_for_statement": Inside.LOOP,
    "case_statement": Inside.CASE,
    "subshell": Inside.SUBSHELL,
    "compound_statement": Inside.GROUP,
}
_SCOPES: Final = {
    "while_statement": VariableScope.BRANCH,
    "c_style_for_statement": VariableScope.BRANCH,
    "elif_clause": VariableScope.BRANCH,
    "else_clause": VariableScope.BRANCH,
    "case_item": VariableScope.BRANCH,
    "subshell": VariableScope.SUBSHELL,
    "command_substitution": VariableScope.SUBSHELL,
    "process_substitution": VariableScope.SUBSHELL,
}
_LOOPS: Final = frozenset(("while_statement", "c_style_for_statement"))
_BLOCKS: Final = frozenset(("program", "do_group")) | _INSIDE.keys() | _SCOPES.keys()
_STATEMENTS: Final = frozenset(
    "command declaration_command unset_command test_command redirected_statement list pipeline "
    "negated_command variable_assignment variable_assignments function_definition".split()
)
_GLOBS: Final = frozenset("*?[")


@dataclass(slots=True)
class _Walk:
    """One walk over a script. Each node is a task; what has to happen behind its parts is a task behind theirs."""

    reading: ScriptReading = field(default_factory=ScriptReading)

    def read(self, text: str) -> None:
        """Read a script, and what it feeds to shells."""
        reading = self.reading
        runner = Runner(reading, self.begin)
        reading.tasks.append(self.begin(text, ScriptPlace(b"")))
        while reading.tasks:
            task = reading.tasks.pop()
            if isinstance(task, Visit):
                self._read_node(task, runner)
            elif isinstance(task, Emit):
                runner.run(task.node, task.place)
            elif isinstance(task, Enter):
                reading.enter(task)
            elif isinstance(task, Leave):
                reading.leave()
            elif isinstance(task, FunctionCall):
                reading.call(task)
            else:
                reading.return_from_call()

    def _read_node(self, task: Visit, runner: Runner) -> None:
        """Read a node: a plain command runs at once, another node gives its parts as tasks first."""
        self.reading.budget.take_step()
        plain = plain_command(task.node, task.place.source)
        if plain is not None and not task.place.extra_parts:
            runner.run_plain_command(plain, task.place)
        elif self._visit(task.node, task.place):
            runner.run(task.node, task.place)

    def begin(self, text: str, place: ScriptPlace) -> Visit:
        """Parse a script, and return the task of reading it."""
        if "\0" in text:  # the parser takes quadratic time for many of them, deaf to its limit
            raise TooMuchError("it has a NUL, which stands in no command")
        source = source_of(text)
        root = self._parsed(source)
        if root.has_error and "<<<" in text:
            rearranged = with_here_strings_first(root, source)
            if rearranged is not None:
                source, root = rearranged, self._parsed(rearranged)
        if root.has_error:
            raise TooMuchError("it is not a script that the parser understands")
        chars = len(text)
        if "<<" in text:
            chars -= document_chars(root, source)
        self.reading.budget.take_text(chars)
        return Visit(root, place._replace(source=source))

    def _parsed(self, source: bytes) -> Node:
        """Return the root of a script's tree. TooMuchError if the parser does not get through it in time."""
        with self.reading.budget.parsing() as seconds:
            tree = parse(source, seconds)
        if tree is None:
            raise TooMuchError("it takes the parser too long")
        return tree.root_node

    def _visit(self, node: Node, place: ScriptPlace) -> bool:
        """Put the parts of a node among the tasks; return True for a command that can run at once.

        A command with substitutions, `git push $(flags)`, runs after what stands in them.
        """
        node_type = node.type
        if node_type in _BLOCKS:
            self._block(node, place)
        elif node_type == "list":
            self._list(node, place)
        elif node_type == "pipeline":
            self._pipeline(node, place)
        elif node_type == "redirected_statement":
            self._redirected(node, place)
        elif node_type == "negated_command":
            self.reading.later([Visit(node.named_children[-1], place._replace(is_negated=True))])
        elif node_type == "function_definition":
            self._define(node, place)
        else:
            substitutions = list(self._substitutions(node, place))
            if not substitutions:
                return True
            self.reading.later([*substitutions, Emit(node, place)])
        return False

    def _define(self, node: Node, place: ScriptPlace) -> None:
        """Note a function, which is read where it is called."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.reading.define(text_of(name, place.source), Function(body, place.source))

    def _substitutions(self, node: Node, place: ScriptPlace) -> Iterator[Visit]:
        """Yield the tasks of what stands in `$(…)`, `` `…` `` and `<(…)` of a node, which runs before the node does."""
        text = place.source[node.start_byte : node.end_byte]
        if not (b"$(" in text or b"`" in text or b"<(" in text or b">(" in text):
            return
        inner = _in_substitution(place)
        found_nodes = [node]
        if node.type not in _SUBSTITUTIONS:
            found_nodes = descendants(node, _SUBSTITUTIONS, _NOT_RUN)
        for found in found_nodes:
            self.reading.budget.take_step()
            yield Visit(found, inner.in_subshell(found, place.script))

    # Blocks

    def _block(self, node: Node, place: ScriptPlace) -> None:
        """Read the statements of a block one after the other."""
        node_type = node.type
        if node_type in _INSIDE:
            place = place.within(_INSIDE[node_type])
        if node_type == "subshell":
            place = place.in_subshell(node, place.script)
        if node_type == "for_statement":
            self.reading.later(self._loop_over(node, place))
            return
        if node_type in _LOOPS:
            self._note_loop(node, place)
        if node_type == "compound_statement":
            self._note_arithmetic(node, place)
        tasks = self._statements(node, place)
        if node_type in _SCOPES:
            tasks = _in_scope(_SCOPES[node_type], tasks)
        self.reading.later(tasks)

    def _statements(self, node: Node, place: ScriptPlace) -> list[Task]:
        """Return the tasks of the statements of a block. What stands behind `then` is a branch up to `elif` or `else`."""
        tasks: list[Task] = []
        before = place.before
        in_branch = False
        children = node.children
        for index, child in enumerate(children):
            if child.type == "then" and node.type == "if_statement":
                tasks.append(Enter(VariableScope.BRANCH))
                in_branch = True
            elif in_branch and child.type in ("elif_clause", "else_clause", "fi"):
                tasks.append(Leave())
                in_branch = False
            if not child.is_named:
                continue
            is_header = node.type == "c_style_for_statement" and child.type not in _BLOCKS
            if is_header or (child.type not in _STATEMENTS and child.type not in _BLOCKS):
                tasks += self._substitutions(child, place)
                continue
            is_background = index + 1 < len(children) and children[index + 1].type == "&"
            place_of_child = place._replace(before=before)
            if node.type == "if_statement":
                branch = child if child.type in ("elif_clause", "else_clause") else node
                place_of_child = place_of_child.in_branch(branch)
            before = ";"
            if is_background:
                visit = Visit(child, place_of_child._replace(is_background=True))
                tasks += _in_scope(VariableScope.SUBSHELL, [visit])
                before = "&"
            else:
                tasks.append(Visit(child, place_of_child))
        if in_branch:
            tasks.append(Leave())
        return tasks

    def _note_arithmetic(self, node: Node, place: ScriptPlace) -> None:
        """Note what `((i++))` sets, which the parser takes for a group."""
        if node.children[0].type == "((":
            note_arithmetic(text_of(node, place.source), self.reading.variables)

    def _note_loop(self, node: Node, place: ScriptPlace) -> None:
        """Note what a loop changes, before its body is read once."""
        reading = self.reading
        reading.budget.take_loop(node.end_byte - node.start_byte)
        note_loop(node, place.source, reading.variables, [*reading.functions])
        if node.type == "c_style_for_statement":
            header = text_of(node, place.source).partition("))")[0]
            note_arithmetic(header, reading.variables)

    def _loop_over(self, node: Node, place: ScriptPlace) -> list[Task]:
        """Read a loop over words. Its variable is known if there is one word, so that the loop runs once."""
        variables = self.reading.variables
        values = node.children_by_field_name("value")
        words = words_of_all(values, place.source, variables)
        runs_once = len(words) == 1 and words[0].is_known and _GLOBS.isdisjoint(words[0].text)
        variable = name_of(node, "variable", place.source)
        if runs_once:
            variables.assign(variable, words)
        else:
            self._note_loop(node, place)
            variables.assign_any(variable, words)
        tasks: list[Task] = []
        for value in values:
            tasks += self._substitutions(value, place)
        body = node.child_by_field_name("body")
        if body is None:
            return tasks
        visit = Visit(body, place)
        if runs_once:
            return [*tasks, visit]
        return [*tasks, *_in_scope(VariableScope.BRANCH, [visit])]

    # Lists and pipelines

    def _list(self, node: Node, place: ScriptPlace) -> None:
        """Read `a && b && c`, or `a || b`: redirections behind it belong to its last command.

        Each command behind `&&` has what the ones before it set; behind the whole list nobody knows whether they ran.
        """
        first, *others = _chained(node)
        tasks: list[Task] = [Visit(first.node, place.alone()), Enter(VariableScope.BRANCH)]
        for number, part in enumerate(others, start=1):
            is_last = number == len(others)
            place_of_part = place if is_last else place.alone()
            tasks.append(Visit(part.node, place_of_part._replace(before=part.operator)))
        self.reading.later([*tasks, Leave()])

    def _pipeline(self, node: Node, place: ScriptPlace) -> None:
        """Read `a | b`: redirections behind it belong to its last command. Each part is a shell of its own."""
        children = node.children
        parts = [child for child in children if child.is_named]
        operators = [child.type for child in children if not child.is_named] or ["|"]
        self.reading.pipelines += 1
        tasks: list[Task] = []
        for index, part in enumerate(parts):
            is_last = index == len(parts) - 1
            place_of_part = place if is_last else place.alone()
            pipe = PipePlace(self.reading.pipelines, index)
            place_of_part = place_of_part._replace(pipes=(*place.pipes, pipe))
            if index:
                operator_before = operators[min(index, len(operators)) - 1]
                place_of_part = place_of_part._replace(before=operator_before)
            tasks += _in_scope(VariableScope.SUBSHELL, [Visit(part, place_of_part)])
        self.reading.later(tasks)

    # Redirections

    def _redirected(self, node: Node, place: ScriptPlace) -> None:
        """Read a statement with its redirections, and what stands behind `<<` on the same line."""
        body = node.child_by_field_name("body")
        tasks: list[Task] = []
        behind_document: list[Node] = []
        for redirect in node.children_by_field_name("redirect"):
            before = place
            place = with_redirect(place, redirect, behind_document, self.reading.variables)
            tasks += self._substitutions_of_redirect(redirect, behind_document, before)
        if body is None:
            self.reading.later([*tasks, Emit(node, place)])
            return
        self.reading.later([*tasks, *self._with_rest(body, behind_document, place)])

    def _substitutions_of_redirect(
        self, redirect: Node, rest: Sequence[Node], place: ScriptPlace
    ) -> Iterator[Visit]:
        """Yield what stands in substitutions of a redirection; of a here-document, those in its text.

        `rest` are the nodes that stand behind `<<EOF` on its line, which are read later.
        """
        if redirect.type != "heredoc_redirect":
            yield from self._substitutions(redirect, place)
            return
        for text in scripts_in_backticks(redirect, place.source):
            self.reading.budget.take_step()
            yield self.begin(text, _in_substitution(place))
        for child in redirect.named_children:
            if child not in rest and child.type != "heredoc_start":
                yield from self._substitutions(child, place)

    def _with_rest(self, body: Node, behind_document: list[Node], place: ScriptPlace) -> list[Task]:
        """Return the tasks of a command with a here-document, and of what follows it on the line of `<<EOF`.

        `cat <<EOF | sort && echo done` has the body `cat`, and behind the document a pipeline, `&&` and a command
        (`behind_document`): the parser puts them below the redirection.
        """
        tasks: list[Task] = []
        if behind_document and behind_document[0].type == "pipeline":
            self.reading.pipelines += 1
            number = self.reading.pipelines
            first = place._replace(pipes=(*place.pipes, PipePlace(number, 0)))
            tasks += _in_scope(VariableScope.SUBSHELL, [Visit(body, first)])
            parts = [child for child in behind_document[0].children if child.is_named]
            for index, part in enumerate(parts, start=1):
                pipes = (*place.pipes, PipePlace(number, index))
                place_of_part = place.alone()._replace(before="|", pipes=pipes)
                tasks += _in_scope(VariableScope.SUBSHELL, [Visit(part, place_of_part)])
            behind_document = behind_document[1:]
        else:
            tasks.append(Visit(body, place))
        if len(behind_document) > 1:
            place_of_part = place.alone()._replace(before=behind_document[0].type)
            tasks += _in_scope(VariableScope.BRANCH, [Visit(behind_document[1], place_of_part)])
        return tasks


def _in_substitution(place: ScriptPlace) -> ScriptPlace:
    """Return the place of what stands in `$(…)` here."""
    inner = place.alone()._replace(before="(", pipes=(), script=SUBSTITUTED, assignments=())
    return inner.within(Inside.SUBSTITUTION)


def _in_scope(scope: VariableScope, tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks within a scope: behind them variables are what they were before, or not known."""
    return [Enter(scope), *tasks, Leave()]


@dataclass(frozen=True, slots=True)
class _Chained:
    """A part of a list, and the operator before it."""

    node: Node
    operator: str


def _chained(node: Node) -> list[_Chained]:
    """Return the parts of a list, each with the operator before it.

    The parser reads a list from its end: `a && b && c` is `(a && b) && c`. Lists of `&&` alone are flattened, since each
    part runs only if all before it worked. A list with `||` has two sides, of which each is read by itself.

        a && b && c    has   a,  && b,  && c
        a && b || c    has   a && b,  || c
        a || b && c    has   a || b,  && c
    """
    from_the_end: list[_Chained] = []
    while True:
        left_side, *right_sides = (
            child for child in node.named_children if child.type != "comment"
        )
        operator = _operator_of(node) or "&&"
        from_the_end += (_Chained(side, operator) for side in reversed(right_sides))
        if operator != "&&" or not _is_list_of_and(left_side):
            return [_Chained(left_side, ""), *reversed(from_the_end)]
        node = left_side


def _is_list_of_and(node: Node) -> bool:
    """Return whether a node is a list of two sides with `&&` between them."""
    return node.type == "list" and _operator_of(node) == "&&"


def _operator_of(node: Node) -> str:
    """Return the operator of a list of two commands: `&&`, `||`, or ""."""
    for child in node.children:
        if child.type in ("&&", "||"):
            return child.type
    return ""


def read_bash(text: str) -> Script:
    """Return the commands of a script, or a partial reading that says why there are none."""
    walk = _Walk()
    try:
        walk.read(text)
    except TooMuchError as fault:
        return Script((), str(fault), words_that_may_run(text))
    return Script(tuple(walk.reading.commands), possible=tuple(walk.reading.possible))
