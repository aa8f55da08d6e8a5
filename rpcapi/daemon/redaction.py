# SPDX-License-Identifier: Apache-2.0
"""Masks passwords in logs, tracebacks included, and keeps each message in one line."""

import logging
import re

# User info in URLs, oslo.messaging's lists of hosts (rabbit://u:p@one,u:p@two) included.
_CREDENTIALS = re.compile(r"(://|,)[^/\s@'\",:]*:[^/\s@'\",]*@")
# oslo.utils' mask_password covers more forms, but also masks text next to a key.
_KEYED = re.compile(r"((?:password|passwd|passphrase|secret)['\"]?\s*[:=]\s*['\"]?)[^\s'\",;&}]+", re.IGNORECASE)

_WORDS = ("passw", "passphrase", "secret")  # of which each match of _KEYED has one

# Control characters except tabs, line separators, and halves of surrogate pairs, which no file can take.
_UNPRINTABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def in_one_line(text: str) -> str:
    """Return ``text`` with control characters escaped: a peer's text must not begin a log line of its own."""
    return _UNPRINTABLE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def redact(text: str) -> str:
    """Return ``text`` with the user info of URLs and the values of password-like keys masked."""
    if "@" in text:
        text = _CREDENTIALS.sub(r"\1***:***@", text)
    folded = text.casefold()  # a search for each word is many times faster than the expression
    return _KEYED.sub(r"\1***", text) if any(word in folded for word in _WORDS) else text


class RedactingFormatter(logging.Formatter):
    """Formats with another formatter, then redacts; project and user are '-' in lines without a request."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line(s)."""
        record.__dict__.setdefault("project_id", "-")
        record.__dict__.setdefault("user_id", "-")
        record.msg, record.args = in_one_line(record.getMessage()), None
        return redact(self.inner.format(record))


def redact_handlers() -> None:
    """Wrap the formatters of all present handlers; idempotent."""
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in logging.root.manager.loggerDict)]
    for handler in {handler for logger in loggers for handler in logger.handlers}:
        if not isinstance(handler.formatter, RedactingFormatter):
            handler.setFormatter(RedactingFormatter(handler.formatter or logging.Formatter()))
