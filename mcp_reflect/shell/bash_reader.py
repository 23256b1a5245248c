"""Read a script of bash into commands: one walk over the tree of the parser, with a stack in place of recursion.

A function or an alias is only noted where it is defined, and read where it is called. What a command feeds to a shell
(`bash -c`, `eval`, a here-document) is parsed and read right after it. Stretches that may be left out, and shells of
their own, are scopes: behind them variables are what they were, or not known. The walk takes from one `Budget`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.shell.bounds import TooMuchError
from mcp_reflect.shell.changes import note_arithmetic, note_loop
from mcp_reflect.shell.commands import SUBSTITUTED, Inside, PipePosition, Script
from mcp_reflect.shell.here_strings import with_here_strings_first
from mcp_reflect.shell.lists import parts_of_list
from mcp_reflect.shell.parser import Node, descendants, name_of, parse, text_of
from mcp_reflect.shell.reading import (
    Emit,
    Enter,
    Function,
    FunctionCall,
    Leave,
    ScriptContext,
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
        reading.tasks.append(self.begin(text, ScriptContext(b"")))
        while reading.tasks:
            task = reading.tasks.pop()
            if isinstance(task, Visit):
                self._read_node(task, runner)
            elif isinstance(task, Emit):
                runner.run(task.node, task.context)
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
        plain = plain_command(task.node, task.context.source)
        if plain is not None and not task.context.extra_parts:
            runner.run_plain_command(plain, task.context)
        elif self._visit(task.node, task.context):
            runner.run(task.node, task.context)

    def begin(self, text: str, context: ScriptContext) -> Visit:
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
        return Visit(root, context._replace(source=source))

    def _parsed(self, source: bytes) -> Node:
        """Return the root of a script's tree. TooMuchError if the parser does not get through it in time."""
        with self.reading.budget.parsing() as seconds:
            tree = parse(source, seconds)
        if tree is None:
            raise TooMuchError("it takes the parser too long")
        return tree.root_node

    def _visit(self, node: Node, context: ScriptContext) -> bool:
        """Put the parts of a node among the tasks; return True for a command that has none, and so can run at once.

        A command with substitutions, `git push $(flags)`, runs after what stands in them.
        """
        node_type = node.type
        if node_type in _BLOCKS:
            self._block(node, context)
        elif node_type == "list":
            self._list(node, context)
        elif node_type == "pipeline":
            self._pipeline(node, context)
        elif node_type == "redirected_statement":
            self._redirected(node, context)
        elif node_type == "negated_command":
            self.reading.later([Visit(node.named_children[-1], context._replace(is_negated=True))])
        elif node_type == "function_definition":
            self._define(node, context)
        else:
            substitutions = list(self._substitutions(node, context))
            if not substitutions:
                return True
            self.reading.later([*substitutions, Emit(node, context)])
        return False

    def _define(self, node: Node, context: ScriptContext) -> None:
        """Note a function, which is read where it is called."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.reading.define(text_of(name, context.source), Function(body, context.source))

    def _substitutions(self, node: Node, context: ScriptContext) -> Iterator[Visit]:
        """Yield the tasks of what stands in `$(…)`, `` `…` `` and `<(…)` of a node, which runs before the node does."""
        text = context.source[node.start_byte : node.end_byte]
        if not (b"$(" in text or b"`" in text or b"<(" in text or b">(" in text):
            return
        inner = _in_substitution(context)
        substitutions = [node]
        if node.type not in _SUBSTITUTIONS:
            substitutions = descendants(node, _SUBSTITUTIONS, _NOT_RUN)
        for substitution in substitutions:
            self.reading.budget.take_step()
            yield Visit(substitution, inner.in_subshell(substitution, context.script))

    # Blocks

    def _block(self, node: Node, context: ScriptContext) -> None:
        """Read the statements of a block one after the other."""
        node_type = node.type
        if node_type in _INSIDE:
            context = context.within(_INSIDE[node_type])
        if node_type == "subshell":
            context = context.in_subshell(node, context.script)
        if node_type == "for_statement":
            self.reading.later(self._loop_over(node, context))
            return
        if node_type in _LOOPS:
            self._note_loop(node, context)
        if node_type == "compound_statement":
            self._note_arithmetic(node, context)
        tasks = self._statements(node, context)
        if node_type in _SCOPES:
            tasks = _in_scope(_SCOPES[node_type], tasks)
        self.reading.later(tasks)

    def _statements(self, node: Node, context: ScriptContext) -> list[Task]:
        """Return the tasks of the statements of a block, in order.

        What stands behind `then` is a branch up to `elif`, `else` or `fi`: it may not run, so that behind it variables are
        less certain. A command in the background (`&`) is a shell of its own. Of what is no statement, as the words of a
        `case`, only the substitutions are read.
        """
        tasks: list[Task] = []
        before = context.before
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
                tasks += self._substitutions(child, context)
                continue
            is_background = index + 1 < len(children) and children[index + 1].type == "&"
            context_of_child = context._replace(before=before)
            if node.type == "if_statement":
                branch = child if child.type in ("elif_clause", "else_clause") else node
                context_of_child = context_of_child.in_branch(branch)
            before = ";"
            if is_background:
                visit = Visit(child, context_of_child._replace(is_background=True))
                tasks += _in_scope(VariableScope.SUBSHELL, [visit])
                before = "&"
            else:
                tasks.append(Visit(child, context_of_child))
        if in_branch:
            tasks.append(Leave())
        return tasks

    def _note_arithmetic(self, node: Node, context: ScriptContext) -> None:
        """Note what `((i++))` sets, which the parser takes for a group."""
        if node.children[0].type == "((":
            note_arithmetic(text_of(node, context.source), self.reading.variables)

    def _note_loop(self, node: Node, context: ScriptContext) -> None:
        """Note what a loop changes, before its body is read once."""
        reading = self.reading
        reading.budget.take_loop(node.end_byte - node.start_byte)
        note_loop(node, context.source, reading.variables, [*reading.functions])
        if node.type == "c_style_for_statement":
            header = text_of(node, context.source).partition("))")[0]
            note_arithmetic(header, reading.variables)

    def _loop_over(self, node: Node, context: ScriptContext) -> list[Task]:
        """Read a loop over words. Its variable is known if there is one word, so that the loop runs once."""
        variables = self.reading.variables
        values = node.children_by_field_name("value")
        words = words_of_all(values, context.source, variables)
        runs_once = len(words) == 1 and words[0].is_known and _GLOBS.isdisjoint(words[0].text)
        variable = name_of(node, "variable", context.source)
        if runs_once:
            variables.assign(variable, words)
        else:
            self._note_loop(node, context)
            variables.assign_any(variable, words)
        tasks: list[Task] = []
        for value in values:
            tasks += self._substitutions(value, context)
        body = node.child_by_field_name("body")
        if body is None:
            return tasks
        visit = Visit(body, context)
        if runs_once:
            return [*tasks, visit]
        return [*tasks, *_in_scope(VariableScope.BRANCH, [visit])]

    # Lists and pipelines

    def _list(self, node: Node, context: ScriptContext) -> None:
        """Read `a && b && c`, or `a || b`: redirections behind it belong to its last command.

        Each command behind `&&` has what the ones before it set; behind the whole list nobody knows whether they ran.
        """
        first, *others = parts_of_list(node)
        tasks: list[Task] = [Visit(first.node, context.alone()), Enter(VariableScope.BRANCH)]
        for number, part in enumerate(others, start=1):
            is_last = number == len(others)
            context_of_part = context if is_last else context.alone()
            tasks.append(Visit(part.node, context_of_part._replace(before=part.operator)))
        self.reading.later([*tasks, Leave()])

    def _pipeline(self, node: Node, context: ScriptContext) -> None:
        """Read `a | b`: each part is a shell of its own, with its position in the pipeline and the operator before it.

        Redirections behind the pipeline, `a | b > log`, belong to its last command.
        """
        children = node.children
        parts = [child for child in children if child.is_named]
        operators = [child.type for child in children if not child.is_named] or ["|"]
        self.reading.pipelines += 1
        tasks: list[Task] = []
        for index, part in enumerate(parts):
            is_last = index == len(parts) - 1
            context_of_part = context if is_last else context.alone()
            position = PipePosition(self.reading.pipelines, index)
            context_of_part = context_of_part._replace(pipes=(*context.pipes, position))
            if index > 0:
                operator = operators[min(index, len(operators)) - 1]
                context_of_part = context_of_part._replace(before=operator)
            tasks += _in_scope(VariableScope.SUBSHELL, [Visit(part, context_of_part)])
        self.reading.later(tasks)

    # Redirections

    def _redirected(self, node: Node, context: ScriptContext) -> None:
        """Read a statement with its redirections, and what stands behind `<<` on the same line."""
        body = node.child_by_field_name("body")
        tasks: list[Task] = []
        rest_of_line: list[Node] = []
        for redirect in node.children_by_field_name("redirect"):
            before = context
            context = with_redirect(context, redirect, rest_of_line, self.reading.variables)
            tasks += self._substitutions_of_redirect(redirect, rest_of_line, before)
        if body is None:
            self.reading.later([*tasks, Emit(node, context)])
            return
        self.reading.later([*tasks, *self._with_rest_of_line(body, rest_of_line, context)])

    def _substitutions_of_redirect(
        self, redirect: Node, rest: Sequence[Node], context: ScriptContext
    ) -> Iterator[Visit]:
        """Yield what stands in substitutions of a redirection; of a here-document, those in its text.

        `rest` are the nodes that stand behind `<<EOF` on its line, which are read later.
        """
        if redirect.type != "heredoc_redirect":
            yield from self._substitutions(redirect, context)
            return
        for text in scripts_in_backticks(redirect, context.source):
            self.reading.budget.take_step()
            yield self.begin(text, _in_substitution(context))
        for child in redirect.named_children:
            if child not in rest and child.type != "heredoc_start":
                yield from self._substitutions(child, context)

    def _with_rest_of_line(
        self, body: Node, rest_of_line: list[Node], context: ScriptContext
    ) -> list[Task]:
        """Return the tasks of a command with a here-document, and of what follows it on the line of `<<EOF`.

        `cat <<EOF | sort && echo done` has the body `cat`, and behind the document a pipeline, `&&` and a command
        (`rest_of_line`): the parser puts them below the redirection.
        """
        tasks: list[Task] = []
        if rest_of_line and rest_of_line[0].type == "pipeline":
            self.reading.pipelines += 1
            number = self.reading.pipelines
            first = context._replace(pipes=(*context.pipes, PipePosition(number, 0)))
            tasks += _in_scope(VariableScope.SUBSHELL, [Visit(body, first)])
            parts = [child for child in rest_of_line[0].children if child.is_named]
            for index, part in enumerate(parts, start=1):
                pipes = (*context.pipes, PipePosition(number, index))
                context_of_part = context.alone()._replace(before="|", pipes=pipes)
                tasks += _in_scope(VariableScope.SUBSHELL, [Visit(part, context_of_part)])
            rest_of_line = rest_of_line[1:]
        else:
            tasks.append(Visit(body, context))
        if len(rest_of_line) > 1:
            context_of_part = context.alone()._replace(before=rest_of_line[0].type)
            tasks += _in_scope(VariableScope.BRANCH, [Visit(rest_of_line[1], context_of_part)])
        return tasks


def _in_substitution(context: ScriptContext) -> ScriptContext:
    """Return the context of what stands in `$(…)` here."""
    inner = context.alone()._replace(before="(", pipes=(), script=SUBSTITUTED, assignments=())
    return inner.within(Inside.SUBSTITUTION)


def _in_scope(scope: VariableScope, tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks within a scope: behind them variables are what they were before, or not known."""
    return [Enter(scope), *tasks, Leave()]


def read_bash(text: str) -> Script:
    """Return the commands of a script, or a partial reading that says why there are none."""
    walk = _Walk()
    try:
        walk.read(text)
    except TooMuchError as fault:
        return Script((), str(fault), words_that_may_run(text))
    return Script(tuple(walk.reading.commands), possible=tuple(walk.reading.possible))
