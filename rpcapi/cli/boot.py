# SPDX-License-Identifier: Apache-2.0
"""``gantt boot``: request servers of one flavor, and optionally wait for them."""

import argparse
import time
import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from rpcapi import errors
from rpcapi.admin import boot_options, waiting
from rpcapi.admin.argument import Argument
from rpcapi.cli import progress, server
from rpcapi.cli.command import CommandOutput, Lister
from rpcapi.cli.server import number_names
from rpcapi.resources.statuses import InstanceStatus
from rpcapi.validation.instances import canonical_uuid


class BootServer(Lister):
    """Boot servers with one request; `gantt explain` shows its decision."""

    ARGUMENTS = (
        Argument(
            "--count", type=int, default=1, metavar="N", help="Number of servers (1); all are scheduled, or none."
        ),
        Argument("--name", help="Server name; with --count N, NAME-1 to NAME-N."),
        Argument(
            "--uuid",
            type=canonical_uuid,
            help="Server uuid (random); repeating a boot with it finds the existing server.",
        ),
        Argument("--wait", action="store_true", help="Wait until every server is ACTIVE or in ERROR."),
        Argument(
            "--timeout", type=float, default=300.0, metavar="S", help="Timeout of a boot with --wait in seconds (300)."
        ),
        progress.OPTION,
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        boot_options.add_options(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        session = self.session
        limit = session.limit_calls(parsed_args.timeout) if parsed_args.wait else nullcontext()
        with limit:
            uuids, names, spec = self._read(parsed_args)
            return server.rows(self._boot(spec, uuids, names, parsed_args), parsed_args)

    def _read(self, parsed_args: argparse.Namespace) -> tuple[list[str], list[str], Any]:
        from rpcapi.validation.instances import check_count, check_names  # noqa: PLC0415 - imported only by the commands that need it

        session = self.session
        check_count(parsed_args.count, session.conf.rpc.max_instances)
        names = number_names(parsed_args.name, parsed_args.count)
        check_names(names, parsed_args.count)
        spec = boot_options.make_spec(session, parsed_args)
        if parsed_args.uuid is not None and parsed_args.count != 1:
            raise errors.InvalidRequest(why=f"--uuid names one server, but --count is {parsed_args.count}")
        uuids = [parsed_args.uuid or str(uuid.uuid4()) for _ in range(parsed_args.count)]
        return uuids, names, spec

    def _boot(self, spec: Any, uuids: list[str], names: list[str], args: argparse.Namespace) -> Sequence[Any]:
        session = self.session
        build = session.conductor.build_instances
        # Show the id first, because the call may fail.
        self.show_message(f"Request {session.ctxt.request_id}")
        if args.uuid is None:
            session.call(build, spec, uuids, names, first_sent=time.time())
        else:  # an earlier command may have sent the request
            session.call(build, spec, uuids, names, is_repeat=True)
        return self._wait(uuids, args) if args.wait else waiting.fetch_instances(session, uuids)

    def _wait(self, uuids: Sequence[str], args: argparse.Namespace) -> list[Any]:
        with progress.progress_bar(len(uuids), "booted", self.app.stderr, args) as bar:
            instances_by_uuid = waiting.wait_for_status(
                self.session, uuids, server.BOOT_END_STATUSES, self.session.ctxt.remaining(args.timeout), bar
            )
        instances = [instances_by_uuid[instance_uuid] for instance_uuid in uuids if instance_uuid in instances_by_uuid]
        statuses = [instance.status for instance in instances]
        if statuses.count(InstanceStatus.ACTIVE) < len(uuids):
            self.exit_code = 1
            self.show_message(_describe_shortfall(statuses, len(uuids), args.timeout, self.session.ctxt.request_id))
        return instances


def _describe_shortfall(statuses: Sequence[str], count: int, timeout: float, request_id: str) -> str:
    parts = [f"{statuses.count(InstanceStatus.ACTIVE)} of {count} are ACTIVE"]
    unfinished = [status for status in statuses if status not in server.BOOT_END_STATUSES]
    if unfinished:
        names = " or ".join(sorted(set(unfinished)))
        command = f"gantt server list --request {request_id}"
        parts.append(f"{len(unfinished)} still {names} after {timeout:g} s: `{command}` follows them")
    if InstanceStatus.ERROR in statuses:
        parts.append(f"{statuses.count(InstanceStatus.ERROR)} in ERROR: `gantt explain {request_id}` shows why")
    return "; ".join(parts)
