"""A team's service as a resource of OAuth 2.1: which JWTs it accepts, and what it says about itself."""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.server.authentication import JwtVerifier, OAuthOptions
from tests.server.calls import refused, told
from tests.server.teams import replica
from tests.server.test_team import CALL, LESSON, SENT, status

ISSUER = "https://login.example.com"
RESOURCE = "https://lessons.example.com/mcp"


@cache
def private_key(owner: str) -> rsa.RSAPrivateKey:
    """A key of that owner; the first test that asks for it makes it, which takes a quarter of a second."""
    assert owner in {"the issuer", "a stranger"}
    return rsa.generate_private_key(public_exponent=65_537, key_size=2048)


class Keys:
    """An authorization server's keys over real HTTP, and how often they were fetched."""

    def __init__(self) -> None:
        self.served = [self.public(private_key("the issuer"), "first")]
        self.fetched = 0
        self.address = ""

    @staticmethod
    def public(key: Any, key_id: str, **more: str) -> dict[str, Any]:
        return {
            **json.loads(RSAAlgorithm.to_jwk(key.public_key())),
            "kid": key_id,
            "use": "sig",
            **more,
        }


@contextmanager
def serving() -> Generator[Keys]:
    keys = Keys()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.fetched += 1
            self.send_response(200 if keys.served else 503)
            self.end_headers()
            self.wfile.write(json.dumps({"keys": keys.served}).encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        keys.address = f"http://127.0.0.1:{server.server_port}/jwks"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield keys
        server.shutdown()
        thread.join(20)


@pytest.fixture
def keys() -> Generator[Keys]:
    with serving() as made:
        yield made


def signed(key: Any = None, key_id: str = "first", algorithm: str = "RS256", **claims: Any) -> str:
    """A token with these claims, signed by the issuer unless another key is given."""
    own = {
        "iss": ISSUER, "aud": RESOURCE, "exp": time.time() + 600, "sub": "ada", "client_id": "agents",
        "tenant": "acme", "projects": ["shop"], "scope": "lessons:read lessons:write",
    }  # fmt: skip
    given = {name: value for name, value in (own | claims).items() if value is not None}
    return jwt.encode(given, key or private_key("the issuer"), algorithm, headers={"kid": key_id})


def options(keys: Keys) -> OAuthOptions:
    return OAuthOptions(issuer=ISSUER, jwks=keys.address, audience=RESOURCE)


async def test_the_claims_tell_tenant_projects_role_and_author(
    settings: Settings, keys: Keys
) -> None:
    async with replica(settings, oauth=options(keys), public_url=RESOURCE) as team:
        async with team.client(signed()) as client:
            stored = await told(client, "store_lesson", LESSON)
            assert "'billing' is not one" in await refused(
                client, "store_lesson", {**LESSON, "project": "billing"}
            )
        assert await team.bank.lessons.projects("acme") == {"shop": 1}
        async with team.client(signed(scope="lessons:read", sub="bob")) as client:
            assert "your token's role is reader" in await refused(client, "store_lesson", LESSON)
        async with team.client(signed(tenant="zeta")) as client:
            assert not (await told(client, "recall_lessons", {"task": LESSON["mistake"]})).get(
                "lessons"
            )
        async with team.client(signed(scope="lessons:read", sub="bob")) as client:
            found = await told(client, "recall_lessons", {"task": LESSON["mistake"]})
            assert [hit["id"] for hit in found["lessons"]] == [stored["lesson_id"]]


async def test_a_jwt_of_another_kind_is_refused(
    settings: Settings, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    now = time.time()
    wrong = {
        "expired": signed(exp=now - 60),
        "without an end": signed(exp=None),
        "another audience": signed(aud="https://other.example.com"),
        "another issuer": signed(iss="https://evil.example"),
        "another key": signed(private_key("a stranger")),
        "an unknown key": signed(private_key("a stranger"), "second"),
        "no tenant": signed(tenant=None),
        "no projects": signed(projects=None),
        "a tenant that is no Unicode": signed(tenant="\ud800"),
        "a tenant with a sign that is not shown": signed(tenant="acme\0"),
        "a tenant with a space": signed(tenant=" acme"),
        "a person that is no Unicode": signed(sub="a\ud800b"),
        "a project that is no Unicode": signed(projects=["shop", "\udc00"]),
        "not yet": signed(nbf=now + 600),
        "unsigned": jwt.encode(
            {"iss": ISSUER, "aud": RESOURCE, "exp": now + 60}, "", "none", headers={"kid": "first"}
        ),
        "signed with the public key as a secret": signed(keys.served[0]["n"], algorithm="HS256"),
        "another algorithm of the key": signed(algorithm="PS512"),
    }
    async with replica(settings, oauth=options(keys), public_url=RESOURCE) as team:
        assert await status(team, signed()) == 200
        for kind, token in wrong.items():
            assert await status(team, token) == 401, kind
        assert await status(team, signed(scope="email")) == 403
        assert await status(team, await team.token("cy")) == 200
    log = capsys.readouterr().err
    for reason in (
        "ExpiredSignatureError",
        "InvalidAudienceError",
        "InvalidIssuerError",
        "InvalidSignatureError",
    ):
        assert f'"reason": "{reason}"' in log


async def test_a_shared_secret_among_the_keys_verifies_nothing(keys: Keys) -> None:
    keys.served.append(
        {
            "kty": "oct",
            "k": "c2VjcmV0IHRoYXQgZXZlcnlib2R5IGtub3dzLCAzMiBieXRlcw",
            "kid": "shared",
            "alg": "HS256",
        }
    )
    verifier = JwtVerifier(options(keys), Log())
    known = b"secret that everybody knows, 32 bytes"
    assert await verifier.verify_token(signed(known, "shared", "HS256")) is None
    assert await verifier.verify_token(signed()) is not None


async def test_an_elliptic_key_that_names_no_algorithm_verifies(keys: Keys) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    keys.served.append({**json.loads(ECAlgorithm.to_jwk(key.public_key())), "kid": "curve"})
    access = await JwtVerifier(options(keys), Log()).verify_token(signed(key, "curve", "ES256"))
    assert access is not None
    assert access.principal.projects == ("shop",)


async def test_keys_are_fetched_once_whoever_sends_unknown_ids(keys: Keys) -> None:
    verifier = JwtVerifier(options(keys), Log())
    for number in range(20):
        assert (
            await verifier.verify_token(signed(private_key("a stranger"), f"made up {number}"))
            is None
        )
    assert await verifier.verify_token(signed()) is not None
    assert keys.fetched <= 2


async def test_a_server_of_keys_that_is_down_is_not_asked_at_each_request(keys: Keys) -> None:
    keys.served = []
    verifier = JwtVerifier(options(keys), Log("error"))
    assert [await verifier.verify_token(signed()) for _ in range(50)] == [None] * 50
    assert keys.fetched <= 2


async def test_the_resource_names_its_authorization_server_and_its_scopes(
    settings: Settings, keys: Keys
) -> None:
    async with (
        replica(settings, oauth=options(keys), public_url=RESOURCE) as team,
        team.http() as http,
    ):
        refusal = await http.post("/mcp", json=CALL, headers=SENT)
        address = "https://lessons.example.com/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{address}"' in refusal.headers["www-authenticate"]
        told_of = (await http.get("/.well-known/oauth-protected-resource/mcp")).json()
    assert told_of["resource"] == RESOURCE
    assert [server.rstrip("/") for server in told_of["authorization_servers"]] == [ISSUER]
    assert told_of["scopes_supported"] == ["lessons:read", "lessons:write", "lessons:admin"]
