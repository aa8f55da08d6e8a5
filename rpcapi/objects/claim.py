# SPDX-License-Identifier: Apache-2.0
"""Requests and answers of the claim verbs."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class ClaimRefs(base.GanttObject):
    """References to claims by their identity (consumer, attempt).

    Version 1.0: Initial version
    """

    fields = {
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
    }

    def pairs(self) -> list[tuple[str, int]]:
        return list(zip(self.consumers, self.attempts, strict=True))


@base.GanttObjectRegistry.register
class ClaimIntents(base.GanttObject):
    """Request of prepare_claims: candidate hosts of each consumer, best first. All consumers get a claim, or none.

    - ``replaces``: Attempt that the new one replaces and ends, or None. If it is already confirmed, nothing changes.
    - ``fresh``, ``moves``: As in select_destinations.

    Version 1.0: Initial version
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


@base.GanttObjectRegistry.register
class ClaimAnswers(base.GanttObject):
    """Answers of a claim verb, one row per claim: an Answer, the host and the reason.

    - ``allocations``, ``deadlines_ms``: As in Selections, for prepared claims.
    - ``partitions``: Partition of each answer that came from another partition than the called one.
    - ``migrations``: Migration of each live claim that is a source or destination.
    - ``ends``: How each attempt ended; "closed" or "unknown" if a later attempt is live.

    Version 1.0: Initial version
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


@base.GanttObjectRegistry.register
class ClaimPage(base.GanttObject):
    """Page of live claims; ``marker`` is None on the last page.

    Keys of each claim: consumer, attempt, role, migration, source_attempt, generation, type, project, user, state,
    host, allocations ({provider: {class: amount}}), unheld (same form: amounts that the agent reports but the claim
    does not hold), deadline_ms, request_id, group_id, group_policy, alternates, created_ms. Both times are by the clock
    of the store's server.

    Version 1.0: Initial version
    """

    fields = {
        "claims": base.ListField(dict),
        "marker": fields.StringField(nullable=True, default=None),
    }


@base.GanttObjectRegistry.register
class AuditReport(base.GanttObject):
    """All instances that run or will run on a service host, from its agent's journal.

    - ``states``: "confirmed" if the agent received the confirmation of the claim, "prepared" for a pending intent.
    - ``allocations``: {provider: {class: amount}}.
    - ``owners``: {type, project, user, request_id, group_id, group_policy, group_max_per_host}, with which the store
      re-asserts a lost claim; also a MoveEnd during a move.
    - ``stamp``: As in StatsReport.

    Version 1.0: Initial version
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


@base.GanttObjectRegistry.register
class AuditAnswer(base.GanttObject):
    """Answer of the store to an audit.

    - ``answers``: One Answer per reported claim. "confirmed" and "prepared": the claim is valid. "aborted", "expired",
      "released" and "fenced": the claim has ended and the agent must stop the guest. "conflict": a later attempt is
      live. "unverified": the guest keeps running until a record names it.
    - ``orphans``: Number of the host's claims that the agent did not report and whose grace period has not ended.
    - ``again_s``: Seconds until the agent must audit again; 0 if it need not.
    - ``stamp``: As in StatsAnswer; None if the audit was for another epoch.

    Version 1.0: Initial version
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


@base.GanttObjectRegistry.register
class VerifyReport(base.GanttObject):
    """Result of verify.

    - ``problems``: Wrong sums.
    - ``excess``: Providers over their capacity.
    - ``awaited``: Service hosts that may run claims which the store lost, and have not audited since.

    Version 1.0: Initial version
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
