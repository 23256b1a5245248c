"""Honest logs that name passwords, keys and tokens on most lines, and tell none."""

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Final

LEAST_LENGTH: Final = 120_000  # characters of each

_LINES: Final[dict[str, Callable[[int], str]]] = {
    "passed": lambda n: f"All {n % 90} tests pass",
    "pytest -v": lambda n: (
        f"tests/test_auth.py::test_token_refresh[case-{n % 9}] PASSED     [{n % 100:3d}%]"
    ),
    "pytest of passwords": lambda n: (
        f"tests/test_login.py::test_password_{n % 40} PASSED [{n % 100:3d}%]"
    ),
    "unittest": lambda n: (
        f"test_password_is_hashed (tests.test_auth.TestAuth.test_{n % 70}) ... ok"
    ),
    "jest": lambda n: f"    ✓ rejects an expired token ({n % 90} ms)",
    "jest summary": lambda n: f"PASS src/auth/token.test.ts ({n % 9}.{n % 10} s)",
    "go test": lambda n: f"--- PASS: TestSessionKey/part_{n % 50} (0.0{n % 9}s)",
    "cargo build": lambda n: f"   Compiling cookie v0.18.{n % 9}",
    "cargo test": lambda n: f"test auth::token::tests::part_{n % 60} ... ok",
    "npm": lambda n: f"npm http fetch GET 200 https://registry.npmjs.org/js-tokens {n % 900}ms",
    "npm warnings": lambda n: (
        f"npm warn deprecated cookie@0.{n % 9}.1: use the new session package"
    ),
    "git log": lambda n: f"{n * 2654435761 % 16**7:07x} Refresh the token before it expires",
    "git log of passwords": lambda n: (
        f"{n * 2654435761 % 16**7:07x} Hash passwords of users in part {n % 40}"
    ),
    "git diff --stat": lambda n: f" src/auth/password_{n % 90}.py   | {n % 30:2d} ++--",
    "docker build": lambda n: (
        f"#{n % 30} {n % 9}.{n % 10} Setting up libsecret-common (0.20.{n % 5}-3) ..."
    ),
    "docker compose": lambda n: f"auth-1  | INFO token refreshed for user {n % 900}",
    "server": lambda n: (
        f"2026-11-28 10:{n // 60 % 60:02d}:{n % 60:02d} INFO auth session key rotated in {n % 9}.{n % 10} ms"
    ),
    "nginx": lambda n: f'10.0.{n % 9}.{n % 250} - - "GET /api/token HTTP/1.1" 200 {n % 900}',
    "grep": lambda n: f"src/auth.py:{n % 900}:    token = self.tokens.next(timeout)",
    "ruff": lambda n: (
        f"src/token_{n % 30}.py:{n % 900}:5: F841 Local variable `token` is never used"
    ),
}


def honest_logs() -> Iterator[tuple[str, str]]:
    """Yield logs of at least `LEAST_LENGTH` characters by their names."""
    for name, line in _LINES.items():
        lines = islice(map(line, count()), LEAST_LENGTH // (len(line(0)) + 1) + 1)
        yield name, "\n".join(lines)
