# SPDX-License-Identifier: Apache-2.0
"""Configuration of a client: the command, or a program that uses the library."""

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
# Shorter than in services: the user waits, and a lost message is sent again after this time.
CALL_TIMEOUT = 10.0


def load(config_files: Sequence[str] = ()) -> cfg.ConfigOpts:
    """Load ``config_files``, else $GANTT_CONFIG_FILE, oslo.config's defaults, or the run folder's file.

    Raises BadConfiguration for an unreadable file or an invalid value.
    """
    conf = cfg.ConfigOpts()
    rpc_conf.register_opts(conf)
    conf.set_default("call_timeout", CALL_TIMEOUT, group=rpc_conf.rpc.GROUP)
    paths = files(config_files)
    try:
        conf([], project="gantt", prog="gantt", default_config_files=paths, default_config_dirs=[])
    except (cfg.Error, ValueError) as error:
        raise errors.BadConfiguration(why=" ".join(str(error).split())) from error
    return conf


def files(config_files: Sequence[str] = ()) -> list[str]:
    paths = list(config_files) or [name for name in os.environ.get(FILE_VARIABLE, "").split(os.pathsep) if name]
    for name in paths:
        if not os.access(name, os.R_OK):
            raise errors.BadConfiguration(why=f"configuration file {name} is missing or unreadable")
    return paths or cfg.find_config_files(project="gantt", prog="gantt") or _run_folder_file()


def _run_folder_file() -> list[str]:
    """Return the file of this user's devstack cluster, from a folder that nobody else may write to."""
    run_folder = os.environ.get(RUN_VARIABLE)
    folder = Path(run_folder) if run_folder else Path(tempfile.gettempdir()) / f"gantt-{os.getuid()}"
    path = folder / "etc" / "gantt.conf"
    try:
        status = folder.stat()
        is_trusted = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return [str(path)] if is_trusted and path.is_file() else []
    except OSError:
        return []
