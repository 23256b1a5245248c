"""Who calls the service of a team: tokens of the bank, and JWTs of an OAuth 2.1 authorization server."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import anyio.to_thread
from mcp.server.auth.provider import AccessToken

from mcp_reflect.errors import NotAllowedError
from mcp_reflect.log import Log
from mcp_reflect.models.access import ROLES, Principal, Role
from mcp_reflect.projects import stored_name
from mcp_reflect.storage.tokens import PREFIX, TokenRepository

if TYPE_CHECKING:
    import jwt

SCOPES: Final[tuple[str, ...]] = ("lessons:read", "lessons:write", "lessons:admin")
"""The OAuth scope of each role, in the order of ROLES."""

# Signatures with a public key alone: with a shared secret, or with none, a caller could make a token itself.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LEEWAY_SECONDS: Final = 30
_KEYS_SECONDS: Final = 600.0  # after which the keys are fetched again
_REFETCH_SECONDS: Final = 30.0  # between two fetches, whoever sends unknown key ids, and however many
_FETCH_SECONDS: Final = 5.0
_LONGEST_TOKEN: Final = 16_384  # characters


class Access(AccessToken):
    """A verified token of a request, in the SDK's form, without the token's text."""

    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthOptions:
    """The authorization server whose JWTs are accepted, and the names of the claims that tell tenant and projects."""

    issuer: str
    jwks: str
    audience: str
    tenant_claim: str = "tenant"
    projects_claim: str = "projects"


class Authenticator:
    """Verifies the bearer token of each request. It caches nothing, so a revoked token is refused at once."""

    def __init__(self, tokens: TokenRepository, oauth: OAuthOptions | None, log: Log) -> None:
        self._tokens = tokens
        self._jwts = JwtVerifier(oauth, log) if oauth else None

    async def verify_token(self, token: str) -> Access | None:
        """Return the caller that a token names, or None if the token is not accepted."""
        if len(token) > _LONGEST_TOKEN:
            return None
        if token.startswith(PREFIX):
            found = await self._tokens.find(token)
            return found and access(found, client_id=found.id)
        return await self._jwts.verify_token(token) if self._jwts else None


class JwtVerifier:
    """Verifies JWTs of one authorization server, and reads the tenant, projects and role from their claims."""

    def __init__(self, oauth: OAuthOptions, log: Log) -> None:
        self._oauth = oauth
        self._keys = SigningKeys(oauth.jwks, log)
        self._log = log

    async def verify_token(self, token: str) -> Access | None:
        """Return the caller that a JWT names, or None if the JWT is not accepted."""
        import jwt  # noqa: PLC0415 - only with OAuth

        oauth = self._oauth
        try:
            header = jwt.get_unverified_header(token)
            key = await self._keys.find(str(header.get("kid", "")))
            if key is None or key.algorithm_name not in ALGORITHMS:
                return None
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=[key.algorithm_name], issuer=oauth.issuer, audience=oauth.audience,
                 leeway=_LEEWAY_SECONDS, options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:  # not one of theirs, expired, or for somebody else
            self._log.warning("jwt_refused", reason=type(error).__name__)
            return None
        granted = {*_words(claims.get("scope")), *_words(claims.get("scp"))}
        roles = [role for role, scope in zip(ROLES, SCOPES, strict=True) if scope in granted]
        tenant, projects = claims.get(oauth.tenant_claim), _words(claims.get(oauth.projects_claim))
        subject = str(claims.get("sub") or "")
        client = str(claims.get("client_id") or claims.get("azp") or subject)
        if not isinstance(tenant, str) or not tenant or not projects or not client:
            return None
        principal = Principal(
            id=f"{client} {subject}", name=stored_name(subject or client), tenant=tenant, projects=projects,
            role=roles[-1] if roles else Role.READER,
        )  # fmt: skip
        known = access(principal, client_id=client, expires_at=int(claims["exp"]) + _LEEWAY_SECONDS)
        issued = {"subject": subject or None, "claims": {"iss": oauth.issuer}}
        return known.model_copy(update=issued if roles else {**issued, "scopes": []})


def access(principal: Principal, *, client_id: str, expires_at: int | None = None) -> Access:
    """Return a principal as an access token with the scopes of its role."""
    scopes = [*SCOPES[: ROLES.index(principal.role) + 1]]
    return Access(token="", client_id=client_id, scopes=scopes, expires_at=expires_at, principal=principal)


def _words(value: Any) -> tuple[str, ...]:
    """Return a claim that is a list of texts, or one text with spaces."""
    parts = value.split() if isinstance(value, str) else cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(part for part in parts if isinstance(part, str))


class SigningKeys:
    """The keys of an authorization server (JWKS). PyJWT keeps them, and fetches them anew for an unknown id."""

    def __init__(self, address: str, log: Log, now: Callable[[], float] = time.monotonic) -> None:
        import jwt  # noqa: PLC0415 - only with OAuth

        self._client = jwt.PyJWKClient(
            address, lifespan=_KEYS_SECONDS, timeout=_FETCH_SECONDS, cooldown_duration=_REFETCH_SECONDS
        )
        self._log = log
        self._now = now
        self._failed = float("-inf")
        self._fetching = anyio.Lock()

    async def find(self, key_id: str) -> "jwt.PyJWK | None":
        """Return the key of that id, None if there is no such key, or the server failed to answer in the last 30 s."""
        import jwt  # noqa: PLC0415 - only with OAuth

        async with self._fetching:
            if self._now() - self._failed < _REFETCH_SECONDS:
                return None
            try:
                return await anyio.to_thread.run_sync(self._client.get_signing_key, key_id)
            except jwt.PyJWKClientConnectionError as error:
                self._failed = self._now()
                self._log.error("jwks_failed", error=type(error).__name__)
            except jwt.PyJWTError:
                pass
        return None


def refuse_role(caller: Principal, needed: Role, act: str) -> None:
    """Raise NotAllowedError if the caller's role does not allow an act."""
    if not caller.may(needed):
        fault = f"your token's role is {caller.role}, and to {act} it must be {needed}"
        raise NotAllowedError("role", fault, "Ask an admin of your team for a token with that role.")
