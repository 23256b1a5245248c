"""What a command gives to a shell as a script: `bash -c '…'`, `eval …`, a here-document, what is piped into `sh`."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Final

from mcp_reflect.shell.commands import Command
from mcp_reflect.shell.options import Option, read_option
from mcp_reflect.shell.programs import Invocation
from mcp_reflect.shell.tables import options_with_scripts, words_of_table

_MOST_SUBCOMMANDS: Final = 2  # before an option with a script: `gcloud compute ssh`
_SHELLS: Final = words_of_table("shells")
_POWERSHELLS: Final = words_of_table("PowerShell and cmd")
_COMMAND_FLAGS: Final = frozenset(("-c", "-command", "--command", "/c", "/k"))
_JOINING: Final = words_of_table("programs that join their words to a script")  # ssh
_ONE_WORD: Final = words_of_table("programs whose only word is a script")  # tmux
_READING: Final = words_of_table("programs that read a script where they start nothing")  # ssh, su
_IN_OWN_SHELL: Final = frozenset(("eval", "trap", "source", "."))
_LOGIN: Final = frozenset(("-i", "-s", "--login", "--shell"))  # options of sudo that start a shell
_SCRIPTS_AS_WORDS: Final = words_of_table("programs whose words are scripts")  # parallel
# What may give a script to a shell. A program that another starts may do so by any name: `docker exec web 'a b'`.
_FEEDING: Final = (
    _SHELLS
    | _POWERSHELLS
    | _JOINING
    | _ONE_WORD
    | _READING
    | _SCRIPTS_AS_WORDS
    | _IN_OWN_SHELL
    | frozenset(("xargs", "sudo"))
)
_OPTIONS_OF_SHELLS: Final = frozenset(("-o", "-O", "+o", "+O", "--rcfile", "--init-file"))
_INPUTS: Final = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_MARKS_OF_INPUTS: Final = (":::", ":::+")
"""Stand between the command that `parallel` runs and the inputs with which it runs it."""

_ECHO: Final = frozenset(("echo", "printf"))
_CONVERSION: Final = re.compile(r"%[-+ #0]{0,5}\d{0,9}(?:\.\d{0,9})?[a-zA-Z]")
_ECHO_FLAGS: Final = frozenset(("-n", "-e", "-E", "-ne", "-en", "--"))
_PASSING: Final = frozenset(("cat", "tee"))
_END_OF_WORD: Final = "\\0"
_SIGNS_OF_SCRIPTS: Final = frozenset(" \t\n;&|<>()$`")


@dataclass(frozen=True, slots=True)
class PipedOutput:
    """What a pipeline carries so far: the text, empty if it is not known."""

    text: str


@dataclass(frozen=True, slots=True)
class FedScript:
    """The text that a shell runs, and the programs that start that shell.

    `by` names them from the outside to the inside, the shell last: `("sudo", "bash")`. `arguments` are what `$0`, `$1` …
    are in it. With `is_own_shell` it runs in the shell that reads the command (`eval`), so that variables are the same
    before, in and after it.
    """

    text: str
    by: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    is_powershell: bool = False
    is_own_shell: bool = False


def output_of(command: Command, before: PipedOutput | None) -> PipedOutput:
    """Return what a command hands on in its pipeline, as far as that can be seen without running it.

    `before` is what the pipeline carries to the command, None for its first one. `echo -n rm x` and
    `printf 'rm %s' x` hand on "rm x", `cat` and `tee` what they are given, and any other command the empty text: what it
    prints is not known.
    """
    name = ""
    if command.invocations:
        name = command.invocations[-1].name
    if name in _ECHO:
        words = command.arguments
        while words[:1] and words[0] in _ECHO_FLAGS:
            words = words[1:]
        if name == "printf" and words:
            return PipedOutput(printed(words[0], words[1:]))
        return PipedOutput(" ".join(words).replace("\\n", "\n"))
    if name in _PASSING and command.document:
        return PipedOutput(command.document)
    if name in _PASSING and before is not None:
        return before
    return PipedOutput("")


def printed(form: str, words: Sequence[str]) -> str:
    """Return what printf prints of its format `form` and of words: `("%s=%s;", ["a", "1", "b"])` gives "a=1;b=;".

    The format is used again until no word is left. Each conversion, such as `%s` or `%03d`, is taken to print its word
    as it is written.
    """
    first_text, *next_texts = _CONVERSION.split(form.replace("\\n", "\n"))
    words_a_turn = len(next_texts)
    if not words_a_turn:
        return first_text
    parts: list[str] = []
    for start in range(0, max(len(words), 1), words_a_turn):
        words_of_turn = words[start : start + words_a_turn]
        parts.append(first_text)
        for word, next_text in zip_longest(words_of_turn, next_texts, fillvalue=""):
            parts += (word, next_text)
    return "".join(parts)


def fed_scripts(command: Command, piped: Sequence[PipedOutput | None]) -> Iterator[FedScript]:
    """Yield the scripts that a command gives to shells: `rm x` for `bash -c 'rm x'`, and for `sh` in `echo rm x | sh`.

    `piped` is what its pipelines carry to it. Of pipelines within each other the innermost decides.
    """
    carried_text = ""
    for output in piped:
        if output is not None and output.text:
            carried_text = output.text
    input_text = command.document or carried_text
    for invocation in command.invocations:
        if invocation.wrappers or invocation.name in _FEEDING:
            script = _fed_by(invocation, input_text)
            if script is not None:
                yield script
                return  # what stands behind it is in the script
        if invocation.name in _programs_with_options():
            yield from _of_option(invocation)


@lru_cache(maxsize=1)
def _programs_with_options() -> frozenset[str]:
    """Return the programs that have an option whose value is a script."""
    return frozenset(name.partition(" ")[0] for name in options_with_scripts())


def _fed_by(invocation: Invocation, input_text: str) -> FedScript | None:
    """Return the script that one program gives to a shell, None if it gives none; the first row that fits decides.

    `input_text` is what the program reads as its input, empty if there is none or it is not known.

    | the program                             | the script                                   |
    |-----------------------------------------|----------------------------------------------|
    | PowerShell, cmd                         | what stands behind `-Command` or `/c`        |
    | a shell: `bash`                         | that of `-c`, else its input                 |
    | `xargs rm`, with an input that is known | `rm` with the words of the input             |
    | `eval`, `trap`, `source /dev/stdin`     | its words, or its input, for this very shell |
    | joins its words to one: `ssh host 'ls'` | these words                                  |
    | starts a shell, and nothing else: `ssh` | its input                                    |
    """
    name = invocation.name
    by = (*invocation.wrappers, name)
    if name in _POWERSHELLS:
        text = _behind_command_flag(invocation.arguments)
        if not text:
            return None
        return FedScript(text, by, is_powershell=True)
    if name in _SHELLS:
        return _of_shell(read_shell_call(invocation.arguments), input_text, by)
    if name == "xargs" and input_text and invocation.inner:
        return FedScript(_with_input(invocation.inner, _words_of_input(input_text)), by)
    if name in _IN_OWN_SHELL:
        return _of_own_shell(invocation, input_text, by)
    text = _of_words(invocation)
    if not text and not invocation.inner and _starts_shell(invocation):
        text = input_text
    if not text:
        return None
    return FedScript(text, by)


def _of_own_shell(invocation: Invocation, input_text: str, by: tuple[str, ...]) -> FedScript | None:
    """Return what `eval`, `trap` and `source /dev/stdin` run in the shell that reads them, None for nothing.

    `eval "rm $x"` runs its words, `trap 'rm x' EXIT` its first one, `source /dev/stdin` and `. /dev/stdin` their input.
    """
    name, words = invocation.name, invocation.arguments
    text = ""
    if name == "eval":
        text = " ".join(words)
    elif name == "trap":
        text = next(iter(words[:-1]), "")  # the last word is a signal
    elif words and words[0] in _INPUTS:
        text = input_text
    elif words:
        text = _of_substitution(words[0])
    if not text or (name == "trap" and text.startswith("-")):
        return None
    return FedScript(text, by, is_own_shell=True)


def _starts_shell(invocation: Invocation) -> bool:
    """Return whether a program that starts no other starts a shell, which reads its input: `ssh host`, `sudo -i`."""
    if invocation.name == "sudo":
        return any(read_option(word, _LOGIN).name for word in invocation.arguments)
    has_script = any(_of_option(invocation))
    return invocation.name in _READING and not has_script


@dataclass(frozen=True, slots=True)
class ShellCall:
    """The words of a call of a shell.

    With `has_script` the first operand is the script of `-c`; with `reads_input` the shell reads its script from its
    input. Without either the first operand is a file, if there is one.
    """

    has_script: bool
    reads_input: bool
    operands: tuple[str, ...]


def read_shell_call(words: tuple[str, ...]) -> ShellCall:
    """Read the words of a call of a shell. What stands behind its first operand is none of its options.

    | words             | the script is                                    |
    |-------------------|--------------------------------------------------|
    | `-ec 'ls' name a` | the first operand, with `name` and `a` behind it |
    | `-s a`, `-`, none | its input                                        |
    | `run.sh a`        | a file                                           |
    | `-n run.sh`       | none: it checks the syntax                       |
    """
    index = 0
    letters = ""  # of the short options: "ec" for `-ec`
    while index < len(words) and _is_option_of_shell(words[index]):
        word = words[index]
        if word[:1] == "-" and word[1:2] != "-":
            letters += word
        elif word == "--command":
            letters += "c"
        takes_next = read_option(word.replace("+", "-", 1), _OPTIONS_OF_SHELLS).takes_next
        index += 2 if takes_next else 1
    options = words[:index]
    if words[index : index + 1] == ("--",):
        index += 1
    operands = words[index:]
    if "n" in letters or "noexec" in options:
        return ShellCall(has_script=False, reads_input=False, operands=())
    has_script = "c" in letters and bool(operands)
    reads_input = not operands or "s" in letters or operands[0] in _INPUTS
    return ShellCall(has_script, reads_input and not has_script, operands)


def _is_option_of_shell(word: str) -> bool:
    """Return whether a word is an option of a shell: `-e`, `--login`, `+x`. `-` stands for the input, `--` ends them."""
    return word[:1] in ("-", "+") and word not in ("-", "--")


def _of_shell(call: ShellCall, input_text: str, by: tuple[str, ...]) -> FedScript | None:
    """Return what a shell runs, None for a script in a file, which is not looked into.

    It is the script of `-c`, else its input, else what the commands of `bash <(…)` print.
    """
    if call.has_script:
        return FedScript(call.operands[0], by, call.operands[1:])
    if call.reads_input and input_text:
        return FedScript(input_text, by, (by[-1], *call.operands))
    text = _of_substitution(next(iter(call.operands), ""))
    if text:
        return FedScript(text, by, call.operands)
    return None


def _of_substitution(word: str) -> str:
    """Return a script that does what a shell does with `<(curl x)`: `curl x | sh`. Empty for another word."""
    if not (word.startswith("<(") and word.endswith(")")):
        return ""
    return f"{word[2:-1]} | sh"


def _of_option(invocation: Invocation) -> Iterator[FedScript]:
    """Yield the scripts behind options: `su -c '…'`, `git rebase --exec '…'`, `npx --call='…'`."""
    name, words = invocation.name, invocation.arguments
    script_options = _script_options_of(name, words)
    if script_options is None:
        return
    by = (*invocation.wrappers, name)
    for index, word in enumerate(words):
        if word[:1] != "-":
            continue
        option = read_option(word, script_options)
        next_words = words[index + 1 :]
        if name == "env" and option.name:
            yield FedScript(_of_split_string(option, next_words), by)
            return
        if option.takes_next and next_words:
            yield FedScript(next_words[0], by)
        elif option.value:
            yield FedScript(option.value, by)


def _script_options_of(name: str, words: Sequence[str]) -> frozenset[str] | None:
    """Return the options of a program, or of it with its subcommands, whose value is a script; None where it has none."""
    options_by_head = options_with_scripts()
    for count in range(_MOST_SUBCOMMANDS + 1):
        options = options_by_head.get(" ".join((name, *words[:count])))
        if options is not None:
            return options
    return None


def _of_split_string(option: Option, next_words: Sequence[str]) -> str:
    """Return what `env -S 'git push' -f` runs: `git push -f`, the words in the text and those behind it."""
    if not option.takes_next:
        return f"{option.value} {shlex.join(next_words)}"
    return f"{''.join(next_words[:1])} {shlex.join(next_words[1:])}"


def _of_words(invocation: Invocation) -> str:
    """Return the script that the words of a program are, empty if they are none.

    `ssh host 'cd a; ls'` joins its words to one, `concurrently 'npm start' 'npm test'` has one in each word, and
    `tmux 'npm start; sh'` one in its only word.
    """
    name, inner = invocation.name, invocation.inner
    if name == "parallel":
        return _of_parallel(inner)
    if name in _JOINING and _has_scripts(inner):
        return " ".join(inner)
    if name in _SCRIPTS_AS_WORDS and _has_scripts(inner):
        return "\n".join(inner)
    if name in _ONE_WORD and len(inner) == 1 and _has_scripts(inner):
        return inner[0]
    if name in _JOINING | _ONE_WORD | _SCRIPTS_AS_WORDS:
        return ""
    # `docker exec web 'the script'`: a program with blanks is none.
    has_blanks = " " in invocation.program.strip()
    if invocation.wrappers and has_blanks and not _is_printed_script(invocation):
        return " ".join((invocation.program, *invocation.arguments))
    return ""


def _is_printed_script(invocation: Invocation) -> bool:
    """Return whether a shell runs what another command prints, which nobody knows: the word of `eval "$(ssh-agent -s)"`.

    Read as a script, that word would be its own program again and again.
    """
    shell = invocation.wrappers[-1]
    return shell in _SHELLS | _IN_OWN_SHELL and invocation.program.startswith(("$(", "`"))


def _of_parallel(words: tuple[str, ...]) -> str:
    """Return the script of `parallel`, empty for none.

    | words                   | script                |
    |-------------------------|-----------------------|
    | `gzip -9 ::: a b`       | `gzip -9 a b`         |
    | `::: 'make a' 'make b'` | `make a` and `make b` |
    | `'make a; make b'`      | that text             |
    """
    index = 0
    while index < len(words) and words[index] not in _MARKS_OF_INPUTS:
        index += 1
    if index == len(words):
        return " ".join(words) if _has_scripts(words) else ""
    command, inputs = words[:index], words[index + 1 :]
    if not command:
        return "\n".join(inputs)
    return _with_input(command, inputs)


def _has_scripts(words: Sequence[str]) -> bool:
    """Return whether one of some words has signs of a script, such as a blank or `;`, rather than being a plain word."""
    return any(not _SIGNS_OF_SCRIPTS.isdisjoint(word) for word in words)


def _words_of_input(input_text: str) -> list[str]:
    """Return the words that `xargs` makes of its input: between blanks, or between the ends that printf was given."""
    if _END_OF_WORD in input_text:
        return [word for word in input_text.split(_END_OF_WORD) if word]
    return input_text.split()


def _with_input(words: Sequence[str], input_words: Sequence[str]) -> str:
    """Return the command that `xargs` or `parallel` makes of its words and of what it is given.

    `rm -f` with the input `a` and `b` gives `rm -f a b`, and `cp {} /tmp` gives `cp 'a b' /tmp`.
    """
    if any("{}" in word for word in words):
        return " ".join(shlex.quote(word.replace("{}", " ".join(input_words))) for word in words)
    is_whole_command = len(words) == 1  # `parallel 'gzip -9' ::: a b`
    command = words[0] if is_whole_command else shlex.join(words)
    return f"{command} {shlex.join(input_words)}"


def _behind_command_flag(words: Sequence[str]) -> str:
    """Return the words behind `-Command`, `-c` or `/c` of PowerShell and cmd as one text, empty without that flag."""
    for index, word in enumerate(words):
        if word.lower() in _COMMAND_FLAGS:
            return " ".join(words[index + 1 :])
    return ""
