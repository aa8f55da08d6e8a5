# SPDX-License-Identifier: Apache-2.0
"""The console script gantt-placement."""

import importlib
import sys

from oslo_config import cfg

from rpcapi.daemon.main import run
from scheduler_svc.conf import placement_service as placement_conf

COMMANDS = {"catalogue": "scheduler_svc.cmd.catalogue"}


def workers(conf: cfg.ConfigOpts) -> int:
    """Return the number of worker processes."""
    return int(conf.placement.workers)


def main() -> int:
    """Run the daemon, or one of its commands; return the exit status."""
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        # Imported here: the master of the daemon imports nothing of its workers.
        command = importlib.import_module(COMMANDS[sys.argv[1]])
        return int(command.main(sys.argv[2:]))
    return run(
        "gantt-placement",
        "scheduler_svc.composition.placement_service:PlacementService",
        register_opts=[placement_conf.register_opts],
        workers=workers,
        check=placement_conf.check,
        uses_bus=False,
    )


if __name__ == "__main__":
    sys.exit(main())
