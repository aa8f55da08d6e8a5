# SPDX-License-Identifier: Apache-2.0
"""Placement's HTTP API: its parts, its worker process, and its application for other WSGI servers."""

import atexit
import threading
from dataclasses import dataclass
from functools import partial
from wsgiref.types import WSGIApplication

from oslo_config import cfg
from oslo_log import log
from oslo_middleware import cors, http_proxy_to_wsgi

from rpcapi import errors
from rpcapi.background import Periodic
from rpcapi.conf import listener_tls
from rpcapi.daemon.http_listener import HttpServer
from rpcapi.daemon.waiting import wait_for
from scheduler_svc.composition import malloc_tuning
from scheduler_svc.composition.stores import ConfiguredStores, open_partitions
from scheduler_svc.conf import api
from scheduler_svc.conf import placement as placement_conf
from scheduler_svc.core.reads import NO_READS
from scheduler_svc.host_state.measurement import measure_silence
from scheduler_svc.placement.http.application import PlacementApplication
from scheduler_svc.placement.http.authentication import Application, except_open_paths, trust_tokens
from scheduler_svc.placement.http.candidate_documents import CandidateDocuments
from scheduler_svc.placement.http.frame import Frame
from scheduler_svc.placement.http.keystone import KeystoneTokens
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.http.policies import Policies
from scheduler_svc.placement.http.prefix import below
from scheduler_svc.placement.http.server import make_server
from scheduler_svc.placement.model import acknowledged_epoch
from scheduler_svc.placement.model.candidates.finder import DEFAULT_LIMITS, CandidateFinder, SearchLimits
from scheduler_svc.placement.model.catalogue import Catalogue
from scheduler_svc.placement.model.consumers import Consumers
from scheduler_svc.placement.model.directory import ProviderDirectory
from scheduler_svc.placement.model.freshness import Freshness
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions, StoreOpener
from scheduler_svc.replication.replica import Replica

LOG = log.getLogger(__name__)

MEASURING_SECONDS = 5.0  # interval of measuring the store's silence


@dataclass(frozen=True, slots=True)
class PlacementParts:
    """Application for any WSGI server, with its data sources; not started."""

    partitions: OpenPartitions
    policies: Policies
    application: Application


@dataclass(frozen=True, slots=True)
class PlacementWorker:
    """Worker process of gantt-placement, not started: application, HTTP server, and gauge of the store's silence."""

    parts: PlacementParts
    server: HttpServer
    silence: Periodic


def build(conf: cfg.ConfigOpts, opener: StoreOpener) -> PlacementParts:
    """Build the application; read nothing from the store yet. Raises BadConfiguration."""
    policies = Policies(conf)

    def on_loaded(replica: Replica) -> None:
        if replica.partition == conf.rpc.partition:
            store = partitions.own.store
            acknowledged_epoch.record_first(store, replica.partition, replica.log_position.epoch)

    partitions = open_partitions(conf, opener, NO_READS, on_loaded, for_api=True)
    options = conf.placement
    unknown_owner = (options.incomplete_consumer_project_id, options.incomplete_consumer_user_id)
    limits = SearchLimits(options.max_allocation_candidates, options.allocation_candidates_timeout)
    application = PlacementApplication(build_model(partitions.own, unknown_owner, limits), policies)
    return PlacementParts(partitions, policies, wrap_in_middleware(conf, application))


def build_worker(conf: cfg.ConfigOpts, opener: StoreOpener) -> PlacementWorker:
    parts, options = build(conf, opener), conf.placement
    server = make_server(
        parts.application,
        options.host,
        options.port,
        options.threads,
        shutdown_s=conf.graceful_shutdown_timeout,
        tls=listener_tls.context_source(conf, placement_conf.GROUP),
    )
    silence = Periodic(
        "Measuring the store's silence",
        partial(measure_silence, parts.partitions),
        lambda: MEASURING_SECONDS,
    )
    return PlacementWorker(parts, server, silence)


def wrap_in_middleware(conf: cfg.ConfigOpts, application: Application) -> Application:
    """Wrap the application in the configured middleware; requests pass the last wrapper first."""
    application = _authenticated(conf, application)
    if conf.cors.allowed_origin:
        application = cors.CORS(application, conf)
    application = Frame(application)
    if conf.placement.prefix:
        application = below(conf.placement.prefix, application)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        application = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    return application


def _authenticated(conf: cfg.ConfigOpts, application: Application) -> Application:
    if conf.api.auth_strategy == api.NO_AUTHENTICATION:
        return trust_tokens(application)
    # Requests with an invalid token pass without a user, so that the application formats the refusal.
    options = {"oslo_config_config": conf, "delay_auth_decision": True}
    return except_open_paths(KeystoneTokens(application, options), application)


def build_model(
    partition: OpenPartition, unknown_owner: tuple[str, str], limits: SearchLimits = DEFAULT_LIMITS
) -> PlacementModel:
    store = partition.store
    freshness = Freshness(store, partition.replica)
    table, number = partition.replica.unchecked_table, partition.replica.number
    directory = ProviderDirectory(store, table, number, freshness)
    catalogue = Catalogue(store, directory, freshness)
    return PlacementModel(
        store,
        freshness,
        directory,
        catalogue,
        Consumers(store, directory, catalogue),
        CandidateFinder(table, freshness, limits),
        CandidateDocuments(),
        unknown_owner,
    )


STORE_SECONDS = 5.0  # longest wait of a request for a silent store; its client then gets 503


class PlacementService:
    """Service of Placement's HTTP API. Implements rpcapi.daemon's service protocol."""

    def __init__(self, conf: cfg.ConfigOpts, worker_index: int, opener: StoreOpener | None = None) -> None:
        self._conf = conf
        self._index = worker_index
        self._opener = opener or ConfiguredStores(conf, STORE_SECONDS)
        self._stopping = threading.Event()
        self._worker: PlacementWorker | None = None

    def start(self) -> None:
        """Load the providers, then serve. Raises BadConfiguration, and ShutdownRequested if stopped meanwhile."""
        worker = self._worker = build_worker(self._conf, self._opener)
        _load(worker.parts, self._stopping)
        worker.silence.start()
        worker.server.start()
        LOG.info("Worker %d serves %s", self._index, worker.server.url)

    def stop(self) -> None:
        self._stopping.set()
        if self._worker is not None:
            self._worker.server.stop()

    def wait(self) -> None:
        """Wait until accepted requests are answered and all threads have ended, then close the stores."""
        if self._worker is not None:
            self._worker.server.wait()
            self._worker.silence.stop()
            self._worker.silence.wait()
            _close(self._worker.parts)

    def reset(self) -> None:
        """Reload the certificate and the policy file. Raises BadConfiguration and keeps the previous ones."""
        if self._worker is not None:
            self._worker.server.reset()
            self._worker.parts.policies.reload()


def load_application(conf: cfg.ConfigOpts) -> WSGIApplication:
    """Wait for the store, load all providers, and return the application for another WSGI server.

    A thread follows the store until the process exits, so forking servers must call this in each process. Raises
    BadConfiguration.
    """
    parts = build(conf, ConfiguredStores(conf, STORE_SECONDS))
    _load(parts, threading.Event())
    atexit.register(_close, parts)
    return parts.application


def _load(parts: PlacementParts, stopping: threading.Event) -> None:
    malloc_tuning.keep_freed_memory()
    wait_for("The store", parts.partitions.load, stopping, retry_on=(errors.Unavailable,))
    parts.partitions.follow()


def _close(parts: PlacementParts) -> None:
    parts.partitions.stop()
    parts.partitions.close()
