# SPDX-License-Identifier: Apache-2.0
"""The text of a claim's identity, ``consumer@attempt``: where a moved claim's other identity is stored or sent."""


def format_identity(consumer: str, attempt: int) -> str:
    """Return an identity's text."""
    return f"{consumer}@{attempt}"


def parse_identity(text: str) -> tuple[str, int]:
    """Return consumer and attempt; raises ValueError for another text."""
    consumer, _at, attempt = text.rpartition("@")
    if not consumer or not (attempt.isascii() and attempt.isdigit()) or int(attempt) < 1:
        raise ValueError(f"the identity of a claim must be CONSUMER@ATTEMPT, got {text[:80]!r}")
    return consumer, int(attempt)
