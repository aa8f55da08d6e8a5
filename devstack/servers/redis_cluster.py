# SPDX-License-Identifier: Apache-2.0
"""Private Redis Cluster on loopback: primaries with a replica each."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from devstack.deploy.users.folder import Passwords, private_folder
from devstack.deploy.users.redis_users import REPLICA, RedisUser
from devstack.servers import ports
from devstack.servers.errors import ServerError, ServerNotReady
from devstack.servers.ports import LOOPBACK
from devstack.servers.process import poll
from devstack.servers.redis import AppendFsync, RedisServer

NODE_TIMEOUT_MS = 1000  # silence after which other nodes consider a node dead; determines the time to join
JOIN_SECONDS = 60.0
BUS_PORT_OFFSET = 10000  # distance of a node's bus port from its client port
# Both ports are below the kernel's ephemeral range, which begins at 32768.
FIRST, LAST = 20000, 22700
SETTINGS = (
    "cluster-enabled yes",
    "cluster-config-file nodes.conf",
    f"cluster-node-timeout {NODE_TIMEOUT_MS}",
    # The failure of one partition's primary must not affect the others.
    "cluster-require-full-coverage no",
    # Replicas may take over after any silence, because the epoch protects against their missing writes.
    "cluster-replica-validity-factor 0",
)


class RedisCluster:
    """Cluster of ``primaries`` servers, each with a replica that replaces it after ``down_ms`` of silence."""

    def __init__(
        self,
        folder: Path,
        *,
        primaries: int = 3,
        binary: Path | None = None,
        appendonly: AppendFsync = "everysec",
        users: Sequence[RedisUser] = (),
        down_ms: int = NODE_TIMEOUT_MS,
    ) -> None:
        self.folder = folder.absolute()
        self._primaries = primaries
        self._binary = binary
        self._appendonly = appendonly
        self._users = (*users, REPLICA) if users else ()
        self._down_ms = down_ms
        self._passwords = Passwords(self.folder)
        self.nodes: list[RedisServer] = []

    def start(self) -> None:
        private_folder(self.folder)
        try:
            for number in range(2 * self._primaries):
                self.nodes.append(self._node(number))
                self.nodes[-1].start()
            self._join()
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()

    def url(self, user: str | None = None) -> str:
        login = f"{user}:{self._passwords.of(user)}@" if user else ""
        return f"redis+cluster://{login}{','.join(f'{LOOPBACK}:{node.port}' for node in self.nodes)}"

    def owner(self, key: str) -> RedisServer:
        """Return the live primary of ``key``. Raises ServerError if no live node knows it."""
        slot = key_slot(key.encode())
        for node in self._alive():
            for first, last, primary, *_replicas in _slots(node):
                if first <= slot <= last:
                    return next(candidate for candidate in self.nodes if candidate.port == primary[1])
        raise ServerError(f"No live node of the cluster in {self.folder} knows the owner of {key!r}.")

    def replica_of(self, primary: RedisServer) -> RedisServer:
        for node in self._alive():
            if _ask(node, "INFO", "replication").get("master_port") == primary.port:
                return node
        raise ServerError(f"No live node replicates the one on port {primary.port}.")

    def _alive(self) -> Iterator[RedisServer]:
        return (node for node in self.nodes if node.pid is not None)

    def _node(self, number: int) -> RedisServer:
        auth = [f"masteruser {REPLICA.name}", f"masterauth {self._passwords.of(REPLICA.name)}"] if self._users else []
        return RedisServer(
            self.folder / f"n{number}",
            binary=self._binary,
            appendonly=self._appendonly,
            port=free_node_port(),
            users=self._users,
            passwords=self._passwords,
            settings=(*SETTINGS, *auth),
            name=f"node {number} of the Redis Cluster",
        )

    def _join(self) -> None:
        primaries, replicas = self.nodes[: self._primaries], self.nodes[self._primaries :]
        for number, node in enumerate(primaries):
            first = number * REDIS_CLUSTER_HASH_SLOTS // self._primaries
            last = (number + 1) * REDIS_CLUSTER_HASH_SLOTS // self._primaries
            _ask(node, "CLUSTER ADDSLOTS", *range(first, last))
            _ask(node, "CLUSTER SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            _ask(node, "CLUSTER MEET", LOOPBACK, self.nodes[0].port)
        self._wait("know each other", lambda: all(self._knows_all(node) for node in self.nodes))
        for primary, replica in zip(primaries, replicas, strict=True):
            _ask(replica, "CLUSTER REPLICATE", _ask(primary, "CLUSTER MYID"))
        self._wait("replicate", lambda: all(_in_step(replica) for replica in replicas))
        # The other nodes do not vote for a replica before they know that it is one.
        self._wait("agree", lambda: all(self._agrees(node) for node in self.nodes))
        for node in self.nodes:
            _ask(node, "CONFIG", "SET", "cluster-node-timeout", self._down_ms)

    def _knows_all(self, node: RedisServer) -> bool:
        info = _ask(node, "CLUSTER INFO")
        return bool(info["cluster_known_nodes"] == str(len(self.nodes)) and info["cluster_state"] == "ok")

    def _agrees(self, node: RedisServer) -> bool:
        slots = _slots(node)
        return len(slots) == self._primaries and all(len(owners) == 2 for _first, _last, *owners in slots)

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        if not poll(ready, JOIN_SECONDS):
            raise ServerNotReady(f"The nodes of the cluster in {self.folder} do not {what}; see their logs there.")


def _ask(node: RedisServer, *command: Any) -> Any:
    with node.client() as client:
        return client.execute_command(*command)


def _slots(node: RedisServer) -> list[Any]:
    # Two words, because redis-py would parse the reply to one word differently in each version.
    return list(_ask(node, "CLUSTER", "SLOTS"))


def _in_step(replica: RedisServer) -> bool:
    return bool(_ask(replica, "INFO", "replication").get("master_link_status") == "up")


def free_node_port() -> int:
    """Return a free client port whose bus port is free, too. Raises ServerError."""
    chance = random.SystemRandom()
    for _ in range(ports.ATTEMPTS):
        port = chance.randrange(FIRST, LAST)
        if ports.is_free(port) and ports.is_free(port + BUS_PORT_OFFSET):
            return port
    raise ServerError(f"No free pair of TCP ports was found from {FIRST} on {LOOPBACK}.")
