"""What a command does when it runs: what it sets, which function it calls, which script it gives to a shell."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.shell.bounds import TooMuchError
from mcp_reflect.shell.changes import (
    is_value_as_written,
    note_arithmetic,
    note_command,
    note_expansions,
    other_environment,
)
from mcp_reflect.shell.commands import SUBSTITUTED, Command, Inside
from mcp_reflect.shell.fed import FedScript, PipedOutput, fed_scripts, output_of
from mcp_reflect.shell.parser import Node, name_of, text_of
from mcp_reflect.shell.powershell_reader import read_powershell
from mcp_reflect.shell.programs import invocations_of
from mcp_reflect.shell.reading import (
    Enter,
    Function,
    FunctionCall,
    FunctionEnd,
    Leave,
    ScriptPlace,
    ScriptReading,
    Task,
    VariableScope,
    Visit,
)
from mcp_reflect.shell.redirects import with_redirect
from mcp_reflect.shell.variables import Variables, Word
from mcp_reflect.shell.words import text_value, words_of, words_of_all

_REDIRECTS: Final = ("file_redirect", "herestring_redirect", "heredoc_redirect")
_LOCAL: Final = frozenset(("local", "declare", "typeset"))
_EXPORTING: Final = ("export", "-x")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_EXPANDED: Final = frozenset("$`'\"\\*?{~")  # a word of a test with one of these is not resolved


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs the commands of a reading on paper. `begin` parses a script, and returns the task of reading it."""

    reading: ScriptReading
    begin: Callable[[str, ScriptPlace], Visit]

    def run(self, node: Node, place: ScriptPlace) -> None:
        """Add the command of a node, and note what it sets; what it calls or feeds is read next."""
        self.reading.budget.take_step()
        run_node = _RUN_BY_TYPE.get(node.type)
        if run_node is not None:
            run_node(self, node, place)
            note_expansions(place.source[node.start_byte : node.end_byte], self.reading.variables)

    def run_assignments(self, node: Node, place: ScriptPlace) -> None:
        """Run `x=1 y=2`."""
        nodes = node.named_children
        if node.type == "variable_assignment":
            nodes = [node]
        written = [self._assign(assignment, place) for assignment in nodes]
        self.reading.add([], place, written)

    def run_unset(self, node: Node, place: ScriptPlace) -> None:
        """Run `unset x`."""
        words = [Word(part) for part in text_of(node, place.source).split()]
        command = self.reading.add(words, place)
        note_command(command, words, self.reading.variables)

    def run_test(self, node: Node, place: ScriptPlace) -> None:
        """Run `[ … ]` and `[[ … ]]`, which are commands, and `(( … ))`, which is none and may set variables."""
        text = text_of(node, place.source)
        if text.startswith("(("):
            note_arithmetic(text, self.reading.variables)
            return
        parts = text.split()
        self.reading.add([Word(part, not set(part) & _EXPANDED) for part in parts], place)

    def run_redirection_alone(self, _: Node, place: ScriptPlace) -> None:
        """Run `> file`, or a command that begins behind two redirections: `< in > out sort`.

        The parser sees no command in the latter: its words are the extra parts of the place.
        """
        assignments: list[str] = []
        parts = [*place.extra_parts]
        while parts:
            text = text_of(parts[0], place.source)
            if not _ASSIGNMENT.match(text):
                break
            assignments.append(text)
            del parts[0]
        if parts:
            self._run_parts(parts, assignments, place._replace(extra_parts=()))
        else:
            self.reading.add([], place, assignments)

    def run_declaration(self, node: Node, place: ScriptPlace) -> None:
        """Run `export x=1`, `local y`, `declare -i z=2`: note the values, and what is exported or converted."""
        variables = self.reading.variables
        keyword = node.children[0].type
        words = [Word(keyword)]
        names: list[str] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                name = _name_of(child, place.source)
                if keyword in _LOCAL:
                    self.reading.make_local(name)
                words.append(Word(self._declared(keyword, child, place)))
                names.append(name)
            else:
                words += words_of(child, place.source, variables)
                if child.type == "variable_name":
                    name = text_of(child, place.source)
                    names.append(name)
                    self._declare(keyword, name)
        texts = [word.text for word in words]
        if not set(_EXPORTING).isdisjoint(texts) and "-n" not in texts:
            variables.exported.update(names)
        if "-n" in texts and keyword == "export":
            variables.exported.difference_update(names)
        elif not is_value_as_written(texts[1:]):
            for name in names:
                variables.change_otherwise(name)
        words += words_of_all(place.extra_parts, place.source, variables)
        self.reading.add(words, place)

    def _declared(self, keyword: str, node: Node, place: ScriptPlace) -> str:
        """Note an assignment behind `local` or `export`, and return it: `x=1`. Outside of a function `local` sets nothing."""
        if keyword == "local" and not self.reading.frames:
            return written_assignment(node, place.source, self.reading.variables)
        return self._assign(node, place)

    def _declare(self, keyword: str, name: str) -> None:
        """Note `local x` without a value: in a function it is a new variable."""
        if keyword in _LOCAL and self.reading.frames:
            self.reading.make_local(name)
            self.reading.variables.unset(name)

    def _assign(self, node: Node, place: ScriptPlace) -> str:
        """Note an assignment, and return it as it is written."""
        variables = self.reading.variables
        name = _name_of(node, place.source)
        value = node.child_by_field_name("value")
        is_list = value is not None and value.type == "array"
        words = [Word("")]
        variables.asked.clear()
        if value is not None and is_list:
            words = words_of_all(value.named_children, place.source, variables)
        elif value is not None:
            words = [text_value(value, place.source, variables)]
        possible_values: list[str] = []
        if not is_list:
            possible_values = self._possible_values(value, place)
        if "[" in name:
            variables.assign_element(name, words[0])
        elif any(child.type == "+=" for child in node.children):
            variables.append(name, words, is_list=is_list)
        else:
            variables.assign(name, words, is_list=is_list)
            if possible_values:
                variables.may_be(name, possible_values)
        return written_assignment(node, place.source, variables)

    def _possible_values(self, value: Node | None, place: ScriptPlace) -> list[str]:
        """Return the values that an assignment may give, where one of its variables may have several.

        With `x` "a" or "b", `y=--$x` may give "--a" or "--b".
        """
        variables = self.reading.variables
        names_with_candidates = tuple(variables.asked)
        if value is None or not names_with_candidates:
            return []
        texts: list[str] = []
        for possible_variables in list(variables.possible(names_with_candidates)):
            self.reading.budget.take_step()
            word = text_value(value, place.source, possible_variables)
            if word.is_known:
                texts.append(word.text)
        return texts

    def run_plain_command(self, text: str, place: ScriptPlace) -> None:
        """Run a command whose words are as they are written."""
        words = [*map(Word, text.split())]
        command = self.reading.add(words, place)
        note_command(command, words, self.reading.variables)
        self._follow(command, place)

    def run_command(self, node: Node, place: ScriptPlace) -> None:
        """Run a program, a function, or a command of the shell's own."""
        assignments: list[str] = []
        parts: list[Node] = []
        variables = self.reading.variables
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(written_assignment(child, place.source, variables))
            elif child.type in _REDIRECTS:
                place = with_redirect(place, child, [], variables)
            elif child.is_named:
                parts.append(child)
        self._run_parts([*parts, *place.extra_parts], assignments, place)

    def _run_parts(
        self, parts: Sequence[Node], assignments: Sequence[str], place: ScriptPlace
    ) -> None:
        """Run the command of some words, which are not yet expanded."""
        variables = self.reading.variables
        variables.asked.clear()
        words = words_of_all(parts, place.source, variables)
        names_with_candidates = tuple(variables.asked)
        command = self.reading.add(words, place, assignments)
        note_command(command, words, variables)
        self._follow(command, place)
        if names_with_candidates and not place.is_possible:
            self._run_possible(parts, place, [*variables.possible(names_with_candidates)], command)

    def _run_possible(
        self,
        parts: Sequence[Node],
        place: ScriptPlace,
        possible: Sequence[Variables],
        command: Command,
    ) -> None:
        """Add the command with each of the values that its variables may have, for who asks what may run."""
        place = place._replace(is_possible=True)
        words_seen = {command.words}
        for variables in possible:
            self.reading.budget.take_step()
            words = words_of_all(parts, place.source, variables)
            texts = tuple(word.text for word in words)
            if texts in words_seen:
                continue
            words_seen.add(texts)
            self._follow(self.reading.add(words, place, command.assignments), place)

    def _follow(self, command: Command, place: ScriptPlace) -> None:
        """Read next what a command calls: a function, an alias, the text that it gives to a shell."""
        reading, name = self.reading, command.program
        if name == "alias":
            for word in command.arguments:
                alias, equal, value = word.partition("=")
                if equal:
                    reading.define_alias(alias, value)
        elif name in reading.aliases and name not in place.called:
            text = f"{reading.aliases[name]} {shlex.join(command.arguments)}"
            place_of_alias = place._replace(called=place.called | {name})
            reading.later([self._script_task(text, place_of_alias, command)])
        elif name in reading.functions:
            self._call_all(reading.functions[name], command, place)
        else:
            scripts = list(fed_scripts(command, self._piped_into(command)))
            tasks: list[Task] = []
            for script in scripts:
                tasks += self._feed(script, place, command)
            reading.later(tasks)

    def _call_all(
        self, functions: Sequence[Function], command: Command, place: ScriptPlace
    ) -> None:
        """Read a function where it is called; of several by its name (defined in branches) the latest, as what runs.

        The others may run instead: their commands are kept apart as possible, and what they set is forgotten behind
        them.
        """
        tasks = self._call(functions[0], command, place)
        if place.is_possible:
            tasks = [Enter(VariableScope.SUBSHELL), *tasks, Leave()]
        for other in functions[1:]:
            may_run = place._replace(is_possible=True)
            tasks += [Enter(VariableScope.SUBSHELL), *self._call(other, command, may_run), Leave()]
        self.reading.later(tasks)

    def _call(self, function: Function, command: Command, place: ScriptPlace) -> list[Task]:
        """Return the tasks of a function that is called with arguments, and with variables for it alone."""
        body = place.alone()._replace(assignments=command.assignments, source=function.source)
        words = [
            Word(word, is_known=position not in command.unknown)
            for position, word in enumerate(command.arguments, start=1)
        ]
        return [
            FunctionCall(words, command.assignments),
            Visit(function.body, body.within(Inside.FUNCTION)),
            FunctionEnd(),
        ]

    def _feed(self, script: FedScript, place: ScriptPlace, command: Command) -> list[Task]:
        """Return the tasks of a script that a shell is given, with the variables of that shell.

        A shell of its own (`bash -c`) cannot change the variables here. The own shell (`eval`) does: they stay as they
        are, unless a word of the command is not known, so that nobody knows all that runs.
        """
        place = place._replace(fed_by=script.by)
        if script.is_powershell:
            self._feed_powershell(script.text, place)
            return []
        visit = self._script_task(script.text, place, command)
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
        """Return the variables that a script begins with: those of its environment, and its arguments."""
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

    def _script_task(self, text: str, place: ScriptPlace, command: Command) -> Visit:
        """Return the task of a text that a command runs; the variables of the command are set in it.

        In `X=1 bash -c 'run'` the command `run` has `X=1` before it.
        """
        reading = self.reading
        reading.scripts += 1
        number = SUBSTITUTED if place.script == SUBSTITUTED else reading.scripts
        place_of_script = place.alone()._replace(assignments=command.assignments)
        return self.begin(text, place_of_script.within(Inside.FED)._replace(script=number))

    def _feed_powershell(self, text: str, place: ScriptPlace) -> None:
        """Add the commands of a text that PowerShell or cmd runs."""
        place = place.within(Inside.FED)
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
                pipes=place.pipes,
                inside=place.inside,
                fed_by=place.fed_by,
                invocations=invocations_of(command.words, place.fed_by),
            )
            self.reading.keep(renumbered, is_possible=place.is_possible)

    def _piped_into(self, command: Command) -> list[PipedOutput | None]:
        """Return what the pipelines of a command carry to it, and note what it hands on.

        In `echo ls | sh` the first command hands "ls" on, which is carried to the second.
        """
        outputs = self.reading.outputs
        carried = [outputs.get(pipe.pipeline) for pipe in command.pipes]
        for pipe, output in zip(command.pipes, carried, strict=True):
            if output is not None or not pipe.place:
                outputs[pipe.pipeline] = output_of(command, output)
        return carried


_RUN_BY_TYPE: Final[dict[str, Callable[[Runner, Node, ScriptPlace], None]]] = {
    "command": Runner.run_command,
    "variable_assignment": Runner.run_assignments,
    "variable_assignments": Runner.run_assignments,
    "declaration_command": Runner.run_declaration,
    "unset_command": Runner.run_unset,
    "test_command": Runner.run_test,
    "redirected_statement": Runner.run_redirection_alone,
}


def _name_of(node: Node, source: bytes) -> str:
    """Return the name that an assignment or a declaration sets."""
    return name_of(node, "name", source)


def _name_and_value(assignment: str) -> tuple[str, str]:
    """Return the two sides of `NAME=value`."""
    name, _, value = assignment.partition("=")
    return name, value


def written_assignment(node: Node, source: bytes, variables: Variables) -> str:
    """Return an assignment without quotes: `x=a b` for `x="a b"`. A list stays as it is written: `x=(a "b c")`."""
    name, value = _name_of(node, source), node.child_by_field_name("value")
    if value is None:
        return f"{name}="
    if value.type == "array":
        return f"{name}={text_of(value, source)}"
    return f"{name}={text_value(value, source, variables).text}"
