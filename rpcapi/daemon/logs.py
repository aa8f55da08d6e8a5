# SPDX-License-Identifier: Apache-2.0
"""oslo.log setup of daemons: request id, project and user in each line, which stays one line without secrets."""

import logging
import re

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors

# User info in URLs, including oslo.messaging's lists of hosts (rabbit://u:p@one,u:p@two).
_CREDENTIALS = re.compile(r"(://|,)[^/\s@'\",:]*:[^/\s@'\",]*@")
# oslo.utils' mask_password covers more forms, but also masks text next to a key.
_KEYED = re.compile(r"((?:password|passwd|passphrase|secret)['\"]?\s*[:=]\s*['\"]?)[^\s'\",;&}]+", re.IGNORECASE)

_WORDS = ("passw", "passphrase", "secret")  # every match of _KEYED contains one

# Control characters except tabs, line separators, and lone surrogates, which no file can store.
_UNPRINTABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
LINE_PREFIX = "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s "
CONTEXT_FORMAT = LINE_PREFIX + "[%(request_id)s %(project_id)s %(user_id)s] %(message)s"
DEFAULT_FORMAT = LINE_PREFIX + "[-] %(message)s"


def in_one_line(text: str) -> str:
    """Return ``text`` with control characters escaped, so that a peer's text cannot forge a log line."""
    return _UNPRINTABLE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def redact(text: str) -> str:
    if "@" in text:
        text = _CREDENTIALS.sub(r"\1***:***@", text)
    folded = text.casefold()  # word searches are many times faster than the expression
    return _KEYED.sub(r"\1***", text) if any(word in folded for word in _WORDS) else text


class RedactingFormatter(logging.Formatter):
    """Formatter that redacts the output of ``inner``; outside of requests, project and user are '-'."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        record.__dict__.setdefault("project_id", "-")
        record.__dict__.setdefault("user_id", "-")
        record.msg, record.args = in_one_line(record.getMessage()), None
        return redact(self.inner.format(record))


def redact_handlers() -> None:
    """Wrap the formatters of all existing handlers. Idempotent."""
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in logging.root.manager.loggerDict)]
    for handler in {handler for logger in loggers for handler in logger.handlers}:
        if not isinstance(handler.formatter, RedactingFormatter):
            handler.setFormatter(RedactingFormatter(handler.formatter or logging.Formatter()))


def register_opts(conf: cfg.ConfigOpts) -> None:
    log.register_options(conf)
    conf.set_default("logging_context_format_string", CONTEXT_FORMAT)
    conf.set_default("logging_default_format_string", DEFAULT_FORMAT)


def setup(conf: cfg.ConfigOpts, prog: str, version: str) -> None:
    """Set up logging; workers repeat it after patching, to replace native locks. Raises BadConfiguration."""
    if not (conf.log_file or conf.log_dir or conf.use_journal or conf.log_config_append):
        # oslo.log would default to standard output, which is for a program's results.
        conf.set_override("use_stderr", True)
    try:
        log.setup(conf, prog, version)
    except (OSError, log.LogConfigError) as exc:
        raise errors.BadConfiguration(why=f"the logs cannot be set up: {exc}") from exc
    redact_handlers()
