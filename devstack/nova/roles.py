# SPDX-License-Identifier: Apache-2.0
"""Projects that can serve each role of a Nova cloud, and their daemons."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from devstack import confs as gantt_confs
from devstack.deploy.users.folder import private_folder, write_private
from devstack.nova import confs
from devstack.nova.confs import CELL2_CONTROL_HOST, CONTROL_HOST, CloudUrls
from devstack.nova.size import CloudSize

INSIDE = Path(__file__).parent / "inside"
PASTE = "etc/nova/api-paste.ini"
# gantt's daemons run from this source tree, whatever the environment has installed.
SOURCE_TREE = {"PYTHONPATH": str(Path(__file__).parents[2])}


PORTS = ("api", "fakes", "placement", "metrics")


@dataclass(frozen=True)
class CloudParts:
    """Inputs of the daemons' commands; ``ports`` has the names in `PORTS`."""

    size: CloudSize
    environment: Path  # virtual environment of Nova
    etc: Path
    state: Path
    ports: Mapping[str, int]
    urls: CloudUrls


@dataclass(frozen=True)
class Daemon:
    """Command and environment variables of a daemon, and the port on which it answers when it serves."""

    name: str
    command: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None


MakeDaemons = Callable[[CloudParts], list[Daemon]]


def nova_conf(parts: CloudParts, host: str, *, databases: bool) -> Path:
    state = private_folder(parts.state / host)
    groups = confs.nova(host, parts.size, parts.urls, state, parts.environment / PASTE, databases=databases)
    path = private_folder(parts.etc / host) / "nova.conf"
    write_private(path, gantt_confs.text(groups))
    return path


def control_conf(parts: CloudParts) -> Path:
    return nova_conf(parts, CONTROL_HOST, databases=True)


def nova_program(parts: CloudParts, program: str) -> list[str]:
    return _program_with(parts, program, control_conf(parts))


def cell2_program(parts: CloudParts, program: str) -> list[str]:
    return _program_with(parts, program, nova_conf(parts, CELL2_CONTROL_HOST, databases=True))


def _program_with(parts: CloudParts, program: str, conf: Path) -> list[str]:
    return [str(parts.environment / "bin" / program), "--config-file", str(conf)]


def computes(parts: CloudParts) -> list[Daemon]:
    return [compute(parts, host) for host in parts.size.hosts]


def compute(parts: CloudParts, host: str) -> Daemon:
    size = parts.size
    env = {"SIMULATED_VCPUS": size.vcpus, "SIMULATED_MEMORY_MB": size.memory_mb, "SIMULATED_DISK_GB": size.disk_gb}
    command = [
        _python(parts),
        str(INSIDE / "compute.py"),
        "--config-file",
        str(nova_conf(parts, host, databases=False)),
    ]
    return Daemon(host, command, {name: str(amount) for name, amount in env.items()})


def conductor(parts: CloudParts) -> list[Daemon]:
    second = [Daemon("conductor2", cell2_program(parts, "nova-conductor"))] if parts.size.second_cell else []
    return [Daemon("conductor", nova_program(parts, "nova-conductor")), *second]


def api(parts: CloudParts) -> list[Daemon]:
    env = {
        "OS_NOVA_CONFIG_DIR": str(control_conf(parts).parent),
        "OS_NOVA_CONFIG_FILES": f"{parts.environment / PASTE};nova.conf",
    }
    return [_served(parts, "api", "nova.wsgi.osapi_compute", env)]


def fakes(parts: CloudParts) -> list[Daemon]:
    command = [sys.executable, "-m", "devstack.nova.fakes", str(parts.ports["fakes"])]
    command += ["--compute", parts.urls.api, "--placement", parts.urls.placement]
    return [Daemon("fakes", command, SOURCE_TREE, parts.ports["fakes"])]


def _gantt_placement(parts: CloudParts) -> list[Daemon]:
    command = gantt_program("gantt-placement", placement_conf(parts))
    return [Daemon("gantt-placement", command, SOURCE_TREE, parts.ports["placement"])]


def _openstack_placement(parts: CloudParts) -> list[Daemon]:
    env = {"OS_PLACEMENT_CONFIG_DIR": str(openstack_conf(parts).parent)}
    return [_served(parts, "placement", "placement.wsgi.api", env)]


def placement_conf(parts: CloudParts) -> Path:
    conf = parts.etc / "gantt-placement.conf"
    write_private(conf, gantt_confs.text(confs.gantt_placement(parts.urls, parts.size, parts.ports["placement"])))
    return conf


def openstack_conf(parts: CloudParts) -> Path:
    conf = private_folder(parts.etc / "placement") / "placement.conf"
    write_private(conf, gantt_confs.text(confs.placement(parts.urls)))
    return conf


def _nova_scheduler(parts: CloudParts) -> list[Daemon]:
    return [Daemon("scheduler", nova_program(parts, "nova-scheduler"))]


def _gantt_scheduler(parts: CloudParts) -> list[Daemon]:
    return _with_bridge(parts, confs.gantt_scheduler(parts.urls, parts.size, parts.ports["metrics"]))


def _shadowed_nova_scheduler(parts: CloudParts) -> list[Daemon]:
    shadow = confs.gantt_shadow(parts.urls, parts.size, parts.ports["metrics"])
    return [*_nova_scheduler(parts), *_with_bridge(parts, shadow)]


def _with_bridge(parts: CloudParts, scheduler: gantt_confs.Groups) -> list[Daemon]:
    settings = {"gantt-nova-bridge": confs.gantt_nova_bridge(parts.urls, parts.size), "gantt-scheduler": scheduler}
    daemons = []
    for name, groups in settings.items():
        conf = parts.etc / f"{name}.conf"
        write_private(conf, gantt_confs.text(groups))
        daemons.append(Daemon(name, gantt_program(name, conf), SOURCE_TREE))
    return daemons


def gantt_program(name: str, conf: Path) -> list[str]:
    return [str(Path(sys.executable).with_name(name)), "--config-file", str(conf)]


def _served(parts: CloudParts, name: str, module: str, env: Mapping[str, str]) -> Daemon:
    port = parts.ports[name]
    return Daemon(name, [_python(parts), str(INSIDE / "serve.py"), module, str(port)], env, port)


def _python(parts: CloudParts) -> str:
    return str(parts.environment / "bin" / "python")


ROLES: Mapping[str, Mapping[str, MakeDaemons]] = {
    "placement": {"gantt": _gantt_placement, "placement": _openstack_placement},
    "scheduler": {"nova": _nova_scheduler, "gantt": _gantt_scheduler, "shadow": _shadowed_nova_scheduler},
}


def served_by(parts: CloudParts, role: str) -> list[Daemon]:
    return ROLES[role][getattr(parts.size, role)](parts)
