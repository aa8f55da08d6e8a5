# SPDX-License-Identifier: Apache-2.0
"""What machines of a deployment show of themselves."""

from tests.functional.systemd.cluster import gantt
from tests.functional.systemd.machine import Machine

# Sockets that accept connections, by their state in /proc/net/tcp.
LISTENING = "0A"
WITHOUT_TLS = {22, 4369}  # ports of ssh, and of Erlang's port mapper
CLIENT_FILES = {"CAfile": "ca.pem", "cert": "client.pem", "key": "client.key"}


def listening_ports(machine: Machine) -> set[int]:
    """Return the TCP ports that other machines could connect to."""
    rows = machine.run("cat", "/proc/net/tcp", "/proc/net/tcp6").stdout.splitlines()
    fields = [row.split() for row in rows]
    sockets = [row[1].split(":") for row in fields if row[3] == LISTENING]
    return {int(port, 16) for address, port in sockets if not address.endswith("7F")}  # 127.0.0.1, in little endian


def serial_number(machine: Machine, host: str, port: int) -> str:
    """Return the serial number of a server's certificate, of which name and authority are verified."""
    files = " ".join(f"-{option} /etc/gantt/tls/{name}" for option, name in CLIENT_FILES.items())
    connect = f"openssl s_client -connect {host}:{port} -verify_hostname {host} -verify_return_error {files}"
    return machine.script(f"{connect} < /dev/null 2> /dev/null | openssl x509 -noout -serial")


def secrets(machine: Machine, files: str) -> dict[str, str]:
    """Return the text of each file that matches a pattern of bash, without a newline, with which only some end."""
    read = f'for file in {files}; do text=$(cat "$file"); printf "%s %s\\n" "$file" "$text"; done'
    rows = (line.partition(" ") for line in machine.script(read).splitlines())
    return {file: text for file, _, text in rows}


def epochs(machine: Machine) -> dict[str, int]:
    """Return the epoch of each partition."""
    return {str(partition["name"]): int(str(partition["epoch"])) for partition in gantt(machine, "partition", "list")}


def server_statuses(machine: Machine) -> dict[str, str]:
    """Return the status of each server."""
    return {str(server["uuid"]): str(server["status"]) for server in gantt(machine, "server", "list")}


def active_servers(machine: Machine) -> set[str]:
    return {uuid for uuid, status in server_statuses(machine).items() if status == "ACTIVE"}


def services(machine: Machine) -> set[tuple[str, str, str]]:
    """Return binary, host and partition of the services that are up; raises AssertionError if others are listed."""
    rows = gantt(machine, "service", "list")
    assert {row["state"] for row in rows} <= {"up"}, rows
    return {(str(row["binary"]), str(row["host"]), str(row["partition"])) for row in rows}
