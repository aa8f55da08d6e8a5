# SPDX-License-Identifier: Apache-2.0
"""The plug-in for openstackclient, without openstackclient."""

import argparse
import functools
import importlib.metadata
import io
import json
from types import SimpleNamespace

import pytest

from rpcapi.cli import commands, openstack
from rpcapi.cli.command import CommandFailed

TOKEN = SimpleNamespace(project_id="0f9c", user_id="77aa")  # as of keystoneauth


class ClientManager:
    """openstackclient's: a token, the merged options, and the client that the plug-in makes on first use."""

    def __init__(self, config_file):
        self.auth_ref = TOKEN
        self.configuration = {"scheduler_config_file": str(config_file)}

    def get_configuration(self):
        return self.configuration

    @functools.cached_property
    def scheduler(self):
        return openstack.make_client(self)


@pytest.fixture
def client_manager(config_file):
    return ClientManager(config_file)


@pytest.fixture
def run(client_manager):
    """Runs a command as openstackclient does; returns the document that it prints."""

    def run(name, *argv):
        stdout = io.StringIO()
        options = SimpleNamespace(debug=None)  # as osc-lib sets it
        app = SimpleNamespace(client_manager=client_manager, options=options, stdout=stdout, stderr=io.StringIO())
        (entry_point,) = importlib.metadata.entry_points(
            group="openstack.scheduler.v1", name=f"scheduler_{name.replace(' ', '_')}"
        )
        command = entry_point.load()(app, None)
        assert command.run(command.get_parser(name).parse_args([*argv, "-f", "json"])) == 0
        return json.loads(stdout.getvalue())

    return run


def test_entry_points_are_the_commands_of_gantt():
    entry_points = importlib.metadata.entry_points(group="openstack.scheduler.v1")
    table = {entry_point.name.replace("_", " "): entry_point.value for entry_point in entry_points}
    expected = {
        f"scheduler {name}": target for name, target in commands.COMMANDS.items() if name not in commands.GANTT_ONLY
    }
    assert table == expected, "reinstall gantt"
    assert all(entry_point.load().auth_required for entry_point in entry_points)
    assert set(commands.GANTT_ONLY) < set(commands.COMMANDS)


def test_plugin_has_what_openstackclient_reads():
    (plugin,) = importlib.metadata.entry_points(group="openstack.cli.extension", name="scheduler")
    module = plugin.load()
    assert module is openstack
    assert f"openstack.{module.API_NAME}.v{module.DEFAULT_API_VERSION}" == "openstack.scheduler.v1"
    assert module.DEFAULT_API_VERSION in module.API_VERSIONS
    parser = module.build_option_parser(argparse.ArgumentParser())
    assert getattr(parser.parse_args([]), module.API_VERSION_OPTION) == module.DEFAULT_API_VERSION


@pytest.mark.parametrize(
    ("argv", "expected"), [([], "/etc/one.conf"), (["--os-scheduler-config-file", "/two.conf"], "/two.conf")]
)
def test_configuration_file_is_an_option_or_a_variable(monkeypatch, argv, expected):
    monkeypatch.setenv(openstack.FILE_VARIABLE, "/etc/one.conf")
    parser = openstack.build_option_parser(argparse.ArgumentParser())
    assert parser.parse_args(argv).os_scheduler_config_file == expected


def test_calls_are_of_the_project_and_user_of_the_token(cluster, run):
    (row,) = run("boot", "--flavor", "m1.tiny")
    assert row["uuid"] in cluster.conductor.instances
    (ctxt,) = cluster.conductor.contexts
    assert (ctxt.project_id, ctxt.user_id) == (TOKEN.project_id, TOKEN.user_id)


def test_each_command_has_a_request_id_of_its_own(cluster, run):
    for _ in range(2):
        run("boot", "--flavor", "m1.tiny")
    assert len({ctxt.request_id for ctxt in cluster.conductor.contexts}) == 2


@pytest.mark.parametrize("token", [None, SimpleNamespace(project_id=None, user_id="77aa")])
def test_command_without_a_token_for_a_project_calls_nobody(cluster, client_manager, run, token):
    client_manager.auth_ref = token
    with pytest.raises(CommandFailed, match="a project-scoped Keystone token"):
        run("boot", "--flavor", "m1.tiny")
    assert not cluster.conductor.contexts


def test_without_a_configured_file_gantts_own_are_found(client_manager, config_file, monkeypatch):
    monkeypatch.setenv("GANTT_CONFIG_FILE", str(config_file))
    client_manager.configuration = {}
    session = client_manager.scheduler()
    assert session.conf.default_config_files == [str(config_file)]
