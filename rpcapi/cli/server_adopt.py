# SPDX-License-Identifier: Apache-2.0
"""``gantt server adopt``: record servers that a host runs without a record."""

import argparse
from collections.abc import Sequence

from rpcapi.admin import waiting
from rpcapi.admin.argument import Argument
from rpcapi.cli import progress
from rpcapi.cli.command import Command, CommandFailed
from rpcapi.cli.host_control import parse_service_host
from rpcapi.resources.statuses import InstanceStatus
from rpcapi.validation.instances import canonical_uuid


class AdoptServers(Command):
    """Record running servers that have no record.

    `gantt audit` lists them as "guest without record", for example after the conductors' store was restored from a
    backup. Host, flavor, resources, server group, project and user come from the host and its claims, and count in the
    project's quota; names, images and hints are lost. Servers whose record matches are unchanged.
    """

    ARGUMENTS = (
        Argument("host", help="The service host of the servers."),
        Argument(
            "uuids", nargs="+", type=canonical_uuid, metavar="UUID", help="Server uuids; all are adopted, or none."
        ),
        Argument("--delete", action="store_true", help="Delete the servers once recorded; none may have a record yet."),
        Argument("--wait", action="store_true", help="Wait until the servers are ACTIVE or SHUTOFF, or deleted."),
        Argument("--timeout", type=float, default=120.0, metavar="S", help="Timeout of --wait in seconds (120)."),
        progress.OPTION,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host, uuids = parse_service_host(parsed_args.host, "named"), list(dict.fromkeys(parsed_args.uuids))
        service = self.session.get_state("service", host)
        conductor = self.session.conductor
        if parsed_args.delete:
            self._check_unrecorded(uuids)
        self.session.call(conductor.adopt_instances, service.partition, host, uuids)
        if parsed_args.delete:
            self.session.call(conductor.delete_instances, uuids)
        if parsed_args.wait:
            self._wait(uuids, parsed_args)
        self.show_message(f"{len(uuids)} adopted{' and to be deleted' if parsed_args.delete else ''}")

    def _check_unrecorded(self, uuids: Sequence[str]) -> None:
        recorded = [record.uuid for record in waiting.existing_instances(self.session, uuids)]
        if recorded:
            raise CommandFailed(
                f"{len(recorded)} of {len(uuids)} are recorded: {', '.join(recorded[:5])}; delete those with `gantt "
                "server delete`"
            )

    def _wait(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        ends = {InstanceStatus.DELETED, InstanceStatus.ERROR} if args.delete else waiting.END_STATUSES
        with progress.progress_bar(len(uuids), "adopted", self.app.stderr, args) as bar:
            instances = waiting.wait_for_status(self.session, uuids, ends, args.timeout, bar)
        expected = {InstanceStatus.DELETED} if args.delete else {InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF}
        others = [f"{item.uuid}: {item.status}" for item in instances.values() if item.status not in expected]
        if others:
            raise CommandFailed(f"{len(others)} of {len(uuids)} are in another state: {', '.join(others[:5])}")
