# SPDX-License-Identifier: Apache-2.0
"""The OCI image: a whole cluster as containers of a pod, without root and on a root that nobody may write."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.deploy.packaging import oci_image
from devstack.deploy.packaging.distribution import Distribution
from tests.functional.packaging.pod import Pod
from tests.functional.packaging.programs import need_programs

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]

BUS, STORE = 6379, 6380  # in a network of their own
CONFIGURATION = f"""
[DEFAULT]
transport_url = gantt+redis://127.0.0.1:{BUS}/0
[rpc]
shared_agent_hosts = rack[1-2]
[store]
url = redis://127.0.0.1:{STORE}/0
[conductor_store]
url = redis://127.0.0.1:{STORE}/0
[scheduler]
workers = 2
[compute]
hosts = rack[1-2]
nodes_per_host = 2
report_interval = 1
state_path = /tmp/compute
[metrics]
"""
METRICS = {"conductor": 9401, "scheduler": 9402, "compute": 9403}
READY = "import sys, urllib.request as r; r.urlopen('http://127.0.0.1:' + sys.argv[1] + '/readyz', timeout=5)"


@pytest.fixture(scope="module")
def pod(debian: list[Path], release: Distribution) -> Iterator[Pod]:
    """A pod of this checkout's image, without containers."""
    need_programs({"umoci": "umoci", "runc": "runc", "ip": "iproute2"})
    with tempfile.TemporaryDirectory(prefix="gantt-pod-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the pod's root is not the owner of what is above its folder
        (folder / "pod").mkdir()
        common = next(path for path in debian if path.name.startswith("gantt-common_"))
        tag = oci_image.build(common, folder / "pod" / "layout")
        assert tag == release.version
        with Pod(folder / "pod", f"{folder / 'pod' / 'layout'}:{tag}").running() as pod:
            yield pod


@pytest.fixture(scope="module")
def configurations(pod: Pod) -> dict[str, Path]:
    """A folder with gantt.conf for each service, and one for the operator's command."""
    folders = {}
    for name in (*METRICS, "client"):
        folders[name] = pod.folder / "conf" / name
        folders[name].mkdir(parents=True)
        listen = f"listen = 127.0.0.1:{METRICS[name]}\n" if name in METRICS else ""
        (folders[name] / "gantt.conf").write_text(CONFIGURATION + listen)
    return folders


def test_container_is_an_ordinary_user_without_capabilities(pod: Pod) -> None:
    shown = pod.run("sh", "-c", "id -u; id -g; grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status").stdout

    user, group, *lines = shown.splitlines()
    assert (user, group) == (str(oci_image.USER), str(oci_image.USER))
    assert {line.split()[1] for line in lines if line.startswith("Cap")} == {"0" * 16}
    assert "NoNewPrivs:\t1" in lines


def test_root_is_read_only_and_programs_change_no_user(pod: Pod) -> None:
    for path in ("/x", "/etc/x", "/opt/gantt/x", "/var/log/x"):
        assert "Read-only file system" in pod.run("touch", path).stderr, path
    assert pod.run("touch", "/tmp/x").returncode == 0  # noqa: S108 - a file system of the container
    assert pod.run("find", "/", "-xdev", "-perm", "/6000", "-type", "f").stdout == ""


def test_command_without_arguments_is_the_operators_help(pod: Pod, built: Distribution) -> None:
    command = json.loads((pod.folder / "image" / "config.json").read_text())["process"]["args"]

    assert command == ["gantt", "--help"]
    assert pod.run(*command).returncode == 0
    assert pod.run("gantt", "--version").stdout.split()[-1] == built.version


def test_pod_serves_and_boots_servers(pod: Pod, configurations: dict[str, Path]) -> None:
    binary = pod.run("find", "/opt/gantt/lib", "-name", "valkey-server", "-perm", "/1").stdout.strip()
    for name, port in (("bus", BUS), ("store", STORE)):
        save = ("--save", "", "--dir", "/tmp", "--appendonly", "yes" if name == "store" else "no")  # noqa: S108 - as above
        pod.start(name, binary, "--bind", "127.0.0.1", "--port", str(port), *save)
    for name in METRICS:
        pod.start(name, f"gantt-{name}", config=configurations[name])

    for name, port in METRICS.items():
        answer = ("python3", "-c", READY, str(port))
        pod.eventually(lambda answer=answer: pod.run(*answer).returncode == 0, f"{name} is ready")
    done = pod.run(
        *("gantt", "boot", "--flavor", "m1.small", "--count", "3", "--wait", "--timeout", "60", "-f", "json"),
        config=configurations["client"],
    )

    assert [item["status"] for item in json.loads(done.stdout)] == ["ACTIVE"] * 3, done.stderr
    verified = pod.run("gantt", "claim", "verify", config=configurations["client"])
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_stopped_containers_drain(pod: Pod) -> None:
    for name in ("compute", "scheduler", "conductor"):
        container = pod.containers[name]
        pod.inside("runc", "--root", str(pod.folder / "state"), "kill", name, "TERM")
        assert container.process.wait(90) == 0, container.output.read_text()[-2000:]
