# SPDX-License-Identifier: Apache-2.0
"""Host actions on the dashboard's pages, if [dashboard] actions allows them."""

import threading
from collections.abc import Callable, Mapping
from urllib.parse import quote

from oslo_log import log
from tqdm import tqdm
from webob import Response

from rpcapi.admin import host_control, host_moves
from rpcapi.admin.error_messages import describe_error
from rpcapi.admin.session import Session
from rpcapi.dashboard.cluster import CachedCluster
from rpcapi.dashboard.pages import BadInput, Page, PageNotFound, PageRequest
from rpcapi.resources import names

LOG = log.getLogger(__name__)
MAX_REASON = 200  # characters
MAX_DRAINS = 4
# Messages on the host's page by URL parameter ``done``.
DONE = {
    "enabled": "The host is enabled.",
    "disabled": "The host is disabled.",
    "draining": "The host is being drained.",
    "fenced": "The host is fenced: its claims have ended.",
}
SHOWN_FAILURES = 5
DRAIN_SECONDS = 300.0  # wait of a drain for its next server


class HostActions:
    def __init__(self, cluster: CachedCluster) -> None:
        self._cluster = cluster
        self._actions: Mapping[str, Callable[[PageRequest, str], str]] = {
            "enable": self._enable,
            "disable": self._disable,
            "drain": self._drain,
            "fence": self._fence,
        }
        self._draining: set[str] = set()
        # By service host, for its page.
        self.drain_results: dict[str, str] = {}
        self._lock = threading.Lock()

    def change(self, request: PageRequest, name: str) -> Page | Response:
        if not request.login.person.may_act:
            return Page("error.html", {"status": 403, "why": f"{request.login.person.name} may not change hosts."}, 403)
        host = self._cluster.hosts.get().find(name)
        if host is None or names.is_api_provider(host.id):
            raise PageNotFound(f"No agent serves a host {name[:80]}.")
        action = self._actions.get(request.http.POST.get("action", ""))
        if action is None:
            raise BadInput(f"action must be one of {', '.join(self._actions)}.")
        done = action(request, host.service_host)
        LOG.warning("%s of %s by %s", done, host.service_host, request.login.person.name)
        self._cluster.expire_hosts()
        return Response(status=303, headers={"Location": f"/hosts/{quote(name)}?done={done}"})

    def _enable(self, request: PageRequest, host: str) -> str:
        host_control.set_enabled(request.session, host, enabled=True)
        return "enabled"

    def _disable(self, request: PageRequest, host: str) -> str:
        reason = str(request.http.POST.get("reason", "")).strip()
        if not reason or len(reason) > MAX_REASON:
            raise BadInput(f"To disable {host}, give a reason of at most {MAX_REASON} characters.")
        host_control.set_enabled(request.session, host, enabled=False, reason=reason)
        return "disabled"

    def _drain(self, request: PageRequest, host: str) -> str:
        with self._lock:
            if host in self._draining:
                return "draining"
            if len(self._draining) >= MAX_DRAINS:
                raise BadInput(f"{MAX_DRAINS} hosts are being drained. Drain {host} after one of them has finished.")
            self._draining.add(host)
            self.drain_results[host] = "The host is being drained."
        thread = threading.Thread(
            target=self._run_drain, args=(request.session, host), name=f"drain {host}", daemon=True
        )
        thread.start()
        return "draining"

    def _run_drain(self, session: Session, host: str) -> None:
        """Drain a host. Migration records are the only state, so an interrupted drain can be repeated."""
        try:
            result = host_moves.drain(
                session, host, lambda total: tqdm(total=total, disable=True), timeout=DRAIN_SECONDS
            )
            for failure in result.failures:
                LOG.warning("Server %s of %s could not be moved: %s", failure.server, host, failure.reason)
            outcome = f"The drain has ended: {result.moved} of {result.total} servers are moved."
            first = result.failures[:SHOWN_FAILURES]
            outcome += "".join(f" {failure.server} could not be moved: {failure.reason}." for failure in first)
        except Exception as error:
            LOG.exception("The drain of %s ended early", host)
            outcome = f"The drain ended early: {describe_error(error)}. It continues when it is requested again."
        LOG.info("%s: %s", host, outcome)
        with self._lock:
            self.drain_results[host] = outcome
            self._draining.discard(host)

    def _fence(self, request: PageRequest, host: str) -> str:
        if request.http.POST.get("confirm") != host:
            raise BadInput(f"To fence {host}, write its name into the form: its claims end, its guests are lost.")
        ended = host_control.fence(request.session, host)
        LOG.warning("%d claims of %s ended", ended, host)
        return "fenced"
