"""Mistakes with two opposite corrections each: these lessons must never be merged."""

from typing import Final, NamedTuple


class Pair(NamedTuple):
    """A mistake, a correction, and the opposite correction."""

    mistake: str
    correction: str
    opposite: str


_FLAKY: Final = "The integration tests of the payments service failed at random in CI"
_SLOW: Final = "The nightly export of the orders table ran out of memory"
_LOCK: Final = "npm ci failed because the lock file was out of date"
_AUTH: Final = "Calls to the inventory API were refused with status 403"
_RENDER: Final = "The dashboard page rendered an empty chart for new accounts"
_BACKUP: Final = "Restoring last night's backup to the replica failed"

CONTRADICTING: Final = (
    Pair(_FLAKY, "Run them in parallel", "Do not run them in parallel"),
    Pair(_FLAKY, "Set the timeout to 30 seconds", "Set the timeout to 120 seconds"),
    Pair(_FLAKY, "Enable retries for the test runner", "Disable retries for the test runner"),
    Pair(_SLOW, "Increase the batch size", "Decrease the batch size"),
    Pair(_SLOW, "Raise the batch size of the export", "Lower the batch size of the export"),
    Pair(_SLOW, "Set batch_size=500 in export.toml", "Set batch_size=5000 in export.toml"),
    Pair(_LOCK, "Commit the lock file", "Never commit the lock file"),
    Pair(_LOCK, "Always delete node_modules before installing", "Don't delete node_modules before installing"),
    Pair(
        "The deploy of the billing service broke the login page",
        "Run the migration before deploying",
        "Run the migration after deploying",
    ),
    Pair(
        "Dates were parsed wrong in the invoice import",
        "Pass dayfirst=True to to_datetime",
        "Pass dayfirst=False to to_datetime",
    ),
    Pair("Search for a customer by name found nothing", "Use master search", "Avoid master search"),
    Pair(
        "The webhook was rejected with 401",
        "Send the signature header with the request",
        "Omit the signature header from the request",
    ),
    Pair(
        "Reading config.yaml failed on Windows",
        "Open config.yaml with encoding utf-8",
        "Open config.yaml with encoding cp1252",
    ),
    Pair(
        "The container could not reach the database", "Use port 5432 for the database", "Use port 6432 for the database"
    ),
    Pair("Rebasing the release branch lost two commits", "Squash the commits first", "Never squash the commits first"),
    Pair(
        "The cache served stale prices",
        "Turn on the cache for the price endpoint",
        "Turn off the cache for the price endpoint",
    ),
    Pair("The CSV import dropped the first row", "Include the header row", "Exclude the header row"),
    Pair("Upgrading the client broke the build", "Pin requests to 2.31.0", "Pin requests to 2.28.2"),
    Pair(_AUTH, "Send the token in the query string", "Never send the token in the query string"),
    Pair(_AUTH, "Set max_retries to 5", "Set max_retries to 0"),
    Pair(_AUTH, "Add the X-Tenant header", "Remove the X-Tenant header"),
    Pair(_RENDER, "Enable lazy loading", "Disable lazy loading"),
    Pair(_RENDER, "Show the chart before the data arrives", "Show the chart after the data arrives"),
    Pair(_RENDER, "Use strict mode", "Do not use strict mode"),
    Pair(_BACKUP, "Stop the replica before restoring", "Start the replica before restoring"),
    Pair(_BACKUP, "Restore with --jobs=8", "Restore with --jobs=1"),
    Pair(_BACKUP, "Increase maintenance_work_mem", "Reduce maintenance_work_mem"),
    Pair("The linter rejected the generated file", "Format generated files", "Don't format generated files"),
    Pair("The agent searched the tickets table and got nothing", "Use a narrower query", "Use a broader query"),
    Pair("The mobile build failed at the signing step", "Set JAVA_HOME to jdk-17", "Set JAVA_HOME to jdk-21"),
    Pair(
        "Booking a flight with a certificate failed",
        "Ask the customer before charging the card",
        "Do not ask the customer before charging the card",
    ),
    Pair("The scraper was banned by the site", "Wait 2 seconds between requests", "Wait 10 seconds between requests"),
    Pair("Parsing the feed raised a decode error", "Pass errors='ignore' to decode", "Pass errors='strict' to decode"),
    Pair("terraform apply destroyed the queue", "Always pass -auto-approve", "Never pass -auto-approve"),
    Pair("The vector search returned unrelated rows", "Lower the score threshold", "Raise the score threshold"),
    Pair(
        "The merge of two forecasts double counted returns",
        "Include returns in the total",
        "Exclude returns from the total",
    ),
)
