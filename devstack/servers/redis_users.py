# SPDX-License-Identifier: Apache-2.0
"""Redis ACL users: each service reaches its own keys with the commands it needs, and no agent has a user."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from devstack.servers.folder import Passwords

# What a client library sends on its own: none of it reads or writes a key.
SESSION = ("+auth", "+hello", "+ping", "+select", "+reset", "+client|setname", "+client|id")
TRANSACTION = ("+multi", "+exec", "+discard", "+watch", "+unwatch")
KEY_LIFE = ("+del", "+unlink", "+exists", "+type", "+expire", "+pexpire", "+persist", "+ttl", "+pttl")
# Loading and running scripts, not flushing, killing or debugging those of others.
SCRIPTS = ("+eval", "+evalsha", "+script|load", "+script|exists", "+time")
# INFO tells the store's identity (run id, replication id), which the epoch stands on.
IDENTITY = ("+info",)
# To learn from a cluster who the primary is, and from the primary which replicas have a write.
FAILOVER = ("+cluster|slots", "+wait")
DATA = ("+@string", "+@hash", "+@set", "+@sortedset", "+@stream", "+@list")
STORE_COMMANDS = (*DATA, "-@dangerous", *SESSION, *TRANSACTION, *KEY_LIFE, *SCRIPTS, *IDENTITY, *FAILOVER)
BUS_COMMANDS = (*DATA, "+@pubsub", "-@dangerous", *SESSION, *TRANSACTION, *KEY_LIFE, *SCRIPTS, *IDENTITY)


@dataclass(frozen=True)
class RedisUser:
    """An ACL user: key patterns, channel patterns and command rules, in Redis' own syntax."""

    name: str
    keys: tuple[str, ...]
    commands: tuple[str, ...]
    channels: tuple[str, ...] = ()

    def line(self, password: str) -> str:
        """The user's line in an ACL file; the password goes in as its digest only."""
        digest = hashlib.sha256(password.encode()).hexdigest()
        keys = (f"~{pattern}" for pattern in self.keys)
        channels = (f"&{pattern}" for pattern in self.channels)
        rules = ["on", f"#{digest}", "resetkeys", *keys, "resetchannels", *channels, "-@all", *self.commands]
        return f"user {self.name} {' '.join(rules)}"


SCHEDULER = RedisUser("scheduler", ("gantt:{p:*",), STORE_COMMANDS)
CONDUCTOR = RedisUser("conductor", ("gantt:{conductor}:*",), STORE_COMMANDS)
BUS = RedisUser("bus", ("*",), BUS_COMMANDS, ("*",))
# What a replica logs in to its primary as, in a cluster too.
REPLICA = RedisUser("replica", (), ("+psync", "+replconf", "+ping"))
# What sentinels log in to the servers as: they watch, promote, and turn clients away from who is demoted.
SENTINEL = RedisUser(
    "sentinel",
    (),
    (
        *("+multi", "+exec", "+slaveof", "+replicaof", "+ping", "+info", "+role", "+publish", "+subscribe"),
        *("+client|setname", "+client|kill", "+config|rewrite", "+script|kill"),
    ),
    ("__sentinel__:hello",),
)
# Users of the sentinels themselves: services ask them one question, sentinels ask each other whatever they need.
WHEREABOUTS = RedisUser("whereabouts", (), ("+sentinel|master", "+ping"))
PEER = RedisUser("peer", (), ("+@all",), ("*",))
# The run folder's owner: start, stop, replication, promotion. No service knows its password.
ADMIN = RedisUser("admin", ("*",), ("+@all",), ("*",))

# Nobody can log in as the default user. It keeps its rights, because Redis 7.0 replays the append-only file in its
# name: without them every write of a script is refused then, and what was durable is gone after a restart.
DEFAULT_USER = "user default off resetpass ~* &* +@all"

STORE_USERS = (SCHEDULER, CONDUCTOR)
BUS_USERS = (BUS,)


def acl_file(users: Iterable[RedisUser], passwords: Passwords) -> str:
    """The text of an ACL file: the default user off, then each user on its own line."""
    lines = [user.line(passwords.of(user.name)) for user in users]
    return "\n".join([DEFAULT_USER, *lines, ""])
