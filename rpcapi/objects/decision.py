# SPDX-License-Identifier: Apache-2.0
"""The record of one decision, as explain answers it."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class Decision(base.GanttObject):
    """Why a request was answered as it was.

    ``document`` holds: at_ms, driver, seed, epoch, position, instances, spec (what was asked), hosts (how many were
    looked at), reasons ({reason: hosts that fell to it}), best ([{name, score, weights: {weigher: value}}]),
    outcome ("selected" or "refused"), verdicts ([{consumer, answer, host, tried: [[name, verdict], ...]}]).

    Version 1.0: Initial version
    """

    VERSION = "1.0"

    fields = {
        "request_id": fields.StringField(),
        "partition": fields.StringField(),
        "document": base.JsonField(),
    }
