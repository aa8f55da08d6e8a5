# SPDX-License-Identifier: Apache-2.0
"""``gantt quota``: what a project uses, and its limits."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.cli.command import Lister

COLUMNS = ("resource", "used", "limit")


class ShowQuota(Lister):
    """Show what the project of --project uses and its limits, as configured in [quota]."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        quota = self.session.call(self.session.conductor.get_quota, self.session.project)
        rows = zip(quota.resources, quota.used, quota.limits, strict=True)
        return COLUMNS, list(rows)
