# SPDX-License-Identifier: Apache-2.0
"""``gantt group``: server groups."""

import argparse
from collections.abc import Mapping
from typing import Any

from rpcapi.admin import groups
from rpcapi.admin.argument import Argument
from rpcapi.cli.command import CommandOutput, Lister, ShowOne, counts_cell, lines_cell

COLUMNS = ("group", "policy", "state", "members", "hosts")


class ListGroups(Lister):
    """List server groups with members; an affinity group with members on several nodes is `split`."""

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        return COLUMNS, [
            (group.id, group.policy, group.state, len(group.claims), counts_cell(group.hosts))
            for group in groups.read_groups(self.session)
        ]


class ShowGroup(ShowOne):
    """Show a server group: its state and its members' hosts."""

    ARGUMENTS = (Argument("group", metavar="ID", help="The group."),)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        group = groups.find_group(self.session, parsed_args.group)
        return self.dict2columns(
            {
                "group": group.id,
                "policy": group.policy,
                "state": group.state,
                "hosts": counts_cell(group.hosts),
                "members": lines_cell([_member_line(claim) for claim in group.claims]),
                "sources": lines_cell([_member_line(claim) for claim in group.sources]),
            }
        )


def _member_line(claim: Mapping[str, Any]) -> str:
    return f"{claim['consumer']} on {claim['host']}, {claim['state']}"
