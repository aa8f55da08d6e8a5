# SPDX-License-Identifier: Apache-2.0
"""devstack/settings and devstack/plugin.sh, phase by phase as stack.sh, unstack.sh and clean.sh call them."""

import getpass
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from oslo_config import cfg

from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import answers, free_port
from devstack.servers.process import ServerProcess
from devstack.servers.redis_binary import redis_binary
from rpcapi.messaging import bus
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import from_nova, nova_bridge, placement_service
from tests.support.servers import missing

ROOT = Path(__file__).parents[4]
FUNCTIONS = Path(__file__).with_name("devstack_functions.sh")
SERVICES = "key,rabbit,mysql,n-api,n-cpu,n-cond,n-sch,placement-api,placement-client,g-api"  # of them DevStack's own
OWN_SERVICES = ["gantt-store", "gantt-placement", "gantt-nova-bridge", "gantt-scheduler"]
STACK = ("stack pre-install", "stack install", "stack post-config", "stack extra", "stack test-config")
PASSWORD = "secret"  # noqa: S105
NOVA_CONF = """
[scheduler]
workers = 2
[filter_scheduler]
enabled_filters = ComputeFilter,ComputeCapabilitiesFilter,SameHostFilter,DifferentHostFilter
track_instance_changes = False
"""


class DevStack:
    """A folder in which the plugin is run with stand-ins for DevStack's functions."""

    def __init__(self, folder):
        self.folder = folder
        self.calls_file = folder / "calls"
        self.conf = folder / "etc"
        self.nova_conf = folder / "nova.conf"
        self.nova_conf.write_text(NOVA_CONF)
        self.port = free_port()
        self.make_environment()

    def make_environment(self):
        """Make what pip would install: the command that translates nova.conf is the real one."""
        programs = self.folder / "venv" / "bin"
        programs.mkdir(parents=True)
        script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        script += "from scheduler_svc.cmd.nova_config import main; sys.exit(main(sys.argv[1:]))"
        for name, command in (
            ("gantt-nova-config", f'exec {shlex.quote(sys.executable)} -c {shlex.quote(script)} "$@"'),
            ("pip", f'echo pip "$@" >> {self.calls_file}'),
        ):
            (programs / name).write_text(f"#!/bin/sh\n{command}\n")
            (programs / name).chmod(0o755)

    def run(self, *phases, services=SERVICES, after_settings="", **variables):
        """Source the settings, and the plugin for each phase; return the shell's result."""
        folder = self.folder
        environment = {
            "PATH": os.environ["PATH"],
            "CALLS": str(self.calls_file),
            "ENABLED_SERVICES": services,
            "DEST": str(ROOT.parent),
            "GANTT_DIR": str(ROOT),
            "GANTT_VENV": str(folder / "venv"),
            "GANTT_CONF_DIR": str(self.conf),
            "DATA_DIR": str(folder / "data"),
            "GANTT_STORE_PORT": str(self.port),
            "NOVA_CONF": str(self.nova_conf),
            "STACK_USER": getpass.getuser(),
            "SERVICE_PASSWORD": PASSWORD,
            "SERVICE_HOST": "192.0.2.1",
            "RABBIT_HOST": "192.0.2.1",
            "REGION_NAME": "RegionOne",
            "SERVICE_TIMEOUT": "60",
            "ENABLE_DEBUG_LOG_LEVEL": "False",
            "API_ANSWERS": "True",
            **variables,
        }
        sources = [f"source {ROOT}/devstack/plugin.sh {phase}" for phase in phases]
        lines = [
            "set -o errexit -o xtrace",
            f"source {FUNCTIONS}",
            f"source {ROOT}/devstack/settings",
            after_settings,
            *sources,
            'echo "services: $ENABLED_SERVICES"',
        ]
        command = ["bash", "-c", "\n".join(lines)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)

    def calls(self, name=""):
        """Return the recorded calls that begin with a name."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        return [line for line in lines if line.startswith(name)]

    def read(self, register, *names):
        """Read configuration files as a daemon does."""
        conf = cfg.ConfigOpts()
        bus.register_opts(conf)
        for module in register:
            module.register_opts(conf)
        conf([argument for name in names for argument in ("--config-file", str(self.conf / f"{name}.conf"))])
        return conf


@pytest.fixture
def devstack(tmp_path):
    return DevStack(tmp_path)


@pytest.fixture
def stacked(devstack):
    result = devstack.run(*STACK)
    assert result.returncode == 0, result.stderr
    return devstack


def test_settings_replace_two_services(devstack):
    result = devstack.run()
    services = result.stdout.rpartition("services: ")[2].strip().split(",")
    assert set(services) == {*SERVICES.split(","), *OWN_SERVICES} - {"placement-api", "n-sch"}
    assert devstack.calls() == ["define_plugin gantt"]


def test_environment_is_installed_with_the_extras_that_exist(stacked):
    (venv,) = stacked.calls("python3")
    assert venv == f"python3 -m venv {stacked.folder / 'venv'}"
    (install,) = stacked.calls("pip install")
    folder, _, extras = install.rpartition(" ")[2].rstrip("]").partition("[")
    assert folder == str(ROOT)
    declared = (ROOT / "setup.py").read_text()
    assert all(f'"{extra}": ' in declared for extra in extras.split(","))


def test_services_are_started_after_their_accounts_and_with_programs_that_exist(stacked):
    calls = stacked.calls()
    processes = [call.split() for call in calls if call.startswith("run_process")]
    assert [words[1] for words in processes] == OWN_SERVICES
    first = calls.index(stacked.calls("run_process")[0])
    assert calls.index("create_service_user placement admin") < first
    assert calls.index("rpc_backend_add_vhost gantt") < first
    declared = (ROOT / "setup.py").read_text()
    for words in processes[1:]:
        assert f'"{Path(words[2]).name} = ' in declared or f"{Path(words[2]).name}=" in declared
        files = [words[number + 1] for number, word in enumerate(words) if word == "--config-file"]
        assert files
        assert all(Path(file).exists() for file in files)


def test_catalogue_names_the_api_where_it_is_served(stacked):
    assert "get_or_create_service placement placement Placement Service" in stacked.calls()
    (endpoint,) = stacked.calls("get_or_create_endpoint")
    assert endpoint == "get_or_create_endpoint placement RegionOne http://192.0.2.1:8779"
    assert stacked.calls("wait_for_service") == ["wait_for_service 60 http://192.0.2.1:8779"]
    conf = stacked.read([placement_service], "gantt-placement")
    assert (str(conf.placement.host), conf.placement.port) == ("0.0.0.0", 8779)  # noqa: S104 - DevStack's convention


def test_files_are_read_by_gantt(stacked):
    store = f"redis://:{PASSWORD}@127.0.0.1:{stacked.port}/0"
    # The scheduler: nova.conf's options, and the addresses
    conf = stacked.read([scheduler_conf], "gantt-scheduler.nova", "gantt-scheduler")
    scheduler_conf.check(conf)
    assert (conf.nova.enabled, conf.scheduler.workers, conf.store.url) == (True, 2, store)
    assert conf.nova.transport_url == f"rabbit://stackrabbit:{PASSWORD}@192.0.2.1:5672/"
    novas = {"ComputeFilter", "ComputeCapabilitiesFilter", "SameHostFilter", "DifferentHostFilter"}
    assert set(conf.filter_scheduler.enabled_filters) == {*from_nova.PLACEMENT_FILTERS, *novas}
    assert conf.transport_url == f"rabbit://scheduler:{PASSWORD}@192.0.2.1:5672/gantt"
    # the bridge
    conf = stacked.read([nova_bridge], "gantt-nova-bridge")
    nova_bridge.check(conf)
    assert conf.nova.api_database.endswith("/nova_api?charset=utf8")
    assert conf.store.url == store
    # Placement
    conf = stacked.read([placement_service], "gantt-placement")
    placement_service.check(conf)
    assert (conf.store.url, conf.api.auth_strategy) == (store, "keystone")
    # and all of them are readable by their owner alone.
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in stacked.conf.iterdir()}
    with_secrets = {name for name in modes if name != "gantt-scheduler.nova.conf"}
    assert {modes[name] for name in with_secrets} == {0o600}
    assert len(with_secrets) == 5


def test_bus_has_users_that_can_do_nothing_on_novas(stacked):
    for user in ("scheduler", "operator"):
        assert f"rabbit_setuser {user} {PASSWORD}" in stacked.calls()
        cleared = stacked.calls().index(f"rabbitmqctl clear_permissions {user}")
        granted = stacked.calls().index(f"rabbitmqctl set_permissions -p gantt {user} .* .* .*")
        assert cleared < granted


def test_store_runs_with_the_written_file(stacked):
    try:
        binary = redis_binary()
    except BinaryMissing as why:
        missing(why)
    server = ServerProcess("store", stacked.folder / "pid", stacked.folder / "out")
    server.spawn([str(binary), str(stacked.conf / "redis.conf")], {"PATH": os.environ["PATH"]}, stacked.folder)
    try:
        server.wait_ready(lambda: answers(stacked.port), 60)
        url = stacked.read([scheduler_conf], "gantt-scheduler").store.url
        with redis.Redis.from_url(url) as client:
            assert client.config_get("appendonly") == {"appendonly": "yes"}
            assert Path(client.config_get("dir")["dir"]) == stacked.folder / "data" / "gantt"
        with redis.Redis(port=stacked.port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
    finally:
        server.stop(60)


def test_tls_proxy_is_in_front_of_the_daemon(devstack):
    result = devstack.run(*STACK, services=f"{SERVICES},tls-proxy")
    assert result.returncode == 0, result.stderr
    assert devstack.calls("start_tls_proxy") == ["start_tls_proxy gantt-placement * 8779 127.0.0.1 18779"]
    assert devstack.calls("get_or_create_endpoint")[0].endswith(" https://192.0.2.1:8779")
    conf = devstack.read([placement_service], "gantt-placement")
    assert (str(conf.placement.host), conf.placement.port) == ("127.0.0.1", 18779)


@pytest.mark.parametrize(
    ("services", "after_settings", "message"),
    [
        (SERVICES, "enable_service placement-api", "in the place of placement-api"),
        (SERVICES, "enable_service n-sch", "in the place of placement-api and n-sch"),
        (SERVICES.replace("rabbit,", ""), "", "enable the service rabbit"),
    ],
)
def test_services_that_exclude_gantt_end_the_run_before_anything_is_installed(
    devstack, services, after_settings, message
):
    result = devstack.run(*STACK, services=services, after_settings=after_settings)
    assert result.returncode == 1
    assert message in result.stderr
    assert devstack.calls() == ["define_plugin gantt"]


def test_option_without_counterpart_ends_the_run_before_anything_is_started(devstack):
    devstack.nova_conf.write_text("[filter_scheduler]\nenabled_filters = ComputeFilter,RackFilter\n")
    result = devstack.run(*STACK)
    assert result.returncode == 1
    assert "RackFilter" in result.stderr
    assert "have no counterpart in gantt" in result.stderr
    assert devstack.calls("run_process") == devstack.calls("get_or_create_endpoint") == []


def test_api_that_does_not_answer_ends_the_run(devstack):
    result = devstack.run(*STACK, API_ANSWERS="False")
    assert result.returncode == 1
    assert "gantt-placement did not start" in result.stderr


def test_unstack_stops_and_clean_removes(stacked):
    result = stacked.run("unstack", "clean")
    assert result.returncode == 0, result.stderr
    assert [call.split()[1] for call in stacked.calls("stop_process")] == OWN_SERVICES[::-1]
    assert not any((stacked.folder / name).exists() for name in ("etc", "venv", "data/gantt"))


def test_second_run_writes_the_same_files(stacked):
    before = {path.name: path.read_text() for path in stacked.conf.iterdir()}
    assert stacked.run(*STACK).returncode == 0
    assert {path.name: path.read_text() for path in stacked.conf.iterdir()} == before
