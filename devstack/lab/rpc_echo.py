# SPDX-License-Identifier: Apache-2.0
"""The floor of a call as a daemon: run like gantt's own, its workers answer nothing to an empty call."""

import sys

from oslo_config import cfg

from rpcapi.daemon.main import run

OPTS = [cfg.IntOpt("workers", default=1, min=1, help="Worker processes that answer.")]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [echo]."""
    conf.register_opts(OPTS, group="echo")


def main() -> int:
    """Be the daemon; return the status to exit with."""
    return run(
        "gantt-lab-echo",
        "devstack.lab.rpc_echo_service:make_service",
        register_opts=[register_opts],
        workers=lambda conf: conf.echo.workers,
    )


if __name__ == "__main__":
    sys.exit(main())
