"""A bank on a PostgreSQL server: the only package with psycopg."""
