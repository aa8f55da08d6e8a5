# SPDX-License-Identifier: Apache-2.0
"""Users of a deployment on several machines.

``python -m devstack.deploy.users.deployment_users FOLDER CONTROLLER...`` writes ``rabbitmq/definitions.json``,
``redis/redis.acl``, ``redis/sentinel.acl`` and one NAME.password per user. Existing passwords are kept.
"""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from devstack.deploy.users import redis_users
from devstack.deploy.users.errors import DevstackError
from devstack.deploy.users.folder import Passwords, private_folder, write_private
from devstack.deploy.users.rabbitmq_users import definitions
from rpcapi.access.broker_users import SERVICE_USERS, RabbitUser

SERVICES = ("scheduler", "conductor", "reader")  # roles with one user per controller
OPERATOR = "operator"
SERVERS = (*redis_users.STORE_USERS, redis_users.REPLICA, redis_users.SENTINEL, redis_users.ADMIN)
SENTINELS = (redis_users.SENTINEL_READER, redis_users.PEER, redis_users.ADMIN)


def broker_users(controllers: Sequence[str]) -> list[RabbitUser]:
    """Return the operator and one user ROLE.CONTROLLER per role; commands enrol agents and clients."""
    users = {user.name: user for user in SERVICE_USERS}
    services = [dataclasses.replace(users[role], name=f"{role}.{host}") for host in controllers for role in SERVICES]
    return [users[OPERATOR], *services]


def write(folder: Path, controllers: Sequence[str]) -> None:
    rabbitmq, redis = private_folder(folder / "rabbitmq"), private_folder(folder / "redis")
    write_private(rabbitmq / "definitions.json", definitions(broker_users(controllers), Passwords(rabbitmq)))
    write_private(redis / "redis.acl", redis_users.acl_file(SERVERS, Passwords(redis)))
    write_private(redis / "sentinel.acl", redis_users.acl_file(SENTINELS, Passwords(redis)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m devstack.deploy.users.deployment_users",
        description="Write the users of RabbitMQ, Redis and Sentinel, each with a password of its own.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder of yours; an existing password is kept")
    parser.add_argument("controllers", nargs="+", metavar="CONTROLLER", help="the host name of a controller")
    options = parser.parse_args(arguments)
    try:
        write(private_folder(options.folder), options.controllers)
    except DevstackError as why:
        print(why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
