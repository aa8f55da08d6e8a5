# SPDX-License-Identifier: Apache-2.0
"""The store's verbs: one interface, one test suite, several backends."""

import abc
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from scheduler_svc.store import records


class Store(abc.ABC):
    """One partition's host state, claims and log.

    Each verb is atomic and idempotent by its identity: repeating it changes nothing and returns the recorded
    answer. Time is the store's own. Every verb raises StoreUnavailable when the store does not answer, or answers
    that it cannot serve; a rejection is data.
    """

    partition: str

    # -- claims ------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def prepare(self, batch: records.Batch) -> records.BatchAnswer:
        """Claim for every intent of the batch, or for none. At most MAX_INTENTS intents of MAX_CANDIDATES each."""

    @abc.abstractmethod
    def confirm(self, host: str, refs: Sequence[records.Ref]) -> list[records.Ended]:
        """Turn prepared claims of service host ``host`` into confirmed ones, each by itself.

        Answers CONFIRMED (also when it was already), EXPIRED, ABORTED, RELEASED, UNKNOWN, FOREIGN, or CLOSED: the
        host must audit first, since the claim's end may be what the store forgot.
        """

    @abc.abstractmethod
    def abort(self, refs: Sequence[records.Ref], host: str | None = None) -> list[records.Ended]:
        """End prepared claims. A confirmed one stays: CONFIRMED. ``host``, where given, must hold it: else FOREIGN.

        Answers ABORTED, EXPIRED, RELEASED (what its end is), CONFIRMED, CLOSED (its host must audit first) or
        UNKNOWN: then a tombstone is left, so that a delayed prepare of that attempt is refused. CLOSED is also
        answered for an unknown claim that the store may have forgotten, while a host that could run it must audit.
        """

    @abc.abstractmethod
    def release(self, host: str, refs: Sequence[records.Ref]) -> list[records.Ended]:
        """Give back claims of service host ``host``, prepared or confirmed. RELEASED, its former end, or FOREIGN.

        Fine for a claim that never was: RELEASED, and a tombstone is left.
        """

    @abc.abstractmethod
    def move(self, ref: records.Ref, to: records.Ref, consumer_type: str) -> records.Ended:
        """Hand a confirmed claim over to another consumer (an instance's source to its migration, and back).

        Answers for ``to``: CONFIRMED, CONFLICT (it has a live claim) or how that attempt ended; or for ``ref``, and
        then nothing was moved: PREPARED, UNKNOWN or its end. A refusal is final: it ends ``to``, so that the message
        repeated later moves nothing; who wants to try again names its next attempt. CLOSED, for either, is no
        refusal: a host must audit before anybody can know, so ask again.
        """

    @abc.abstractmethod
    def claims(
        self,
        *,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> tuple[list[records.Claim], str | None]:
        """Return a page of live claims, by node and consumer, and the next marker; ``host`` is a host or a node.

        ``limit`` is at most MAX_PAGE, as of every page: InvalidRequest.
        """

    @abc.abstractmethod
    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return how many live claims of a server group each host holds: where to look, not a promise.

        Claims past their deadline count until somebody ends them; the group's policy binds in ``prepare``.
        """

    @abc.abstractmethod
    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return where the live claims of these consumers are: the node of each that has one, by consumer.

        At most MAX_REFS consumers.
        """

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return how many live claims are prepared and confirmed, at the cost of two counters.

        Claims past their deadline count as prepared until somebody ends them, and as confirmed while their host must
        audit before anybody can.
        """

    @abc.abstractmethod
    def audit(self, host: str, epoch: int, running: Sequence[records.Running], grace_ms: int) -> records.AuditOutcome:
        """Settle with what runs on service host ``host`` and open it in ``epoch``; another epoch opens nothing.

        What runs is the truth: a confirmed claim that the store lost is re-asserted (an excess is flagged), and a
        later attempt than the live one proves that one's end. A claim that ended stays ended and is answered so. A
        prepared one of an earlier epoch is aborted: that it had been before may be what was forgotten. A confirmed
        claim that is not reported is an orphan: released when it still is one after ``grace_ms``.

        Answers one Ended a reported claim, in order, or none of them where ``epoch`` is not the store's: the agent
        then audits again in the epoch answered. Raises UnknownHost where ``host`` never reported: it would be opened,
        and then be waited for in each new epoch.
        """

    @abc.abstractmethod
    def fence(self, host: str) -> int:
        """Take an operator's word that nothing runs on service host ``host``, and return how many claims that ended.

        All its live claims are released, and leave tombstones: an agent that comes back after all is told so by its
        audit, and stops their guests. Nobody waits for the host any longer; in a later epoch only where it still
        counted as alive, for it might have come back in what was forgotten. It takes claims again after its next
        audit. Raises UnknownHost.
        """

    @abc.abstractmethod
    def verify(self) -> records.Verification:
        """Recompute all sums from the claims, in one atomic look, and compare."""

    @abc.abstractmethod
    def reap(self, *, dead_after_ms: int | None, tombstone_ms: int, limit: int = 500) -> int:
        """Tidy: end claims past their deadline, log hosts that went down, drop old tombstones and pins.

        ``dead_after_ms`` None: who lives is judged elsewhere and told by ``settle_alive``. Returns how many claims were
        ended. Nothing else depends on it being called: deadlines bind at access.
        """

    @abc.abstractmethod
    def settle_alive(self, living: Collection[str]) -> int:
        """Log that exactly these of the known services live, and return for how many that was news.

        For stores opened with liveness "group", in which a sign of life is recorded but raises nobody from the dead.
        """

    @abc.abstractmethod
    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        """Record that ``key`` (a request, a server group) is served by ``partition``, and return who serves it.

        The first to ask is recorded; later ones, within ``ttl_ms`` of the last time that this answer was given, are
        answered what is recorded. ``instead_of`` names a recorded partition that may be replaced.
        """

    # -- host state --------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def update_stats(
        self,
        host: str,
        *,
        incarnation: int,
        sequence: int,
        base: int,
        full: bool,
        nodes: Mapping[str, Mapping[str, Any]],
    ) -> records.StatsOutcome:
        """Apply a service host's report (see rpcapi.objects.StatsReport) and count it as a heartbeat.

        ``nodes`` is validated already and every inventory carries its ``capacity``. Only what really changed is
        logged. A repeated report changes nothing; an older one changes nothing; a delta whose base is not the
        last applied report, or of another incarnation, is answered ``need_full`` and changes nothing.
        Raises UnknownHost where a delta names a node that the host never reported.
        """

    @abc.abstractmethod
    def heartbeat(self, host: str, binary: str) -> None:
        """Note that a service without nodes lives; it is known as ``binary@host`` (see reports.service_name)."""

    @abc.abstractmethod
    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        """Return (version, document); raises UnknownHost, UnknownNamespace."""

    @abc.abstractmethod
    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        """Return a page of (name, version, document) by name, and the next marker."""

    @abc.abstractmethod
    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace the document that is recorded at ``version`` (0: there is none), and return its new version.

        What is already as wanted stays as it is, whatever its version. In namespace ``service`` only ``enabled`` and
        ``disabled_reason`` are taken, and only of a service that reported: UnknownHost. A document in ``compute``
        is its agent's: InvalidRequest. Whether it is right is the caller's affair: ``document`` is plain JSON of at
        most MAX_STATE bytes. Raises VersionConflict, UnknownNamespace.
        """

    @abc.abstractmethod
    def delete_state(self, namespace: str, name: str, version: int) -> None:
        """Delete the document that is recorded at ``version``; fine where there is none.

        Raises VersionConflict, UnknownNamespace, and InvalidRequest for ``compute`` and ``service``, whose documents
        go with their hosts (``remove``).
        """

    @abc.abstractmethod
    def remove(self, host: str) -> None:
        """Forget service host ``host``: its nodes, its reports, its service document, and that it was awaited.

        Fine where it is not known. Raises HostInUse where live claims are on it, and Conflict where claims on other
        hosts hold what it shares, or where it may run claims that the store forgot, until it has audited or was fenced.
        """

    # -- log, epoch, decisions ---------------------------------------------------------------------------------

    @abc.abstractmethod
    def snapshot(self, namespaces: Collection[str] = ()) -> records.Snapshot:
        """Return a consistent copy of all that replicas hold, tagged with its log position.

        Of declared namespaces only those named are in it.
        """

    @abc.abstractmethod
    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[records.Entry] | None:
        """Return the entries after ``position``, in order, waiting up to ``block_ms`` for the first.

        None means a gap: the log was trimmed past ``position``, or is shorter than it. Take a snapshot.
        """

    @abc.abstractmethod
    def check_identity(self) -> tuple[int, bool]:
        """Compare who the store is with who it was; bump the epoch when it may have forgotten something.

        Returns (epoch, whether this call bumped it). Called on every new connection.
        """

    @abc.abstractmethod
    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Append a decision that led to no prepare to the bounded record."""

    @abc.abstractmethod
    def find_decision(self, request_id: str) -> dict[str, Any]:
        """Return the newest recorded decision of a request, with the script's answer; raises UnknownDecision."""

    @abc.abstractmethod
    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        """Return a page of (request id, document), oldest first, and the next marker, an opaque text."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of connections; the store itself stays."""
