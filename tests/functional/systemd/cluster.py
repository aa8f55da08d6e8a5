# SPDX-License-Identifier: Apache-2.0
"""A cluster on a booted machine: its configuration, its bus and store, and its units."""

import json

from devstack.deploy.users.redis_users import CONDUCTOR, PLACEMENT, SCHEDULER, RedisUser
from devstack.servers.redis_bus_users import SERVICE_BUS_USERS
from tests.functional.systemd.machine import Machine

# The machine is temporary and has no network: its passwords protect nothing.
PASSWORD = "only-for-this-boot"  # noqa: S105
SCHEDULERS = "gantt-scheduler@1.service"
UNITS = ("gantt-conductor.service", SCHEDULERS, "gantt-compute.service", "gantt-placement.service")
BUS_URL = f"gantt+redis://{{user}}:{PASSWORD}@/0?socket=/run/redis-bus/redis.sock"
STORE_URL = f"unix://{{user}}:{PASSWORD}@/run/redis-store/redis.sock?db=0"

AGENTS = "[rpc]\nshared_agent_hosts = rack[1-2]\n"
# Options of each service without passwords; the operator's command reads gantt.conf.
SETTINGS = {
    "gantt": f"[DEFAULT]\ntransport_url = {BUS_URL.format(user='operator')}\n",
    "gantt-conductor": AGENTS,
    "gantt-scheduler": f"{AGENTS}[scheduler]\nworkers = 2\n",
    "gantt-compute": "[compute]\nhosts = rack[1-2]\nnodes_per_host = 2\nreport_interval = 1\n",
    "gantt-placement": "[api]\nauth_strategy = noauth2\n[placement]\nworkers = 2\n",
}
# Of each service: the user of the bus if it uses one, and further options with passwords.
SECRETS = {
    "gantt-conductor": (CONDUCTOR.name, f"[conductor_store]\nurl = {STORE_URL.format(user=CONDUCTOR.name)}\n"),
    "gantt-scheduler": (SCHEDULER.name, f"[store]\nurl = {STORE_URL.format(user=SCHEDULER.name)}\n"),
    "gantt-compute": ("compute", ""),
    "gantt-placement": (None, f"[store]\nurl = {STORE_URL.format(user=PLACEMENT.name)}\n"),
}


def start_redis(machine: Machine, name: str, appendonly: str, *users: RedisUser) -> None:
    """Start an instance of Debian's redis-server, on a Unix socket, with these users and no other."""
    users_file = f"/etc/redis/{name}.acl"
    lines = ["user default off resetpass resetkeys resetchannels -@all", *(user.line(PASSWORD) for user in users)]
    machine.write(users_file, "\n".join([*lines, ""]))
    machine.write(
        f"/etc/redis/redis-{name}.conf",
        f"port 0\nunixsocket /run/redis-{name}/redis.sock\nunixsocketperm 777\ndir /var/lib/redis\n"
        f'save ""\nappendonly {appendonly}\nappenddirname {name}\naclfile {users_file}\n',
    )
    machine.run("chown", "redis", users_file, f"/etc/redis/redis-{name}.conf")
    machine.start(f"redis-server@{name}.service")


def configure_cluster(machine: Machine, *tmpfiles: str) -> None:
    """Write the configuration of every service; ``tmpfiles`` are the files of tmpfiles.d with the modes."""
    for name, text in SETTINGS.items():
        machine.write(f"/etc/gantt/{name}.conf", text)
    for name, (user, text) in SECRETS.items():
        bus = f"[DEFAULT]\ntransport_url = {BUS_URL.format(user=user)}\n" if user else ""
        machine.write(f"/etc/gantt/{name}.secrets.conf", bus + text)
    machine.run("systemd-tmpfiles", "--create", *tmpfiles)


def start_cluster(machine: Machine) -> None:
    """Enable and start the units, then bus and store: services must log that these are away, wait, and then serve."""
    machine.run("systemctl", "enable", "--quiet", *UNITS, "gantt.target")
    machine.run("systemctl", "start", "--no-block", "gantt.target")
    machine.eventually(
        lambda: all("is unreachable" in machine.journal(unit) for unit in UNITS),
        "every unit logging that a server is away",
    )
    assert {machine.property(unit, "ActiveState") for unit in UNITS} == {"activating"}
    start_redis(machine, "bus", "no", *SERVICE_BUS_USERS)
    start_redis(machine, "store", "yes", SCHEDULER, PLACEMENT, CONDUCTOR)
    machine.start("gantt.target", *UNITS)


def gantt(machine: Machine, *arguments: str) -> list[dict[str, object]]:
    """Run the operator's command inside; return its JSON output."""
    return json.loads(machine.run("/opt/gantt/bin/gantt", *arguments, "-f", "json").stdout)


def boot(machine: Machine, count: int) -> list[str]:
    """Boot servers, which must become ACTIVE; return their uuids."""
    servers = gantt(machine, "boot", "--flavor", "m1.small", "--count", str(count), "--wait", "--timeout", "60")
    assert [server["status"] for server in servers] == ["ACTIVE"] * count
    return [str(server["uuid"]) for server in servers]
