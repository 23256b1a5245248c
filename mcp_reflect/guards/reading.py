"""Reads the wrong call and the right call out of a lesson's words, where they leave one reading."""

from collections.abc import Iterator
from typing import Final

from mcp_reflect.guards.derivation import DEPTHS, TARGETED, derive
from mcp_reflect.guards.guard import EDIT, POWERSHELL, SHELL, Call, Guard, meets_everything
from mcp_reflect.guards.wording import Wording, common, tokens_of
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import base_name

# Words that are programs and English: they count only at the start, behind a verb, or before a flag.
_ENGLISH: Final = frozenset(
    (
        "find make go just task kill touch service cat head tail sort sleep node apt bundle mix sam black gem snap tar "
        "rake"
    ).split()
)
_STARTERS: Final = frozenset("sudo npx bunx pnpx uvx xvfb-run".split())
_VERBS: Final = frozenset(
    "ran run running used using use used called call calling with through by via executed".split()
)
_STOPS: Final = frozenset(
    (
        "a an the this that it in on at to from of for with without and or but is are was were be been has had here "
        "there alone by into over when while which because so then made left took hit put needs wants returns pulled "
        "asked rewrote hung lost broke gave got ran went threw sent set kept shows fails failed does did saw against "
        "among between itself commands calls runs can cannot as if not"
    ).split()
)
_ORDER: Final = lazy_compile(r"(?i)\b(?:first|before|beforehand)\b|, then\b")
_GIT_VERBS: Final = {
    "pushed": "push",
    "force-pushed": "push --force",
    "committed": "commit",
    "amended": "commit --amend",
    "rebased": "rebase",
    "merged": "merge",
    "cloned": "clone",
    "tagged": "tag",
}
_BRANCH: Final = lazy_compile(
    r"(?i)\b(?:to|into|onto|on)\s+(?:the\s+)?`?(main|master|develop|trunk|production|release)\b"
)
_EDITED: Final = lazy_compile(
    r"(?i)\b(?:hand-)?(?:edit(?:ed|ing)?|chang(?:ed|ing)|modif(?:ied|ying)|wrote|overwrote|touched|patched|altered)\b"
)
_PATH: Final = lazy_compile(
    r"(?:[\w.@*-]+/)+[\w.@*-]*|\*?[\w.@*-]*\.[a-z][\w.]{0,8}|Dockerfile|Makefile"
)
_TOOL: Final = lazy_compile(r"mcp__\w+|[a-z]+(?:_[a-z]+)+|WebFetch|WebSearch|NotebookEdit")
_OVER: Final = lazy_compile(
    r"(\w+)`? (?:above|over|larger than|greater than|more than|beyond|>) (\d+)"
)
_VALUE: Final = lazy_compile(r"`?(\w+)`?(?:=|: ?| )(true|false)\b")
_HOST: Final = lazy_compile(r"(?:[\w-]+\.)+(?:com|org|io|net|dev|local|internal)\b")
_WITHOUT: Final = lazy_compile(r"\bwithout `?(\w+)")
_PROGRAM: Final = lazy_compile(r"[a-z][a-z0-9]*(?:[.-][a-z0-9]+)*")
_CMDLET: Final = lazy_compile(r"[A-Z][a-z]+-[A-Z]\w+")
_IDENTIFIER: Final = lazy_compile(r"\w+_\w+")
_REPLACEMENTS: Final = (
    lazy_compile(
        r"(?i)\s*(?:always )?use (?P<right>[^,;.]{2,80}?),? (?:instead of|rather than|not) "
        r"(?P<wrong>[^,;]{2,80}?)\.?\s*$"
    ),
    lazy_compile(
        r"(?i)\s*(?:don['’]t|do not|never) (?:use|run) (?P<wrong>[^,;]{2,80}?)[,;:.] "
        r"(?:instead )?(?:use|run) (?P<right>[^,;]{2,80}?)(?: instead)?\.?\s*$"
    ),
)
_REPLACED: Final = lazy_compile(
    r"(?i)\b(?:used|using|called|calling|formatted|ran)\b|\b(?:is|are) (?:not|version|blocked|missing|gone|\d)"
    r"|isn't|\(v\d"
)


def derive_from_words(wording: Wording) -> Guard | None:
    """Return the guard that the words of a lesson leave as the only reading, None if there is none."""
    if guard := _edited_file(wording):
        return guard
    if guard := _tool(wording):
        return guard
    ordered = _ORDER.search(wording.mistake) or _ORDER.search(wording.correction)
    if not ordered and (guard := _replaced(wording)):
        return guard
    found: dict[str, Guard] = {}
    for command in dict.fromkeys(_wrong_commands(wording)):
        wrong, right = _call(command), _right_call(command, wording)
        guard = derive(wrong, right, Wording(f"`{command}`: {wording.mistake}", wording.correction))
        if guard is None or (ordered and not _is_of_one_call(guard)):
            continue  # what comes first may have run in an earlier call
        if _is_narrow(guard) or (right is not None and _REPLACED.search(wording.mistake)):
            found[str(guard)] = guard
    return next(iter(found.values())) if len(found) == 1 else None


def _replaced(wording: Wording) -> Guard | None:
    """Return the guard of an advice that names both commands: `Use X instead of Y`, `Don't use Y, use X`."""
    said = next(
        (match for form in _REPLACEMENTS if (match := form.match(wording.correction))), None
    )
    if said is None or wording.mistake:
        return None
    wrong, right = said["wrong"].strip("`"), said["right"].strip("`")
    known = right.split(maxsplit=1)[0] in (*DEPTHS, *_STARTERS)
    if [*_commands_said(wrong)] != [wrong] or not known:
        return None
    return derive(_call(wrong), _call(right), Wording(f"Used `{wrong}`", f"Use `{right}`"))


def _call(command: str) -> Call:
    return Call(POWERSHELL if _CMDLET.match(command) else SHELL, {"command": command})


def _is_narrow(guard: Guard) -> bool:
    lacks = any(not item.endswith(" &&") for item in guard.lacks)
    return (
        len(guard.has) > 1 or lacks or any(" " in head for heads in guard.has[:1] for head in heads)
    )


def _is_of_one_call(guard: Guard) -> bool:
    """True if a flag, a variable or a word of a text decides, which no earlier call can have brought."""
    return any(
        item[0] in '-"' or item[-1] == "="
        for group in (*guard.has[1:], guard.lacks)
        for item in group
    )


def _edited_file(wording: Wording) -> Guard | None:
    for text in (
        wording.mistake,
        *(wording.correction,)
        * wording.correction.lower().startswith(("never", "do not", "don't")),
    ):
        verb = _EDITED.search(text)
        if verb is None or (verb.start() > 3 and text is wording.mistake):
            continue
        for word in tokens_of(text[verb.end() :].split(";", 1)[0].split(". ", 1)[0])[:8]:
            written = word[-1:] == "/" and verb[0].lower().endswith(
                "wrote"
            )  # new files there, perhaps of one kind
            if _PATH.fullmatch(word) and "://" not in word and not written:
                guard = Guard(EDIT, ((word.removeprefix("./"),),))
                return None if meets_everything(guard) else guard
    return None


def _tool(wording: Wording) -> Guard | None:
    tools = [word for word in tokens_of(wording.mistake) if _TOOL.fullmatch(word)]
    if not tools:
        return None
    text = wording.mistake
    has = [f"{match[1]}: > {match[2]}" for match in _OVER.finditer(text)]
    has += [f"{match[1]}: {match[2]}" for match in _VALUE.finditer(text)]
    has += [f'"{match[0]}"' for match in _HOST.finditer(text)]
    has += [
        f'"{word}"' for word in tokens_of(text) if word[:1] == "#" and word not in wording.right
    ]
    lacks = [match[1] for match in _WITHOUT.finditer(text) if _IDENTIFIER.fullmatch(match[1])]
    return (
        Guard(tools[0], tuple((item,) for item in has[:3]), tuple(lacks[:1]))
        if has or lacks
        else None
    )


def _wrong_commands(wording: Wording) -> Iterator[str]:
    """Yield the commands that the words call wrong: in code spans, else in the sentence."""
    right = wording.right_spans  # what the mistake names too is what was missing
    spans = [span for span in wording.wrong_spans if _is_command(span) and span not in right]
    yield from spans
    if spans:
        return
    said = [*_commands_said(wording.mistake)] or [*_commands_shared(wording)]
    yield from said
    verb = next(iter(tokens_of(wording.mistake)), "").lower()
    if not said and verb in _GIT_VERBS:
        branch = _BRANCH.search(wording.mistake)
        flags = (
            word for word in tokens_of(wording.mistake) if word in wording.wrong and word[:1] == "-"
        )
        command = "push" if branch else _GIT_VERBS[verb]
        yield " ".join(("git", command, *flags, *(("origin", branch[1]) if branch else ())))


def _commands_shared(wording: Wording) -> Iterator[str]:
    """Yield the programs that both sentences name, with their subcommands, where the correction has a flag or a span.

    The words behind the program that both have say what it does: "flutter run chose" and `flutter run -d chrome`.
    """
    commands = [span.split() for span in wording.right_spans]
    for program in dict.fromkeys(tokens_of(wording.mistake)):
        if not _PROGRAM.fullmatch(program) or program in _STOPS | _ENGLISH | _VERBS:
            continue
        runs = [
            run
            for run in wording.runs(program, wording.correction)
            if any(word[:1] == "-" for word in run)
        ]
        runs += [words[words.index(program) + 1 :] for words in commands if program in words[:2]]
        mistaken = wording.runs(program)[:1]
        if runs and mistaken:
            depth = common(mistaken[0], runs[0])
            other = "".join(runs[0][depth : depth + 1])
            yield " ".join(
                (program, *mistaken[0][: depth + bool(depth and _PROGRAM.fullmatch(other))])
            )


def _is_command(span: str) -> bool:
    words = [word for word in span.split() if "=" not in word] or [""]
    name = words[0].rsplit("/", 1)[-1]
    plain = len(words) > 1 and words[0].islower() and words[0].replace("-", "").isalnum()
    return name in DEPTHS or words[0] in _STARTERS or plain or bool(_CMDLET.match(words[0]))


def _commands_said(text: str) -> Iterator[str]:
    raw = text.replace("`", " ").split()
    words = [word.strip("\"'(),;:!?") for word in raw]
    at = 0
    while at < len(words):
        start, name = at, words[at]
        at += 1
        if name in _STARTERS and at < len(words):
            name = words[at]
            at += 1
        name = name.removeprefix("./")
        is_flag = words[at : at + 1] and words[at][:1] == "-"
        sure = name not in _ENGLISH or is_flag or start == 0 or words[start - 1].lower() in _VERBS
        if not sure or not (name in DEPTHS or _CMDLET.fullmatch(name)):
            continue
        depth = DEPTHS.get(name, 0)
        left = depth + 1 if depth or name in TARGETED else 0
        while at < len(words) and not raw[at - 1].endswith((",", ";", ":", ".", ")")):
            word = words[at]
            plain = word.isalpha() and word.islower()
            if (
                word == "with" and words[at + 1 : at + 2] and words[at + 1][:1] == "-"
            ):  # `gh pr merge with --admin`
                words[at], raw[at] = "", ""
            elif (
                word in _STOPS
                or word[:1].isupper()
                or (plain and (left <= 0 or word.endswith("ed")))
                or (depth and word.isdigit())
            ):
                break
            left -= plain
            at += 1
        yield " ".join(filter(None, words[start:at]))


def _right_call(wrong: str, wording: Wording) -> Call | None:
    """Return the right call that the lesson names: the same program, else the missing flag, else another program."""
    commands = [span for span in wording.right_spans if _is_command(span)] or [
        *_commands_said(wording.correction)
    ]
    commands = [command for command in commands if not wrong.startswith(command)]
    program = base_name(wrong.split(maxsplit=1)[0])
    calls = map(_call, commands)
    if same := next(
        (call for call in calls if any(one.found.name == program for one in call.programs)), None
    ):
        return same
    flags = [
        word
        for word in (*wording.missing, *wording.right_spans)
        if word[:1] == "-" and len(word) > 1
    ]
    if flags and flags[0] not in wrong.split():
        return _call(f"{wrong} {flags[0]}")
    return _call(commands[0]) if commands else None
