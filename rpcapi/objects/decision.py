# SPDX-License-Identifier: Apache-2.0
"""Decision records, as returned by explain and list_decisions."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class Decision(base.GanttObject):
    """The record of one scheduling decision.

    ``document`` has: at_ms, driver, seed, epoch, position, instances, spec (of the request), hosts (the number
    considered), reasons ({reason: number of hosts rejected}), best ([{name, score, weights: {weigher: value}}]),
    outcome ("selected", "refused", or "shadow" when nothing was to be claimed),
    verdicts ([{consumer, answer, host, tried: [[name, verdict], ...]}]).

    It may have: project (of the request), samples (of a refusal, {reason: some of the rejected hosts}),
    answered_position (log position at the store's answer), heard_s (seconds since the store's last update of the
    worker's replica), why (of a refusal), dry_run (true when the store was not called), candidates (of a dry run:
    for each instance the hosts that would be tried), batch (of a request decided together with others: {calls,
    served, served_one_by_one, is_most, objective, ms}), lost ([[name, verdict], ...]: candidates that refused the
    claim in earlier retries), and nova (of a shadow beside nova-scheduler: {pending: requests that it awaited,
    instances: [{consumer, outcome, nova_host, gantt_host, why, rank, count}]}). In spec, rewritten has the
    additions of the prefilters: {prefilter: {field: [...]}}.

    Version 1.0: Initial version
    """

    fields = {
        "request_id": fields.StringField(),
        "partition": fields.StringField(),
        "document": base.JsonField(),
    }


@base.GanttObjectRegistry.register
class DecisionPage(base.GanttObject):
    """One page of recorded decisions, oldest first; ``marker`` is None on the last page.

    Version 1.0: Initial version
    """

    fields = {
        "decisions": fields.ListOfObjectsField("Decision"),
        "marker": fields.StringField(nullable=True, default=None),
    }
