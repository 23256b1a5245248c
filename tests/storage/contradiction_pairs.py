"""Pairs of lessons with their truth: do they contradict each other? Written before the rules, half kept aside.

Each pair is (mistake, correction) twice. A contradiction is the same situation with an opposite correction:
whoever follows the one acts against the other.
"""

from typing import Final, NamedTuple


class Pair(NamedTuple):
    """Two lessons, each as (mistake, correction)."""

    one: tuple[str, str]
    other: tuple[str, str]


_FLAKY: Final = "The integration tests of the payments service failed at random in CI"
_SLOW: Final = "The nightly export of the orders table ran out of memory"
_LOCK: Final = "npm ci failed because the lock file was out of date"

CONTRADICTING_WORKED_ON: Final = (
    Pair((_FLAKY, "Run them in parallel"), (_FLAKY, "Do not run them in parallel")),
    Pair((_FLAKY, "Set the timeout to 30 seconds"), (_FLAKY, "Set the timeout to 120 seconds")),
    Pair((_FLAKY, "Enable retries for the test runner"), (_FLAKY, "Disable retries for the test runner")),
    Pair((_SLOW, "Increase the batch size"), (_SLOW, "Decrease the batch size")),
    Pair((_SLOW, "Raise the batch size of the export"), (_SLOW, "Lower the batch size of the export")),
    Pair((_SLOW, "Set batch_size=500 in export.toml"), (_SLOW, "Set batch_size=5000 in export.toml")),
    Pair((_LOCK, "Commit the lock file"), (_LOCK, "Never commit the lock file")),
    Pair(
        (_LOCK, "Always delete node_modules before installing"), (_LOCK, "Don't delete node_modules before installing")
    ),
    Pair(
        ("The deploy of the billing service broke the login page", "Run the migration before deploying"),
        ("The deploy of the billing service broke the login page", "Run the migration after deploying"),
    ),
    Pair(
        ("Dates were parsed wrong in the invoice import", "Pass dayfirst=True to to_datetime"),
        ("Dates were parsed wrong in the invoice import", "Pass dayfirst=False to to_datetime"),
    ),
    Pair(
        ("Search for a customer by name found nothing", "Use master search"),
        ("Searching for a customer by name found nothing", "Avoid master search"),
    ),
    Pair(
        ("The webhook was rejected with 401", "Send the signature header with the request"),
        ("The webhook was rejected with a 401", "Omit the signature header from the request"),
    ),
    Pair(
        ("Reading config.yaml failed on Windows", "Open config.yaml with encoding utf-8"),
        ("Reading config.yaml failed on Windows", "Open config.yaml with encoding cp1252"),
    ),
    Pair(
        ("The container could not reach the database", "Use port 5432 for the database"),
        ("The container could not reach the database", "Use port 6432 for the database"),
    ),
    Pair(
        ("Rebasing the release branch lost two commits", "Squash the commits first"),
        ("Rebasing the release branch lost two commits", "Never squash the commits first"),
    ),
    Pair(
        ("The cache served stale prices", "Turn on the cache for the price endpoint"),
        ("The cache served stale prices", "Turn off the cache for the price endpoint"),
    ),
    Pair(
        ("The CSV import dropped the first row", "Include the header row"),
        ("The CSV import dropped the first row", "Exclude the header row"),
    ),
    Pair(
        ("Upgrading the client broke the build", "Pin requests to 2.31.0"),
        ("Upgrading the client broke the build", "Pin requests to 2.28.2"),
    ),
)

APART_WORKED_ON: Final = (
    # The same advice in other words, or more of it.
    Pair((_FLAKY, "Run them in parallel"), (_FLAKY, "Run the tests in parallel with four workers")),
    Pair((_FLAKY, "Set the timeout to 30 seconds"), (_FLAKY, "Set the timeout to 30 seconds in ci.yml")),
    Pair((_LOCK, "Never commit the lock file"), (_LOCK, "Do not commit the lock file")),
    # Two steps that go together.
    Pair((_FLAKY, "Set the timeout to 30 seconds"), (_FLAKY, "Set the number of retries to 3")),
    Pair((_SLOW, "Increase the batch size"), (_SLOW, "Decrease the number of workers")),
    Pair((_SLOW, "Use a server-side cursor"), (_SLOW, "Write the export in chunks")),
    Pair((_LOCK, "Run npm install once and commit the lock file"), (_LOCK, "Do not edit the lock file by hand")),
    # Opposite words in other situations.
    Pair((_FLAKY, "Enable retries for the test runner"), (_SLOW, "Disable retries for the test runner")),
    Pair(
        ("The upload of small files timed out", "Increase the batch size"),
        ("The upload of large files timed out", "Decrease the batch size"),
    ),
    Pair(
        ("The deploy to staging failed with a timeout", "Set the timeout to 60 seconds"),
        ("The deploy to production failed with a timeout", "Set the timeout to 300 seconds"),
    ),
    Pair(
        ("The build failed on Python 3.9", "Pin numpy to 1.26"),
        ("The build failed on Python 3.13", "Pin numpy to 2.1"),
    ),
    Pair(
        ("parse_date failed on ISO dates", "Pass dayfirst=False"),
        ("parse_date failed on German dates", "Pass dayfirst=True"),
    ),
    Pair(
        ("Error E4012 while saving an order", "Retry the request"),
        ("Error E4018 while saving an order", "Do not retry the request"),
    ),
    Pair(
        ("The orders service did not start", "Set the memory limit to 512 MB"),
        ("The invoices service did not start", "Set the memory limit to 2 GB"),
    ),
    # A negation that says the same from the other side.
    Pair(
        ("The migration locked the users table", "Run the migration before the deploy, not after it"),
        ("The migration locked the users table", "Run the migration before the deploy"),
    ),
    Pair(
        ("The report showed last month's figures", "Clear the cache, do not restart the server"),
        ("The report showed last month's figures", "Clear the cache"),
    ),
    Pair(
        ("git push was refused", "Do not force the push; open a pull request"),
        ("git push was refused", "Open a pull request"),
    ),
    # Numbers that are no setting.
    Pair(
        ("The importer skipped some rows", "Look at rows 10 to 20 of the log"),
        ("The importer skipped some rows", "Look at rows 30 to 40 of the log"),
    ),
    Pair(
        ("The smoke test failed", "Check /var/log/app.log"),
        ("The smoke test failed", "Check /var/log/db.log"),
    ),
    Pair(("Deployed on a Friday", "Deploy on Tuesday morning"), ("Deployed on a Friday", "Tell the team first")),
)

_AUTH: Final = "Calls to the inventory API were refused with status 403"
_RENDER: Final = "The dashboard page rendered an empty chart for new accounts"
_BACKUP: Final = "Restoring last night's backup to the replica failed"

CONTRADICTING_KEPT_ASIDE: Final = (
    Pair((_AUTH, "Send the token in the query string"), (_AUTH, "Never send the token in the query string")),
    Pair((_AUTH, "Set max_retries to 5"), (_AUTH, "Set max_retries to 0")),
    Pair((_AUTH, "Add the X-Tenant header"), (_AUTH, "Remove the X-Tenant header")),
    Pair((_RENDER, "Enable lazy loading"), (_RENDER, "Disable lazy loading")),
    Pair((_RENDER, "Show the chart before the data arrives"), (_RENDER, "Show the chart after the data arrives")),
    Pair((_RENDER, "Use strict mode"), (_RENDER, "Do not use strict mode")),
    Pair((_BACKUP, "Stop the replica before restoring"), (_BACKUP, "Start the replica before restoring")),
    Pair((_BACKUP, "Restore with --jobs=8"), (_BACKUP, "Restore with --jobs=1")),
    Pair((_BACKUP, "Increase maintenance_work_mem"), (_BACKUP, "Reduce maintenance_work_mem")),
    Pair(
        ("The linter rejected the generated file", "Format generated files"),
        ("The linter rejected the generated file", "Don't format generated files"),
    ),
    Pair(
        ("The agent searched the tickets table and got nothing", "Use a narrower query"),
        ("The agent searched the tickets table and got nothing", "Use a broader query"),
    ),
    Pair(
        ("The mobile build failed at the signing step", "Set JAVA_HOME to jdk-17"),
        ("The mobile build failed at the signing step", "Set JAVA_HOME to jdk-21"),
    ),
    Pair(
        ("Booking a flight with a certificate failed", "Ask the customer before charging the card"),
        ("Booking a flight with a certificate failed", "Do not ask the customer before charging the card"),
    ),
    Pair(
        ("The scraper was banned by the site", "Wait 2 seconds between requests"),
        ("The scraper was banned by the site", "Wait 10 seconds between requests"),
    ),
    Pair(
        ("Parsing the feed raised a decode error", "Pass errors='ignore' to decode"),
        ("Parsing the feed raised a decode error", "Pass errors='strict' to decode"),
    ),
    Pair(
        ("terraform apply destroyed the queue", "Always pass -auto-approve"),
        ("terraform apply destroyed the queue", "Never pass -auto-approve"),
    ),
    Pair(
        ("The vector search returned unrelated rows", "Lower the score threshold"),
        ("The vector search returned unrelated rows", "Raise the score threshold"),
    ),
    Pair(
        ("The merge of two forecasts double counted returns", "Include returns in the total"),
        ("The merge of two forecasts double counted returns", "Exclude returns from the total"),
    ),
)

APART_KEPT_ASIDE: Final = (
    Pair((_AUTH, "Send the token in the Authorization header"), (_AUTH, "Do not send the token in the query string")),
    Pair((_AUTH, "Set max_retries to 5"), (_AUTH, "Set max_delay to 30")),
    Pair((_AUTH, "Renew the token"), (_AUTH, "Ask an admin for the inventory role")),
    Pair((_RENDER, "Enable lazy loading"), (_RENDER, "Disable the animation")),
    Pair((_RENDER, "Do not draw the chart without data"), (_RENDER, "Never draw the chart without data")),
    Pair((_RENDER, "Use strict mode"), (_BACKUP, "Do not use strict mode")),
    Pair((_BACKUP, "Restore with --jobs=8"), (_BACKUP, "Restore with --clean")),
    Pair((_BACKUP, "Stop the replica before restoring"), (_BACKUP, "Start the replica after restoring")),
    Pair(
        ("The import of 2023 invoices failed", "Set the year to 2023"),
        ("The import of 2024 invoices failed", "Set the year to 2024"),
    ),
    Pair(
        ("read_csv choked on semicolons", "Pass sep=';'"),
        ("read_csv choked on tabs", "Pass sep='\\t'"),
    ),
    Pair(
        ("The query on Postgres was slow", "Enable parallel scans"),
        ("The query on SQLite was slow", "Disable parallel scans"),
    ),
    Pair(
        ("The job ran twice", "Lock the row first"),
        ("The job ran twice", "Make the job idempotent"),
    ),
    Pair(
        ("The search for hotels in Rome found nothing", "Search for Roma"),
        ("The search for hotels in Rome found nothing", "Do not filter by stars"),
    ),
    Pair(
        ("The user was not told of the delay", "Send the mail first, then close the ticket"),
        ("The user was not told of the delay", "Do not close the ticket first"),
    ),
    Pair(
        ("The nightly run used the wrong branch", "Check out main"),
        ("The nightly run used the wrong branch", "Check out main, not develop"),
    ),
    Pair(
        ("Timeout after 30 s while calling the tax service", "Retry with a longer timeout"),
        ("Timeout after 30 s while calling the tax service", "Retry up to 3 times"),
    ),
    Pair(
        ("The form accepted an empty name", "Validate the name on the server"),
        ("The form accepted an empty name", "Validate the name on the client too"),
    ),
    Pair(
        ("The server ran out of file handles", "Raise the limit with ulimit -n 4096"),
        ("The server ran out of file handles", "Close the sockets that are not used"),
    ),
    Pair(
        ("Answered from memory and got the year wrong", "Look the year up before answering"),
        ("Answered from memory and got the author wrong", "Look the author up before answering"),
    ),
    Pair(
        ("Wrote to the production bucket", "Use the bucket acme-staging"),
        ("Read from the production bucket", "Use the bucket acme-prod"),
    ),
)
