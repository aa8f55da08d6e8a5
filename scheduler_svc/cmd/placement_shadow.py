# SPDX-License-Identifier: Apache-2.0
"""Console script gantt-placement-shadow: compares gantt's answers with another Placement's."""

import sys

from rpcapi.daemon.main import run
from scheduler_svc.conf import placement_shadow


def main() -> int:
    return run(
        "gantt-placement-shadow",
        "scheduler_svc.composition.placement_shadow_service:PlacementShadowService",
        register_opts=[placement_shadow.register_opts],
        check=placement_shadow.check,
        uses_bus=False,
    )


if __name__ == "__main__":
    sys.exit(main())
