# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of gantt-placement, for other servers than its own: ``make_application()`` in each process."""

import sys
from collections.abc import Sequence
from wsgiref.types import WSGIApplication

from rpcapi import errors, version
from rpcapi.daemon import configuration, logs
from scheduler_svc.composition import placement_service
from scheduler_svc.conf import placement_service as placement_conf

PROG = "gantt-placement"


def make_application(config_files: Sequence[str] = ()) -> WSGIApplication:
    """Return the application, configured by these files, without any by those of gantt-placement.

    It returns when all providers are loaded, so that a process that listens is ready. [placement] port, workers,
    threads and the options of TLS are the server's own business then. Ends the process with a line on standard error
    where the configuration is wrong.
    """
    argv = [part for name in config_files for part in ("--config-file", name)]
    try:
        conf = configuration.load(PROG, [placement_conf.register_opts], argv)
        placement_conf.check(conf)
        logs.setup(conf, PROG, version.installed_version())
        return placement_service.load_application(conf)
    except errors.BadConfiguration as error:
        sys.exit(f"{PROG}: {error}")
