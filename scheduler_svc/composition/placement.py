# SPDX-License-Identifier: Apache-2.0
"""Builder of Placement's HTTP API in a process of gantt-placement."""

from dataclasses import dataclass
from functools import partial

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi

from rpcapi.background import Periodic
from rpcapi.conf import listener_tls
from rpcapi.daemon.http_listener import HttpServer
from scheduler_svc.composition.stores import open_partitions
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
from scheduler_svc.replication.partition_set import PartitionSet, StoreOpener
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.replication.replica import Replica

MEASURING_SECONDS = 5.0  # interval of measuring the store's silence


@dataclass(frozen=True, slots=True)
class PlacementParts:
    """Application for any WSGI server, with its data sources; not started."""

    partition_set: PartitionSet
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
            store = partition_set.partitions.own.store
            acknowledged_epoch.record_first(store, replica.partition, replica.log_position.epoch)

    partition_set = open_partitions(conf, opener, NO_READS, on_loaded, for_api=True)
    options = conf.placement
    unknown_owner = (options.incomplete_consumer_project_id, options.incomplete_consumer_user_id)
    limits = SearchLimits(options.max_allocation_candidates, options.allocation_candidates_timeout)
    application = PlacementApplication(build_model(partition_set.partitions.own, unknown_owner, limits), policies)
    return PlacementParts(partition_set, policies, wrap_in_middleware(conf, application))


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
        partial(measure_silence, parts.partition_set.partitions),
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
