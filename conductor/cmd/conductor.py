# SPDX-License-Identifier: Apache-2.0
"""The gantt-conductor daemon with one worker process; start several daemons for several conductors."""

import sys

from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.conf import quota, store
from rpcapi import conf as rpc_conf
from rpcapi.conf import service_group
from rpcapi.daemon.main import run


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for invalid options of the store, service group or quotas."""
    service_group.check(conf)
    store.check(conf)
    quota.load(conf)


def main() -> int:
    return run(
        "gantt-conductor",
        "conductor.service:make_service",
        register_opts=[rpc_conf.register_opts, conductor_conf.register_opts],
        check=check,
    )


if __name__ == "__main__":
    sys.exit(main())
