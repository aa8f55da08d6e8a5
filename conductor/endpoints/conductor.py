# SPDX-License-Identifier: Apache-2.0
"""RPC endpoint of the conductor; rpcapi.clients.conductor.ConductorAPI documents the methods."""

from typing import Any

import oslo_messaging as messaging

from conductor import instances, metrics, migrations
from conductor.endpoints.backport import backport
from conductor.parts import ConductorParts
from conductor.reconciliation import leaked_migrations, orphans, vouching
from conductor.reconciliation.reconciler import RecordReconciler
from conductor.reports import intake
from conductor.requests import adoption, builds, evacuation, moves, operations, power, requested_changes, shelving
from conductor.requests.copies import abort, force_complete
from conductor.requests.deletion import delete
from rpcapi import objects
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose


class ConductorEndpoint:
    target = messaging.Target(version=ConductorAPI.VERSION)

    def __init__(self, parts: ConductorParts, reconciler: RecordReconciler) -> None:
        self._parts = parts
        self._reconciler = reconciler

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
        builds.build(self._parts, ctxt, spec, uuids, names or (), first_sent=first_sent)

    @expose
    def check_store(self, ctxt: RequestContext) -> None:
        self._parts.store.check_replicas()

    @expose
    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        return objects.StoreSizes.of_sizes(self._parts.bounds.observe(self._parts.store.sizes()))

    @expose
    def get_quota(self, ctxt: RequestContext, project: str) -> objects.ProjectQuota:
        return builds.quota(self._parts, project)

    @expose
    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        intake.record(self._parts, ctxt, report)

    @expose
    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._parts, uuids, delete, "delete_instances", ctxt.sender_project)

    @expose
    def stop_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._parts, uuids, power.stop, "stop_instances", ctxt.sender_project)

    @expose
    def start_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._parts, uuids, power.start, "start_instances", ctxt.sender_project)

    @expose
    def reboot_instances(self, ctxt: RequestContext, uuids: list[str], hard: bool = False) -> None:
        operations.reboot(self._parts, uuids, hard=hard, project=ctxt.sender_project)

    @expose
    def rebuild_instances(self, ctxt: RequestContext, uuids: list[str], image: dict[str, Any] | None = None) -> None:
        operations.rebuild(self._parts, ctxt, uuids, ctxt.sender_project, image)

    @expose
    def shelve_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._parts, uuids, shelving.shelve, "shelve_instances", ctxt.sender_project)

    @expose
    def offload_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply(self._parts, uuids, shelving.offload, "offload_instances", ctxt.sender_project)

    @expose
    def unshelve_instances(self, ctxt: RequestContext, uuids: list[str], host: str | None = None) -> None:
        shelving.unshelve_instances(self._parts, ctxt, uuids, host, ctxt.sender_project)

    @expose
    def evacuate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], target: str | None = None
    ) -> None:
        evacuation.evacuate(self._parts, ctxt, uuids, migrations, target)

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
            self._parts, ctxt, uuids, migrations, host, allow_cross_cell=allow_cross_cell, project=ctxt.sender_project
        )

    @expose
    def live_migrate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], host: str | None = None
    ) -> None:
        moves.live_migrate(self._parts, ctxt, uuids, migrations, host, project=ctxt.sender_project)

    @expose
    def abort_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply_to_migrations(self._parts, uuids, abort, "abort_migrations")

    @expose
    def force_complete_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply_to_migrations(self._parts, uuids, force_complete, "force_complete_migrations")

    @expose
    def list_copies(self, ctxt: RequestContext, uuids: list[str]) -> objects.CopyPage:
        return migrations.list_copies(self._parts, ctxt, uuids)

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
            self._parts,
            ctxt,
            uuids,
            migrations,
            [spec, *(other_specs or ())],
            allow_cross_cell=allow_cross_cell,
            project=ctxt.sender_project,
        )

    @expose
    def confirm_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply_to_migrations(
            self._parts, uuids, moves.confirm, "confirm_migrations", ctxt.sender_project
        )

    @expose
    def revert_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        requested_changes.apply_to_migrations(
            self._parts, uuids, moves.revert, "revert_migrations", ctxt.sender_project
        )

    @expose
    def get_specs(self, ctxt: RequestContext, uuids: list[str]) -> list[objects.RequestSpec]:
        return instances.get_specs(self._parts, uuids, ctxt.sender_project)

    @expose
    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        return instances.get_instances(self._parts, uuids, ctxt.sender_project)

    @expose
    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        return instances.list_instances(self._parts.store, marker, limit, deleted=deleted, project=ctxt.sender_project)

    @expose
    def get_migrations(self, ctxt: RequestContext, uuids: list[str]) -> objects.MigrationPage:
        return migrations.get_migrations(self._parts, uuids, ctxt.sender_project)

    @expose
    def list_migrations(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> objects.MigrationPage:
        return migrations.list_migrations(self._parts.store, marker, limit)

    @expose
    def list_hosts(self, ctxt: RequestContext, partition: str) -> objects.RecordedHosts:
        return instances.list_hosts(self._parts.store, partition)

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
        return self._parts.clients.call_agent(ctxt, host, self._parts.clients.compute.list_guests, marker, limit)

    @expose
    def check_unverified(self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        vouching.check(self._parts, partition, host, refs)

    @expose
    def adopt_instances(self, ctxt: RequestContext, partition: str, host: str, uuids: list[str]) -> None:
        adoption.adopt(self._parts, ctxt, partition, host, uuids)

    @expose
    def release_orphans(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        orphans.release(self._parts, ctxt, host, refs)

    @expose
    def end_leaked_migrations(
        self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs, ends_running: bool = False
    ) -> None:
        leaked_migrations.end(self._parts, ctxt, partition, host, refs, ends_running=ends_running)

    @expose
    def compare_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._reconciler.compare(uuids)

    @expose
    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        self._parts.clients.compute.audit(ctxt, partition, epoch)
