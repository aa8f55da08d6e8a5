# SPDX-License-Identifier: Apache-2.0
"""``gantt flavor``: the available flavors of servers."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.cli.columns import FieldsColumn
from rpcapi.cli.command import Lister


class ListFlavors(Lister):
    """List the built-in and the configured flavors."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        rows = [
            (flavor.name, flavor.vcpus, flavor.memory_mb, flavor.disk_gb, FieldsColumn(flavor.extra_specs))
            for flavor in sorted(self.session.flavors.values(), key=lambda flavor: (flavor.memory_mb, flavor.name))
        ]
        return ("name", "vcpus", "memory_mb", "disk_gb", "extra_specs"), rows
