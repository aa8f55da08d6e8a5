# SPDX-License-Identifier: Apache-2.0
"""Baseline of a call: a daemon like gantt's own whose workers answer an empty call."""

import sys

from oslo_config import cfg

from rpcapi.daemon.main import run

OPTS = [cfg.IntOpt("workers", default=1, min=1, help="Worker processes that answer.")]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTS, group="echo")


def main() -> int:
    return run(
        "gantt-lab-echo",
        "devstack.lab.rpc.echo_service:make_service",
        register_opts=[register_opts],
        workers=lambda conf: conf.echo.workers,
    )


if __name__ == "__main__":
    sys.exit(main())
