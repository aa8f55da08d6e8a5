# SPDX-License-Identifier: Apache-2.0
"""``gantt server``: changes of servers, from ``stop`` to ``revert``."""

import argparse
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rpcapi.admin import groups, waiting
from rpcapi.admin.argument import Argument
from rpcapi.cli import progress
from rpcapi.cli.command import Command, CommandFailed
from rpcapi.cli.server import resolve_uuids
from rpcapi.resources.statuses import InstanceStatus, MigrationStatus

if TYPE_CHECKING:
    from rpcapi.objects.request_spec import RequestSpec


HOST_HELP = "Only to this host, or node as host/node."
HOST_OPTION = Argument("--host", metavar="NAME", help=HOST_HELP)
CROSS_CELL_OPTION = Argument("--allow-cross-cell", action="store_true", help="Also hosts in other partitions.")


class ChangeServers(Command):
    """Base of the commands that change servers: the conductor's METHOD gets OPTIONS and should lead to STATUSES."""

    STATE: ClassVar[str]
    STATUSES: ClassVar[tuple[str, ...]]
    METHOD: ClassVar[str]
    OPTIONS: ClassVar[Sequence[str]] = ()
    BY_GROUP: ClassVar[bool] = False
    END_STATUSES: ClassVar[Collection[str]] = waiting.END_STATUSES

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        least = "*" if self.BY_GROUP else "+"
        parser.add_argument(
            "servers", nargs=least, metavar="SERVER", help="Servers by uuid or name; all are changed, or none."
        )
        if self.BY_GROUP:
            parser.add_argument("--group", metavar="ID", help="Also the members of this server group.")
        parser.add_argument(
            "--wait", action="store_true", help=f"Wait until the servers are {' or '.join(self.STATUSES)}."
        )
        parser.add_argument(
            "--timeout", type=float, default=120.0, metavar="S", help="Timeout of --wait in seconds (120)."
        )
        progress.OPTION.add_to(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        uuids = self._uuids(parsed_args)
        if not uuids:
            return
        self._request(uuids, parsed_args)
        if parsed_args.wait:
            self._wait(uuids, parsed_args)
        self.show_message(f"{len(uuids)} {self.STATE if parsed_args.wait else 'to be ' + self.STATE}")

    def _uuids(self, args: argparse.Namespace) -> list[str]:
        members: list[str] = []
        if self.BY_GROUP and args.group is not None:
            members = groups.members_of(self.session, args.group)
        elif not args.servers:
            raise CommandFailed("name servers, or a server group with --group")
        return list(dict.fromkeys([*resolve_uuids(self.session, args.servers), *members]))

    def _request(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        self.session.call(getattr(self.session.conductor, self.METHOD), uuids, **self._options(uuids, args))

    def _options(self, uuids: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
        return {name: getattr(args, name) for name in self.OPTIONS}

    def _wait(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        with progress.progress_bar(len(uuids), self.STATE, self.app.stderr, args) as bar:
            instances = waiting.wait_for_status(self.session, uuids, self.END_STATUSES, args.timeout, bar)
        failures = self._failures(instances.values())
        if failures:
            raise CommandFailed(f"{len(failures)} of {len(uuids)} are not {self.STATE}: {'; '.join(failures[:5])}")

    def _failures(self, instances: Iterable[Any]) -> list[str]:
        return [f"{instance.uuid}: {instance.status}" for instance in instances if instance.status not in self.STATUSES]


class StopServers(ChangeServers):
    """Power servers off; they keep their disks and claims."""

    STATE, STATUSES, METHOD = "stopped", (InstanceStatus.SHUTOFF,), "stop_instances"


class StartServers(ChangeServers):
    """Start stopped servers on their hosts."""

    STATE, STATUSES, METHOD = "started", (InstanceStatus.ACTIVE,), "start_instances"


class RebootServers(ChangeServers):
    """Reboot running servers."""

    STATE, STATUSES, METHOD = "rebooted", (InstanceStatus.ACTIVE,), "reboot_instances"
    OPTIONS = ("hard",)

    ARGUMENTS = (
        Argument(
            "--hard", action="store_true", help="Also stopped servers, and servers in ERROR with a claim on a host."
        ),
    )


class RebuildServers(ChangeServers):
    """Replace the disks of servers by new disks from their images; stopped servers stay off.

    With --image, hosts must be able to run the new image. Servers in ERROR whose host is gone are evacuated.
    """

    STATE, STATUSES, METHOD = "rebuilt", (InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF), "rebuild_instances"

    ARGUMENTS = (Argument("--image", metavar="NAME", help="Another image, by name or id; see `gantt image list`."),)

    def _options(self, uuids: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
        if args.image is None:
            return {}
        from rpcapi.spec_builder import images  # noqa: PLC0415 - only a rebuild with another image needs it

        return {"image": images.find(self.session.images, args.image).as_dict()}


class ShelveServers(ChangeServers):
    """Power servers off and save their disks; after [conductor] shelved_offload_time they leave their hosts."""

    STATE, STATUSES, METHOD = "shelved", (InstanceStatus.SHELVED, InstanceStatus.SHELVED_OFFLOADED), "shelve_instances"


class OffloadServers(ChangeServers):
    """Remove shelved servers from their hosts immediately."""

    STATE, STATUSES, METHOD = "offloaded", (InstanceStatus.SHELVED_OFFLOADED,), "offload_instances"


class UnshelveServers(ChangeServers):
    """Start shelved servers on their hosts; offloaded servers are scheduled again."""

    STATE, STATUSES, METHOD = "unshelved", (InstanceStatus.ACTIVE,), "unshelve_instances"
    OPTIONS = ("host",)

    ARGUMENTS = (
        Argument("--host", metavar="NAME", help="Only on this host, or node as host/node; for offloaded servers."),
    )


class DeleteServers(ChangeServers):
    """Delete servers: stop their guests, then release their claims."""

    STATE, STATUSES, METHOD = "deleted", (InstanceStatus.DELETED,), "delete_instances"
    END_STATUSES = (InstanceStatus.DELETED, InstanceStatus.ERROR)

    def _uuids(self, args: argparse.Namespace) -> list[str]:
        instances = waiting.fetch_instances(self.session, super()._uuids(args))
        uuids = [instance.uuid for instance in instances if instance.status != InstanceStatus.DELETED]
        if len(uuids) < len(instances):
            self.show_message(f"{len(instances) - len(uuids)} already deleted")
        return uuids


class _MoveServers(ChangeServers):
    """Base of the commands that start moves. MOVED: migration statuses after arrival at the destination."""

    STATUSES: ClassVar[tuple[str, ...]] = (InstanceStatus.VERIFY_RESIZE,)
    BY_GROUP = True
    MOVED: ClassVar[tuple[str, ...]] = (MigrationStatus.FINISHED, MigrationStatus.CONFIRMING, MigrationStatus.CONFIRMED)

    _migrations: list[str]

    def _options(self, uuids: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
        self._migrations = [str(uuid.uuid4()) for _ in uuids]
        return super()._options(uuids, args) | {"migrations": self._migrations}

    def _failures(self, instances: Iterable[Any]) -> list[str]:
        page = self.session.call(self.session.conductor.get_migrations, self._migrations)
        return [
            f"{migration.instance}: migration {migration.uuid} is {migration.status}"
            + (f": {migration.reason}" if migration.reason else "")
            for migration in page.migrations
            if migration.status not in self.MOVED
        ]


class MigrateServers(_MoveServers):
    """Cold-migrate servers, affinity groups as a whole, to other hosts; confirm or revert the moves afterwards."""

    STATE, METHOD, OPTIONS = "migrated", "migrate_instances", ("host", "allow_cross_cell")
    ARGUMENTS = (CROSS_CELL_OPTION, HOST_OPTION)


class LiveMigrateServers(_MoveServers):
    """Live-migrate servers, affinity groups as a whole; `gantt migration list` shows the progress."""

    STATE, STATUSES, METHOD, OPTIONS = "migrated live", (InstanceStatus.ACTIVE,), "live_migrate_instances", ("host",)
    MOVED = (MigrationStatus.COMPLETED,)
    ARGUMENTS = (HOST_OPTION,)


class EvacuateServers(_MoveServers):
    """Rebuild servers of fenced or removed hosts on other hosts; stopped servers stay off.

    The host must be down, or know that it was fenced. A server that no host accepts returns to ERROR, with the reason
    of each attempt, and can be evacuated again. `gantt migration list` shows evacuations.
    """

    STATE, METHOD, OPTIONS = "evacuated", "evacuate_instances", ("target",)
    STATUSES = (InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF)
    BY_GROUP = False
    MOVED = (MigrationStatus.COMPLETED,)
    ARGUMENTS = (Argument("--host", dest="target", metavar="NAME", help=HOST_HELP),)


class ResizeServers(_MoveServers):
    """Resize servers, affinity groups as a whole, on the same or other hosts; confirm or revert afterwards."""

    STATE, METHOD, OPTIONS = "resized", "resize_instances", ("allow_cross_cell",)
    ARGUMENTS = (
        CROSS_CELL_OPTION,
        Argument("--flavor", required=True, help="The new flavor; see `gantt flavor list`."),
    )

    def _options(self, uuids: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
        """Add one spec per image, because flavor and image together determine a spec."""
        recorded = self.session.call(self.session.conductor.get_specs, list(uuids))
        images: list[Mapping[str, Any]] = []
        for spec in recorded:
            if spec.image not in images:
                images.append(spec.image)
        first, *others = [self._spec(args.flavor, image) for image in images]
        return super()._options(uuids, args) | {"spec": first, "other_specs": others}

    def _spec(self, flavor: str, image: Mapping[str, Any]) -> "RequestSpec":
        from rpcapi.spec_builder import builder, flavors, images  # noqa: PLC0415 - lazy, see session

        # The conductor checks the image's minimum, since it knows the volumes of each server.
        recorded = images.Image.from_dict(image).without_minimum()
        spec = builder.build_spec(flavors.find(self.session.flavors, flavor), recorded, self.session.catalog)
        return spec.with_values(image=image)  # the conductor matches instances to specs by image


class _EndMoves(ChangeServers):
    STATUSES = (InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF)
    BY_GROUP = True
    END_STATUSES = waiting.END_STATUSES - {InstanceStatus.VERIFY_RESIZE}

    def _request(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        instances = waiting.fetch_instances(self.session, uuids)
        without = [instance.uuid for instance in instances if instance.migration is None]
        if without:
            raise CommandFailed(f"{len(without)} of {len(uuids)} have no migration: {', '.join(without[:5])}")
        migrations = [instance.migration for instance in instances]
        self.session.call(getattr(self.session.conductor, self.METHOD), migrations)


class ConfirmServers(_EndMoves):
    """Confirm moves of servers; their former hosts are released, and a revert is no longer possible."""

    STATE, METHOD = "confirmed", "confirm_migrations"


class RevertServers(_EndMoves):
    """Revert moves of servers; they return to their former hosts and flavors."""

    STATE, METHOD = "reverted", "revert_migrations"
