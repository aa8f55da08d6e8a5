# SPDX-License-Identifier: Apache-2.0
"""``gantt image``: images that servers can boot from."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.cli.columns import FieldsColumn, TextColumn
from rpcapi.cli.command import Lister


class ListImages(Lister):
    """List the configured images."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        rows = [
            (image.name, image.id or image.name, TextColumn(image.disk_format), FieldsColumn(image.properties))
            for _, image in sorted(self.session.images.items())
        ]
        return ("name", "id", "disk_format", "properties"), rows
