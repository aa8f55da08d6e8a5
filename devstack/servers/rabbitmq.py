# SPDX-License-Identifier: Apache-2.0
"""Private RabbitMQ node in a run folder, from the distribution's package, independent of any system node.

The server script, unlike the package's wrapper, runs as any user; the node gets its own name, ports, cookie and epmd.
"""

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

import amqp

from devstack.deploy.users.folder import Passwords, private_folder, write_private
from devstack.deploy.users.rabbitmq_users import ADMIN, definitions
from devstack.servers.errors import ServerNotReady
from devstack.servers.ports import LOOPBACK, answers, free_port, require_free
from devstack.servers.process import ServerProcess
from devstack.servers.rabbitmq_binary import rabbit_programs
from devstack.servers.server import SYSTEM_PATH
from rpcapi.access.broker_users import SERVICE_USERS, VHOST, RabbitUser
from rpcapi.conf.rpc import MAX_MESSAGE_BYTES

CONFINED_DRIVER = "gantt-rabbit"
START_SECONDS = 90.0
STOP_SECONDS = 30.0
EPMD_SECONDS = 10.0


@dataclass(frozen=True)
class RabbitPorts:
    """Loopback ports of the node: clients, Erlang distribution, Erlang port mapper."""

    amqp: int
    distribution: int
    epmd: int

    @classmethod
    def pick(cls, amqp_port: int | None = None) -> "RabbitPorts":
        picked: list[int] = [] if amqp_port is None else [amqp_port]
        while len(picked) < 3:
            port = free_port()
            if port not in picked:
                picked.append(port)
        return cls(*picked)


class RabbitNode:
    """RabbitMQ node; configuration, users, data and logs are in ``folder`` (mode 0700).

    ``port`` is the AMQP port; other ports are picked at the first start and recorded. ``users`` (default: one per
    service) are imported with only the permissions they need, besides `admin`. Without ``management_port`` the
    management API is off. ``vhosts`` are empty virtual hosts for programs other than gantt's.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        users: Sequence[RabbitUser] = SERVICE_USERS,
        management_port: int | None = None,
        settings: Sequence[str] = (),
        plugins: Sequence[str] = (),
        vhosts: Sequence[str] = (),
    ) -> None:
        self.folder = folder.absolute()
        self.users = tuple(users)
        self.passwords = Passwords(self.folder)
        self._configured_port = port
        self._management_port = management_port
        self._settings = tuple(settings)
        self._vhosts = tuple(vhosts)
        self._plugins = (*plugins, *([] if management_port is None else ["rabbitmq_management"]))
        self._broker = ServerProcess("RabbitMQ", self.folder / "rabbitmq.pid", self.folder / "rabbitmq.out")
        self._epmd = ServerProcess("epmd (Erlang's port mapper)", self.folder / "epmd.pid", self.folder / "epmd.out")

    @property
    def pid(self) -> int | None:
        return self._broker.pid

    @property
    def ports(self) -> RabbitPorts:
        """Ports of the node. Raises ServerNotReady before the first start."""
        try:
            return RabbitPorts(**json.loads(self._ports_file.read_text()))
        except FileNotFoundError:
            raise ServerNotReady(f"RabbitMQ was never started in {self.folder}, so it has no ports.") from None

    @property
    def name(self) -> str:
        return f"gantt-{self.ports.amqp}@localhost"

    def start(self) -> None:
        """Start the node, and wait until a client can log in. On ServerError nothing runs."""
        self._broker.require_stopped()
        programs = rabbit_programs()
        private_folder(self.folder)
        self._choose_ports()
        self._write_configuration()
        try:
            if self._epmd.pid is None:
                command = [str(programs.epmd), "-port", str(self.ports.epmd), "-address", LOOPBACK]
                self._epmd.spawn(command, {"PATH": SYSTEM_PATH}, self.folder)
                self._epmd.wait_ready(lambda: answers(self.ports.epmd), EPMD_SECONDS)
            self._broker.spawn([str(programs.server)], self._environment(), self.folder)
            self._broker.wait_ready(self._accepts_login, START_SECONDS)
        except BaseException:
            self._broker.kill()
            self._epmd.kill()
            raise

    def stop(self) -> None:
        self._broker.stop(STOP_SECONDS)
        self._epmd.stop(STOP_SECONDS)

    def kill(self) -> None:
        """Kill the broker, like a crash; its port mapper stays for the next start."""
        self._broker.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    def url(self, user: str = ADMIN, driver: str = CONFINED_DRIVER, vhost: str = VHOST) -> str:
        """Return a user's transport URL; service users need the confined driver."""
        password = quote(self.passwords.of(user), safe="")
        return f"{driver}://{user}:{password}@{LOOPBACK}:{self.ports.amqp}/{vhost}"

    @property
    def _ports_file(self) -> Path:
        return self.folder / "ports.json"

    def _choose_ports(self) -> None:
        ports = self.ports if self._ports_file.exists() else None
        if ports is None or self._configured_port not in (None, ports.amqp):
            ports = RabbitPorts.pick(self._configured_port)
        require_free(ports.amqp, "RabbitMQ")
        require_free(ports.distribution, "RabbitMQ (Erlang distribution)")
        if self._epmd.pid is None:
            require_free(ports.epmd, "RabbitMQ (Erlang port mapper)")
        write_private(self._ports_file, json.dumps(asdict(ports)))

    def _write_configuration(self) -> None:
        write_private(self.folder / "definitions.json", definitions(self.users, self.passwords, self._vhosts))
        lines = [
            f"listeners.tcp.local = {LOOPBACK}:{self.ports.amqp}",
            f"load_definitions = {self.folder / 'definitions.json'}",
            "log.console = false",
            "log.file.level = info",
            # Other processes share the machine, so its free memory and disk are no indicator.
            "disk_free_limit.absolute = 50MB",
            f"max_message_size = {MAX_MESSAGE_BYTES}",
        ]
        if self._management_port is not None:
            lines += [f"management.tcp.ip = {LOOPBACK}", f"management.tcp.port = {self._management_port}"]
        write_private(self.folder / "rabbitmq.conf", "\n".join([*lines, *self._settings, ""]))
        write_private(self.folder / "enabled_plugins", f"[{','.join(self._plugins)}].\n")
        cookie = self.folder / ".erlang.cookie"
        if not cookie.exists():
            # Erlang would derive a cookie from the clock, and who guesses the cookie controls the node.
            write_private(cookie, secrets.token_hex(24))

    def _environment(self) -> dict[str, str]:
        """Return only the variables that the node needs: the caller's RABBITMQ_* must have no effect."""
        folder, ports = self.folder, self.ports
        return {
            "PATH": SYSTEM_PATH,
            "LANG": "C.UTF-8",
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(ports.epmd),
            "ERL_EPMD_ADDRESS": LOOPBACK,
            # Makes the script become the Erlang VM instead of supervising it.
            "RUNNING_UNDER_SYSTEMD": "true",
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_DIST_PORT": str(ports.distribution),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_FEATURE_FLAGS_FILE": str(folder / "feature_flags"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "broker.pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }

    def _accepts_login(self) -> bool:
        try:
            with amqp.Connection(
                host=f"{LOOPBACK}:{self.ports.amqp}",
                userid=ADMIN,
                password=self.passwords.of(ADMIN),
                virtual_host=VHOST,
                connect_timeout=2,
                read_timeout=5,
            ):
                return True
        except (OSError, amqp.AMQPError):
            return False
