# SPDX-License-Identifier: Apache-2.0
"""The conductor's RPC endpoint; rpcapi.clients.conductor.ConductorAPI documents each method."""

from typing import Any

import oslo_messaging as messaging

from conductor import metrics, power
from conductor.adoption import InstanceAdoption
from conductor.backport import backport
from conductor.copies import abort, force_complete
from conductor.deletion import delete
from conductor.evacuation import InstanceEvacuation
from conductor.instances import InstanceReader
from conductor.leaked_migrations import LeakedMigrations
from conductor.migrations import MigrationReader
from conductor.moves import InstanceMoves, confirm, revert
from conductor.operations import InstanceOperations
from conductor.orphans import OrphanRelease
from conductor.reconciliation import RecordReconciler
from conductor.reports import BuildReports
from conductor.requested_changes import RequestedChanges
from conductor.requests import BuildRequests
from conductor.service_clients import ServiceClients
from conductor.shelving import InstanceUnshelving, offload, shelve
from conductor.store.bounds import RecordBounds
from conductor.vouching import ClaimVouching
from rpcapi import objects
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose


class ConductorEndpoint:
    """Endpoint of topic ``conductor``."""

    target = messaging.Target(version=ConductorAPI.VERSION)

    def __init__(
        self,
        requests: BuildRequests,
        reports: BuildReports,
        changes: RequestedChanges,
        instances: InstanceReader,
        *,
        migrations: MigrationReader,
        operations: InstanceOperations,
        unshelving: InstanceUnshelving,
        evacuation: InstanceEvacuation,
        moves: InstanceMoves,
        vouching: ClaimVouching,
        adoption: InstanceAdoption,
        orphans: OrphanRelease,
        leaked_migrations: LeakedMigrations,
        reconciler: RecordReconciler,
        clients: ServiceClients,
        bounds: RecordBounds,
    ) -> None:
        self._requests = requests
        self._reports = reports
        self._changes = changes
        self._migrations = migrations
        self._operations = operations
        self._unshelving = unshelving
        self._evacuation = evacuation
        self._moves = moves
        self._instances = instances
        self._claim_vouching = vouching
        self._adoption = adoption
        self._orphans = orphans
        self._leaked_migrations = leaked_migrations
        self._reconciler = reconciler
        self._clients = clients
        self._bounds = bounds

    def _observe(self, method: str, code: str, seconds: float) -> None:
        metrics.CALLS.labels(method, code).inc()
        metrics.CALL_SECONDS.labels(method).observe(seconds)

    @expose
    def build_instances(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        names: list[str] | None = None,
        first_sent: float | None = None,
    ) -> None:
        self._requests.build(ctxt, spec, uuids, names or (), first_sent)

    @expose
    def check_store(self, ctxt: RequestContext) -> None:
        self._instances.check_store()

    @expose
    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        return objects.StoreSizes.of_sizes(self._bounds.measure())

    @expose
    def get_quota(self, ctxt: RequestContext, project: str) -> objects.ProjectQuota:
        return self._requests.quota(project)

    @expose
    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        self._reports.record(ctxt, report)

    @expose
    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply(uuids, delete, "delete_instances", ctxt.sender_project)

    @expose
    def stop_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply(uuids, power.stop, "stop_instances", ctxt.sender_project)

    @expose
    def start_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply(uuids, power.start, "start_instances", ctxt.sender_project)

    @expose
    def reboot_instances(self, ctxt: RequestContext, uuids: list[str], hard: bool = False) -> None:
        self._operations.reboot(uuids, hard=hard, project=ctxt.sender_project)

    @expose
    def rebuild_instances(self, ctxt: RequestContext, uuids: list[str], image: dict[str, Any] | None = None) -> None:
        self._operations.rebuild(ctxt, uuids, ctxt.sender_project, image)

    @expose
    def shelve_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply(uuids, shelve, "shelve_instances", ctxt.sender_project)

    @expose
    def offload_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply(uuids, offload, "offload_instances", ctxt.sender_project)

    @expose
    def unshelve_instances(self, ctxt: RequestContext, uuids: list[str], host: str | None = None) -> None:
        self._unshelving.unshelve(ctxt, uuids, host, ctxt.sender_project)

    @expose
    def evacuate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], target: str | None = None
    ) -> None:
        self._evacuation.evacuate(ctxt, uuids, migrations, target)

    @expose
    def migrate_instances(
        self,
        ctxt: RequestContext,
        uuids: list[str],
        migrations: list[str],
        host: str | None = None,
        allow_cross_cell: bool = False,
    ) -> None:
        self._moves.migrate(
            ctxt, uuids, migrations, host, allow_cross_cell=allow_cross_cell, project=ctxt.sender_project
        )

    @expose
    def live_migrate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], host: str | None = None
    ) -> None:
        self._moves.live_migrate(ctxt, uuids, migrations, host, ctxt.sender_project)

    @expose
    def abort_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply_to_migrations(uuids, abort, "abort_migrations")

    @expose
    def force_complete_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply_to_migrations(uuids, force_complete, "force_complete_migrations")

    @expose
    def list_copies(self, ctxt: RequestContext, uuids: list[str]) -> objects.CopyPage:
        return self._migrations.list_copies(ctxt, uuids)

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
        self._moves.resize(
            ctxt,
            uuids,
            migrations,
            [spec, *(other_specs or ())],
            allow_cross_cell=allow_cross_cell,
            project=ctxt.sender_project,
        )

    @expose
    def confirm_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply_to_migrations(uuids, confirm, "confirm_migrations", ctxt.sender_project)

    @expose
    def revert_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._changes.apply_to_migrations(uuids, revert, "revert_migrations", ctxt.sender_project)

    @expose
    def get_specs(self, ctxt: RequestContext, uuids: list[str]) -> list[objects.RequestSpec]:
        return self._instances.specs(uuids, ctxt.sender_project)

    @expose
    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        return self._instances.get(uuids, ctxt.sender_project)

    @expose
    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        return self._instances.list(marker, limit, deleted=deleted, project=ctxt.sender_project)

    @expose
    def get_migrations(self, ctxt: RequestContext, uuids: list[str]) -> objects.MigrationPage:
        return self._migrations.get(uuids, ctxt.sender_project)

    @expose
    def list_migrations(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> objects.MigrationPage:
        return self._migrations.list(marker, limit)

    @expose
    def list_hosts(self, ctxt: RequestContext, partition: str) -> objects.RecordedHosts:
        return self._instances.list_hosts(partition)

    @expose
    def object_backport_versions(
        self, ctxt: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> dict[str, Any]:
        # The serializer has already decoded the primitive.
        return backport(objinst, object_versions)

    @expose
    def list_guests(
        self, ctxt: RequestContext, host: str, marker: str | None = None, limit: int = 1000
    ) -> objects.GuestPage:
        return self._clients.call_agent(ctxt, host, self._clients.compute.list_guests, marker, limit)

    @expose
    def check_unverified(self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        self._claim_vouching.check(partition, host, refs)

    @expose
    def adopt_instances(self, ctxt: RequestContext, partition: str, host: str, uuids: list[str]) -> None:
        self._adoption.adopt(ctxt, partition, host, uuids)

    @expose
    def release_orphans(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        self._orphans.release(ctxt, host, refs)

    @expose
    def end_leaked_migrations(
        self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs, ends_running: bool = False
    ) -> None:
        self._leaked_migrations.end(ctxt, partition, host, refs, ends_running=ends_running)

    @expose
    def compare_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._reconciler.compare(uuids)

    @expose
    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        self._clients.compute.audit(ctxt, partition, epoch)
