# SPDX-License-Identifier: Apache-2.0
"""Requests and answers of the claim verbs."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


class ClaimRefs(base.GanttObject):
    """Identities of claims: (consumer, attempt)."""

    fields = {
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
    }

    def pairs(self) -> list[tuple[str, int]]:
        return list(zip(self.consumers, self.attempts, strict=True))


class ClaimIntents(base.GanttObject):
    """Request of prepare_claims: claims for all consumers or for none, with candidate hosts, best first.

    ``replaces`` is the attempt that a new one ends, or None; if it is confirmed, nothing changes. ``fresh`` and
    ``moves`` are as in select_destinations.
    """

    fields = {
        "spec": fields.ObjectField("RequestSpec"),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "replaces": base.ColumnField(int, nullable_items=True),
        "candidates": base.ColumnField(list),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "fresh": fields.BooleanField(default=False),
        "moves": base.ColumnField(dict, nullable_items=True, default=[]),
    }


class ClaimAnswers(base.GanttObject):
    """Answers of a claim verb, one row per claim.

    ``partitions`` has the partition of answers from a partition other than the called one, ``migrations`` the migration
    of live claims with role source or destination. ``ends`` says how each attempt ended, "closed" or "unknown" if a
    later one is live. For ``allocations`` and ``deadlines_ms`` see Selections.
    """

    fields = {
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "answers": base.ColumnField(str),
        "hosts": base.ColumnField(str, nullable_items=True),
        "reasons": base.ColumnField(str),
        "deadlines_ms": base.ColumnField(int, nullable_items=True),
        "allocations": base.ColumnField(dict, nullable_items=True, default=[]),
        "partitions": base.ColumnField(str, nullable_items=True, default=[]),
        "migrations": base.ColumnField(str, nullable_items=True, default=[]),
        "ends": base.ColumnField(str, nullable_items=True, default=[]),
    }


class ClaimPage(base.GanttObject):
    """Page of live claims; ``marker`` is None on the last page.

    Keys of a claim: consumer, attempt, role, migration, source_attempt, generation, type, project, user, state, host,
    allocations ({provider: {class: amount}}), unheld (amounts that the agent reports beyond the claim), deadline_ms,
    request_id, group_id, group_policy, alternates, created_ms. Times are by the clock of the store's server.
    """

    fields = {
        "claims": base.ListField(dict),
        "marker": fields.StringField(nullable=True, default=None),
    }


class AuditReport(base.GanttObject):
    """All instances that run or will run on a service host, from its agent's journal.

    ``states`` are "confirmed" if the agent received the claim's confirmation, otherwise "prepared". ``owners`` has
    {type, project, user, request_id, group_id, group_policy, group_max_per_host} and MoveEnd, from which the store
    re-asserts lost claims.
    """

    fields = {
        "host": fields.StringField(),
        "epoch": fields.IntegerField(),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "states": base.ColumnField(str),
        "names": base.ColumnField(str),
        "allocations": base.ColumnField(dict),
        "owners": base.ColumnField(dict),
        "stamp": fields.StringField(nullable=True, default=None),
    }


class AuditAnswer(base.GanttObject):
    """Answer of the store to an audit.

    ``answers`` are "confirmed" or "prepared" for a valid claim; "aborted", "expired", "released" or "fenced" for an
    ended one, whose guest must stop; "conflict" if a later attempt is live; "unverified" if the guest keeps running
    until a record names it. ``orphans`` counts unreported claims in their grace period. ``again_s`` is the time until
    the agent must audit again, or 0. ``stamp`` is None if the audit was for another epoch.
    """

    fields = {
        "epoch": fields.IntegerField(),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "answers": base.ColumnField(str),
        "reasserted": fields.IntegerField(default=0),
        "released": fields.IntegerField(default=0),
        "orphans": fields.IntegerField(default=0),
        "again_s": fields.FloatField(default=0.0),
        "stamp": fields.StringField(nullable=True, default=None),
    }


class VerifyReport(base.GanttObject):
    """Result of verify: wrong sums (``problems``) and providers over their capacity (``excess``).

    ``awaited`` are service hosts that may run claims that the store lost, and have not audited since.
    """

    fields = {
        "partition": fields.StringField(),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "claims": fields.DictOfIntegersField(),
        "providers": fields.IntegerField(),
        "problems": base.ListField(str),
        "excess": base.ListField(dict),
        "awaited": base.ListField(str, default=[]),
    }

    @property
    def clean(self) -> bool:
        return not self.problems and not self.excess
