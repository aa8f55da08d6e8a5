# SPDX-License-Identifier: Apache-2.0
"""``gantt image``: what servers can boot from."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.shell.columns import Fields, Text
from rpcapi.shell.command import Lister


class ImageList(Lister):
    """List the images of the configuration."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        rows = [
            (image.name, image.id or image.name, Text(image.disk_format), Fields(image.properties))
            for _, image in sorted(self.session.images.items())
        ]
        return ("name", "id", "disk_format", "properties"), rows
