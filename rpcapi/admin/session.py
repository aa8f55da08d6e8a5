# SPDX-License-Identifier: Apache-2.0
"""Session with a cluster: configuration, request id, and clients of the services."""

import functools
import getpass
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import oslo_messaging as messaging
import tenacity
from oslo_config import cfg

from rpcapi import context, errors, tracing
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.conf import catalog, client, flavors, images
from rpcapi.messaging import bus
from rpcapi.spec_builder import catalog_documents
from rpcapi.spec_builder.catalog import Catalog
from rpcapi.spec_builder.flavors import BUILT_IN, Flavor
from rpcapi.spec_builder.images import Image

LOG = logging.getLogger("gantt.cli")
P = ParamSpec("P")
ResultT = TypeVar("ResultT")
ATTEMPTS = 3
SHORTEST_LIMIT = 1.0  # seconds; minimum for calls at the end of a command's time
PAGE = 1000
PAGE_OF_DECISIONS = 100  # decisions can be large
BUILT_IN_SOURCE, CLUSTER_SOURCE, CLIENT_SOURCE = "built-in", "cluster", "configuration"
NO_ANSWER = (messaging.MessagingTimeout, errors.Unavailable)
NO_TRANSPORT_URL = (
    "no transport_url is configured; set the configuration file with --config-file or "
    "$GANTT_CONFIG_FILE, or start a local cluster"
)


class Session:
    """Configuration, request id and lazy clients of a cluster. ``user`` defaults to the system's user."""

    def __init__(self, config_files: Sequence[str] = (), project: str = "default", user: str | None = None) -> None:
        self._config_files = config_files
        self._user = user
        self.project = project
        self._attempts = ATTEMPTS
        self._opening = threading.Lock()  # concurrent requests share one bus

    @classmethod
    def of_daemon(cls, conf: cfg.ConfigOpts) -> "Session":
        session = cls()
        session.conf = conf
        return session

    def for_request(self, user: str, attempts: int = ATTEMPTS) -> "Session":
        """Return a session with a new request id on the same bus; closing either closes the bus."""
        session = Session(self._config_files, self.project, user)
        session._attempts = attempts
        with self._opening:
            session.conf, session.transport = self.conf, self.transport
            session.scheduler, session.conductor = self.scheduler, self.conductor
        return session

    @functools.cached_property
    def conf(self) -> cfg.ConfigOpts:
        return client.load(self._config_files)

    @functools.cached_property
    def flavors(self) -> Mapping[str, Flavor]:
        """Flavors by name. Reading an invalid configured flavor raises BadConfiguration."""
        return catalog_documents.merge(self.flavors_by_source)

    @functools.cached_property
    def flavors_by_source(self) -> Mapping[str, Mapping[str, Flavor]]:
        """Flavors by source, in ascending precedence."""
        configured = flavors.load(self.conf, self.catalog)
        stored = catalog_documents.read_documents(Flavor, self.list_catalog("flavor"))
        return {BUILT_IN_SOURCE: BUILT_IN, CLUSTER_SOURCE: stored, CLIENT_SOURCE: configured}

    @functools.cached_property
    def images(self) -> Mapping[str, Image]:
        return catalog_documents.merge(self.images_by_source)

    @functools.cached_property
    def images_by_source(self) -> Mapping[str, Mapping[str, Image]]:
        stored = catalog_documents.read_documents(Image, self.list_catalog("image"))
        return {CLUSTER_SOURCE: stored, CLIENT_SOURCE: images.load(self.conf)}

    @functools.cached_property
    def catalog(self) -> Catalog:
        return catalog.load(self.conf)

    @functools.cached_property
    def ctxt(self) -> context.RequestContext:
        return context.new(project_id=self.project, user_id=_system_user() if self._user is None else self._user)

    @functools.cached_property
    def transport(self) -> Any:
        """Message bus. Raises BadConfiguration, or Unavailable if no broker is reachable."""
        return _open_bus(self.conf)

    @functools.cached_property
    def conductor(self) -> ConductorAPI:
        return ConductorAPI(self.conf, self.transport)

    @functools.cached_property
    def scheduler(self) -> SchedulerAPI:
        return SchedulerAPI(self.conf, self.transport)

    @functools.cached_property
    def claims(self) -> ClaimsAPI:
        return self.claims_of(self.conf.rpc.partition)

    def claims_of(self, partition: str | None) -> ClaimsAPI:
        return ClaimsAPI(self.conf, self.transport, partition or self.conf.rpc.partition)

    def partitions(self, only: str | None = None) -> list[str]:
        """Return all partition names, or ``[only]``. Raises UnknownPartition."""
        names = list(self.call(self.scheduler.list_partitions).names)
        if only is None:
            return names
        if only not in names:
            raise errors.UnknownPartition(partition=only, choices=", ".join(names))
        return [only]

    def partition_epochs(self) -> dict[str, int]:
        return dict(self.call(self.scheduler.list_partitions).rows("names", "epochs"))

    def call(
        self, method: Callable[Concatenate[context.RequestContext, P], ResultT], *args: P.args, **values: P.kwargs
    ) -> ResultT:
        """Call an API method under the session's request id; retry if unanswered, since all methods are idempotent."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(NO_ANSWER),
            stop=lambda state: state.attempt_number >= self._attempts or not self.ctxt.remaining(1.0),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
            before_sleep=lambda state: LOG.info("No reply yet (attempt %d), retrying", state.attempt_number),
            reraise=True,
        )
        # Each try has its own deadline, after which services drop the message.
        with tracing.span(f"gantt.{method.__name__}", self.ctxt.request_id):
            return retrying(lambda: method(self.ctxt.with_timeout(self.conf.rpc.call_timeout), *args, **values))

    @contextmanager
    def limit_calls(self, seconds: float) -> Iterator[None]:
        """Limit calls inside the block to ``seconds`` (at least 1); unanswered ones raise one of NO_ANSWER."""
        unlimited = self.ctxt
        self.ctxt = unlimited.with_timeout(max(SHORTEST_LIMIT, seconds))
        try:
            yield
        finally:
            self.ctxt = unlimited

    def list_all(self, method: Callable[..., Any], items: str, *args: Any, **values: Any) -> Iterator[Any]:
        """Yield attribute ``items`` of all pages of a listing; ``limit`` is the page size."""
        for page in self.pages(method, *args, **values):
            yield from getattr(page, items)

    def pages(self, method: Callable[..., Any], *args: Any, **values: Any) -> Iterator[Any]:
        values = {"marker": None, "limit": PAGE, **values}
        while True:
            page = self.call(method, *args, **values)
            yield page
            values["marker"] = page.marker
            if page.marker is None:
                return

    def get_state(self, namespace: str, name: str) -> Any:
        return self.call(self.scheduler.get_host_state, namespace, name)

    def list_states(self, namespace: str, **filters: Any) -> Iterator[Any]:
        return self.list_all(self.scheduler.list_host_state, "states", namespace, **filters)

    def list_claims(self, partition: str, **filters: Any) -> Iterator[Any]:
        return self.list_all(self.claims_of(partition).list_claims, "claims", **filters)

    def list_instances(self, *, deleted: bool = False) -> Iterator[Any]:
        return self.list_all(self.conductor.list_instances, "instances", deleted=deleted)

    def list_migrations(self) -> Iterator[Any]:
        return self.list_all(self.conductor.list_migrations, "migrations")

    def list_catalog(self, kind: str) -> list[dict[str, Any]]:
        return [state.document for state in self.list_all(self.scheduler.list_catalog, "states", kind)]

    def list_decisions(self, partition: str | None) -> Iterator[Any]:
        """Yield a partition's recorded decisions, oldest first. None: partition of the scheduler."""
        return self.list_all(self.scheduler.list_decisions, "decisions", partition, limit=PAGE_OF_DECISIONS)

    def new_request(self) -> str:
        self.__dict__.pop("ctxt", None)
        return self.ctxt.request_id

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the bus; the next call opens it again."""
        members = vars(self)
        if "transport" in members:
            self.transport.cleanup()
            tracing.stop()
        for name in ("transport", "scheduler", "conductor", "claims"):
            members.pop(name, None)


def _open_bus(conf: cfg.ConfigOpts) -> Any:
    bus.set_defaults(conf)
    location = conf.get_location("transport_url")
    if location is None or location.location is cfg.Locations.opt_default:
        raise errors.BadConfiguration(why=NO_TRANSPORT_URL)
    transport = bus.get_transport(conf)
    bus.connect(transport)
    return transport


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without a name, as in containers
        return ""
