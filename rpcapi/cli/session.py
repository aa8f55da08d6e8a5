# SPDX-License-Identifier: Apache-2.0
"""Session of one command run: configuration, request id, and clients of the services."""

import functools
import getpass
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rpcapi import errors, tracing

if TYPE_CHECKING:  # the bus takes half a second to import, `gantt --help` must not
    from oslo_config import cfg

    from rpcapi.clients.claims import ClaimsAPI
    from rpcapi.clients.conductor import ConductorAPI
    from rpcapi.clients.scheduler import SchedulerAPI
    from rpcapi.context import RequestContext
    from rpcapi.spec_builder.catalog import Catalog
    from rpcapi.spec_builder.flavors import Flavor
    from rpcapi.spec_builder.images import Image

LOG = logging.getLogger("gantt.shell")
ATTEMPTS = 3
PAGE = 1000
BUILT_IN_SOURCE, CLUSTER_SOURCE, CLIENT_SOURCE = "built-in", "cluster", "configuration"
NO_TRANSPORT_URL = (
    "no transport_url is configured; set the configuration file with --config-file or "
    "$GANTT_CONFIG_FILE, or start a local cluster"
)


class Session:
    """Clients of the services, created on first use and closed with the session.

    Calls are of ``project`` and ``user``, by default the user of the operating system.
    """

    def __init__(self, config_files: Sequence[str] = (), project: str = "default", user: str | None = None) -> None:
        self._config_files = config_files
        self._user = user
        self.project = project
        self._attempts = ATTEMPTS
        self._opening = threading.Lock()  # the bus is opened once, also by requests in several threads

    @classmethod
    def of_daemon(cls, conf: "cfg.ConfigOpts") -> "Session":
        """Return a session with a configuration that is loaded already."""
        session = cls()
        session.conf = conf
        return session

    def for_request(self, user: str, attempts: int = ATTEMPTS) -> "Session":
        """Return a session of another request, of ``user``, over the same clients; closing this one ends it too.

        ``attempts`` are made of each of its calls.
        """
        session = Session(self._config_files, self.project, user)
        session._attempts = attempts
        with self._opening:
            session.conf, session.transport = self.conf, self.transport
            session.scheduler, session.conductor = self.scheduler, self.conductor
        return session

    @functools.cached_property
    def conf(self) -> "cfg.ConfigOpts":
        """The configuration; raises BadConfiguration."""
        from rpcapi.conf import client  # noqa: PLC0415 - lazy, see above

        return client.load(self._config_files)

    @functools.cached_property
    def flavors(self) -> "dict[str, Flavor]":
        """All flavors by name; raises BadConfiguration."""
        from rpcapi.spec_builder import catalog_documents  # noqa: PLC0415 - lazy, see above

        return catalog_documents.merge(self.flavors_by_source)

    @functools.cached_property
    def flavors_by_source(self) -> "dict[str, dict[str, Flavor]]":
        """The built-in flavors, the cluster's and those of this client's configuration; later ones take precedence."""
        from rpcapi.conf import flavors  # noqa: PLC0415 - lazy, see above
        from rpcapi.spec_builder.catalog_documents import flavor_of  # noqa: PLC0415 - lazy, see above
        from rpcapi.spec_builder.flavors import BUILT_IN  # noqa: PLC0415 - lazy, see above

        configured = flavors.load(self.conf, self.catalog)
        stored = {flavor.name: flavor for flavor in map(flavor_of, self.list_catalog("flavor"))}
        return {BUILT_IN_SOURCE: BUILT_IN, CLUSTER_SOURCE: stored, CLIENT_SOURCE: configured}

    @functools.cached_property
    def images(self) -> "dict[str, Image]":
        """All images by name; raises BadConfiguration."""
        from rpcapi.spec_builder import catalog_documents  # noqa: PLC0415 - lazy, see above

        return catalog_documents.merge(self.images_by_source)

    @functools.cached_property
    def images_by_source(self) -> "dict[str, dict[str, Image]]":
        """The images of the cluster and of this client's configuration; later ones take precedence."""
        from rpcapi.conf import images  # noqa: PLC0415 - lazy, see above
        from rpcapi.spec_builder.catalog_documents import image_of  # noqa: PLC0415 - lazy, see above

        stored = {image.name: image for image in map(image_of, self.list_catalog("image"))}
        return {CLUSTER_SOURCE: stored, CLIENT_SOURCE: images.load(self.conf)}

    @functools.cached_property
    def catalog(self) -> "Catalog":
        """The devices that flavors refer to; raises BadConfiguration."""
        from rpcapi.conf import catalog  # noqa: PLC0415 - lazy, see above

        return catalog.load(self.conf)

    @functools.cached_property
    def ctxt(self) -> "RequestContext":
        """The context of this run: all its calls carry one request id."""
        from rpcapi import context  # noqa: PLC0415 - lazy, see above

        return context.new(project_id=self.project, user_id=_system_user() if self._user is None else self._user)

    @functools.cached_property
    def transport(self) -> Any:
        """The bus; raises BadConfiguration, and Unavailable if no broker is reachable."""
        return _open_bus(self.conf)

    @functools.cached_property
    def conductor(self) -> "ConductorAPI":
        """The conductor's client."""
        from rpcapi.clients.conductor import ConductorAPI  # noqa: PLC0415 - lazy, see above

        return ConductorAPI(self.conf, self.transport)

    @functools.cached_property
    def scheduler(self) -> "SchedulerAPI":
        """The scheduler's client, with the configured backend."""
        from rpcapi.clients.scheduler import SchedulerAPI  # noqa: PLC0415 - lazy, see above

        return SchedulerAPI(self.conf, self.transport)

    @functools.cached_property
    def claims(self) -> "ClaimsAPI":
        """The claims client of the configured partition."""
        return self.claims_of(self.conf.rpc.partition)

    def claims_of(self, partition: str | None) -> "ClaimsAPI":
        """Return the claims client of a partition; None means the configured one."""
        from rpcapi.clients.claims import ClaimsAPI  # noqa: PLC0415 - lazy, see above

        return ClaimsAPI(self.conf, self.transport, partition or self.conf.rpc.partition)

    def partitions(self, only: str | None = None) -> list[str]:
        """Return the names of the deployment's partitions, or just ``only``; raises UnknownPartition."""
        names = list(self.call(self.scheduler.list_partitions).names)
        if only is None:
            return names
        if only not in names:
            raise errors.UnknownPartition(partition=only, known=", ".join(names))
        return [only]

    def partition_epochs(self) -> dict[str, int]:
        """Return the present epoch of each partition of the deployment."""
        reply = self.call(self.scheduler.list_partitions)
        return dict(zip(reply.names, reply.epochs, strict=True))

    def call(self, method: Callable[..., Any], *args: Any, **values: Any) -> Any:
        """Call an API method in this run's context, with retries without a reply: every call is idempotent."""
        import oslo_messaging as messaging  # noqa: PLC0415 - lazy, see above
        import tenacity  # noqa: PLC0415 - lazy, see above

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type((messaging.MessagingTimeout, errors.Unavailable)),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
            before_sleep=lambda state: LOG.info("No reply yet (attempt %d), retrying", state.attempt_number),
            reraise=True,
        )
        # A service drops a message past its deadline; it has been sent again by then.
        with tracing.span(f"gantt.{method.__name__}", self.ctxt.request_id):
            return retrying(lambda: method(self.ctxt.with_timeout(self.conf.rpc.call_timeout), *args, **values))

    def list_all(self, method: Callable[..., Any], items: str, *args: Any, **values: Any) -> Iterator[Any]:
        """Yield every entry in ``items`` of all pages of a listing call."""
        marker = values.pop("marker", None)
        while True:
            page = self.call(method, *args, marker=marker, limit=PAGE, **values)
            yield from getattr(page, items)
            marker = page.marker
            if marker is None:
                return

    def list_catalog(self, kind: str) -> list[dict[str, Any]]:
        """Return the documents of the cluster's flavors or images."""
        return [state.document for state in self.list_all(self.scheduler.list_catalog, "states", kind)]

    def new_request(self) -> str:
        """Start a new request: later calls carry a new request id, which is returned."""
        self.__dict__.pop("ctxt", None)
        return self.ctxt.request_id

    def close(self) -> None:
        """Close the bus."""
        if "transport" in vars(self):
            self.transport.cleanup()
            tracing.stop()


def _open_bus(conf: "cfg.ConfigOpts") -> Any:
    from oslo_config.cfg import Locations  # noqa: PLC0415 - lazy, see above
    from oslo_messaging import TransportURL  # noqa: PLC0415 - lazy, see above

    from rpcapi.cli import connection  # noqa: PLC0415 - lazy, see above
    from rpcapi.messaging import bus  # noqa: PLC0415 - lazy, see above

    bus.set_defaults(conf)
    location = conf.get_location("transport_url")
    if location is None or location.location is Locations.opt_default:
        raise errors.BadConfiguration(why=NO_TRANSPORT_URL)
    # First, because its errors about a malformed URL do not quote the password.
    transport = bus.get_transport(conf)
    connection.check_broker(TransportURL.parse(conf))
    return transport


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without a name, as in containers
        return ""
