"""Reads a script of bash into commands: one walk over the tree of the parser, with a stack in place of recursion.

A function or an alias is only noted where it is defined, and read where it is called. What a command feeds to a shell
(`bash -c`, `eval`, a here-document) is parsed and read right after it. Every loop takes from one of the budgets of
`_Budget`, so that a small script cannot become a large reading.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mcp_reflect.shell.commands import (
    SUBSTITUTED,
    Command,
    Inside,
    PipePlace,
    Redirection,
    Script,
)
from mcp_reflect.shell.fed import Output, fed_scripts, output_of
from mcp_reflect.shell.parser import Node, descendants, parse, text_of
from mcp_reflect.shell.powershell_reader import read_powershell
from mcp_reflect.shell.programs import invocations_of
from mcp_reflect.shell.unread import words_that_may_run
from mcp_reflect.shell.words import Variables, Word, raw_value, source_of, text_value, words_of

MOST_CHARS: Final = 64_000
"""Characters of a script that are read; here-documents that no shell reads do not count."""

MOST_COMMANDS: Final = 2_000
MOST_DEPTH: Final = 40

_MOST_WORD_CHARS: Final = 256_000  # of all words together, after expansion
_MOST_STEPS: Final = 60_000  # of the walk: some four for a command

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
_BLOCKS: Final = (
    frozenset(
        ("program", "do_group", "elif_clause", "else_clause", "case_item", "command_substitution")
    )
    | _INSIDE.keys()
    | {"process_substitution"}
)
_OPERATORS: Final = frozenset(("&&", "||", "|", "|&"))
_STATEMENTS: Final = frozenset(
    (
        "command declaration_command unset_command test_command redirected_statement list pipeline "
        "negated_command variable_assignment variable_assignments function_definition"
    ).split()
)
_UNCERTAIN: Final = frozenset((Inside.IF, Inside.LOOP, Inside.CASE))
_DECLARING: Final = frozenset("export declare local readonly typeset".split())
_EXPANDED: Final = frozenset("$`'\"\\*?{~")  # a word of a test with one of these is not resolved
_CONTINUING: Final = ("pipeline", "&&", "||")  # what may stand behind `<<EOF` on its line


class _TooMuchError(Exception):
    """The reading is given up; the text says why."""


@dataclass(slots=True)
class _Budget:
    """What is left of the bounds of one reading."""

    chars: int = MOST_CHARS
    word_chars: int = _MOST_WORD_CHARS
    steps: int = _MOST_STEPS

    def take_text(self, chars: int) -> None:
        self.chars -= chars
        if self.chars < 0:
            raise _TooMuchError(f"it is longer than {MOST_CHARS // 1000} kB")

    def take_words(self, words: Sequence[str]) -> None:
        self.word_chars -= sum(map(len, words)) + len(words)
        if self.word_chars < 0:
            raise _TooMuchError("its variables grow too large")

    def take_step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise _TooMuchError("its functions run too often")


class _Place(NamedTuple):
    """Where the walk is: what every command that is read here has in common."""

    source: bytes
    before: str = ""
    is_background: bool = False
    is_negated: bool = False
    is_certain: bool = True
    pipes: tuple[PipePlace, ...] = ()
    inside: tuple[Inside, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    document: str = ""
    extra_words: tuple[Word, ...] = ()
    assignments: tuple[str, ...] = ()
    script: int = 0
    fed_by: tuple[str, ...] = ()
    called: frozenset[str] = frozenset()
    depth: int = 0

    def within(self, inside: Inside) -> "_Place":
        """Return the place of what stands in a structure here."""
        if self.depth >= MOST_DEPTH:
            raise _TooMuchError(f"it is deeper than {MOST_DEPTH} levels")
        certain = self.is_certain and inside not in _UNCERTAIN
        return self._replace(
            inside=(*self.inside, inside), depth=self.depth + 1, is_certain=certain
        )

    def alone(self) -> "_Place":
        """Return the place without what belongs to one command only."""
        return self._replace(redirections=(), document="", extra_words=())


class _Visit(NamedTuple):
    """A node that is to be read."""

    node: Node
    place: _Place


class _Emit(NamedTuple):
    """A command whose substitutions have been read: now it runs."""

    node: Node
    place: _Place


class _Return(NamedTuple):
    """The end of a function: the arguments of its caller are back."""

    arguments: str | None


@dataclass(frozen=True, slots=True)
class _Function:
    body: Node
    source: bytes


_Task = _Visit | _Emit | _Return


@dataclass(slots=True)
class _Reader:
    budget: _Budget = field(default_factory=_Budget)
    commands: list[Command] = field(default_factory=list[Command])
    variables: Variables = field(default_factory=lambda: Variables({}))
    functions: dict[str, _Function] = field(default_factory=dict[str, _Function])
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    outputs: dict[int, Output] = field(default_factory=dict[int, Output])  # by pipeline
    tasks: list[_Task] = field(default_factory=list["_Task"])
    pipelines: int = 0
    scripts: int = 0

    def read(self, text: str) -> None:
        """Read a script, and what it feeds to shells."""
        self._begin(text, _Place(b""))
        while self.tasks:
            self.budget.take_step()
            task = self.tasks.pop()
            if isinstance(task, _Visit):
                self._visit(task.node, task.place)
            elif isinstance(task, _Emit):
                self._emit(task.node, task.place)
            else:
                self.variables.values["@"] = task.arguments

    def _begin(self, text: str, place: _Place) -> None:
        source = source_of(text)
        tree = parse(source)
        if tree is None:
            raise _TooMuchError("it takes the parser too long")
        if tree.root_node.has_error:
            raise _TooMuchError("it is not a script that the parser understands")
        documents = _document_chars(tree.root_node) if "<<" in text else 0
        self.budget.take_text(len(text) - documents)
        self.tasks.append(_Visit(tree.root_node, place._replace(source=source)))

    # What a node is

    def _visit(self, node: Node, place: _Place) -> None:
        kind = node.type
        if kind in _BLOCKS:
            self._block(node, place)
        elif kind == "list":
            self._list(node, place)
        elif kind == "pipeline":
            self._pipeline([one for one in node.children if one.is_named], node, place)
        elif kind == "redirected_statement":
            self._redirected(node, place)
        elif kind == "negated_command":
            self._later([_Visit(node.named_children[-1], place._replace(is_negated=True))])
        elif kind == "function_definition":
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            if name is not None and body is not None:
                self.functions[text_of(name, place.source)] = _Function(body, place.source)
        elif inner := list(self._substitutions(node, place)):
            self._later([*inner, _Emit(node, place)])
        else:
            self._emit(node, place)

    def _later(self, tasks: Sequence[_Task]) -> None:
        self.tasks.extend(reversed(tasks))

    def _substitutions(self, node: Node, place: _Place) -> Iterator[_Visit]:
        """Yield what stands in `$(…)`, `` `…` `` and `<(…)` of a node: it runs before the command."""
        text = place.source[node.start_byte : node.end_byte]
        if not (b"$(" in text or b"`" in text or b"<(" in text or b">(" in text):
            return
        inner = place.alone()._replace(before="(", pipes=(), script=SUBSTITUTED, assignments=())
        for found in descendants(node, _SUBSTITUTIONS, _NOT_RUN):
            self.budget.take_step()
            yield _Visit(found, inner.within(Inside.SUBSTITUTION))

    def _block(self, node: Node, place: _Place) -> None:
        """Read the statements of a block one after the other."""
        kind = node.type
        if kind in _INSIDE:
            place = place.within(_INSIDE[kind])
        tasks: list[_Task] = []
        before = place.before
        if kind == "for_statement":
            self._later(self._loop_over(node, place))
            return
        children = node.children
        for at, child in enumerate(children):
            if not child.is_named:
                continue
            if child.type not in _STATEMENTS and child.type not in _BLOCKS:
                tasks += self._substitutions(child, place)
                continue
            follower = children[at + 1].type if at + 1 < len(children) else ""
            own = place._replace(before=before)
            tasks.append(
                _Visit(child, own._replace(is_background=True) if follower == "&" else own)
            )
            before = "&" if follower == "&" else ";"
        self._later(tasks)

    def _loop_over(self, node: Node, place: _Place) -> list[_Task]:
        """Read a loop over words. Its variable is known if there is one word."""
        name = node.child_by_field_name("variable")
        values = node.children_by_field_name("value")
        words = [word for one in values for word in words_of(one, place.source, self.variables)]
        if name is not None:
            variable = text_of(name, place.source)
            if len(words) == 1 and words[0].is_known:
                self.variables.assign(variable, words, is_certain=True)
            else:
                self.variables.forget(variable)
        tasks: list[_Task] = [task for one in values for task in self._substitutions(one, place)]
        body = node.child_by_field_name("body")
        return [*tasks, _Visit(body, place)] if body is not None else tasks

    def _list(self, node: Node, place: _Place) -> None:
        """Read `a && b`: redirections behind it belong to its last command."""
        children = node.children
        tasks: list[_Task] = []
        first = next((at for at, one in enumerate(children) if one.is_named), 0)
        for at, child in enumerate(children):
            if not child.is_named:
                continue
            own = place if at == len(children) - 1 else place.alone()
            if at > first:
                own = own._replace(before=children[at - 1].type, is_certain=False)
            tasks.append(_Visit(child, own))
        self._later(tasks)

    def _pipeline(self, parts: Sequence[Node], node: Node, place: _Place) -> None:
        """Read `a | b`: redirections behind it belong to its last command."""
        operators = [one.type for one in node.children if not one.is_named] or ["|"]
        self.pipelines += 1
        tasks: list[_Task] = []
        for at, part in enumerate(parts):
            own = place if at == len(parts) - 1 else place.alone()
            own = own._replace(pipes=(*place.pipes, PipePlace(self.pipelines, at)))
            if at:
                operator = operators[min(at - 1, len(operators) - 1)]
                own = own._replace(before=operator, is_certain=False)
            tasks.append(_Visit(part, own))
        self._later(tasks)

    def _redirected(self, node: Node, place: _Place) -> None:
        """Read a statement with its redirections, and what stands behind `<<` on the same line."""
        body = node.child_by_field_name("body")
        tasks: list[_Task] = []
        rest: list[Node] = []
        for redirect in node.children_by_field_name("redirect"):
            tasks += self._substitutions_of_redirect(redirect, place)
            place = self._with_redirect(place, redirect, rest)
        if body is None:
            self._later([*tasks, _Emit(node, place)])
            return
        self._later([*tasks, *self._with_rest(body, rest, place)])

    def _substitutions_of_redirect(self, redirect: Node, place: _Place) -> Iterator[_Visit]:
        if redirect.type != "heredoc_redirect":
            yield from self._substitutions(redirect, place)
            return
        for child in redirect.named_children:
            if child.type in ("heredoc_body", "file_redirect"):
                yield from self._substitutions(child, place)

    def _with_redirect(self, place: _Place, redirect: Node, rest: list[Node]) -> _Place:
        """Return the place with a redirection; what runs behind `<<EOF` on its line is added to `rest`."""
        if redirect.type == "file_redirect":
            found = _file_redirection(redirect, place.source, self.variables)
            return place._replace(redirections=(*place.redirections, *found))
        if redirect.type == "herestring_redirect":
            value = text_value(redirect.named_children[-1], place.source, self.variables)
            return place._replace(
                redirections=(*place.redirections, Redirection("<<<", value.text)),
                document=_joined(place.document, value.text),
            )
        for child in redirect.children:
            if child.type == "file_redirect":
                place = self._with_redirect(place, child, rest)
            elif child.type == "heredoc_body":
                text = _document(redirect, child, place.source, self.variables)
                place = place._replace(
                    redirections=(*place.redirections, Redirection("<<", "")),
                    document=_joined(place.document, text),
                )
            elif child.type in _CONTINUING or (rest and rest[-1].type in _CONTINUING[1:]):
                rest.append(child)
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
                words = words_of(child, place.source, self.variables)
                place = place._replace(extra_words=(*place.extra_words, *words))
        return place

    def _with_rest(self, body: Node, rest: list[Node], place: _Place) -> list[_Task]:
        """Return the tasks of `body <<EOF | rest` and `body <<EOF && rest`."""
        tasks: list[_Task] = []
        if rest and rest[0].type == "pipeline":
            self.pipelines += 1
            places = [*place.pipes, PipePlace(self.pipelines, 0)]
            tasks.append(_Visit(body, place._replace(pipes=tuple(places))))
            for at, part in enumerate((one for one in rest[0].children if one.is_named), start=1):
                pipes = (*place.pipes, PipePlace(self.pipelines, at))
                own = place.alone()._replace(before="|", pipes=pipes, is_certain=False)
                tasks.append(_Visit(part, own))
            rest = rest[1:]
        else:
            tasks.append(_Visit(body, place))
        if len(rest) > 1:
            own = place.alone()._replace(before=rest[0].type, is_certain=False)
            tasks.append(_Visit(rest[1], own))
        return tasks

    # What a command does

    def _emit(self, node: Node, place: _Place) -> None:
        """Add a command; what it defines is noted, and what it calls or feeds comes next."""
        kind = node.type
        if kind == "command":
            self._emit_command(node, place)
        elif kind in ("variable_assignment", "variable_assignments"):
            nodes = [node] if kind == "variable_assignment" else node.named_children
            written = [self._assign(one, place) for one in nodes]
            self._add([], place, assignments=written)
        elif kind == "declaration_command":
            self._emit_declaration(node, place)
        elif kind == "unset_command":
            for one in node.named_children:
                self.variables.forget(text_of(one, place.source))
            self._add([Word(part) for part in text_of(node, place.source).split()], place)
        elif kind == "test_command":
            text = text_of(node, place.source)
            if not text.startswith("(("):
                parts = text.split()
                self._add([Word(part, not set(part) & _EXPANDED) for part in parts], place)
        elif kind == "redirected_statement":
            self._add([], place)

    def _emit_declaration(self, node: Node, place: _Place) -> None:
        words = [Word(node.children[0].type)]
        for one in node.named_children:
            if one.type == "variable_assignment":
                words.append(Word(self._assign(one, place)))
            else:
                words += words_of(one, place.source, self.variables)
        self._add([*words, *place.extra_words], place)

    def _emit_command(self, node: Node, place: _Place) -> None:
        words: list[Word] = []
        assignments: list[str] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(_written_assignment(child, place.source, self.variables))
            elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                place = self._with_redirect(place, child, [])
            elif child.is_named:
                words += words_of(child, place.source, self.variables)
        command = self._add([*words, *place.extra_words], place, assignments=assignments)
        self._note_settings(command, [*words, *place.extra_words], place)
        self._follow(command, place)

    def _assign(self, node: Node, place: _Place) -> str:
        """Note an assignment, and return it as it is written."""
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = text_of(name_node, place.source) if name_node is not None else ""
        certain = place.is_certain
        if any(one.type == "+=" for one in node.children):
            self._append(name, value, place)
        elif value is not None and value.type == "array":
            words = [
                word
                for one in value.named_children
                for word in words_of(one, place.source, self.variables)
            ]
            self.variables.assign(name, words, is_certain=certain, is_list=True)
        else:
            word = (
                text_value(value, place.source, self.variables) if value is not None else Word("")
            )
            self.variables.assign(name, [word], is_certain=certain)
        return _written_assignment(node, place.source, self.variables)

    def _append(self, name: str, value: Node | None, place: _Place) -> None:
        """Note `x+=y`; a list that grows is not known any more."""
        former = self.variables.values.get(name)
        if value is None or value.type == "array" or former is None:
            self.variables.forget(name)
            self.variables.forget(f"{name}[@]")
            return
        word = text_value(value, place.source, self.variables)
        joined = Word(former + word.text, word.is_known)
        self.variables.assign(name, [joined], is_certain=place.is_certain)

    def _add(
        self, words: Sequence[Word], place: _Place, *, assignments: Sequence[str] = ()
    ) -> Command:
        if len(self.commands) >= MOST_COMMANDS:
            raise _TooMuchError(f"it has more than {MOST_COMMANDS:,} commands")
        texts = tuple(word.text for word in words) or ("",)
        self.budget.take_words((*texts, *assignments, place.document))
        command = Command(
            number=len(self.commands),
            words=texts,
            unknown=frozenset(at for at, word in enumerate(words) if not word.is_known),
            assignments=(*place.assignments, *assignments),
            redirections=place.redirections,
            document=place.document,
            before=place.before,
            is_background=place.is_background,
            is_negated=place.is_negated,
            pipes=place.pipes,
            inside=place.inside,
            script=place.script,
            fed_by=place.fed_by,
            invocations=invocations_of(texts, place.fed_by),
        )
        self.commands.append(command)
        return command

    def _note_settings(self, command: Command, words: Sequence[Word], place: _Place) -> None:
        """Note what `alias`, `set -- …` and `read` define."""
        if command.program == "alias":
            for word in command.arguments:
                name, equal, value = word.partition("=")
                if equal:
                    self.aliases[name] = value
        elif command.words[:2] == ("set", "--"):
            self.variables.assign("@", list(words[2:]), is_certain=place.is_certain)
        elif command.program == "read":
            for word in command.arguments:
                self.variables.forget(word)

    def _follow(self, command: Command, place: _Place) -> None:
        """Read next what a command calls: a function, an alias, the text that it gives to a shell."""
        name = command.program
        if name in self.aliases and name not in place.called:
            text = f"{self.aliases[name]} {shlex.join(command.arguments)}"
            self._feed(text, place._replace(called=place.called | {name}), command)
        elif name in self.functions:
            self._call(self.functions[name], command, place)
        else:
            self._feed_all(command, place)

    def _feed_all(self, command: Command, place: _Place) -> None:
        """Read the scripts that a command gives to shells, the first of them first."""
        scripts = list(fed_scripts(command, self._piped_into(command)))
        for script in reversed(scripts):
            own = place._replace(fed_by=script.by)
            if script.is_powershell:
                self._feed_powershell(script.text, own)
            else:
                self._feed(script.text, own, command)

    def _feed_powershell(self, text: str, place: _Place) -> None:
        """Add the commands of a text that PowerShell or cmd runs."""
        place = place.within(Inside.FED)
        self.scripts += 1
        inner = read_powershell(text)
        if inner.is_partial:  # what it runs is not known: neither is what the whole script runs
            raise _TooMuchError(inner.why_partial)
        for command in inner.commands:
            if len(self.commands) >= MOST_COMMANDS:
                raise _TooMuchError(f"it has more than {MOST_COMMANDS:,} commands")
            self.budget.take_words(command.words)
            own = replace(
                command,
                number=len(self.commands),
                script=self.scripts,
                pipes=place.pipes,
                inside=place.inside,
                fed_by=place.fed_by,
                invocations=invocations_of(command.words, place.fed_by),
            )
            self.commands.append(own)

    def _piped_into(self, command: Command) -> list[Output | None]:
        """Return what the pipelines of a command carry to it, and note what it hands on."""
        carried = [self.outputs.get(pipe.pipeline) for pipe in command.pipes]
        for pipe, output in zip(command.pipes, carried, strict=True):
            if output is not None or not pipe.place:
                self.outputs[pipe.pipeline] = output_of(command, output)
        return carried

    def _call(self, function: _Function, command: Command, place: _Place) -> None:
        """Read a function where it is called, with the arguments of the call."""
        place = place.alone()._replace(assignments=command.assignments)
        arguments = [
            Word(word, at + 1 not in command.unknown) for at, word in enumerate(command.arguments)
        ]
        self._later(
            [
                _Visit(
                    function.body, place.within(Inside.FUNCTION)._replace(source=function.source)
                ),
                _Return(self.variables.values.get("@")),
            ]
        )
        self.variables.assign("@", arguments, is_certain=True)
        for at, word in enumerate(arguments[:9], start=1):
            self.variables.assign(str(at), [word], is_certain=True)

    def _feed(self, text: str, place: _Place, command: Command) -> None:
        """Read a text that a command runs; the variables of the command are set in it."""
        place = place.alone()._replace(assignments=command.assignments)
        self.scripts += 1
        number = SUBSTITUTED if place.script == SUBSTITUTED else self.scripts
        self._begin(text, place.within(Inside.FED)._replace(script=number))


def _written_assignment(node: Node, source: bytes, variables: Variables) -> str:
    """Return `NAME=value` without quotes."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    written = text_of(name, source) if name is not None else ""
    if value is None:
        return f"{written}="
    text = (
        text_of(value, source)
        if value.type == "array"
        else text_value(value, source, variables).text
    )
    return f"{written}={text}"


def _file_redirection(node: Node, source: bytes, variables: Variables) -> Iterator[Redirection]:
    descriptor = node.child_by_field_name("descriptor")
    operator = next((one.type for one in node.children if not one.is_named), ">")
    for target in node.children_by_field_name("destination"):
        yield Redirection(
            operator,
            text_value(target, source, variables).text,
            text_of(descriptor, source) if descriptor is not None else "",
        )


def _document(redirect: Node, body: Node, source: bytes, variables: Variables) -> str:
    """Return the text of a here-document; under a quoted name nothing in it is expanded."""
    start = next((one for one in redirect.children if one.type == "heredoc_start"), None)
    if start is not None and set("'\"\\") & set(text_of(start, source)):
        return raw_value(body, source)
    return text_value(body, source, variables).text


def _joined(one: str, other: str) -> str:
    return f"{one}\n{other}" if one else other


def _document_chars(root: Node) -> int:
    """Return how many characters of a script stand in here-documents; those that a shell reads are counted when it does."""
    bodies = descendants(root, frozenset(("heredoc_body",)), frozenset())
    return sum(body.end_byte - body.start_byte for body in bodies)


def read_bash(text: str) -> Script:
    """Return the commands of a script, or a partial reading that says why there are none."""
    reader = _Reader()
    try:
        reader.read(text)
    except _TooMuchError as fault:
        return Script((), str(fault), words_that_may_run(text))
    return Script(tuple(reader.commands))
