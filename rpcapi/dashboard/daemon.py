# SPDX-License-Identifier: Apache-2.0
"""The gantt-dashboard daemon: one worker process with threads."""

import sys

from oslo_config import cfg

from rpcapi import conf as rpc_conf
from rpcapi.conf import client, dashboard, rpc, transport
from rpcapi.daemon.main import run


def register_opts(conf: cfg.ConfigOpts) -> None:
    rpc_conf.register_opts(conf)
    conf.set_default("call_timeout", client.CALL_TIMEOUT, group=rpc.GROUP)
    rpc_conf.register_groups(conf, dashboard)


def check(conf: cfg.ConfigOpts) -> None:
    transport.check(conf)
    dashboard.check(conf)


def main() -> int:
    return run(
        "gantt-dashboard",
        "rpcapi.dashboard.service:make_service",
        register_opts=[register_opts],
        check=check,
        uses_bus=False,  # no RPC server, and native threads for HTTP
    )


if __name__ == "__main__":
    sys.exit(main())
