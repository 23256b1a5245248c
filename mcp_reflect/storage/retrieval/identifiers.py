"""Identifiers and tools that a text names: what tells a lesson's subject better than common words."""

from collections.abc import Iterable
from typing import Final

from mcp_reflect.llm.embeddings.word_vectors import shared_table
from mcp_reflect.patterns import lazy_compile

# Paths, dotted and snake_case names, addresses of hosts: parts joined by a sign that prose does not put there.
_JOINED: Final = lazy_compile(r"\w[./_:\\@]\w")
_CODE: Final = lazy_compile(r"(?=.*[a-z])(?=.*\d)[a-z0-9_-]{3,}", flags=2)  # E4012, sha256, utf8, http2
_CAMEL: Final = lazy_compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NUMBER: Final = lazy_compile(r"\d{5,}")
_SHORTEST: Final = 4  # letters of a name without a form
_PROSE: Final = frozenset("and/or e.g i.e a.m p.m etc. vs. w/o n/a".split())

TOOLS: Final = frozenset(
    """alembic ansible apt apk aws az bash bazel black brew bun bundle cargo celery clang cmake composer conda cron
    crontab curl deno django docker dotnet duckdb elasticsearch esbuild eslint ffmpeg flake8 flask gcc gcloud gem gh git
    gitlab go gradle grafana grpcurl gunicorn helm heroku jest jq java javac journalctl kafka kubectl kubernetes
    kustomize launchctl ldap make maven memcached mongo mongod mongosh mvn mypy mysql mysqldump nginx ninja node npm npx
    nvm openssl pandas perl pg_dump pg_restore php pip pipenv pipx pnpm podman poetry postgres postgresql powershell
    prettier prisma prometheus psql pulumi pyright pytest python rabbitmq rails rake redis rg rsync ruby ruff rustc
    rustup s3 scp sed sqlite sqlite3 ssh ssh-keygen strace sudo svn systemctl systemd tar terraform tmux tox tsc uv
    uvicorn vagrant valgrind vim vite vitest webpack wget xcodebuild yarn zip""".split()
)
"""Names of programs that work on their own: a lesson on one of them says nothing about another."""

_COMMAND: Final = lazy_compile(r"`(?:sudo\s+)?(?:\./)?([a-zA-Z][\w-]+)|(?<![\w/.])\./([\w-]+)")
_WORD: Final = lazy_compile(r"[a-z][a-z0-9_-]+")
_AMBIGUOUS: Final = frozenset("go make node gem black flask tar zip sed perl brew bundle helm apt vite bun".split())


def is_identifier(word: str, *, rare: bool = True) -> bool:
    """True if a word as it was written is a name: a path, an error code, a function, an option.

    With `rare`, so is a word that English texts hardly have.
    """
    if word.lower() in _PROSE:
        return False
    if _JOINED.search(word) or _CAMEL.search(word) or _NUMBER.fullmatch(word) or _CODE.fullmatch(word):
        return True
    return rare and len(word) >= _SHORTEST and word.isascii() and word.isalpha() and is_rare(word.lower())


def is_rare(word: str) -> bool:
    """True if a lower-case word, with and without an ending, is none of the 30,000 most frequent pieces of words."""
    forms = (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ed"), word.removesuffix("ing"))
    return all(len(shared_table().tokens(form)) != 1 for form in dict.fromkeys(forms))


def tools_of(text: str) -> frozenset[str]:
    """Return the programs that a text names: well-known ones, and what stands first in quoted commands."""
    quoted = {name.lower() for pair in _COMMAND.findall(text) for name in pair if name}
    known = (TOOLS - _AMBIGUOUS) & set(_WORD.findall(text.lower()))
    return known | (quoted & TOOLS)


def tools_differ(task: Iterable[str], lesson: Iterable[str]) -> bool:
    """True if both name programs, and none in common."""
    first, second = set(task), set(lesson)
    return bool(first) and bool(second) and not first & second
