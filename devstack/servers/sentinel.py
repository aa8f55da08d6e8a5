# SPDX-License-Identifier: Apache-2.0
"""Private primary with replicas, monitored and failed over by sentinels, on loopback."""

from collections.abc import Callable, Sequence
from pathlib import Path

import redis

from devstack.deploy.users.folder import Passwords, private_folder, write_private
from devstack.deploy.users.redis_users import ADMIN, PEER, REPLICA, SENTINEL, SENTINEL_READER, RedisUser, acl_file
from devstack.servers.errors import ServerError, ServerNotReady
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.process import poll
from devstack.servers.redis import AppendFsync, RedisServer
from devstack.servers.redis_binary import redis_binary
from devstack.servers.server import PrivateServer

SERVICE = "gantt"
DOWN_MS = 1000  # silence after which a sentinel considers a server down
# A stuck failover is retried after twice this time.
FAILOVER_MS = 5000
START_SECONDS = 30.0
WATCH_SECONDS = 60.0


class Sentinel(PrivateServer):
    """Redis Sentinel. Its configuration file begins with ``settings``, and contains its state."""

    def __init__(
        self,
        folder: Path,
        binary: Path,
        primary: RedisServer,
        quorum: int,
        settings: Sequence[str] = (),
        *,
        down_ms: int = DOWN_MS,
    ) -> None:
        super().__init__(folder, "sentinel", f"the sentinel in {folder}")
        self.port = free_port()
        self._binary = binary
        self._primary = primary
        self._quorum = quorum
        self._settings = tuple(settings)
        self._down_ms = down_ms

    def start(self) -> None:
        private_folder(self.folder)
        conf = self.folder / "sentinel.conf"
        if not conf.exists():
            write_private(conf, self._configuration())
            if self._primary.users:
                users = acl_file((SENTINEL_READER, PEER, ADMIN), self._primary.passwords)
                write_private(self.folder / "users.acl", users)
        self._process.start([str(self._binary), str(conf), "--sentinel"], self.folder, self._answers, START_SECONDS)

    def client(self) -> redis.Redis:
        user = ADMIN.name if self._primary.users else None
        password = self._primary.passwords.of(user) if user else None
        return redis.Redis(LOOPBACK, self.port, username=user, password=password, decode_responses=True)

    def knows_all(self, sentinels: int, replicas: int) -> bool:
        with self.client() as client:
            state = client.sentinel_master(SERVICE)
            replica_states = client.sentinel_slaves(SERVICE)
        up = [
            replica for replica in replica_states if not replica["is_sdown"] and replica["master-link-status"] == "ok"
        ]
        return state["num-other-sentinels"] == sentinels - 1 and len(up) == replicas

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def _configuration(self) -> str:
        passwords = self._primary.passwords
        users = [
            f'aclfile "{self.folder / "users.acl"}"',
            f"sentinel auth-user {SERVICE} {SENTINEL.name}",
            f"sentinel auth-pass {SERVICE} {passwords.of(SENTINEL.name)}",
            f"sentinel sentinel-user {PEER.name}",
            f"sentinel sentinel-pass {passwords.of(PEER.name)}",
        ]
        lines = [
            *self._settings,
            f"port {self.port}",
            f"bind {LOOPBACK}",
            f'dir "{self.folder}"',
            "daemonize no",
            f"sentinel monitor {SERVICE} {LOOPBACK} {self._primary.port} {self._quorum}",
            f"sentinel down-after-milliseconds {SERVICE} {self._down_ms}",
            f"sentinel failover-timeout {SERVICE} {FAILOVER_MS}",
            f"sentinel parallel-syncs {SERVICE} 2",
            *(users if self._primary.users else []),
        ]
        return "\n".join([*lines, ""])


class SentinelGroup:
    """Primary with replicas and sentinels, which replace a primary that is silent for ``down_ms``."""

    def __init__(
        self,
        folder: Path,
        *,
        binary: Path | None = None,
        appendonly: AppendFsync = "everysec",
        users: Sequence[RedisUser] = (),
        settings: Sequence[str] = (),
        replicas: int = 2,
        sentinels: int = 3,
        down_ms: int = DOWN_MS,
    ) -> None:
        self.folder = folder.absolute()
        program = binary or redis_binary()
        self._passwords = Passwords(self.folder)
        # Any server may become a replica.
        auth = [f"masteruser {REPLICA.name}", f"masterauth {self._passwords.of(REPLICA.name)}"] if users else []
        self.servers = [
            RedisServer(
                self.folder / f"r{number}",
                binary=program,
                appendonly=appendonly,
                port=free_port(),
                users=(*users, REPLICA, SENTINEL) if users else (),
                passwords=self._passwords,
                settings=(*settings, *auth),
                name=f"server {number} of the sentinels' group",
            )
            for number in range(1 + replicas)
        ]
        for server in self.servers[1:]:
            server.replica_of = self.servers[0]
        quorum = sentinels // 2 + 1
        self.sentinels = [
            Sentinel(self.folder / f"s{number}", program, self.servers[0], quorum, down_ms=down_ms)
            for number in range(sentinels)
        ]

    def start(self) -> None:
        private_folder(self.folder)
        try:
            for server in self.servers:
                server.start()
            for sentinel in self.sentinels:
                sentinel.start()
            self._wait("found each other", self._is_complete)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        for sentinel in self.sentinels:
            sentinel.kill()
        for server in self.servers:
            server.kill()

    def url(self, user: str | None = None) -> str:
        hosts = ",".join(f"{LOOPBACK}:{sentinel.port}" for sentinel in self.sentinels)
        if user is None:
            return f"redis+sentinel://{hosts}/{SERVICE}/0"
        login = f"sentinel_username={SENTINEL_READER.name}&sentinel_password={self._passwords.of(SENTINEL_READER.name)}"
        return f"redis+sentinel://{user}:{self._passwords.of(user)}@{hosts}/{SERVICE}/0?{login}"

    def primary(self) -> RedisServer:
        """Return the primary in the sentinels' newest configuration. Raises ServerError if no sentinel runs."""
        states = []
        for sentinel in self.sentinels:
            if sentinel.pid is not None:
                with sentinel.client() as client:
                    state = client.sentinel_master(SERVICE)
                states.append((state["config-epoch"], state["port"]))
        if not states:
            raise ServerError(f"No sentinel runs in {self.folder}.")
        return next(server for server in self.servers if server.port == max(states)[1])

    def _is_complete(self) -> bool:
        replicas = len(self.servers) - 1
        return all(sentinel.knows_all(len(self.sentinels), replicas) for sentinel in self.sentinels)

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        if not poll(ready, WATCH_SECONDS):
            raise ServerNotReady(f"The sentinels in {self.folder} have not {what}; see their logs there.")
