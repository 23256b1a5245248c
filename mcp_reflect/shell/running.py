"""What a command does when it runs: what it sets, which function it calls, which script it gives to a shell."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.shell.assigning import assign, declare, written_assignment
from mcp_reflect.shell.bounds import TooMuchError
from mcp_reflect.shell.changes import (
    note_arithmetic,
    note_command,
    note_expansions,
    other_environment,
)
from mcp_reflect.shell.commands import SUBSTITUTED, Command, Inside
from mcp_reflect.shell.fed import FedScript, PipedOutput, fed_scripts, output_of
from mcp_reflect.shell.parser import Node, text_of
from mcp_reflect.shell.powershell_reader import read_powershell
from mcp_reflect.shell.programs import invocations_of
from mcp_reflect.shell.reading import (
    Enter,
    Function,
    FunctionCall,
    FunctionEnd,
    Leave,
    ScriptContext,
    ScriptReading,
    Task,
    VariableScope,
    Visit,
)
from mcp_reflect.shell.redirects import with_redirect
from mcp_reflect.shell.variables import Variables, Word
from mcp_reflect.shell.words import words_of_all

_REDIRECTS: Final = ("file_redirect", "herestring_redirect", "heredoc_redirect")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_EXPANDED: Final = frozenset("$`'\"\\*?{~")  # a word of a test with one of these is not resolved


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs the commands of a reading on paper: nothing is executed, and what each would set, call or feed is noted.

    `begin` parses a script, and returns the task of reading it. `_RUN_BY_TYPE` has the method for each type of node.
    """

    reading: ScriptReading
    begin: Callable[[str, ScriptContext], Visit]

    def run(self, node: Node, context: ScriptContext) -> None:
        """Add the command of a node, and note what it sets; what it calls or feeds is read next."""
        self.reading.budget.take_step()
        run_node = _RUN_BY_TYPE.get(node.type)
        if run_node is not None:
            run_node(self, node, context)
            note_expansions(context.source[node.start_byte : node.end_byte], self.reading.variables)

    def run_assignments(self, node: Node, context: ScriptContext) -> None:
        """Run `x=1 y=2`, which is a command without words: it only sets variables."""
        nodes = node.named_children
        if node.type == "variable_assignment":
            nodes = [node]
        assignments = [assign(self.reading, assignment, context) for assignment in nodes]
        self.reading.add([], context, assignments)

    def run_declaration(self, node: Node, context: ScriptContext) -> None:
        """Run `export x=1`, `local y`, `declare -i z=2`."""
        self.reading.add(declare(self.reading, node, context), context)

    def run_unset(self, node: Node, context: ScriptContext) -> None:
        """Run `unset x`."""
        words = [Word(part) for part in text_of(node, context.source).split()]
        command = self.reading.add(words, context)
        note_command(command, words, self.reading.variables)

    def run_test(self, node: Node, context: ScriptContext) -> None:
        """Run `[ … ]` and `[[ … ]]`, which are commands, and `(( … ))`, which is none and may set variables.

        The words of a test stay as they are written; those that the shell would expand are not known.
        """
        text = text_of(node, context.source)
        if text.startswith("(("):
            note_arithmetic(text, self.reading.variables)
            return
        parts = text.split()
        self.reading.add([Word(part, not set(part) & _EXPANDED) for part in parts], context)

    def run_redirection_alone(self, _: Node, context: ScriptContext) -> None:
        """Run `> file`, or a command that begins behind two redirections: `< in > out sort`.

        The parser sees no command in the latter: its words are the extra parts of the context.
        """
        assignments: list[str] = []
        parts = [*context.extra_parts]
        while parts:
            text = text_of(parts[0], context.source)
            if not _ASSIGNMENT.match(text):
                break
            assignments.append(text)
            del parts[0]
        if parts:
            self._run_parts(parts, assignments, context._replace(extra_parts=()))
        else:
            self.reading.add([], context, assignments)

    def run_plain_command(self, text: str, context: ScriptContext) -> None:
        """Run a command whose words are as they are written, `git push -f`: nothing in it is expanded."""
        words = [*map(Word, text.split())]
        command = self.reading.add(words, context)
        note_command(command, words, self.reading.variables)
        self._follow(command, context)

    def run_command(self, node: Node, context: ScriptContext) -> None:
        """Run a program, a function, or a command of the shell's own: `X=1 git push > log`.

        Its assignments and redirections are told from its words, which are expanded then.
        """
        assignments: list[str] = []
        parts: list[Node] = []
        variables = self.reading.variables
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(written_assignment(child, context.source, variables))
            elif child.type in _REDIRECTS:
                context = with_redirect(context, child, [], variables)
            elif child.is_named:
                parts.append(child)
        self._run_parts([*parts, *context.extra_parts], assignments, context)

    def _run_parts(
        self, parts: Sequence[Node], assignments: Sequence[str], context: ScriptContext
    ) -> None:
        """Run the command of some words, which are expanded here with what is known of variables.

        Where one of the variables may have several values, the command is read with each of them as well, as what may
        run: `git $X` with `X` "push" or "pull". What is read so is not read anew (`is_possible`).
        """
        variables = self.reading.variables
        variables.names_with_candidates.clear()
        words = words_of_all(parts, context.source, variables)
        names_with_candidates = tuple(variables.names_with_candidates)
        command = self.reading.add(words, context, assignments)
        note_command(command, words, variables)
        self._follow(command, context)
        if names_with_candidates and not context.is_possible:
            self._run_possible(
                parts, context, [*variables.possible(names_with_candidates)], command
            )

    def _keep_possible_targets(self, command: Command) -> None:
        """Keep the command with each of the files that its redirections may go to, for who asks what may be written."""
        for index, redirection in enumerate(command.redirections):
            for target in redirection.choices:
                self.reading.budget.take_step()
                redirections = list(command.redirections)
                redirections[index] = replace(redirection, target=target, choices=())
                possible = replace(command, redirections=tuple(redirections))
                self.reading.keep(possible, is_possible=True)

    def _run_possible(
        self,
        parts: Sequence[Node],
        context: ScriptContext,
        possible: Sequence[Variables],
        command: Command,
    ) -> None:
        """Add the command with each of the values that its variables may have, for who asks what may run.

        `possible` has the variables with each choice of values, `command` is the one that was read without a choice. Of
        choices that give the same words, one is added.
        """
        context = context._replace(is_possible=True)
        words_seen = {command.words}
        for variables in possible:
            self.reading.budget.take_step()
            words = words_of_all(parts, context.source, variables)
            texts = tuple(word.text for word in words)
            if texts in words_seen:
                continue
            words_seen.add(texts)
            self._follow(self.reading.add(words, context, command.assignments), context)

    def _follow(self, command: Command, context: ScriptContext) -> None:
        """Read next what a command calls: a function, an alias, the text that it gives to a shell."""
        reading = self.reading
        if not context.is_possible:
            self._keep_possible_targets(command)
        name = command.program
        if name == "alias":
            for word in command.arguments:
                alias, equal, value = word.partition("=")
                if equal:
                    reading.define_alias(alias, value)
        elif name in reading.aliases and name not in context.called:
            text = f"{reading.aliases[name]} {shlex.join(command.arguments)}"
            context_of_alias = context._replace(called=context.called | {name})
            reading.later([self._script_task(text, context_of_alias, command)])
        elif name in reading.functions:
            self._call_all(reading.functions[name], command, context)
        else:
            scripts = list(fed_scripts(command, self._piped_into(command)))
            tasks: list[Task] = []
            for script in scripts:
                tasks += self._feed(script, context, command)
            reading.later(tasks)

    def _call_all(
        self, functions: Sequence[Function], command: Command, context: ScriptContext
    ) -> None:
        """Read a function where it is called; of several by its name (defined in branches) the latest, as what runs.

        The others may run instead: their commands are kept apart as possible, and what they set is forgotten behind
        them.
        """
        tasks = self._call(functions[0], command, context)
        if context.is_possible:
            tasks = [Enter(VariableScope.SUBSHELL), *tasks, Leave()]
        for other in functions[1:]:
            may_run = context._replace(is_possible=True)
            tasks += [Enter(VariableScope.SUBSHELL), *self._call(other, command, may_run), Leave()]
        self.reading.later(tasks)

    def _call(self, function: Function, command: Command, context: ScriptContext) -> list[Task]:
        """Return the tasks of a function that is called with arguments, and with variables for it alone."""
        body = context.alone()._replace(assignments=command.assignments, source=function.source)
        words = [
            Word(word, is_known=position not in command.unknown)
            for position, word in enumerate(command.arguments, start=1)
        ]
        return [
            FunctionCall(words, command.assignments),
            Visit(function.body, body.within(Inside.FUNCTION)),
            FunctionEnd(),
        ]

    def _feed(self, script: FedScript, context: ScriptContext, command: Command) -> list[Task]:
        """Return the tasks of a script that a shell is given, with the variables of that shell.

        | the script runs in               | variables here, behind it                    |
        |----------------------------------|----------------------------------------------|
        | another shell: `bash -c`         | are as before: that shell cannot change them |
        | this shell: `eval "x=1"`         | are what the script makes of them            |
        | this shell, with an unknown word | may be anything: nobody knows all that runs  |
        | this shell at its end: `trap`    | are as before                                |
        """
        context = context._replace(fed_by=script.by)
        if script.is_powershell:
            self._feed_powershell(script.text, context)
            return []
        visit = self._script_task(script.text, context, command)
        variables = self.reading.variables
        if script.is_own_shell and script.by[-1] != "trap":
            for name, _ in map(_name_and_value, command.assignments):
                variables.doubt(name)
            if not command.unknown:
                return [visit]
            variables.doubt_all()
        inner = self._variables_of(script, command)
        return [Enter(VariableScope.SHELL, inner), visit, Leave()]

    def _variables_of(self, script: FedScript, command: Command) -> Variables:
        """Return the variables that a script begins with: those of its environment, and its arguments.

        `X=1 bash -c 'run $X $1' name a` begins with X as "1", `$0` as "name" and `$1` as "a", and with what is exported.
        """
        if script.is_own_shell:  # a trap, which runs at the end
            variables = self.reading.variables.copy()
            variables.doubt_all()
            return variables
        if command.unknown or other_environment(script.by):
            return Variables()
        variables = self.reading.variables.inherited()
        for name, value in map(_name_and_value, command.assignments):
            variables.assign(name, [Word(value, "$" not in value and "`" not in value)])
            variables.exported.add(name)
        if script.arguments:
            name, *others = (Word(word) for word in script.arguments)
            variables.assign("0", [name])
            variables.set_arguments(others)
        return variables

    def _script_task(self, text: str, context: ScriptContext, command: Command) -> Visit:
        """Return the task of a text that a command runs; the variables of the command are set in it.

        In `X=1 bash -c 'run'` the command `run` has `X=1` before it.
        """
        reading = self.reading
        reading.scripts += 1
        number = SUBSTITUTED if context.script == SUBSTITUTED else reading.scripts
        context_of_script = context.alone()._replace(assignments=command.assignments)
        return self.begin(text, context_of_script.within(Inside.FED)._replace(script=number))

    def _feed_powershell(self, text: str, context: ScriptContext) -> None:
        """Add the commands of a text that PowerShell or cmd runs."""
        context = context.within(Inside.FED)
        self.reading.scripts += 1
        inner = read_powershell(text)
        if inner.is_partial:  # what it runs is not known: neither is what the whole script runs
            raise TooMuchError(inner.why_partial)
        for command in inner.commands:
            self.reading.budget.take_words(command.words)
            renumbered = replace(
                command,
                number=len(self.reading.commands),
                script=self.reading.scripts,
                pipes=context.pipes,
                inside=context.inside,
                fed_by=context.fed_by,
                invocations=invocations_of(command.words, context.fed_by),
            )
            self.reading.keep(renumbered, is_possible=context.is_possible)

    def _piped_into(self, command: Command) -> list[PipedOutput | None]:
        """Return what the pipelines of a command carry to it, and note what it hands on.

        In `echo ls | sh` the first command hands "ls" on, which is carried to the second.
        """
        outputs = self.reading.outputs
        carried = [outputs.get(pipe.pipeline) for pipe in command.pipes]
        for pipe, output in zip(command.pipes, carried, strict=True):
            is_first = pipe.position == 0
            if output is not None or is_first:
                outputs[pipe.pipeline] = output_of(command, output)
        return carried


_RUN_BY_TYPE: Final[dict[str, Callable[[Runner, Node, ScriptContext], None]]] = {
    "command": Runner.run_command,
    "variable_assignment": Runner.run_assignments,
    "variable_assignments": Runner.run_assignments,
    "declaration_command": Runner.run_declaration,
    "unset_command": Runner.run_unset,
    "test_command": Runner.run_test,
    "redirected_statement": Runner.run_redirection_alone,
}


def _name_and_value(assignment: str) -> tuple[str, str]:
    """Return the two sides of `NAME=value`."""
    name, _, value = assignment.partition("=")
    return name, value
