"""Texts made to be slow for a pattern, from the pattern itself; and the patterns of this package.

What makes a regular expression slow is a part that repeats before something that then fails: the engine tries every
way to share the text among the repeats, from every place where a match could begin. So for each part that repeats
the attack is what may stand before it, the part over and over, and a sign that cannot follow.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_reflect
from mcp_reflect.patterns import LazyPattern

# What the engine itself reads a pattern with; it has no public name and no types.
codes: Any = importlib.import_module("re._constants")
sre: Any = importlib.import_module("re._parser")

PACKAGE = Path(mcp_reflect.__file__).parent
OPTIONAL = "mcp_reflect.__main__"
FAILING = "\x01"


def patterns() -> dict[str, re.Pattern[str]]:
    """Every pattern of the package, by where it stands: those of modules, and those compiled where they are used."""
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.walk_packages([str(PACKAGE)], "mcp_reflect."):
        if module.name.startswith(OPTIONAL):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for place, pattern in enumerate(_held(value, set())):
                found.setdefault(f"{module.name}.{name}[{place}]", pattern)
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if pattern := _used(node):
                method = node.func.attr  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue, reportUnknownVariableType]
                found.setdefault(f"{file.relative_to(PACKAGE)}:{node.lineno} {method}", pattern)  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
    once = {(pattern.pattern, pattern.flags): name for name, pattern in reversed(found.items())}
    return {name: found[name] for name in once.values()}


def _held(value: Any, seen: set[int]) -> Iterator[re.Pattern[str]]:  # noqa: C901 - a case for each kind of value
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, LazyPattern):
        value = value.compiled
    if isinstance(value, re.Pattern):
        text: Any = value.pattern  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(text, str):  # not those of bytes
            yield value  # pyright: ignore[reportUnknownVariableType]
    elif _is_shape(value):
        yield re.compile(value[2])
    elif _is_place(value):
        yield re.compile(value.pattern, re.IGNORECASE if hasattr(value, "fits") else 0)
    elif isinstance(value, dict):
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _held(item, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _held(item, seen)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _held(getattr(value, name, None), seen)


def _is_shape(value: Any) -> bool:
    """True for a kind, hints and a pattern of a secret."""
    return type(value) is tuple and [*map(type, value)] == [str, str, str] and "[A-Za-z" in value[2]  # pyright: ignore[reportUnknownArgumentType]


def _is_place(value: Any) -> bool:
    return isinstance(value, tuple) and isinstance(getattr(value, "pattern", None), str)  # pyright: ignore[reportUnknownArgumentType]


def _used(node: ast.AST) -> re.Pattern[str] | None:
    """What is compiled on the spot, without flags."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="re"), attr=method),
            args=[ast.Constant(value=str() as text), *_],
        ) if method != "compile":
            flagged = any(
                isinstance(part, ast.Attribute)
                for part in [*node.args, *(one.value for one in node.keywords)]
            )
            return None if flagged else re.compile(text)
        case _:
            return None


def uses_of(name: str, source: str) -> set[str]:
    """Return how a pattern is used: `match`, `fullmatch`, `search`, for each way that finds a place by itself.

    A private name is looked for in its own module, where the same name of another module means something else. A
    pattern of which no use is found is taken for a searched one.
    """
    place, _, method = name.partition(" ")
    if method:  # used on the spot
        return {method} if method in ("match", "fullmatch") else {"search"}
    module, _, short = place.partition("[")[0].rpartition(".")
    own = PACKAGE.parent / f"{module.replace('.', '/')}.py"
    if short.startswith("_") and own.is_file():
        source = own.read_text(encoding="utf-8")
    methods = set(re.findall(rf"\b{re.escape(short)}\.(\w+)\b", source)) - {"pattern", "groups"}
    anchored = methods & {"match", "fullmatch"}
    return anchored | ({"search"} if methods - anchored or not anchored else set())


def sample_of(pattern: re.Pattern[str]) -> str:
    """A text that the pattern matches, or nearly."""
    return _sample(sre.parse(pattern.pattern, pattern.flags)) or "a"


def attacks(pattern: re.Pattern[str], size: int) -> Iterator[str]:
    """Texts of about `size` characters, one for each way in which a part of the pattern can be repeated."""
    made: set[str] = set()
    for before, part in _repeats(sre.parse(pattern.pattern, pattern.flags & ~re.UNICODE.value | 0)):
        # The part alone, its first sign, and what begins it over and over, which nothing closes.
        for unit in {part, part[:1], before + part, before} - {""}:
            for start in {"", before}:
                text = f"{start}{unit * max(1, size // len(unit))}{FAILING}"
                if text not in made:
                    made.add(text)
                    yield text
    whole = _sample(sre.parse(pattern.pattern))
    if whole:
        yield whole[: max(1, len(whole) - 1)] * max(1, size // len(whole))


def _repeats(parsed: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Each part that repeats, as a sample of it and of what stands before it."""
    for code, argument in parsed:
        match code:
            case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
                _, most, inner = argument
                if most == codes.MAXREPEAT or most > 30:
                    yield before, _sample(inner)
                yield from _repeats(inner, before)
            case codes.SUBPATTERN:
                yield from _repeats(argument[3], before)
            case codes.BRANCH:
                for branch in argument[1]:
                    yield from _repeats(branch, before)
            case codes.ASSERT | codes.ASSERT_NOT:
                yield from _repeats(argument[1], before)
            case codes.ATOMIC_GROUP:
                yield from _repeats(argument, before)
            case _:
                pass
        before += _sample([(code, argument)])


def _sample(parsed: Any) -> str:
    """A text that the parts match, more or less."""
    text = ""
    for code, argument in parsed:
        match code:
            case codes.LITERAL:
                text += chr(argument)
            case codes.NOT_LITERAL | codes.ANY:
                text += "a" if argument != ord("a") else "b"
            case codes.IN:
                text += _one_of(argument)
            case codes.CATEGORY:
                text += _category(argument)
            case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
                least, _, inner = argument
                text += _sample(inner) * max(least, 1)
            case codes.SUBPATTERN:
                text += _sample(argument[3])
            case codes.ATOMIC_GROUP:
                text += _sample(argument)
            case codes.BRANCH:
                text += _sample(argument[1][0])
            case _:
                pass
    return text


def _one_of(parts: Any) -> str:
    if parts[0][0] is codes.NEGATE:
        barred = re.compile(
            "["
            + "".join(re.escape(chr(value)) for code, value in parts[1:] if code is codes.LITERAL)
            + "\n]"
        )
        return next((char for char in "a 1-.x" if not barred.match(char)), "z")
    code, value = parts[0]
    match code:
        case codes.LITERAL:
            return chr(value)
        case codes.RANGE:
            return chr(value[0])
        case _:
            return _category(value)


def _category(value: Any) -> str:
    return {codes.CATEGORY_DIGIT: "1", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a"}.get(
        value, "a"
    )
