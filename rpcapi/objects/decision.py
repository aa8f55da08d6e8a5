# SPDX-License-Identifier: Apache-2.0
"""Decision records."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


class Decision(base.GanttObject):
    """Record of one scheduling decision.

    Keys of ``document``:

    - at_ms, driver, seed, epoch, position, instances.
    - spec: The request spec; its key rewritten has the additions of prefilters, {prefilter: {field: [...]}}.
    - hosts: Number of hosts considered.
    - reasons: {reason: number of hosts rejected}.
    - best: [{name, score, weights: {weigher: value}}].
    - outcome: "selected", "refused", or "shadow" for a decision without claims.
    - verdicts: [{consumer, answer, host, tried: [[name, verdict], ...]}].
    - project, if the request has one.
    - why, samples ({reason: some of the rejected hosts}): Of a refusal.
    - answered_position: Log position at the store's answer.
    - seconds_since_contact: Age of the worker's replica.
    - dry_run (true), candidates (hosts to try per instance): Of a dry run.
    - batch: Of requests decided together, {calls, served, served_one_by_one, is_most, objective, ms}.
    - lost: [[name, verdict], ...], candidates that refused the claim in earlier tries.
    - nova: Of a shadow of nova-scheduler, {pending: requests that it awaited, instances: [{consumer, outcome,
      nova_host, gantt_host, why, rank, count}]}.
    """

    fields = {"request_id": fields.StringField(), "partition": fields.StringField(), "document": base.JsonField()}


class DecisionPage(base.GanttObject):
    fields = {"decisions": fields.ListOfObjectsField("Decision"), **base.MARKER}
