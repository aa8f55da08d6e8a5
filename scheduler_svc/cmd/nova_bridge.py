# SPDX-License-Identifier: Apache-2.0
"""Console script gantt-nova-bridge: copies the state of Nova's databases to the store."""

import sys

from rpcapi.daemon.main import run
from scheduler_svc.conf import nova_bridge as bridge_conf


def main() -> int:
    return run(
        "gantt-nova-bridge",
        "scheduler_svc.composition.nova_bridge_service:NovaBridgeService",
        register_opts=[bridge_conf.register_opts],
        check=bridge_conf.check,
        uses_bus=False,
    )


if __name__ == "__main__":
    sys.exit(main())
