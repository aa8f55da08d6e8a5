# SPDX-License-Identifier: Apache-2.0
"""Private redis-server in a run folder: on a Unix socket, and optionally on a loopback port."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import redis

from devstack.deploy.users.folder import Passwords, private_folder, write_private
from devstack.deploy.users.redis_users import ADMIN, RedisUser, acl_file
from devstack.servers.errors import ServerError
from devstack.servers.ports import LOOPBACK, require_free
from devstack.servers.redis_binary import redis_binary
from devstack.servers.server import PrivateServer

AppendFsync = Literal["no", "everysec", "always"]

# Kernel limit for the path of a Unix socket, without the final zero byte.
SOCKET_PATH_LIMIT = 107
START_SECONDS = 30.0


class RedisServer(PrivateServer):
    """Redis server; configuration, users, data and log are in ``folder`` (mode 0700).

    ``appendonly`` is "no" (data is lost at the end), "everysec" (survives SIGKILL) or "always" (acknowledged writes
    survive a power loss). ``users`` get random passwords and switch off the default user, which otherwise has all
    permissions. ``replica_of`` is a primary with a port; the replica shares its passwords.
    """

    def __init__(
        self,
        folder: Path,
        *,
        binary: Path | None = None,
        appendonly: AppendFsync = "no",
        port: int | None = None,
        users: Sequence[RedisUser] = (),
        replica_of: "RedisServer | None" = None,
        passwords: Passwords | None = None,
        settings: Sequence[str] = (),
        name: str = "redis-server",
    ) -> None:
        super().__init__(folder, "redis", name)
        self.binary = binary
        self.appendonly = appendonly
        self.port = port
        self.users = tuple(users)
        self.replica_of = replica_of
        self.socket = self.folder / "redis.sock"
        self.settings = tuple(settings)
        self.passwords: Passwords = passwords or (replica_of.passwords if replica_of else Passwords(self.folder))

    def start(self) -> None:
        """Start, and wait until the server answers; a replica also syncs first. On ServerError nothing runs."""
        self._process.require_stopped()
        binary = self.binary or redis_binary()
        private_folder(self.folder)
        private_folder(self.folder / "data")
        self._require_short_socket_path()
        if self.port is not None:
            require_free(self.port, self.name)
        if self.users:
            write_private(self.folder / "users.acl", acl_file((*self.users, ADMIN), self.passwords))
        write_private(self.folder / "redis.conf", self._configuration())
        # The socket of a killed server would make the new server appear ready too early.
        self.socket.unlink(missing_ok=True)
        self._process.start([str(binary), str(self.folder / "redis.conf")], self.folder, self._answers, START_SECONDS)

    def restart(self) -> None:
        self.stop()
        self.start()

    def promote(self) -> None:
        """Make this replica a primary, and link its socket at the path of an old primary that is down."""
        with self.client() as client:
            client.execute_command("REPLICAOF", "NO", "ONE")
        old, self.replica_of = self.replica_of, None
        if old is not None and old.pid is None:
            old.socket.unlink(missing_ok=True)
            old.socket.symlink_to(self.socket)

    def url(self, user: str | None = None) -> str:
        """Return the URL of the Unix socket for this user, with the password, or for the default user."""
        return f"unix://{self._credentials(user)}{self.socket}?db=0"

    def tcp_url(self, user: str | None = None) -> str:
        if self.port is None:
            raise ServerError(f"{self.name} listens on its Unix socket {self.socket} only.")
        return f"redis://{self._credentials(user)}{LOOPBACK}:{self.port}/0"

    def bus_url(self, user: str | None = None) -> str:
        return f"gantt+redis://{self._credentials(user)}/0?socket={quote(str(self.socket))}"

    def client(self, user: str | None = None) -> redis.Redis:
        """Return a client that decodes text; without ``user`` it has all permissions."""
        name = user or (ADMIN.name if self.users else None)
        return redis.Redis.from_url(self.url(name), decode_responses=True)

    def _credentials(self, user: str | None) -> str:
        return f"{user}:{quote(self.passwords.of(user), safe='')}@" if user else ""

    def _require_short_socket_path(self) -> None:
        length = len(os.fsencode(self.socket))
        if length > SOCKET_PATH_LIMIT:
            raise ServerError(
                f"{self.name} cannot listen on {self.socket}: the path of a Unix socket has at most "
                f"{SOCKET_PATH_LIMIT} bytes, this one has {length}. Choose a run folder with a shorter path."
            )

    def _answers(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            with self.client() as client:
                client.ping()
                return self.replica_of is None or client.info("replication")["master_link_status"] == "up"
        except (redis.BusyLoadingError, redis.ConnectionError, redis.TimeoutError):
            return False

    def _configuration(self) -> str:
        lines = [
            f"port {self.port or 0}",
            f"bind {LOOPBACK}",
            f'unixsocket "{self.socket}"',
            "unixsocketperm 700",
            f'dir "{self.folder / "data"}"',
            "daemonize no",
            # Only the append-only file provides durability.
            'save ""',
            f"appendonly {'no' if self.appendonly == 'no' else 'yes'}",
            f"appendfsync {'everysec' if self.appendonly == 'no' else self.appendonly}",
            "maxmemory-policy noeviction",
            "repl-diskless-sync-delay 0",
            *([f'aclfile "{self.folder / "users.acl"}"'] if self.users else []),
            *self._replication(),
            *self.settings,
        ]
        return "\n".join([*lines, ""])

    def _replication(self) -> list[str]:
        primary = self.replica_of
        if primary is None:
            return []
        if primary.port is None:
            raise ServerError(f"{self.name} cannot replicate {primary.socket}: that server has no TCP port.")
        lines = [f"replicaof {LOOPBACK} {primary.port}"]
        if primary.users:
            lines += [f"masteruser {ADMIN.name}", f"masterauth {primary.passwords.of(ADMIN.name)}"]
        return lines
