"""Secrets of the ten commonest kinds, made up, and a look for them in every file of a folder."""

from pathlib import Path

# No scanner of repositories must take them for real ones, so they are put together here.
SECRETS: dict[str, str] = {
    "private_key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAq7BFUpkGp3xQz"
    "\nLhV2yGkTnW0Rj\n-----END RSA PRIVATE KEY-----",
    "aws_key": "AKIA" + "Q3EGSDLBWXKTU4V2",
    "github_token": "ghp" + "_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5",
    "llm_key": "sk-" + "proj-Zq8Xw2Vb7Nm4Kj9Hg3Fd6Sa1Po5Iu0Yt",
    "google_key": "AIza" + "SyD4bW8kR2mT6vZ1xQ9nL3pJ7hG5fC0aE2u",
    "slack_token": "xoxb" + "-731946285017-Kd83hfKs92LpQmZx",
    "stripe_key": "sk" + "_live_9Hx2Lm4Qp7Rt1Vw8Zb3Nc6",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiI4Mzc0NjEifQ.Vt9xQm2Lk7Rp4Wz8Hn3Bc6Yd1Sf5Gj0",
    "url_password": "postgres://deploy:" + "Wq7tXz3pLm" + "@db.internal:5432/app",
    "authorization": "Authorization: Bearer " + "q8Zx3Wv7Bn2Mk9Lj4Hg6Fd1Sp5",
    "password": "DB_PASSWORD=" + "hR7kQ2vN9x!",
}

# What must be in no file: the telling part of each, and the words that an index would make of that part.
TELLING: dict[str, tuple[str, ...]] = {
    "private_key": ("MIIEpAIBAAKCAQEAq7BFUpkGp3xQz", "LhV2yGkTnW0Rj"),
    "aws_key": ("Q3EGSDLBWXKTU4V2", "EGSDLBWXKTU"),
    "github_token": ("aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5",),
    "llm_key": ("Zq8Xw2Vb7Nm4Kj9Hg3Fd6Sa1Po5Iu0Yt",),
    "google_key": ("SyD4bW8kR2mT6vZ1xQ9nL3pJ7hG5fC0aE2u",),
    "slack_token": ("731946285017", "Kd83hfKs92LpQmZx"),
    "stripe_key": ("9Hx2Lm4Qp7Rt1Vw8Zb3Nc6",),
    "jwt": ("hbGciOiJIUzI1NiJ9", "eyJzdWIiOiI4Mzc0NjEifQ", "Vt9xQm2Lk7Rp4Wz8Hn3Bc6Yd1Sf5Gj0"),
    "url_password": ("Wq7tXz3pLm",),
    "authorization": ("q8Zx3Wv7Bn2Mk9Lj4Hg6Fd1Sp5",),
    "password": ("hR7kQ2vN9x",),
}


def found_in(folder: Path) -> dict[str, list[str]]:
    """Which telling parts are in which files below `folder`, whatever their case."""
    files = {path.name: path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()}
    return {
        part: names
        for parts in TELLING.values()
        for part in parts
        if (names := [name for name, content in files.items() if part.lower().encode() in content])
    }
