# SPDX-License-Identifier: Apache-2.0
"""Configuration files of a Nova cloud's services."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devstack.confs import PARTITION, PLACEMENT_WORKERS, Groups
from devstack.nova.size import CloudSize
from devstack.servers.errors import ServerError
from devstack.servers.ports import LOOPBACK
from scheduler_svc.conf import from_nova

API_DATABASE, CELL_DATABASE, CELL0_DATABASE, PLACEMENT_DATABASE = "nova_api", "nova", "nova_cell0", "placement"
CELL2_DATABASE = "nova_cell2"
CELL_DATABASES = (CELL_DATABASE, CELL2_DATABASE)
DATABASES = (API_DATABASE, *CELL_DATABASES, CELL0_DATABASE, PLACEMENT_DATABASE)
CONTROL_HOST = "control"
CELL2_CONTROL_HOST = "control2"
SHADOW = {"shadow_timeout": 20}
REAP_SECONDS = 20
PASSWORD = "any"  # noqa: S105 - the fake of Keystone accepts every password


@dataclass(frozen=True)
class CloudUrls:
    """URLs of a cloud's services; some contain passwords."""

    bus: str
    cell2_bus: str
    fakes: str
    placement: str
    api: str
    databases: dict[str, str]
    store: str
    gantt_bus: str
    scheduler_store: str
    bridge_store: str


def nova(host: str, size: CloudSize, urls: CloudUrls, state: Path, paste: Path, *, databases: bool) -> Groups:
    """Return nova.conf of a host's services. Computes reach no database, and cells only their own."""
    keystone = _credentials(urls)
    is_second = host in (CELL2_CONTROL_HOST, *size.second_hosts)
    groups: dict[str, dict[str, object]] = {
        "DEFAULT": {
            "transport_url": urls.cell2_bus if is_second else urls.bus,
            "host": host,
            "my_ip": LOOPBACK,
            "state_path": state,
            "instances_path": state / "instances",
            "log_options": False,
            "concurrency_backend": "threading",
            "compute_driver": "simulated.SimulatedDriver",
            # No overcommit, because tests count the capacity.
            "initial_cpu_allocation_ratio": 1.0,
            "initial_ram_allocation_ratio": 1.0,
            "initial_disk_allocation_ratio": 1.0,
            "reserved_host_memory_mb": 0,
            # A restart makes the fake hypervisor lose which guests are stopped.
            "sync_power_state_interval": -1,
            # A starting compute must soon end guests of servers that were deleted meanwhile.
            "running_deleted_instance_poll_interval": REAP_SECONDS,
            "running_deleted_instance_timeout": 0,
            "heal_instance_info_cache_interval": -1,
            "shelved_offload_time": 0,
            "graceful_shutdown_timeout": 5,
            "manager_shutdown_timeout": 4,
        },
        "oslo_concurrency": {"lock_path": state / "lock"},
        "placement": {**keystone, "endpoint_override": urls.placement},
        "glance": {"endpoint_override": f"{urls.fakes}/image"},
        "neutron": {
            **keystone,
            "endpoint_override": f"{urls.fakes}/network",
            "physnets": "physnet0",
        },
        "keystone_authtoken": _validation(urls),
        "service_user": {**keystone, "send_service_user_token": True},
        "vnc": {"enabled": False},
        "quota": {"count_usage_from_placement": True, **dict.fromkeys(("instances", "cores", "ram"), -1)},
        "wsgi": {"api_paste_config": paste},
        "conductor": {"workers": 1},
        "scheduler": {"workers": size.schedulers},
        "oslo_messaging_notifications": {"driver": "noop"},
    }
    if databases:
        groups["database"] = {"connection": urls.databases[CELL2_DATABASE if is_second else CELL_DATABASE]}
    if databases and not is_second:
        groups["api_database"] = {"connection": urls.databases[API_DATABASE]}
    return _merged(groups, size.nova_options)


def gantt_placement(urls: CloudUrls, size: CloudSize, port: int) -> Groups:
    return {
        "rpc": {"partition": PARTITION},
        "store": {"url": urls.store, "durability": size.durability},
        "api": {"auth_strategy": "keystone"},
        "placement": {"port": port, "workers": PLACEMENT_WORKERS},
        "keystone_authtoken": _validation(urls),
    }


def gantt_scheduler(urls: CloudUrls, size: CloudSize, metrics_port: int) -> Groups:
    """Return the configuration of gantt-scheduler. Raises ServerError for options that it does not support."""
    groups: Groups = {
        "DEFAULT": {"transport_url": urls.gantt_bus},
        "rpc": {"partition": PARTITION},
        "store": {"url": urls.scheduler_store, "durability": size.durability},
        "scheduler": {"host": CONTROL_HOST, "workers": size.schedulers},
        "metrics": {"listen": f"{LOOPBACK}:{metrics_port}"},
        "nova": {
            "enabled": True,
            "transport_url": urls.bus,
            "build_timeout": size.build_timeout,
            "bridge_max_age": size.bridge_max_age,
        },
    }
    return _merged(groups, _translated(size.nova_options))


def gantt_shadow(urls: CloudUrls, size: CloudSize, metrics_port: int) -> Groups:
    """Return the configuration of a gantt-scheduler that only compares its decisions with nova-scheduler's."""
    groups = gantt_scheduler(urls, size, metrics_port)
    return {**groups, "scheduler": {**groups["scheduler"], "mode": "shadow"}, "nova": {**groups["nova"], **SHADOW}}


def gantt_nova_bridge(urls: CloudUrls, size: CloudSize) -> Groups:
    translated = _translated(size.nova_options).get("nova", {})
    return {
        "rpc": {"partition": PARTITION},
        "store": {"url": urls.bridge_store, "durability": size.durability},
        "nova": {"enabled": True, "api_database": urls.databases[API_DATABASE], "bridge_interval": 1, **translated},
    }


def placement(urls: CloudUrls) -> Groups:
    return {
        "api": {"auth_strategy": "keystone"},
        "placement_database": {"connection": urls.databases[PLACEMENT_DATABASE], "sync_on_startup": True},
        "keystone_authtoken": _validation(urls),
    }


def _translated(options: Mapping[str, Mapping[str, str]]) -> Groups:
    """Translate options of nova.conf like gantt-nova-config. Raises ServerError if one is refused."""
    values = {section: {option: [value] for option, value in group.items()} for section, group in options.items()}
    translation = from_nova.translate(values)
    if translation.refused:
        raise ServerError(f"gantt-scheduler cannot decide as nova.conf says: {'; '.join(translation.refused)}")
    return translation.sections


def _merged(groups: Groups, options: Groups) -> Groups:
    return {name: {**groups.get(name, {}), **options.get(name, {})} for name in (*groups, *options)}


def _credentials(urls: CloudUrls) -> dict[str, object]:
    return {
        "auth_type": "password",
        "auth_url": f"{urls.fakes}/identity",
        "username": "nova",
        "password": PASSWORD,
        "project_name": "service",
        "user_domain_id": "default",
        "project_domain_id": "default",
    }


def _validation(urls: CloudUrls) -> dict[str, object]:
    options = {"www_authenticate_uri": f"{urls.fakes}/identity", "service_token_roles_required": True}
    return {**_credentials(urls), **options}
