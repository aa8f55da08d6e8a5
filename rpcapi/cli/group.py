# SPDX-License-Identifier: Apache-2.0
"""``gantt group``: server groups."""

import argparse

from rpcapi.admin import groups
from rpcapi.admin.argument import Argument
from rpcapi.cli.command import Command, CommandOutput, Lister, ShowOne, attributes, counts_cell, lines_cell

COLUMNS = ("group", "name", "project", "policy", "state", "members", "hosts")
_GROUP = Argument("group", metavar="ID", help="The group's id or name.")


class CreateGroup(ShowOne):
    """Create a server group for `gantt boot --group`. Its policy never changes."""

    ARGUMENTS = (
        Argument("name", help="Name of the group."),
        Argument(
            "--policy",
            required=True,
            help="affinity (all on one node), anti-affinity, soft-affinity or soft-anti-affinity.",
        ),
        Argument(
            "--max-per-host",
            type=int,
            default=1,
            metavar="N",
            help="Maximum members on one node, for anti-affinity (1).",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        group = groups.create_group(self.session, parsed_args.name, parsed_args.policy, parsed_args.max_per_host)
        return self.dict2columns({"group": group.id, **attributes(group, "name", "project", "policy", "max_per_host")})


class ListGroups(Lister):
    """List server groups; an affinity group with members on several nodes is `split`."""

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        return COLUMNS, [
            (
                group.id,
                group.name,
                group.project,
                group.policy,
                group.state,
                len(group.members),
                counts_cell(group.hosts),
            )
            for group in groups.read_groups(self.session)
        ]


class ShowGroup(ShowOne):
    """Show a server group: policy, state and hosts of its members."""

    ARGUMENTS = (_GROUP,)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        group = groups.find_group(self.session, parsed_args.group)
        return self.dict2columns(
            {
                "group": group.id,
                **attributes(group, "name", "project", "policy", "max_per_host", "state"),
                "hosts": counts_cell(group.hosts),
                "members": lines_cell([_member_line(member) for member in group.members]),
                "sources": lines_cell([_member_line(member) for member in group.sources]),
            }
        )


class DeleteGroup(Command):
    """Delete a server group without members."""

    ARGUMENTS = (_GROUP,)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        group_id = groups.find_id(self.session, parsed_args.group)
        self.session.call(self.session.scheduler.delete_server_group, group_id)


def _member_line(member: groups.Member) -> str:
    return f"{member.server} on {member.host}, {member.state}"
