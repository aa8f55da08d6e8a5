# SPDX-License-Identifier: Apache-2.0
"""Redis server of the embedded bus: settings, and ACL users with the same rights as on RabbitMQ."""

from collections.abc import Iterable

from devstack.deploy.users import redis_users
from devstack.deploy.users.redis_users import AclSelector, RedisUser
from rpcapi.access import broker_users
from rpcapi.access.broker_users import RabbitUser, exchanges_of
from rpcapi.conf.rpc import MAX_MESSAGE_BYTES
from rpcapi.messaging.drivers import redis_keys

# Rights to send without reading. EXPIRE removes only what the same user sent.
APPEND = ("+llen", "+lpush", "+expire")
LISTS = ("+llen", "+lpush", "+rpush", "+rpop", "+brpop", "+expire")
RECORDS = ("+hset", "+hget", "+hdel", "+zadd", "+zrem", "+zrangebyscore")
MEMBERS = ("+zadd", "+zrem", "+zremrangebyscore", "+expire")
SESSION = (*redis_users.SESSION, *redis_users.TRANSACTION, *redis_users.SCRIPTS)


def bus_user(user: RabbitUser) -> RedisUser:
    return RedisUser(user.name, (), SESSION, selectors=(*_sending(user), *_reading(user), *_serving(user)))


def _sending(user: RabbitUser) -> Iterable[AclSelector]:
    """Return the rights to send calls and replies: appending to the user's own lists."""
    exchanges = exchanges_of(user.calls)
    queues = [f"{kind}:{user.name}:{exchange}:*" for kind in ("topic", "server") for exchange in exchanges]
    # A server reads replies to its calls, bells and fan-out requests from the same lists.
    readers = {user.name, *broker_users.servers_of(user.calls), *broker_users.receivers_of_replies(user.name)}
    yield _selector(APPEND, *queues, *(f"inbox:{user.name}:{reader}:*" for reader in sorted(readers)))
    yield _selector(("+set", "+exists"), f"receipt:{user.name}:*")
    yield _selector(("+get",), *(f"process:{exchange}:*" for exchange in exchanges))
    if user.fans_out:
        yield _selector(("+zrangebyscore",), *(f"fanout:{exchange}:*" for exchange in exchanges_of(user.fans_out)))


def _reading(user: RabbitUser) -> Iterable[AclSelector]:
    """Return the rights to read the user's inboxes, and the queues of the services that it serves."""
    inboxes = [f"inbox:{sender}:{user.name}:*" for sender in broker_users.BUS_USERS]
    queues = [
        f"{kind}:{caller}:{exchange}:*"
        for service, exchange in zip(user.serves, exchanges_of(user.serves), strict=True)
        for kind in ("topic", "server")
        for caller in broker_users.callers_of(service)
    ]
    received = [f"{kind}:{user.name}" for kind in ("received", "received_index")]
    # Scripts of a reader declare these keys.
    yield _selector((*LISTS, *RECORDS, "+evalsha"), *inboxes, *queues, *received)
    letters = "*" if user.name in broker_users.READERS_OF_DEAD_LETTERS else user.name
    yield _selector(("+lpush", "+ltrim", "+expire"), f"dead_letters:{user.name}")
    yield _selector(("+lrange",), f"dead_letters:{letters}")


def _serving(user: RabbitUser) -> Iterable[AclSelector]:
    exchanges = exchanges_of(user.serves)
    if exchanges:
        yield _selector(("+set",), *(f"process:{exchange}:*" for exchange in exchanges))
        yield _selector(MEMBERS, *(f"fanout:{exchange}:*" for exchange in exchanges))


def _selector(commands: Iterable[str], *keys: str) -> AclSelector:
    return AclSelector(tuple(f"{redis_keys.PREFIX}:{key}" for key in keys), tuple(commands))


SERVICE_BUS_USERS = tuple(map(bus_user, broker_users.SERVICE_USERS))
# Lines of configuration. Redis closes connections that send a larger value.
BUS_SETTINGS = (f"proto-max-bulk-len {MAX_MESSAGE_BYTES}",)
