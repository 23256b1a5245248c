"""The authentication of requests to the service of a team: a token of the bank, or a JWT, names the caller.

A JWT is a token that an OAuth 2.1 authorization server signed.
"""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import Scope

from mcp_reflect.log import Log
from mcp_reflect.models.access import ROLES, AccessRole, Principal
from mcp_reflect.projects import stored_name
from mcp_reflect.security.normal_form import normalize
from mcp_reflect.storage.tokens import PREFIX, TokenRepository

if TYPE_CHECKING:
    import jwt

SCOPES: Final[tuple[str, ...]] = ("lessons:read", "lessons:write", "lessons:admin")
"""The OAuth scope of each role, in the order of ROLES."""

# Signatures with a public key alone: with a shared secret, or with none, a caller could make a token itself.
ALGORITHMS: Final = tuple("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split())
_LEEWAY_SECONDS: Final = 30  # by which the clocks of two machines may differ
_KEYS_SECONDS: Final = 600.0  # after which the keys are fetched again
# The least time between two fetches, whoever sends unknown key ids, and however many.
_REFETCH_SECONDS: Final = 30.0
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
            stored_token = await self._tokens.find(token)
            if stored_token is None:
                return None
            return access(stored_token, client_id=stored_token.id)
        if self._jwts is None:
            return None
        return await self._jwts.verify_token(token)


class JwtVerifier:
    """Verifies JWTs of one authorization server, and reads the tenant, projects and role from their claims.

    PyJWT keeps the server's keys (JWKS), and fetches them again for an unknown id.
    """

    def __init__(self, oauth: OAuthOptions, log: Log) -> None:
        import jwt  # noqa: PLC0415 - only with OAuth

        self._oauth = oauth
        self._log = log
        self._keys = jwt.PyJWKClient(
            oauth.jwks,
            lifespan=_KEYS_SECONDS,
            timeout=_FETCH_SECONDS,
            cooldown_duration=_REFETCH_SECONDS,
        )
        self._failed = float("-inf")
        self._fetching = anyio.Lock()

    async def verify_token(self, token: str) -> Access | None:
        """Return the caller that a JWT names, or None if the JWT is not accepted."""
        claims = await self._claims_of(token)
        if claims is None:
            return None
        return _access_by_claims(claims, self._oauth)

    async def _claims_of(self, token: str) -> dict[str, Any] | None:
        """Return what a JWT claims, None if it is not one of theirs, has expired, or is for another service."""
        import jwt  # noqa: PLC0415 - only with OAuth

        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(str(header.get("kid", "")))
            if key is None or key.algorithm_name not in ALGORITHMS:
                return None
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._oauth.issuer,
                audience=self._oauth.audience,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            self._log.warning("jwt_refused", reason=type(error).__name__)
            return None

    async def _key(self, key_id: str) -> "jwt.PyJWK | None":
        """Return the key of an id, None if the server of keys did not answer now or in the last 30 s.

        jwt.PyJWTError if the server has no key of that id. One request at a time asks the server, so that a caller
        cannot make this service flood it.
        """
        import jwt  # noqa: PLC0415 - only with OAuth

        async with self._fetching:
            if time.monotonic() - self._failed < _REFETCH_SECONDS:
                return None
            try:
                return await anyio.to_thread.run_sync(self._keys.get_signing_key, key_id)
            except jwt.PyJWKClientConnectionError as error:
                self._failed = time.monotonic()
                self._log.error("jwks_failed", error=type(error).__name__)
                return None


def access(principal: Principal, *, client_id: str, expires_at: int | None = None) -> Access:
    """Return a principal as an access token with the scopes of its role; `expires_at` is in seconds since 1970."""
    scopes = [*SCOPES[: ROLES.index(principal.role) + 1]]
    return Access(
        token="", client_id=client_id, scopes=scopes, expires_at=expires_at, principal=principal
    )


def _access_by_claims(claims: dict[str, Any], oauth: OAuthOptions) -> Access | None:
    """Return the caller that the claims of a JWT name; None without a tenant, a project, or a client or person.

    A tenant with signs that are not shown, or a name that is no Unicode, names nobody: it could not be stored.

    {"sub": "ada", "client_id": "web", "tenant": "acme", "projects": "shop site", "scope": "lessons:read lessons:write"}
    is the principal "web ada" with the name "ada" and the role of a writer. Without a scope of ours it gets no scope, so
    that it is let in nowhere.
    """
    tenant = claims.get(oauth.tenant_claim)
    projects = _words(claims.get(oauth.projects_claim))
    subject = str(claims.get("sub") or "")
    client = str(claims.get("client_id") or claims.get("azp") or subject)
    if not isinstance(tenant, str) or not tenant or not projects or not client:
        return None
    if normalize(tenant).strip() != tenant or not _is_unicode(subject, client, *projects):
        return None
    granted = {*_words(claims.get("scope")), *_words(claims.get("scp"))}
    roles = [role for role, scope in zip(ROLES, SCOPES, strict=True) if scope in granted]
    principal = Principal(
        id=f"{client} {subject}",
        name=stored_name(subject or client),
        tenant=tenant,
        projects=projects,
        role=roles[-1] if roles else AccessRole.READER,
    )
    expires_at = int(claims["exp"]) + _LEEWAY_SECONDS
    caller = access(principal, client_id=client, expires_at=expires_at)
    fields: dict[str, Any] = {"subject": subject or None, "claims": {"iss": oauth.issuer}}
    if not roles:
        fields["scopes"] = []
    return caller.model_copy(update=fields)


def _is_unicode(*names: str) -> bool:
    """Return whether names can be stored: half of a pair of surrogates, which JSON lets through, cannot."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return False
    return True


def _words(value: Any) -> tuple[str, ...]:
    """Return the words of a claim, none for one that is missing: "a b" and ["a", "b"] -> ("a", "b")."""
    if isinstance(value, str):
        return tuple(value.split())
    if not isinstance(value, list):
        return ()
    return tuple(part for part in cast("list[Any]", value) if isinstance(part, str))


def principal_of(scope: Scope) -> Principal | None:
    """Return the caller that the token of a request names, None if it has no accepted token.

    A token needs the scope to read at least, which is the first of SCOPES.
    """
    user = scope.get("user")
    if not isinstance(user, AuthenticatedUser):
        return None
    token = user.access_token
    if not isinstance(token, Access) or SCOPES[0] not in token.scopes:
        return None
    return token.principal
