# SPDX-License-Identifier: Apache-2.0
"""``gantt flavor``: the shapes of servers that can be asked for."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.shell.columns import Fields
from rpcapi.shell.command import Lister


class FlavorList(Lister):
    """List flavors: those built in, and those of the configuration."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        rows = [
            (flavor.name, flavor.vcpus, flavor.memory_mb, flavor.disk_gb, Fields(flavor.extra_specs))
            for flavor in sorted(self.session.flavors.values(), key=lambda flavor: (flavor.memory_mb, flavor.name))
        ]
        return ("name", "vcpus", "memory_mb", "disk_gb", "extra_specs"), rows
