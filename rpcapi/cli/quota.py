# SPDX-License-Identifier: Apache-2.0
"""``gantt quota``: usage and limits of a project."""

import argparse

from rpcapi.cli.command import CommandOutput, Lister

COLUMNS = ("resource", "used", "limit")


class ShowQuota(Lister):
    """Show usage and limits of the project of --project; [quota] configures the limits."""

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        quota = self.session.call(self.session.conductor.get_quota, self.session.project)
        rows = zip(quota.resources, quota.used, quota.limits, strict=True)
        return COLUMNS, list(rows)
