# SPDX-License-Identifier: Apache-2.0
"""Worker process of gantt-dashboard."""

from oslo_config import cfg
from oslo_log import log

from rpcapi.admin.session import Session
from rpcapi.conf import dashboard, listener_tls
from rpcapi.daemon.http_listener import HttpServer
from rpcapi.dashboard import rendering
from rpcapi.dashboard.actions import HostActions
from rpcapi.dashboard.application import Dashboard
from rpcapi.dashboard.cluster import CachedCluster
from rpcapi.dashboard.decision_pages import DecisionPages
from rpcapi.dashboard.exporters import Exporters
from rpcapi.dashboard.group_pages import GroupPages
from rpcapi.dashboard.host_pages import HostPages
from rpcapi.dashboard.pages import PageRoute
from rpcapi.dashboard.sign_in import LoginSessions, make_sign_in
from rpcapi.dashboard.status_pages import StatusPages
from rpcapi.messaging import bus

LOG = log.getLogger(__name__)

MAX_BODY = 64 << 10  # bytes, for forms only
SHUTDOWN_SECONDS = 5


def make_routes(cluster: CachedCluster, exporters: Exporters, actions: HostActions | None) -> list[PageRoute]:
    status, hosts, decisions = StatusPages(cluster, exporters), HostPages(cluster, actions), DecisionPages(cluster)
    groups = GroupPages(cluster, has_actions=actions is not None)
    routes = [
        PageRoute("GET", "/", status.overview),
        PageRoute("GET", "/services", status.services),
        PageRoute("GET", "/claims", status.claims),
        PageRoute("GET", "/migrations", status.migrations),
        PageRoute("GET", "/hosts", hosts.show_all),
        PageRoute("GET", "/heat-map", hosts.heat_map),
        PageRoute("GET", "/hosts/(?P<name>.+)", hosts.show),
        PageRoute("GET", "/groups", groups.show_all),
        PageRoute("GET", "/refusals", decisions.refusals),
        PageRoute("GET", "/decisions", decisions.show_all),
        PageRoute("GET", "/decisions/(?P<request_id>.+)", decisions.show),
        PageRoute("GET", "/dry-run", decisions.dry_run),
    ]
    if actions is None:
        return routes
    return [
        *routes,
        PageRoute("POST", "/hosts/(?P<name>.+)", actions.change),
        PageRoute("POST", "/groups", groups.change),
    ]


def make_application(conf: cfg.ConfigOpts, session: Session) -> Dashboard:
    options = conf.dashboard
    cluster = CachedCluster(session, options.refresh_interval)
    exporters = Exporters(options.exporters, options.refresh_interval)
    routes = make_routes(cluster, exporters, HostActions(cluster) if options.actions else None)
    is_secure = bool(options.tls_cert_file) or options.behind_tls_proxy
    logins = LoginSessions(options.session_time, is_secure=is_secure)
    return Dashboard(session, routes, make_sign_in(conf), logins, rendering.environment(), is_secure=is_secure)


class DashboardService(HttpServer):
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        bus.set_defaults(conf)
        options = conf.dashboard
        self._session = Session.of_daemon(conf)
        super().__init__(
            make_application(conf, self._session),
            options.host,
            options.port,
            options.threads,
            max_body=MAX_BODY,
            shutdown_s=SHUTDOWN_SECONDS,
            tls=listener_tls.context_source(conf, dashboard.GROUP),
        )

    def start(self) -> None:
        """Serve even without the bus, which pages then report; raises BadConfiguration."""
        super().start()
        LOG.info("The dashboard is at %s", self.url)

    def wait(self) -> None:
        super().wait()
        self._session.close()


def make_service(conf: cfg.ConfigOpts, worker_index: int) -> DashboardService:
    return DashboardService(conf)
