# SPDX-License-Identifier: Apache-2.0
"""Console script gantt-scheduler."""

import sys

from oslo_config import cfg

from rpcapi.daemon.main import run
from scheduler_svc import conf as scheduler_conf


def workers(conf: cfg.ConfigOpts) -> int:
    return int(conf.scheduler.workers)


def main() -> int:
    return run(
        "gantt-scheduler",
        "scheduler_svc.service:SchedulerService",
        register_opts=[scheduler_conf.register_opts],
        workers=workers,
        check=scheduler_conf.check,
    )


if __name__ == "__main__":
    sys.exit(main())
