# SPDX-License-Identifier: Apache-2.0
"""Console script gantt-placement: the daemon of Placement's HTTP API, and its sub-commands."""

import importlib
import sys

from oslo_config import cfg

from rpcapi.daemon.main import run
from scheduler_svc.conf import placement_service as placement_conf

COMMANDS = {"catalogue": "scheduler_svc.cmd.catalogue"}


def workers(conf: cfg.ConfigOpts) -> int:
    return int(conf.placement.workers)


def main() -> int:
    """Run the daemon or a sub-command; return the exit status."""
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        # Import commands here: the daemon's master process must not import worker code.
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
