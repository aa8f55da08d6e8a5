# SPDX-License-Identifier: Apache-2.0
"""The console script gantt-nova-bridge."""

import sys

from rpcapi.daemon.main import run
from scheduler_svc.conf import nova_bridge as bridge_conf


def main() -> int:
    """Run the daemon; return the exit status."""
    return run(
        "gantt-nova-bridge",
        "scheduler_svc.composition.nova_bridge_service:NovaBridgeService",
        register_opts=[bridge_conf.register_opts],
        check=bridge_conf.check,
        uses_bus=False,
    )


if __name__ == "__main__":
    sys.exit(main())
