# SPDX-License-Identifier: Apache-2.0
"""``gantt server evacuate``: builds servers on other hosts whose host is gone."""

import argparse
import uuid
from collections.abc import Sequence

from rpcapi.cli.argument import Argument
from rpcapi.cli.server_power import ChangeServers


class EvacuateServers(ChangeServers):
    """Build servers on other hosts whose host was fenced or removed; stopped servers stay off.

    The host must be down, or have learned that it was fenced. A server that no host takes is in ERROR again, with the
    reason of each attempt, and can be evacuated again. `gantt migration list` shows evacuations.
    """

    STATE, STATUSES, METHOD = "evacuated", ("ACTIVE", "SHUTOFF"), "evacuate_instances"

    ARGUMENTS = (Argument("--host", metavar="NAME", help="Only to this host, or node as host/node."),)

    def _request(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        # One migration for each server and run: a call that is repeated without a reply changes nothing.
        migrations = [str(uuid.uuid4()) for _ in uuids]
        evacuate = self.session.conductor.evacuate_instances
        self.session.call(evacuate, list(uuids), migrations, target=args.host)
