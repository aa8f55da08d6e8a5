# SPDX-License-Identifier: Apache-2.0
"""``gantt server migrate``, ``resize``, ``confirm`` and ``revert``."""

import argparse
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rpcapi.cli import progress, waiting
from rpcapi.cli.argument import Argument
from rpcapi.cli.error_messages import CommandFailed
from rpcapi.cli.server_power import ChangeServers

if TYPE_CHECKING:
    from rpcapi.objects.request_spec import RequestSpec

AT_DESTINATION = ("finished", "confirming", "confirmed")


class _MoveServers(ChangeServers):
    """Base of the commands that begin moves; each server gets the uuid of its migration here."""

    STATUSES = ("VERIFY_RESIZE",)
    BY_GROUP = True

    ARGUMENTS: ClassVar[Sequence[Argument]] = (
        Argument(
            "--allow-cross-cell", action="store_true", help="Also hosts in other partitions than that of the server."
        ),
    )

    def _wait(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        with progress.progress_bar(len(uuids), self.STATE, self.app.stderr, args) as bar:
            instances = waiting.wait_for_status(self.session, uuids, waiting.END_STATUSES, args.timeout, bar)
        migrations = {
            migration.instance: migration
            for migration in self._migrations([instance.migration for instance in instances.values()])
        }
        failed = [
            f"{instance.uuid}: {instance.status}, {_outcome(migrations.get(instance.uuid))}"
            for instance in instances.values()
            if instance.uuid not in migrations or migrations[instance.uuid].status not in AT_DESTINATION
        ]
        if failed:
            raise CommandFailed(f"{len(failed)} of {len(uuids)} are not {self.STATE}: {'; '.join(failed[:5])}")

    def _migrations(self, uuids: Iterable[str | None]) -> list[Any]:
        recorded = [migration for migration in uuids if migration is not None]
        return self.session.call(self.session.conductor.get_migrations, recorded).migrations if recorded else []


def _outcome(migration: Any) -> str:
    if migration is None:
        return "without a migration"
    return f"migration {migration.status}" + (f": {migration.reason}" if migration.reason else "")


class MigrateServers(_MoveServers):
    """Move servers to other hosts; they are stopped on the way. Confirm or revert them afterwards.

    Members of one affinity group move together: all of them get a destination, or none does.
    """

    STATE, METHOD = "migrated", "migrate_instances"

    ARGUMENTS = (
        *_MoveServers.ARGUMENTS,
        Argument("--host", metavar="NAME", help="Only to this host, or node as host/node."),
    )

    def _request(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        self.session.call(
            self.session.conductor.migrate_instances,
            list(uuids),
            [str(uuid.uuid4()) for _ in uuids],
            args.host,
            allow_cross_cell=args.allow_cross_cell,
        )


class ResizeServers(_MoveServers):
    """Give servers another flavor, on their hosts or on others. Confirm or revert them afterwards.

    Members of one affinity group move together: all of them get a destination, or none does.
    """

    STATE, METHOD = "resized", "resize_instances"

    ARGUMENTS = (
        *_MoveServers.ARGUMENTS,
        Argument("--flavor", required=True, help="The new flavor; see `gantt flavor list`."),
    )

    def _request(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        """Send one call, with a spec for each image: image and flavor together make a request."""
        recorded = self.session.call(self.session.conductor.get_specs, list(uuids))
        images: list[Mapping[str, Any]] = []
        for spec in recorded:
            if spec.image not in images:
                images.append(spec.image)
        first, *others = [self._spec(args.flavor, image) for image in images]
        self.session.call(
            self.session.conductor.resize_instances,
            list(uuids),
            [str(uuid.uuid4()) for _ in uuids],
            first,
            other_specs=others,
            allow_cross_cell=args.allow_cross_cell,
        )

    def _spec(self, flavor: str, image: Mapping[str, Any]) -> "RequestSpec":
        from rpcapi.spec_builder import builder, flavors, images  # noqa: PLC0415 - lazy, see session

        recorded = images.Image(
            name=image.get("name") or "",
            id=image.get("id") or "",
            disk_format=image.get("disk_format"),
            properties=image.get("properties") or {},
        )
        spec = builder.build_spec(flavors.find(self.session.flavors, flavor), recorded, self.session.catalog)
        return spec.with_values(image=image)  # the conductor finds by it which instances the spec is for


class _EndMoves(ChangeServers):
    """Base of the commands that end moves of servers in VERIFY_RESIZE."""

    STATUSES = ("ACTIVE", "SHUTOFF")
    BY_GROUP = True

    def _request(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        instances = waiting.fetch_instances(self.session, uuids)
        without = [instance.uuid for instance in instances if instance.migration is None]
        if without:
            raise CommandFailed(f"{len(without)} of {len(uuids)} have no migration: {', '.join(without[:5])}")
        migrations = [instance.migration for instance in instances]
        self.session.call(getattr(self.session.conductor, self.METHOD), migrations)

    def _wait(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        with progress.progress_bar(len(uuids), self.STATE, self.app.stderr, args) as bar:
            end_statuses = waiting.END_STATUSES - {"VERIFY_RESIZE"}
            instances = waiting.wait_for_status(self.session, uuids, end_statuses, args.timeout, bar)
        self._check_ends(instances)


class ConfirmServers(_EndMoves):
    """Confirm the moves of servers: their former hosts are released, and cannot be returned to."""

    STATE, METHOD = "confirmed", "confirm_migrations"


class RevertServers(_EndMoves):
    """Revert the moves of servers: they return to their former hosts and flavors."""

    STATE, METHOD = "reverted", "revert_migrations"
