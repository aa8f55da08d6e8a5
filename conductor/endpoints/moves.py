# SPDX-License-Identifier: Apache-2.0
"""RPC methods that move instances, and read and end their migrations."""

from conductor import migrations
from conductor.endpoints.endpoint import ConductorEndpoint
from conductor.requests import evacuation, moves, requested_changes
from conductor.requests.copies import abort, force_complete
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose


class MoveEndpoint(ConductorEndpoint):
    @expose
    def migrate_instances(
        self,
        ctxt: RequestContext,
        uuids: list[str],
        migrations: list[str],
        host: str | None = None,
        allow_cross_cell: bool = False,
    ) -> None:
        moves.migrate(
            self._conductor,
            ctxt,
            uuids,
            migrations,
            host,
            allow_cross_cell=allow_cross_cell,
            project=ctxt.sender_project,
        )

    @expose
    def live_migrate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], host: str | None = None
    ) -> None:
        moves.live_migrate(self._conductor, ctxt, uuids, migrations, host, project=ctxt.sender_project)

    @expose
    def resize_instances(
        self,
        ctxt: RequestContext,
        uuids: list[str],
        migrations: list[str],
        spec: objects.RequestSpec,
        allow_cross_cell: bool = False,
        *,
        other_specs: list[objects.RequestSpec] | None = None,
    ) -> None:
        moves.resize(
            self._conductor,
            ctxt,
            uuids,
            migrations,
            [spec, *(other_specs or ())],
            allow_cross_cell=allow_cross_cell,
            project=ctxt.sender_project,
        )

    @expose
    def evacuate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], target: str | None = None
    ) -> None:
        evacuation.evacuate(self._conductor, ctxt, uuids, migrations, target)

    @expose
    def confirm_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply_to_migrations(
            self._conductor, uuids, moves.confirm, "confirm_migrations", ctxt.sender_project
        )

    @expose
    def revert_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply_to_migrations(
            self._conductor, uuids, moves.revert, "revert_migrations", ctxt.sender_project
        )

    @expose
    def abort_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply_to_migrations(self._conductor, uuids, abort, "abort_migrations")

    @expose
    def force_complete_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply_to_migrations(self._conductor, uuids, force_complete, "force_complete_migrations")

    @expose
    def get_migrations(self, ctxt: RequestContext, uuids: list[str]) -> objects.MigrationPage:
        return migrations.get_migrations(self._conductor, uuids, ctxt.sender_project)

    @expose
    def list_migrations(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> objects.MigrationPage:
        return migrations.list_migrations(self._conductor.store, marker, limit)

    @expose
    def list_copies(self, ctxt: RequestContext, uuids: list[str]) -> objects.CopyPage:
        return migrations.list_copies(self._conductor, ctxt, uuids)
