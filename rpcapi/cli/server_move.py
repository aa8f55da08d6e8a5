# SPDX-License-Identifier: Apache-2.0
"""``gantt server migrate``, ``live-migrate``, ``evacuate``, ``resize``, ``confirm`` and ``revert``."""

import argparse
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rpcapi.admin import waiting
from rpcapi.admin.argument import Argument
from rpcapi.cli.command import CommandFailed
from rpcapi.cli.server_power import ChangeServers

if TYPE_CHECKING:
    from rpcapi.objects.request_spec import RequestSpec

HOST_HELP = "Only to this host, or node as host/node."
HOST_OPTION = Argument("--host", metavar="NAME", help=HOST_HELP)
CROSS_CELL_OPTION = Argument("--allow-cross-cell", action="store_true", help="Also hosts in other partitions.")


class _MoveServers(ChangeServers):
    """Base of the commands that start moves. MOVED: migration statuses after arrival at the destination."""

    STATUSES: ClassVar[tuple[str, ...]] = ("VERIFY_RESIZE",)
    BY_GROUP = True
    MOVED: ClassVar[tuple[str, ...]] = ("finished", "confirming", "confirmed")

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

    STATE, STATUSES, METHOD, OPTIONS = "migrated live", ("ACTIVE",), "live_migrate_instances", ("host",)
    MOVED = ("completed",)
    ARGUMENTS = (HOST_OPTION,)


class EvacuateServers(_MoveServers):
    """Rebuild servers of fenced or removed hosts on other hosts; stopped servers stay off.

    The host must be down, or know that it was fenced. A server that no host accepts returns to ERROR, with the reason
    of each attempt, and can be evacuated again. `gantt migration list` shows evacuations.
    """

    STATE, STATUSES, METHOD, OPTIONS = "evacuated", ("ACTIVE", "SHUTOFF"), "evacuate_instances", ("target",)
    BY_GROUP = False
    MOVED = ("completed",)
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
    STATUSES = ("ACTIVE", "SHUTOFF")
    BY_GROUP = True
    END_STATUSES = waiting.END_STATUSES - {"VERIFY_RESIZE"}

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
