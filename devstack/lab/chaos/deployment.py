# SPDX-License-Identifier: Apache-2.0
"""Cluster under test: RabbitMQ, a store behind Sentinel, the conductors' own store, several of each daemon."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import redis

from devstack import confs
from devstack.cluster import inherited_environment
from devstack.cluster_size import ClusterSize, Mode
from devstack.deploy.users.folder import private_folder, write_private
from devstack.deploy.users.redis_users import STORE_USERS
from devstack.lab.chaos.proxy import TcpProxy
from devstack.layout import BUS_USERS, CLIENT, Layout
from devstack.servers.ports import free_port
from devstack.servers.process import ServerProcess
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.sentinel import SentinelGroup

AGENTS, HOSTS_PER_AGENT, NODES_PER_HOST = 2, 2, 4
CONDUCTORS, WORKERS = 2, 2
NODES = AGENTS * HOSTS_PER_AGENT * NODES_PER_HOST
CLAIM_SECONDS, GRACE_SECONDS, LEASE_SECONDS, DOWN_SECONDS, COLLECT_SECONDS = 5, 2, 3, 9, 8

PARTITIONS = (confs.PARTITION, "second")  # each has its own store; agents are divided among them

# Short timeouts, so that recovery takes seconds, not minutes.
OPTIONS: Mapping[str, confs.Groups] = {
    "scheduler": {
        "scheduler": {"claim_ttl": CLAIM_SECONDS},
        "store": {
            "audit_grace": GRACE_SECONDS,
            "reap_interval": 1,
            "service_down_time": DOWN_SECONDS,
            "collect_timeout": COLLECT_SECONDS,
        },
    },
    "conductor": {
        "rpc": {"call_timeout": 4, "call_monitor_timeout": 4},
        "conductor": {
            "build_timeout": 30,
            "select_timeout": 60,
            "recast_interval": 3,
            "lease": LEASE_SECONDS,
            "pump_interval": 0.5,
            "repeat_horizon": 100,  # longer than callers repeat; later attempts are fresh
        },
    },
    "compute": {
        "compute": {"call_timeout": 3, "retry_interval_max": 1, "report_interval": 1},
        # A server of 1024 MB is copied for seconds, so that a fault or an abort can interrupt the copy.
        "simulator": {"boot_delay": 0.02, "boot_delay_spread": 0.5, "copy_rate": 512},
    },
}


class ChaosCluster:
    """Cluster in a run folder, whose path must be short enough for Unix sockets."""

    def __init__(self, folder: Path, replicas_acknowledge: int = 1, partitions: int = 1) -> None:
        self.layout = Layout(folder)
        self.replicas_acknowledge = replicas_acknowledge
        self.rabbit = RabbitNode(self.layout.rabbit)
        binary = self.layout.folder / "redis-server"
        self.stores = {
            name: SentinelGroup(self.layout.store / name, binary=binary, users=STORE_USERS, replicas=1)
            for name in PARTITIONS[:partitions]
        }
        self.records = RedisServer(
            self.layout.folder / "records",
            binary=binary,
            users=STORE_USERS,
            appendonly="always",
            port=free_port(),
            name="the conductors' redis-server",
        )
        self.programs = {
            "scheduler": "scheduler",
            **{f"conductor-{number}": "conductor" for number in range(CONDUCTORS)},
            **{f"compute-{number}": "compute" for number in range(AGENTS)},
        }
        self.daemons = {
            name: ServerProcess(f"gantt-{name}", self.layout.pid_file(name), self.layout.log_file(name))
            for name in self.programs
        }
        self.proxies: dict[str, TcpProxy] = {}
        self.history_file = folder.with_name("history")
        self.without_power: set[str] = set()  # daemons of machines without power, which nothing may start

    @property
    def client_conf(self) -> Path:
        return self.layout.conf(CLIENT)

    @property
    def agents(self) -> list[str]:
        return [name for name, program in self.programs.items() if program == "compute"]

    @property
    def conductors(self) -> list[str]:
        return [name for name, program in self.programs.items() if program == "conductor"]

    def state_folder(self, agent: str) -> Path:
        return self.layout.state / agent

    def partition_of(self, agent: str) -> str:
        return list(self.stores)[self.agents.index(agent) % len(self.stores)]

    def control(self, name: str) -> Path:
        return self.layout.state / f"control-{name}"

    def store_client(self, partition: str) -> redis.Redis:
        return self.stores[partition].primary().client()

    def start(self) -> None:
        """Start all processes. After ServerError the caller must call ``stop``."""
        self.layout.make()
        self._write_redis_program()
        self.rabbit.start()
        private_folder(self.layout.store)
        for store in self.stores.values():
            store.start()
        self.records.start()
        self.proxies = {name: TcpProxy(self.rabbit.ports.amqp) for name in (*self.programs, CLIENT)}
        self._write_confs()
        for name in self.programs:
            self.start_daemon(name)

    def start_daemon(self, name: str) -> None:
        program = self.programs[name]
        command = [sys.executable, "-m", "devstack.lab.chaos.daemon", program]
        project = str(Path(__file__).resolve().parents[3])
        env = {**inherited_environment(), "PYTHONPATH": project, "GANTT_CHAOS": str(self.control(name))}
        self.daemons[name].spawn([*command, "--config-file", str(self.layout.conf(name))], env, self.layout.folder)

    def kill_daemon(self, name: str) -> None:
        self.daemons[name].kill_group()

    def revive(self) -> None:
        """Start every stopped daemon whose machine has power, like a service manager."""
        for name, daemon in self.daemons.items():
            if daemon.pid is None and name not in self.without_power:
                self.start_daemon(name)

    def workers(self, name: str) -> list[int]:
        pid = self.daemons[name].pid
        if pid is None:
            return []
        try:
            return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except FileNotFoundError:
            return []

    def stop(self) -> None:
        """Kill all processes without cleanup, because the data is evidence."""
        for name in self.daemons:
            self.kill_daemon(name)
        for store in self.stores.values():
            store.kill()
        self.records.kill()
        self.rabbit.kill()
        self.rabbit.stop()
        for proxy in self.proxies.values():
            proxy.close()

    def _write_confs(self) -> None:
        size = ClusterSize(Mode.STANDARD, HOSTS_PER_AGENT, NODES_PER_HOST, WORKERS, report_interval=1)
        for name, program in {**self.programs, CLIENT: CLIENT}.items():
            urls = confs.ServiceUrls(self._bus_url(name, program), self._store_url(program), stamp_key="chaos" * 8)
            groups = confs.merge(confs.render(program, size, self.layout, urls), OPTIONS.get(program, {}))
            write_private(self.layout.conf(name), confs.text(confs.merge(groups, self._own_options(name, program))))

    def _write_redis_program(self) -> None:
        """Write a redis-server that ignores SIGXFSZ, so that writes above RLIMIT_FSIZE fail instead of ending it."""
        program = self.layout.folder / "redis-server"
        program.write_text(f'#!/bin/sh\ntrap "" XFSZ\nexec {redis_binary(Flavour.SYSTEM)} "$@"\n')
        program.chmod(0o700)

    def _bus_url(self, name: str, program: str) -> str:
        return re.sub(r":\d+/", f":{self.proxies[name].port}/", self.rabbit.url(BUS_USERS.get(program, program)))

    def _store_url(self, program: str) -> str | None:
        if program == "scheduler":
            return self.stores[confs.PARTITION].url("scheduler")
        return self.records.tcp_url("conductor") if program == "conductor" else None

    def _agent_hosts(self) -> str:
        return ",".join(_hosts(name) for name in self.agents)

    def _own_options(self, name: str, program: str) -> confs.Groups:
        if program == "scheduler":
            return {
                "store": {"durability": "everysec", "replicas_acknowledge": self.replicas_acknowledge},
                "scheduler": {"partitions": ",".join(self.stores)},
                "rpc": {"shared_agent_hosts": self._agent_hosts()},
                **{f"partition:{partition}": {"url": store.url(program)} for partition, store in self.stores.items()},
            }
        if program == "conductor":
            return {
                "conductor": {"host": name},
                "conductor_store": {"durability": "always"},
                "rpc": {"shared_agent_hosts": self._agent_hosts()},
            }
        if program == "compute":
            folder = private_folder(self.state_folder(name))
            return {
                "compute": {"hosts": _hosts(name), "state_path": folder},
                "rpc": {"partition": self.partition_of(name)},
            }
        return {}


def _hosts(agent: str) -> str:
    return f"{agent}h[0-{HOSTS_PER_AGENT - 1}]"
