# SPDX-License-Identifier: Apache-2.0
"""Where the command finds its configuration, so that it works with no option given."""

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from oslo_config import cfg

from rpcapi import conf as rpc_conf
from rpcapi import errors

FILE_VARIABLE = "GANTT_CONFIG_FILE"
RUN_VARIABLE = "GANTT_RUN"
# A person waits: a lost message is asked again sooner than a service would.
CALL_TIMEOUT = 10.0


def load(given: Sequence[str]) -> cfg.ConfigOpts:
    """Read the first of: ``given``, those in $GANTT_CONFIG_FILE, oslo.config's places, the user's run folder.

    Raises BadConfiguration for a file that cannot be read, or a value that cannot be.
    """
    conf = cfg.ConfigOpts()
    rpc_conf.register_opts(conf)
    conf.set_default("call_timeout", CALL_TIMEOUT, group=rpc_conf.rpc.GROUP)
    found = files(given)
    try:
        conf([], project="gantt", prog="gantt", default_config_files=found, default_config_dirs=[])
    except (cfg.Error, ValueError) as error:
        raise errors.BadConfiguration(why=" ".join(str(error).split())) from error
    return conf


def files(given: Sequence[str]) -> list[str]:
    """Return the files to read; raises BadConfiguration for a named one that cannot be."""
    named = list(given) or [name for name in os.environ.get(FILE_VARIABLE, "").split(os.pathsep) if name]
    for name in named:
        if not os.access(name, os.R_OK):
            raise errors.BadConfiguration(why=f"configuration file {name} is missing or may not be read")
    return named or cfg.find_config_files(project="gantt", prog="gantt") or _run_folder_file()


def _run_folder_file() -> list[str]:
    """Return the file of a cluster that this user started here; another's folder is not trusted with our calls."""
    chosen = os.environ.get(RUN_VARIABLE)
    folder = Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"gantt-{os.getuid()}"
    path = folder / "etc" / "gantt.conf"
    try:
        status = folder.stat()
        own = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return [str(path)] if own and path.is_file() else []
    except OSError:
        return []
