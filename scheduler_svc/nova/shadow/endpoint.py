# SPDX-License-Identifier: Apache-2.0
"""Receiver of copies of nova-scheduler's calls."""

from collections.abc import Mapping
from typing import Any

from oslo_log import log

from rpcapi import errors
from rpcapi.validation.instances import check_uuids
from scheduler_svc.nova.bus.serializer import NovaSerializer
from scheduler_svc.nova.shadow.decisions import ShadowScheduler
from scheduler_svc.nova.shadow.observer import NovaObserver
from scheduler_svc.nova.shadow.report import NovaShadowReport, Skipped

LOG = log.getLogger(__name__)

METHOD = "select_destinations"


class ShadowEndpoint:
    """Endpoint that decides select_destinations calls and queues them for comparison; ignores other calls."""

    def __init__(
        self, scheduler: ShadowScheduler, observer: NovaObserver, report: NovaShadowReport, *, max_instances: int
    ) -> None:
        self._scheduler = scheduler
        self._observer = observer
        self._report = report
        self._max_instances = max_instances
        self._serializer = NovaSerializer()

    def receive(self, context: Mapping[str, Any], method: str, arguments: Mapping[str, Any]) -> None:
        """Handle the copy of a call; never raises for invalid calls or an unavailable store."""
        if method != METHOD:
            return
        uuids = arguments.get("instance_uuids")
        if not uuids:
            self._report.skip(Skipped.UNCLAIMED)
            return
        if not self._observer.has_room:
            self._report.skip(Skipped.OVERFLOW)
            return
        try:
            check_uuids(uuids, self._max_instances)
            ctxt = self._serializer.deserialize_context(dict(context))
            ctxt.update_store()
            decision = self._scheduler.decide(ctxt, arguments.get("spec_obj"), uuids)
            if decision is None:
                self._report.skip(Skipped.UNCLAIMED)
            else:
                self._observer.expect(decision)
        except errors.Unavailable as error:
            LOG.warning("Cannot repeat a call of Nova: %s", error)
            self._report.skip(Skipped.UNAVAILABLE)
        except errors.GanttError as error:
            LOG.warning("Cannot read a call of Nova: %s", error)
            self._report.skip(Skipped.INVALID)
