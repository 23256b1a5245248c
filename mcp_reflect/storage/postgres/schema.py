"""The schema of the bank on a server: made or upgraded by the first process that opens it."""

from typing import Any, Final, TypeAlias

import psycopg

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.errors import NotABankError
from mcp_reflect.storage.postgres.translation import migrations

SCHEMA: Final = "mcp_reflect"
ROLE: Final = "mcp_reflect_service"
"""The role that a superuser takes: row-level security does not hold for superusers."""

AnyConnection: TypeAlias = psycopg.Connection[Any]

BYPASSES_ROW_SECURITY: Final = (
    "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
)
_GRANT_TO_ROLE: Final = f"""
    DO $$ BEGIN CREATE ROLE {ROLE} NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
    GRANT USAGE ON SCHEMA {SCHEMA} TO {ROLE};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO {ROLE}"""
_HAS_SCHEMA: Final = "SELECT to_regnamespace(%s) IS NOT NULL"
_COUNT_OF_TABLES: Final = "SELECT count(*) FROM pg_class WHERE relnamespace = %s::regnamespace"
_HAS_VERSION: Final = "SELECT to_regclass('schema_version') IS NOT NULL"


def upgrade(connection: AnyConnection, url: ServerUrl) -> None:
    """Make the schema if it is not there, and apply the missing migrations.

    It runs in a transaction whose lock keeps other processes from doing the same. NotABankError if a schema of that
    name is not ours: nothing is changed then.
    """
    if not first_value(connection, _HAS_SCHEMA, SCHEMA):
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
    connection.execute(f"SET LOCAL search_path TO {SCHEMA}, public")
    tables = first_value(connection, _COUNT_OF_TABLES, SCHEMA)
    if tables and not first_value(connection, _HAS_VERSION):
        raise NotABankError(
            f"{url} has a schema {SCHEMA} of another program; it was left as it is."
        )
    connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    _apply_migrations(connection)
    if first_value(connection, BYPASSES_ROW_SECURITY):
        # Each time: the role is the server's, and another user may have made these tables.
        connection.execute(_GRANT_TO_ROLE)


def _apply_migrations(connection: AnyConnection) -> None:
    """Run the migrations that are newer than the schema, and note the version that it has then."""
    version = first_value(connection, "SELECT coalesce(max(version), 0) FROM schema_version")
    for number, script in migrations():
        if number > version:
            connection.execute(script.encode())
    newest, _script = migrations()[-1]
    if version < newest:
        connection.execute("DELETE FROM schema_version")
        connection.execute("INSERT INTO schema_version VALUES (%s)", (newest,))


def first_value(connection: AnyConnection, query: str, *values: object) -> Any:
    """Return the first column of the first row of a query, which always has one."""
    row = connection.execute(query.encode(), values or None).fetchone()
    if row is None:
        raise LookupError(query)
    return row[0]
