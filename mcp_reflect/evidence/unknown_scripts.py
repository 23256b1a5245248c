"""What a run shows whose program is not known: what its output names, or its text, where the session recorded that."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NamedTuple

from mcp_reflect.evidence.command_kinds import words_of_kinds
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.name_kinds import kinds_of_name
from mcp_reflect.models.common import Json
from mcp_reflect.shell import read_script

_NAME: Final = re.compile(r"\w[\w:+-]{0,40}")  # of a target or a subcommand; no path
_PROGRAM: Final = re.compile(r"[\w.+-]{1,40}")
_MOST_OUTPUT: Final = 3_000  # characters at either end of an output
_MOST_TEXT: Final = 60_000  # characters of a script

# Lines that only a run of that kind prints: they show how it ended.
_SUMMARIES: Final = {
    ProofKind.TESTS: (
        r"\b\d+ (?:tests? |examples?,? |specs? |checks? )?(?:passed|passing|failed|failing|failures?)\b"
        r"|\b(?:Ran|Executed) \d+ tests?\b|\b(?:Tests|Test Suites|Test Files|Tests run|Failures): {0,9}\d"
        r"|^test result: |^OK \(|^(?:ok|not ok) \d|^--- (?:PASS|FAIL)|\b\d+ examples?, \d+ failures?\b"
    ),
    ProofKind.COMMIT: r"^\[[^\]\n]{1,120} (?:\(root-commit\) )?[0-9a-f]{7,40}\]",
    ProofKind.PUSH: (
        r"^To \S+[:/]\S+$|^ ?[*+!]? {0,3}[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40} +\S+ -> \S+"
        r"|^ ?\* \[new (?:branch|tag)\]|^Everything up-to-date|https://\S{1,200}/(?:pull|merge_requests)/\d"
    ),
    ProofKind.TYPES: r"\bSuccess: no issues found|\bFound \d+ errors? in \d+ files?\b|\berror TS\d{4}\b",
    ProofKind.LINT: r"^All checks passed|\b\d+ problems? \(|\bno offenses\b|\b\d+ offenses? detected\b",
    ProofKind.FORMAT: r"\bfiles? (?:left unchanged|would be reformatted|reformatted|already formatted)\b",
    ProofKind.BUILD: r"\b[Bb]uild (?:succeeded|failed)\b|\bBUILD (?:SUCCESS|FAIL)|\bcompiled successfully\b|^Finished `",
    ProofKind.IMAGE: r"\bSuccessfully tagged\b|\bnaming to \S|\bwriting image sha256",
    ProofKind.MIGRATION: r"\bRunning upgrade\b|\bNo migrations to apply\b",
    ProofKind.DEPLOYMENT: r"\bsuccessfully (?:rolled out|deployed)\b|\bApply complete!",
    ProofKind.HEALTH: r"\bHTTP/[\d.]{1,3} \d{3}\b|\"(?:status|state|health)\" ?: ?\"",
}
# Words of a kind: what printed them may have run it, however it ended.
_WORDS: Final = {
    ProofKind.TESTS: (
        r"\b(?:all|every) (?:\d+ )?(?:tests?|specs?|checks?)\b|\btests? (?:ran|run|completed|ok|passed|failed)\b"
        r"|\btest suites?\b|\b\d+ tests?\b"
    ),
    ProofKind.COMMIT: r"\bcommitt(?:ed|ing)\b",
    ProofKind.PUSH: r"\bpush(?:ed|ing)\b",
    ProofKind.TYPES: r"\btypes? ?check(?:s|ed|ing)?\b|\btypes\b.{0,20}\bok\b|\bno type errors\b",
    ProofKind.LINT: r"\blint(?:ed|ing|er)?\b|\bno (?:lint |style )?(?:issues|problems|warnings)\b",
    ProofKind.FORMAT: r"\bformatt(?:ed|ing)\b|\bprettier\b",
    ProofKind.BUILD: r"\bbuil(?:d|t|ding)\b|\bcompil(?:ed|ing|ation)\b|\bbundl(?:ed|ing)\b",
    ProofKind.IMAGE: r"\bimages?\b",
    ProofKind.MIGRATION: r"\bmigrat(?:ed|ing|ions?)\b|\bappl(?:ied|ying)\b|\bschema\b|\bdatabase\b",
    ProofKind.DEPLOYMENT: r"\bdeploy(?:ed|ing|ment|s)?\b|\brolled out\b|\bpublish(?:ed|ing)\b|\breleas(?:ed|ing)\b"
    r"|\bactivat(?:ed|ing|ion)\b|\brollout\b|\blive\b",
    ProofKind.HEALTH: (
        r"\bhealth(?:y|check)?\b|\b(?:listening|serving|running|started)\b|\b(?:200|204)\b|\bup\b|\breachable\b"
        r"|\bavailable\b|\bready\b|\balive\b|\bresponding\b"
    ),
}


# Of each kind texts in small letters, figures as 0, one of which stands in every output that the patterns above can match.
_TEXTS_OF_SUMMARIES: Final = {
    ProofKind.TESTS: ("pass", "fail", "test", "ok "),
    ProofKind.COMMIT: ("\n[",),
    ProofKind.PUSH: (
        "\nto ",
        " -> ",
        "* [new ",
        "everything up-to-date",
        "/pull/",
        "/merge_requests/",
    ),
    ProofKind.TYPES: ("no issues found", "found ", "error ts"),
    ProofKind.LINT: ("all checks passed", "problem", "offense"),
    ProofKind.FORMAT: ("file",),
    ProofKind.BUILD: ("build", "compiled successfully", "finished `"),
    ProofKind.IMAGE: ("successfully tagged", "naming to ", "writing image "),
    ProofKind.MIGRATION: ("running upgrade", "no migrations to apply"),
    ProofKind.DEPLOYMENT: ("successfully ", "apply complete!"),
    ProofKind.HEALTH: ("http/", "status", "state", "health"),
}
_TEXTS_OF_WORDS: Final = {
    ProofKind.TESTS: ("test", "all ", "every "),
    ProofKind.COMMIT: ("commit",),
    ProofKind.PUSH: ("push",),
    ProofKind.TYPES: ("type",),
    ProofKind.LINT: ("lint", "issues", "problems", "warnings"),
    ProofKind.FORMAT: ("format", "prettier"),
    ProofKind.BUILD: ("buil", "compil", "bundl"),
    ProofKind.IMAGE: ("image",),
    ProofKind.MIGRATION: ("migrat", "appl", "schema", "database"),
    ProofKind.DEPLOYMENT: ("deploy rolled publish releas activat rollout live".split()),
    ProofKind.HEALTH: (
        "health listening serving running started 000 up reachable available ready alive responding".split()
    ),
}

_PATHS: Final = ("file_path", "path", "absolute_path", "filePath", "target_file", "notebook_path")
_TEXTS: Final = ("content", "new_string", "new_str", "newText", "text")
_PRINTING: Final = frozenset(("cat", "tee"))
_MOST_FILES: Final = 60  # whose text is kept, the latest
_MOST_NAMED: Final = 20  # files of a command
_FILE: Final = re.compile(r"[/\\]|\.(?:sh|bash|zsh|py|js|mjs|cjs|ts|rb|pl|php|ps1|bat|cmd)$")
_RUN_FILES: Final = frozenset(
    "bash sh zsh dash fish pwsh powershell cmd python python3 node ruby tsx ts-node perl deno php".split()
)
# Files in which the targets of a runner are written.
_TARGETS: Final = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    "just": ("justfile", "Justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
}
_ZEROS: Final = str.maketrans("123456789", "000000000")


@dataclass(frozen=True, slots=True)
class PrintedPattern:
    """What a run of a kind prints.

    `required_texts` are texts of which one stands in every output that the pattern matches. They are quick to find, so that
    the pattern is searched for only where one is there.
    """

    required_texts: Sequence[str]
    pattern: re.Pattern[str]

    def is_in(self, output: str, distinct: str) -> bool:
        """True where an output has the pattern. `distinct` has its lines as `_distinct_lines` gives them."""
        may_match = any(text in distinct for text in self.required_texts)
        return may_match and self.pattern.search(output) is not None


@cache
def printed_by_kind(*, summaries: bool) -> dict[ProofKind, PrintedPattern]:
    """Return what each kind of run prints: words anywhere in an output, or lines that sum it up."""
    patterns, required_texts, flags = _WORDS, _TEXTS_OF_WORDS, re.IGNORECASE
    if summaries:
        patterns, required_texts, flags = _SUMMARIES, _TEXTS_OF_SUMMARIES, re.MULTILINE
    return {
        kind: PrintedPattern(required_texts[kind], re.compile(pattern, flags))
        for kind, pattern in patterns.items()
    }


@lru_cache(maxsize=2)
def _distinct_lines(output: str) -> str:
    """Return an output in lower case with each line once, after a line end; lines that differ in digits are one.

    A long log repeats its lines, so that what is left is quick to search: of "Test 1 ok" and "Test 2 ok" it is "test 0 ok".
    """
    lines = output.lower().translate(_ZEROS).split("\n")
    return "\n".join(("", *dict.fromkeys(lines)))


def _kinds_in(output: str, *, summaries: bool) -> frozenset[ProofKind]:
    """Return the kinds of runs that an output shows; of a long one its start and end are read."""
    if len(output) > 2 * _MOST_OUTPUT:
        output = f"{output[:_MOST_OUTPUT]}\n{output[-_MOST_OUTPUT:]}"
    distinct = _distinct_lines(output)
    by_kind = printed_by_kind(summaries=summaries)
    return frozenset(kind for kind, printed in by_kind.items() if printed.is_in(output, distinct))


def is_script(words: Sequence[str]) -> bool:
    """Return whether a command runs a file or a target of the project, whose name says no more than its writer meant."""
    program, *rest = words
    if program in _RUN_FILES:
        return any(_FILE.search(word) for word in rest[:_MOST_NAMED])
    return program in _TARGETS or bool(_FILE.search(program))


def kinds_that_end(output: str) -> frozenset[ProofKind]:
    """Return the kinds of proof of which an output has a summary, which says how they ended."""
    return _kinds_in(output, summaries=True)


def kinds_in_words(output: str) -> frozenset[ProofKind]:
    """Return the kinds of proof of which an output has a word; a summary of one counts by `kinds_that_end`."""
    return _kinds_in(output, summaries=False)


def kinds_named_by(words: Sequence[str], extra: tuple[str, ...] = ()) -> frozenset[ProofKind]:
    """Return the kinds of proof that a command of a program which is not known names, or hands on to another one."""
    names = [word for word in words[:_MOST_NAMED] if _NAME.fullmatch(word) or "(" in word]
    return kinds_of_name(" ".join(names)) | kinds_in_text(" ".join(words[1:]), extra)


@cache
def _mentions_by_program(extra: tuple[str, ...]) -> dict[str, list["_Mention"]]:
    """Return how each program of the table is written in a script."""
    table: dict[str, list[_Mention]] = {}
    for kind, programs in words_of_kinds(extra).items():
        for words in programs:
            pattern = re.compile(_written(words)) if len(words) > 1 else None
            table.setdefault(words[0], []).append(_Mention(kind, pattern))
    return table


class _Mention(NamedTuple):
    """A kind of proof, and how its program is written with the words that must follow it; None where none must."""

    kind: ProofKind
    pattern: re.Pattern[str] | None


def _written(words: list[str]) -> str:
    """Return the pattern of a command as a script may write it: `npm run test`, or `["npm", "run", "test"]`."""
    without_options = [word for word in words if not word.startswith("-")]
    parts = [re.escape(word).replace(r"\*", r"[\w:-]{0,40}") for word in without_options]
    between = r"\W{1,6}"
    return rf"(?<![\w-]){between.join(parts)}(?![\w-])"


def kinds_in_text(text: str, extra: tuple[str, ...] = ()) -> frozenset[ProofKind]:
    """Return the kinds of proof whose programs the text of a script names."""
    text = text[:_MOST_TEXT]
    mentions = _mentions_by_program(extra)
    kinds: set[ProofKind] = set()
    for program in mentions.keys() & set(_PROGRAM.findall(text)):
        for mention in mentions[program]:
            if mention.pattern is None or mention.pattern.search(text):
                kinds.add(mention.kind)
    return frozenset(kinds)


def _files_shown(command: str) -> list[str]:
    """Return the files that a command prints whole, or writes from its own text."""
    files: list[str] = []
    for started in read_script(command).commands:
        for invocation in started.invocations:
            if invocation.name in _PRINTING:
                files += (word for word in invocation.arguments if word[:1] != "-")
        files += started.writes
    return files


class RecordedTexts:
    """The texts of files that a session wrote or read, by the names of the files: a run of one shows what it names."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}

    def keep_file(self, arguments: Mapping[str, Json], answer: str, *, failed: bool) -> None:
        """Keep what a call wrote into a file, or else the answer, which is what it read of the file."""
        paths = [str(arguments[key]) for key in _PATHS if arguments.get(key)]
        if not paths or failed:
            return
        written = [str(arguments[key]) for key in _TEXTS if isinstance(arguments.get(key), str)]
        self._keep(paths[0], "\n".join(written) or answer)

    def keep_shown(self, command: str, answer: str) -> None:
        """Keep what `cat FILE` printed, or what a command wrote into a file."""
        for path in _files_shown(command)[:_MOST_NAMED]:
            self._keep(path, f"{command}\n{answer}")

    def _keep(self, path: str, text: str) -> None:
        """Add a text to what is known of a file, and forget the file that was seen longest ago where there are too many."""
        name = _file_name(path)
        earlier_text = self._by_name.pop(name, "")
        self._by_name[name] = f"{earlier_text}\n{text}"[-_MOST_TEXT:]
        while len(self._by_name) > _MOST_FILES:
            self._by_name.pop(next(iter(self._by_name)))

    def kinds_of_run(
        self, words: Sequence[str], answer: str, extra: tuple[str, ...] = ()
    ) -> frozenset[ProofKind]:
        """Return what a run of a command shows whose program is not known, beside what its output sums up."""
        files = {*map(_file_name, words[:_MOST_NAMED]), *_TARGETS.get(words[0], ())}
        texts = [self._by_name[name] for name in files if name in self._by_name]
        if "-c" in words or "\n" in "".join(words):  # the script stands in the command itself
            texts.append(" ".join(words[1:]))
        return kinds_in_words(answer) | kinds_in_text("\n".join(texts), extra)


def _file_name(path: str) -> str:
    """Return the name of a file without its folders: a script is named differently from different folders."""
    return path.replace("\\", "/").rpartition("/")[2]
