# SPDX-License-Identifier: Apache-2.0
"""The records of decisions, as explain and list_decisions answer them."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class Decision(base.GanttObject):
    """Why a request was answered as it was.

    ``document`` holds: at_ms, driver, seed, epoch, position, instances, spec (what was asked), hosts (how many were
    looked at), reasons ({reason: hosts that fell to it}), best ([{name, score, weights: {weigher: value}}]),
    outcome ("selected", "refused", or "shadow" where nothing was to be claimed),
    verdicts ([{consumer, answer, host, tried: [[name, verdict], ...]}]).

    It may hold: samples (of a refusal {reason: some of the hosts that fell to it}), answered_position (the log's when
    the store had answered), heard_s (how many seconds before the store had last told the worker what is new, or that
    nothing is), why (of a refusal), dry_run (true where nothing was asked of the store), candidates (of a dry run: for
    each instance the hosts that would be tried) and batch (of a request that was placed together with others: {calls,
    served, served_one_by_one, is_most, objective, ms}), and lost ([[name, verdict], ...]: candidates that did not take
    the claim in earlier rounds). In spec, rewritten tells what prefilters added: {prefilter:
    {field: [...]}}.

    Version 1.0: Initial version
    """

    VERSION = "1.0"

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

    VERSION = "1.0"

    fields = {
        "decisions": fields.ListOfObjectsField("Decision"),
        "marker": fields.StringField(nullable=True, default=None),
    }
