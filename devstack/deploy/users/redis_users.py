# SPDX-License-Identifier: Apache-2.0
"""Redis ACL users: each service may use only its own keys and the commands it needs. Agents have no user."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from devstack.deploy.users.folder import Passwords
from scheduler_svc.store.redis.keys import KEYS

# Commands that client libraries send by themselves; they read and write no key.
SESSION = ("+auth", "+hello", "+ping", "+select", "+reset", "+client|setname", "+client|id")
TRANSACTION = ("+multi", "+exec", "+discard", "+watch", "+unwatch")
KEY_LIFE = ("+del", "+unlink", "+exists", "+type", "+expire", "+pexpire", "+persist", "+ttl", "+pttl")
# Loading and running scripts, but not flushing, killing or debugging them.
SCRIPTS = ("+eval", "+evalsha", "+script|load", "+script|exists", "+time")
# INFO returns the store's run id and replication id, on which the epoch is based.
IDENTITY = ("+info",)
# Services measure the size of their collections, which are bounded in bytes.
MEASURING = ("+memory|usage",)
# Finding the primary of a cluster, and waiting until replicas have a write.
FAILOVER = ("+cluster|slots", "+wait")
DATA = ("+@string", "+@hash", "+@set", "+@sortedset", "+@stream", "+@list")
STORE_COMMANDS = (*DATA, "-@dangerous", *SESSION, *TRANSACTION, *KEY_LIFE, *SCRIPTS, *IDENTITY, *FAILOVER, *MEASURING)


@dataclass(frozen=True)
class AclSelector:
    """Additional command rules for some key patterns of a user."""

    keys: tuple[str, ...]
    commands: tuple[str, ...]

    def __str__(self) -> str:
        return f"(-@all {' '.join([*self.commands, *(f'~{pattern}' for pattern in self.keys)])})"


@dataclass(frozen=True)
class RedisUser:
    """ACL user: key patterns, channel patterns, command rules and selectors in Redis' syntax."""

    name: str
    keys: tuple[str, ...]
    commands: tuple[str, ...]
    channels: tuple[str, ...] = ()
    selectors: tuple[AclSelector, ...] = ()

    def line(self, password: str) -> str:
        digest = hashlib.sha256(password.encode()).hexdigest()
        keys = (f"~{pattern}" for pattern in self.keys)
        channels = (f"&{pattern}" for pattern in self.channels)
        rules = ["on", f"#{digest}", "resetkeys", *keys, "resetchannels", *channels, "-@all", *self.commands]
        rules += map(str, self.selectors)
        return f"user {self.name} {' '.join(rules)}"


SCHEDULER = RedisUser("scheduler", ("gantt:{p:*",), STORE_COMMANDS)
# Keys of a partition that gantt-placement does not need: decisions, and the partitions of requests.
KEYS_WITHOUT_PLACEMENT = frozenset({"decided", "decisions", "pins", "pins_at"})
ACKNOWLEDGED = "acknowledged"  # rewritten before each wait for replicas
PLACEMENT = RedisUser(
    "placement",
    (
        *(f"gantt:{{p:*}}:{word}" for word in KEYS if word not in {*KEYS_WITHOUT_PLACEMENT, ACKNOWLEDGED, "state"}),
        "gantt:{p:*}:state:*",
    ),
    (
        *("+hget", "+hmget", "+hgetall", "+hkeys", "+hlen", "+hexists", "+hscan"),
        *("+hset", "+hsetnx", "+hdel", "+hincrby"),
        *("+zadd", "+zrem", "+zlexcount", "+zrangebylex", "+zrangebyscore"),
        *("+sadd", "+srem", "+sismember", "+scard", "+xadd", "+xread", "+del"),
        *("+multi", "+exec", "+discard", "+eval", "+evalsha", "+script|load", "+time"),
        *SESSION,
        *IDENTITY,
        *FAILOVER,
    ),
    selectors=(AclSelector((f"gantt:{{p:*}}:{ACKNOWLEDGED}",), ("+set",)),),
)
# Keys that gantt-nova-bridge writes: documents, their log, numbers of built instances, and members of aggregates with
# repeated decisions.
BRIDGE_NAMESPACES = ("compute_node", "nova_bridge", "aggregate", "gantt.nova_bridge")
BRIDGE_STATES = tuple(f"gantt:{{p:*}}:state:{namespace}" for namespace in BRIDGE_NAMESPACES)
BRIDGE_WRITTEN = ("meta", "log", "eligible", "built")
# Keys that a new epoch changes, which any connection may begin; then keys that the scripts only read.
EPOCH_WRITTEN = ("awaited", "beats", "generations")
BRIDGE_READ = ("opened", "reports", "alive", "capacity")
RUN_SCRIPTS = ("+eval", "+evalsha")
NOVA_BRIDGE = RedisUser(
    "nova-bridge",
    (*BRIDGE_STATES, *(f"gantt:{{p:*}}:{word}" for word in (*BRIDGE_WRITTEN, *EPOCH_WRITTEN))),
    (
        *("+hget", "+hmget", "+hkeys", "+hset", "+hdel", "+hincrby", "+sadd", "+zadd", "+xadd", "+del"),
        *("+multi", "+exec", "+discard", "+script|load", "+time"),
        *SESSION,
        *IDENTITY,
        *FAILOVER,
    ),
    selectors=(
        AclSelector(tuple(f"gantt:{{p:*}}:{word}" for word in BRIDGE_READ), ("+hget", "+hmget", "+hkeys", "+hgetall")),
        # All scripts of a partition declare the claims' keys; Redis checks the commands inside them one by one.
        AclSelector(
            (
                *BRIDGE_STATES,
                *(f"gantt:{{p:*}}:{word}" for word in KEYS if word not in {*KEYS_WITHOUT_PLACEMENT, "state"}),
            ),
            RUN_SCRIPTS,
        ),
        AclSelector((f"gantt:{{p:*}}:{ACKNOWLEDGED}",), ("+set",)),
    ),
)
CONDUCTOR = RedisUser("conductor", ("gantt:{conductor}:*",), STORE_COMMANDS)
# Login of replicas at their primary, also in a cluster.
REPLICA = RedisUser("replica", (), ("+psync", "+replconf", "+ping"))
# Login of sentinels at the servers, to monitor, promote, and disconnect clients of a demoted primary.
SENTINEL = RedisUser(
    "sentinel",
    (),
    (
        *("+multi", "+exec", "+slaveof", "+replicaof", "+ping", "+info", "+role", "+publish", "+subscribe"),
        *("+client|setname", "+client|kill", "+config|rewrite", "+script|kill"),
    ),
    ("__sentinel__:hello",),
)
# Users of the sentinels themselves: services may only ask for the primary, sentinels may do everything.
SENTINEL_READER = RedisUser("whereabouts", (), ("+sentinel|master", "+ping"))
PEER = RedisUser("peer", (), ("+@all",), ("*",))
# For the run folder's owner: start, stop, replication, promotion. No service has its password.
ADMIN = RedisUser("admin", ("*",), ("+@all",), ("*",))

# The default user cannot log in, but keeps its permissions: Redis 7.0 replays the append-only file as this user, and
# without them would refuse the writes of scripts and lose durable data at a restart.
DEFAULT_USER = "user default off resetpass ~* &* +@all"

STORE_USERS = (SCHEDULER, PLACEMENT, NOVA_BRIDGE, CONDUCTOR)
STORE_USER_NAMES = frozenset(user.name for user in STORE_USERS)


def acl_file(users: Iterable[RedisUser], passwords: Passwords) -> str:
    lines = [user.line(passwords.of(user.name)) for user in users]
    return "\n".join([DEFAULT_USER, *lines, ""])
