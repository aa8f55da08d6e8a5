# SPDX-License-Identifier: Apache-2.0
"""oslo.log setup of daemons: request id, project and user in each line, no secrets."""

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.daemon import redaction

LINE_PREFIX = "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s "
CONTEXT_FORMAT = LINE_PREFIX + "[%(request_id)s %(project_id)s %(user_id)s] %(message)s"
DEFAULT_FORMAT = LINE_PREFIX + "[-] %(message)s"


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
    redaction.redact_handlers()
