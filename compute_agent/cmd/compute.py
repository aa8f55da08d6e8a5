# SPDX-License-Identifier: Apache-2.0
"""The gantt-compute daemon: agent of one or many service hosts in one worker process."""

import sys

from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent.resources import nodes
from rpcapi import conf as rpc_conf
from rpcapi.conf import service_group
from rpcapi.daemon.main import run


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for invalid hosts, node shapes or service group options."""
    service_group.check(conf)
    nodes.plan_hosts(conf)


def main() -> int:
    return run(
        "gantt-compute",
        "compute_agent.service:make_service",
        register_opts=[rpc_conf.register_opts, compute_conf.register_opts],
        check=check,
    )


if __name__ == "__main__":
    sys.exit(main())
