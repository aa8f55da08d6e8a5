# SPDX-License-Identifier: Apache-2.0
"""Client of the conductor."""

import time
from collections.abc import Sequence
from typing import Any

from rpcapi import objects
from rpcapi.clients.client import ServiceClient
from rpcapi.context import RequestContext


class ConductorAPI(ServiceClient):
    """Client of the conductor service, topic ``conductor``.

    1.0 - Initial version: build_instances, report_builds, delete_instances, get_instances, list_instances,
          object_backport_versions
    1.1 - Add audit_hosts
    1.2 - build_instances: add names
    1.3 - Add check_unverified
    1.4 - Add list_guests
    1.5 - Add list_hosts
    1.6 - build_instances: add first_sent
    1.7 - Add check_store
    1.8 - Add store_sizes
    1.9 - Add get_quota
    1.10 - build_instances: first_sent may be None, unknown
    1.11 - Add stop_instances, start_instances
    1.12 - Add get_migrations, list_migrations
    1.13 - Add reboot_instances, rebuild_instances
    1.14 - Add shelve_instances, offload_instances, unshelve_instances
    1.15 - Add adopt_instances
    1.16 - Add release_orphans, compare_instances
    1.17 - Add migrate_instances, resize_instances, confirm_migrations, revert_migrations, get_specs
    1.18 - Add end_leaked_migrations, evacuate_instances. rebuild_instances: image, evacuates those whose host is gone
    1.19 - Add live_migrate_instances, abort_migrations, force_complete_migrations, list_copies
    1.20 - unshelve_instances: host
    1.21 - resize_instances: other_specs
    1.22 - end_leaked_migrations: ends_running, without which a guest that runs is kept
    """

    TOPIC = "conductor"
    VERSION = "1.22"

    def build_instances(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        names: Sequence[str] = (),
        first_sent: float | None = None,
        *,
        is_repeat: bool = False,
    ) -> None:
        """Record the instances and start their build; a repeated call is the same request.

        ``names`` has the display name of each instance, or is empty. ``first_sent`` is the Unix time in seconds at
        which the caller first sent this request: a caller that repeats it must pass the same time; None is now. A
        caller that does not know the time, but that it may be a repetition, passes ``is_repeat``: then nothing is built
        until it is certain that nothing runs under these uuids. Raises InvalidSpec, InvalidCount, InvalidName,
        UnknownTrait, InstanceConflict, RequestTooOld, QuotaExceeded or Overloaded before it records anything.
        """
        sent = time.time() if first_sent is None and not is_repeat else first_sent
        self.call(ctxt, "1.10", "build_instances", spec=spec, uuids=uuids, names=list(names), first_sent=sent)

    def check_store(self, ctxt: RequestContext) -> None:
        """Check that the conductors' store acknowledges writes; raises StoreUnavailable, or NotReplicated."""
        self.call(ctxt, "1.7", "check_store")

    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        """Measure the collections of the conductors' store."""
        return self.call(ctxt, "1.8", "store_sizes")

    def get_quota(self, ctxt: RequestContext, project: str) -> objects.ProjectQuota:
        """Return what a project uses, and its limits."""
        return self.call(ctxt, "1.9", "get_quota", project=project)

    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        """Report the outcome of builds on a host; an agent repeats it until it is answered."""
        self.call(ctxt, "1.0", "report_builds", report=report)

    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Stop instances and release their claims; raises UnknownInstance before it changes anything."""
        self.call(ctxt, "1.0", "delete_instances", uuids=uuids)

    def stop_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Power ACTIVE instances off; they keep disk and claim. A repeated call changes nothing.

        Raises UnknownInstance, or InstanceConflict for one in another status, before it changes anything.
        """
        self.call(ctxt, "1.11", "stop_instances", uuids=uuids)

    def start_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Start SHUTOFF instances on their hosts; raises as stop_instances."""
        self.call(ctxt, "1.11", "start_instances", uuids=uuids)

    def reboot_instances(self, ctxt: RequestContext, uuids: list[str], hard: bool = False) -> None:
        """Reboot ACTIVE instances; ``hard`` also SHUTOFF ones and those in ERROR that a host still has.

        A call repeated while they are being rebooted changes nothing. Raises UnknownInstance, or InstanceConflict for
        one in another status, before it changes anything.
        """
        self.call(ctxt, "1.13", "reboot_instances", uuids=uuids, hard=hard)

    def rebuild_instances(self, ctxt: RequestContext, uuids: list[str], image: dict[str, Any] | None = None) -> None:
        """Replace the disks of instances that are ACTIVE, SHUTOFF, or in ERROR on a host, by new ones of their images.

        ``image``, as in RequestSpec, is their image from then on: InvalidSpec is raised for one that needs another
        claim, NoValidHost where a host cannot run it. They keep host and claim, and SHUTOFF ones stay off. Those in
        ERROR whose host is gone are evacuated. Repeated and refused as reboot_instances; also HostIsUp as
        evacuate_instances.
        """
        self.call(ctxt, "1.18", "rebuild_instances", uuids=uuids, image=image)

    def shelve_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Power instances off that are ACTIVE or SHUTOFF, and keep their images; a repeated call changes nothing.

        They are offloaded after [conductor] shelved_offload_time. Raises UnknownInstance, or InstanceConflict for one
        in another status, before it changes anything.
        """
        self.call(ctxt, "1.14", "shelve_instances", uuids=uuids)

    def offload_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Remove SHELVED instances from their hosts and release their claims; raises as shelve_instances."""
        self.call(ctxt, "1.14", "offload_instances", uuids=uuids)

    def unshelve_instances(self, ctxt: RequestContext, uuids: list[str], host: str | None = None) -> None:
        """Start SHELVED instances on their hosts, and SHELVED_OFFLOADED ones on hosts that the scheduler selects.

        Those for which there is no host are SHELVED_OFFLOADED again, with the reason. ``host`` is the only one that may
        take them; all must be SHELVED_OFFLOADED then. Raises as shelve_instances, and QuotaExceeded, or UnknownHost or
        NoValidHost for a host that can take none of them, before it changes anything.
        """
        self.call(ctxt, "1.20", "unshelve_instances", uuids=uuids, host=host)

    def evacuate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], target: str | None = None
    ) -> None:
        """Build instances on other hosts whose host was fenced or removed; ``target`` is the only one allowed.

        ``migrations`` has a new uuid for each, which identifies its evacuation: a call repeated with it changes
        nothing. Raises before it changes anything: InvalidRequest, UnknownInstance, UnknownHost or NoValidHost for the
        target, HostIsUp while the host sends heartbeats and may run them, InstanceConflict for one whose claim has not
        ended, that was never built, or that has a migration under way. One that no host takes is in ERROR again, with
        the reason of each attempt.
        """
        self.call(ctxt, "1.18", "evacuate_instances", uuids=uuids, migrations=migrations, target=target)

    def migrate_instances(
        self,
        ctxt: RequestContext,
        uuids: list[str],
        migrations: list[str],
        host: str | None = None,
        *,
        allow_cross_cell: bool = False,
    ) -> None:
        """Move ACTIVE and SHUTOFF instances to other hosts, each by the migration whose uuid the caller supplies.

        A repeated call is the same request. ``host`` is the only destination, ``allow_cross_cell`` allows those in
        other partitions. The instances are in VERIFY_RESIZE at their destinations until the migrations are confirmed
        or reverted, or back on their hosts, with the reason in their migrations. Raises UnknownInstance,
        InstanceConflict for one in another status, InvalidRequest for a host that it is on, or UnknownHost or
        NoValidHost for a host that can take none of them, before any change.
        """
        self.call(
            ctxt,
            "1.17",
            "migrate_instances",
            uuids=uuids,
            migrations=migrations,
            host=host,
            allow_cross_cell=allow_cross_cell,
        )

    def live_migrate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], host: str | None = None
    ) -> None:
        """Copy ACTIVE instances to other hosts of their partitions while they run; else as migrate_instances.

        The instances are ACTIVE at their destinations when the migrations are completed. Where a copy fails, they run
        on at their sources.
        """
        self.call(ctxt, "1.19", "live_migrate_instances", uuids=uuids, migrations=migrations, host=host)

    def abort_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Abort live migrations: their instances run on at their sources; a repeated call changes nothing.

        Raises UnknownMigration, or InstanceConflict for one that is not live, has ended, or whose instance is stopped
        at its source already, before any change.
        """
        self.call(ctxt, "1.19", "abort_migrations", uuids=uuids)

    def force_complete_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Complete live migrations whose instances write faster than they are copied: they stand still meanwhile.

        With [conductor] live_migration_post_copy they continue at their destinations at once, and memory follows.
        Raises UnknownMigration, or InstanceConflict for one that is not being copied, before any change.
        """
        self.call(ctxt, "1.19", "force_complete_migrations", uuids=uuids)

    def list_copies(self, ctxt: RequestContext, uuids: list[str]) -> objects.CopyPage:
        """Return the progress of live migrations; those that have ended, or whose source is silent, are left out.

        Raises UnknownMigration.
        """
        return self.call(ctxt, "1.19", "list_copies", uuids=uuids)

    def resize_instances(
        self,
        ctxt: RequestContext,
        uuids: list[str],
        migrations: list[str],
        spec: objects.RequestSpec,
        *,
        other_specs: Sequence[objects.RequestSpec] = (),
        allow_cross_cell: bool = False,
    ) -> None:
        """Give instances another flavor: the resources, traits and topology of ``spec``; else as migrate_instances.

        ``spec`` is made of the new flavor and the image of the instances; its placement, volumes and ports are ignored,
        for an instance keeps its own. Where their images differ, ``other_specs`` are made of the flavor and the other
        images, and each instance gets the spec with its own image. The new host may be the one that it is on. Also
        raises InvalidSpec, and QuotaExceeded.
        """
        self.call(
            ctxt,
            "1.21",
            "resize_instances",
            uuids=uuids,
            migrations=migrations,
            spec=spec,
            allow_cross_cell=allow_cross_cell,
            other_specs=list(other_specs),
        )

    def confirm_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Remove the sources of finished migrations; a repeated call changes nothing.

        Raises UnknownMigration, or InstanceConflict for one that is not finished, before any change.
        """
        self.call(ctxt, "1.17", "confirm_migrations", uuids=uuids)

    def revert_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Return the instances of finished migrations to their sources; raises as confirm_migrations."""
        self.call(ctxt, "1.17", "revert_migrations", uuids=uuids)

    def get_specs(self, ctxt: RequestContext, uuids: list[str]) -> list[objects.RequestSpec]:
        """Return the request specs of instances in that order, as resizes changed them; raises UnknownInstance."""
        return self.call(ctxt, "1.17", "get_specs", uuids=uuids)

    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        """Return the instances with these uuids in that order; raises UnknownInstance."""
        return self.call(ctxt, "1.0", "get_instances", uuids=uuids)

    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        """Return instances after ``marker``, oldest first; deleted ones only when ``deleted`` is true."""
        return self.call(ctxt, "1.0", "list_instances", marker=marker, limit=limit, deleted=deleted)

    def get_migrations(self, ctxt: RequestContext, uuids: list[str]) -> objects.MigrationPage:
        """Return the migrations with these uuids in that order; raises UnknownMigration."""
        return self.call(ctxt, "1.12", "get_migrations", uuids=uuids)

    def list_migrations(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> objects.MigrationPage:
        """Return migrations after ``marker``, oldest first; ended ones until their retention has passed."""
        return self.call(ctxt, "1.12", "list_migrations", marker=marker, limit=limit)

    def list_guests(
        self, ctxt: RequestContext, host: str, marker: str | None = None, limit: int = 1000
    ) -> objects.GuestPage:
        """Return a page of what the agent of service host ``host`` runs; raises Unavailable if it does not answer."""
        return self.call(ctxt, "1.4", "list_guests", host=host, marker=marker, limit=limit)

    def adopt_instances(self, ctxt: RequestContext, partition: str, host: str, uuids: list[str]) -> None:
        """Record instances without a record that service host ``host`` of ``partition`` runs under their claims.

        A repeated call changes nothing. Raises InvalidRequest, or InstanceConflict for an instance that has another
        record, or no guest or claim there, before it changes anything; Unavailable if the agent does not answer.
        """
        self.call(ctxt, "1.15", "adopt_instances", partition=partition, host=host, uuids=uuids)

    def release_orphans(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        """Request a service host to release confirmed claims that it runs nothing under.

        Raises InvalidRequest, InstanceConflict for an attempt that the host has, or an instance with a step under way,
        before it changes anything; Unavailable if the agent does not answer.
        """
        self.call(ctxt, "1.16", "release_orphans", host=host, refs=refs)

    def compare_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Correct records by their claims at once, as the periodic comparison does when it finds a difference twice.

        Raises InvalidRequest, UnknownInstance, or InstanceConflict for one with a step under way, before it changes
        anything; Unavailable if a claims service does not answer.
        """
        self.call(ctxt, "1.16", "compare_instances", uuids=uuids)

    def end_leaked_migrations(
        self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs, *, ends_running: bool = False
    ) -> None:
        """Request a service host of ``partition`` to end what migrations hold there that ended or have no record.

        ``ends_running``: the operator agrees to end guests that run, or that may be the original copy because their
        migration has no record. Raises InvalidRequest; InstanceConflict for a migration under way, or for a guest that
        may be the only copy of its instance or that needs ``ends_running``, before it changes anything; Unavailable if
        the agent does not answer.
        """
        self.call(
            ctxt, "1.22", "end_leaked_migrations", partition=partition, host=host, refs=refs, ends_running=ends_running
        )

    def object_backport_versions(
        self, ctxt: RequestContext, objinst: dict[str, Any], object_versions: dict[str, str]
    ) -> Any:
        """Return the object of primitive ``objinst``, backported to the version in ``object_versions``."""
        return self.call(ctxt, "1.0", "object_backport_versions", objinst=objinst, object_versions=object_versions)

    def check_unverified(self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        """Request vouch_for_claims for those unverified claims of a service host that records name.

        Sent without waiting, because conductors call the claims service: a call could block both.
        """
        self._cast(ctxt, "1.3", "check_unverified", partition=partition, host=host, refs=refs)

    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        """Request all agents to audit in ``epoch``; the scheduler itself cannot send to agents."""
        self.call(ctxt, "1.1", "audit_hosts", partition=partition, epoch=epoch)

    def list_hosts(self, ctxt: RequestContext, partition: str) -> objects.RecordedHosts:
        """Return the service hosts on which instances of a partition may run, as far as they are recorded."""
        return self.call(ctxt, "1.5", "list_hosts", partition=partition)
