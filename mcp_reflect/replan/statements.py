"""Moves for SQL statements and for command lines of search programs."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.search import CatalogEntry
from mcp_reflect.replan.forms import has_form, loose_pattern, sql_pattern, terms, variants
from mcp_reflect.replan.vocabulary import Vocabulary
from mcp_reflect.replan.words import stem, tokens

SAMPLE: Final = 20  # rows of a table that are looked at where no condition is known to hold

_FROM: Final = re.compile(r"\bFROM\s+([\w.\"`]+)", re.IGNORECASE)
_WHERE: Final = re.compile(r"\bWHERE\b(.*?)(?=\bGROUP\s+BY\b|\bORDER\s+BY\b|\bLIMIT\b|;|$)", re.IGNORECASE | re.DOTALL)
_TEXT: Final = re.compile(
    r"(?:(?:LOWER|UPPER|TRIM)\()?([\w.\"`]+)\)?\s*(?:==?|\b(?:I?LIKE|GLOB|REGEXP|MATCH|IS)\b|~\*?)\s*'((?:[^']|'')*)'",
    re.IGNORECASE,
)
_AND: Final = re.compile(r"\s+AND\s+(?![^()]*\))", re.IGNORECASE)
_LONG_NUMBER: Final = 7  # digits: parcels, accounts and telephones, which are stored with and without separators


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT statement with the conditions of its WHERE that AND joins."""

    text: str
    table: str
    conditions: tuple[str, ...]

    def where(self, conditions: tuple[str, ...]) -> str:
        """Return the statement with other conditions."""
        clause = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        return _WHERE.sub(lambda _: clause, self.text, count=1).strip()

    def sample(self, table: str) -> str:
        """Return a statement that shows the first rows of a table, whatever they hold."""
        return f"SELECT * FROM {table} LIMIT {SAMPLE}"  # noqa: S608 - the caller runs it with its own rights


def read_statement(text: str) -> Statement:
    """Read a SELECT statement. Nothing is checked: what is not understood stays as it is."""
    table, where = _FROM.search(text), _WHERE.search(text)
    conditions = tuple(part.strip() for part in _AND.split(where.group(1))) if where else ()
    return Statement(text, table.group(1).strip('"`') if table else "", conditions)


def rewrite_sql(text: str, entry: CatalogEntry | None, known: Vocabulary) -> Iterator[str]:
    """Compare loosely (any case, part of the value, any separators), then by other words, then in other columns."""
    statement = read_statement(text)
    loose = tuple(_TEXT.sub(_loose, condition) for condition in statement.conditions)
    yield statement.where(loose)
    for place, condition in enumerate(statement.conditions):
        match = _TEXT.search(condition)
        for other in _other_values(match.group(2), known) if match else ():
            changed = _TEXT.sub(rf"LOWER(\1) LIKE '{sql_pattern(other)}'", condition)
            yield statement.where((*loose[:place], changed, *loose[place + 1 :]))
    fields = tuple(entry.fields) if entry else ()
    for condition in statement.conditions:
        if fields and (match := _TEXT.search(condition)):
            yield statement.where((f"({_in_any(fields, match.group(2))})",))


def relax_sql(text: str, message: str) -> Iterator[str]:
    """Drop conditions, the ones that the person did not name first; leave joins open; then look at a sample."""
    statement = read_statement(text)
    loose = tuple(_TEXT.sub(_loose, condition) for condition in statement.conditions)
    asked = {stem(word) for word in tokens(message)}
    ranked = sorted(loose, key=lambda part: -sum(stem(word) in asked for word in tokens(part)))
    textual = tuple(condition for condition in loose if "LIKE" in condition)
    if 0 < len(textual) < len(loose):
        yield statement.where(textual)
    if re.search(r"\bJOIN\b", text, re.IGNORECASE):
        yield re.sub(r"\b(?:INNER\s+)?JOIN\b", "LEFT JOIN", statement.where(loose), flags=re.IGNORECASE)
    if len(loose) > 1:
        for condition in ranked[:2]:
            yield statement.where((condition,))
    if statement.table:
        yield statement.sample(statement.table)


def pivot_sql(text: str, entry: CatalogEntry) -> Iterator[str]:
    """Ask another table: in the columns that are known of it, else by a sample of its rows."""
    statement = read_statement(text)
    values = [match.group(2) for condition in statement.conditions if (match := _TEXT.search(condition))]
    if values and entry.fields:
        yield f"SELECT * FROM {entry.table} WHERE {_in_any(tuple(entry.fields), values[0])}"  # noqa: S608 - as above
    yield statement.sample(entry.table)


def rewrite_command(text: str, known: Vocabulary) -> Iterator[str]:
    """Ignore case, look in every folder, allow other spellings, then look for a shorter pattern."""
    try:
        words = shlex.split(text)
    except ValueError:
        return
    if words[0] in {"find", "fd", "locate"}:
        yield from _find(words)
        return
    start = 2 if words[:2] == ["git", "grep"] else 1
    options = [word for word in words[start:] if word.startswith("-") and word != "-e"]
    rest = [word for word in words[start:] if not word.startswith("-")]
    if not rest:
        return
    pattern, places, program = rest[0], rest[1:], words[:start]
    kept = [option for option in options if not re.match(r"--(?:include|exclude|glob|type)|-[gtFwx]$", option)]
    no_case = kept if any("i" in option for option in kept if not option.startswith("--")) else [*kept, "-i"]
    yield _line(program, [*options, *no_case[len(kept) :]], pattern, places)
    extended = [] if program[0] in {"rg", "ag", "ack", "egrep"} else ["-E"]
    forms = [form for term in terms(pattern) for form in variants(term, known)]
    if forms:
        yield _line(program, [*no_case, *extended], "|".join(map(re.escape, forms[:6])).replace(r"\ ", " "), places)
    yield _line(program, [*kept], loose_pattern(pattern, known), [".", *places[len(places) :]])
    shorter = max((part for term in terms(pattern) for part in re.split(r"\W+|_", term)), key=len, default="")
    if len(shorter) > 2:
        yield _line(program, no_case, shorter, ["."])


def _find(words: list[str]) -> Iterator[str]:
    """A file by a part of its name, in any case, from the current folder down."""
    name = words[-1]
    for place, word in enumerate(words[:-1]):
        if word in {"-name", "-path", "-iname"}:
            name = words[place + 1]
    core = name.strip("*").rsplit("/", 1)[-1]
    yield f"find . -iname {shlex.quote(f'*{core}*')}"
    for form in (core.rsplit(".", 1)[0], *variants(core)[:2]):
        if has_form(core):
            yield f"find . -iname {shlex.quote(f'*{form}*')}"


def _line(program: list[str], options: list[str], pattern: str, places: list[str]) -> str:
    return " ".join((*program, *options, shlex.quote(pattern), *map(shlex.quote, places)))


def _in_any(columns: tuple[str, ...], value: str) -> str:
    """The condition that one of the columns holds the value."""
    return " OR ".join(f"LOWER({name}) LIKE '{sql_pattern(value)}'" for name in columns)


def _loose(match: re.Match[str]) -> str:
    """A comparison with a text that holds in any case, for a part of the value and with any separators."""
    column, value = match.group(1), match.group(2)
    digits = re.sub(r"[\s%*_./-]", "", value)
    if digits.isdigit() and len(digits) >= _LONG_NUMBER:
        return f"REPLACE(REPLACE({column}, ' ', ''), '-', '') LIKE '%{digits}%'"
    pattern = sql_pattern(value.replace("''", "'"))
    return f"LOWER({column}) LIKE '{pattern}'" if pattern.isascii() else f"{column} LIKE '{pattern}'"


def _other_values(value: str, known: Vocabulary) -> Iterator[str]:
    """The words of the data for a value: synonyms, and the words put right."""
    plain = value.strip("%*")
    yield from known.synonyms(plain)[:2]
    for word in tokens(plain):
        yield from known.synonyms(word)[:1]
        yield from (other for other in known.mended(word).words if other != word)
