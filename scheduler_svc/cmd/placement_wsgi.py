# SPDX-License-Identifier: Apache-2.0
"""WSGI application of gantt-placement for other servers, which call ``make_application()`` in each process."""

import sys
from collections.abc import Sequence
from wsgiref.types import WSGIApplication

from rpcapi import errors, version
from rpcapi.daemon import configuration, logs
from scheduler_svc.composition import placement_service
from scheduler_svc.conf import placement_service as placement_conf

PROG = "gantt-placement"


def make_application(config_files: Sequence[str] = ()) -> WSGIApplication:
    """Load all providers, then return the application.

    ``config_files`` default to those of gantt-placement. The WSGI server replaces [placement] port, workers, threads
    and the TLS options. If the configuration is wrong, the process exits with a message on standard error.
    """
    argv = [part for name in config_files for part in ("--config-file", name)]
    try:
        conf = configuration.load(PROG, [placement_conf.register_opts], argv)
        placement_conf.check(conf)
        logs.setup(conf, PROG, version.installed_version())
        return placement_service.load_application(conf)
    except errors.BadConfiguration as error:
        sys.exit(f"{PROG}: {error}")
