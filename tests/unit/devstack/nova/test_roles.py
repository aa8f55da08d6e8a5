# SPDX-License-Identifier: Apache-2.0
"""Commands and configuration of a Nova cloud's daemons; nothing is started."""

import configparser
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from devstack.deploy.users.folder import private_folder
from devstack.nova import command_line, roles
from devstack.nova.confs import DATABASES, CloudUrls
from devstack.nova.roles import CloudParts
from devstack.nova.size import CloudSize
from devstack.servers.errors import ServerError


@pytest.fixture
def parts(tmp_path: Path) -> CloudParts:
    """The parts of a cloud of two computes in an empty folder."""
    urls = CloudUrls(
        bus="rabbit://bus",
        cell2_bus="rabbit://cell2",
        fakes="http://fakes",
        placement="http://placement",
        api="http://api",
        databases={name: f"mysql://{name}" for name in DATABASES},
        store="redis://store",
        gantt_bus="rabbit://gantt",
        scheduler_store="redis://scheduler",
        bridge_store="redis://bridge",
    )
    ports = {"api": 1, "fakes": 2, "placement": 3, "metrics": 4}
    etc, state = (private_folder(tmp_path / name) for name in ("etc", "state"))
    return CloudParts(CloudSize(computes=2, vcpus=3), tmp_path / "venv", etc, state, ports, urls)


def _read(path: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(path)
    return parser


def test_computes_have_a_host_and_a_state_of_their_own_and_reach_no_database(parts: CloudParts) -> None:
    first, second = roles.computes(parts)
    files = [_read(daemon.command[-1]) for daemon in (first, second)]
    assert [conf["DEFAULT"]["host"] for conf in files] == ["host1", "host2"]
    assert len({conf["DEFAULT"]["state_path"] for conf in files}) == 2
    assert not any("mysql:" in Path(daemon.command[-1]).read_text() for daemon in (first, second))
    assert first.env["SIMULATED_VCPUS"] == "3"


def test_conductor_reaches_the_databases(parts: CloudParts) -> None:
    (conductor,) = roles.conductor(parts)
    conf = _read(conductor.command[-1])
    assert (conf["database"]["connection"], conf["api_database"]["connection"]) == ("mysql://nova", "mysql://nova_api")
    assert conf["placement"]["endpoint_override"] == "http://placement"


def test_placement_is_gantt_unless_chosen_otherwise(parts: CloudParts) -> None:
    (daemon,) = roles.served_by(parts, "placement")
    assert daemon.command[0] == str(Path(sys.executable).with_name("gantt-placement"))
    conf = _read(daemon.command[-1])
    assert (conf["store"]["url"], conf["placement"]["port"], daemon.port) == ("redis://store", "3", 3)


def test_gantt_decides_without_a_database_and_its_bridge_without_a_bus(parts: CloudParts) -> None:
    bridge, scheduler = roles.ROLES["scheduler"]["gantt"](parts)
    conf = _read(scheduler.command[-1])
    assert (conf["DEFAULT"]["transport_url"], conf["nova"]["transport_url"]) == ("rabbit://gantt", "rabbit://bus")
    assert conf["store"]["url"] == "redis://scheduler"
    assert "mysql:" not in Path(scheduler.command[-1]).read_text()
    conf = _read(bridge.command[-1])
    assert (conf["store"]["url"], conf["nova"]["api_database"]) == ("redis://bridge", "mysql://nova_api")
    assert "rabbit:" not in Path(bridge.command[-1]).read_text()


def test_options_of_nova_are_those_of_gantt_too(parts: CloudParts) -> None:
    options = {
        "DEFAULT": {"default_availability_zone": "first", "allow_resize_to_same_host": "true"},
        "scheduler": {"enable_isolated_aggregate_filtering": "true"},
    }
    with_options = replace(parts, size=replace(parts.size, scheduler="gantt", nova_options=options))
    (conductor,) = roles.conductor(with_options)
    conf = _read(conductor.command[-1])
    assert (conf["DEFAULT"]["host"], conf["DEFAULT"]["allow_resize_to_same_host"]) == ("control", "true")
    *_, scheduler = roles.served_by(with_options, "scheduler")
    conf = _read(scheduler.command[-1])
    assert (conf["nova"]["transport_url"], conf["nova"]["default_availability_zone"]) == ("rabbit://bus", "first")
    assert (conf["scheduler"]["host"], conf["scheduler"]["enable_isolated_aggregate_filtering"]) == ("control", "true")


def test_option_that_gantt_cannot_follow_is_refused(parts: CloudParts) -> None:
    options = {"filter_scheduler": {"enabled_filters": "PciPassthroughFilter"}}
    with pytest.raises(ServerError, match="PciPassthroughFilter"):
        roles.served_by(replace(parts, size=replace(parts.size, scheduler="gantt", nova_options=options)), "scheduler")


def test_every_choice_of_a_role_has_daemons(parts: CloudParts) -> None:
    for role, choices in roles.ROLES.items():
        for choice, make_daemons in choices.items():
            assert make_daemons(parts), (role, choice)


@pytest.mark.parametrize(
    ("arguments", "placement", "scheduler"),
    [
        ([], "gantt", "gantt"),
        (["--placement", "placement"], "placement", "nova"),
        (["--placement", "placement", "--scheduler", "nova"], "placement", "nova"),
        (["--scheduler", "nova"], "gantt", "nova"),
        (["--scheduler", "shadow"], "gantt", "shadow"),
    ],
)
def test_gantt_serves_what_it_can_unless_chosen_otherwise(arguments: list[str], placement: str, scheduler: str) -> None:
    options = command_line.parse([*arguments, "--computes", "2"])
    assert command_line.size(options) == CloudSize(computes=2, placement=placement, scheduler=scheduler)
    assert (options.servers, options.install, options.down) == (8, False, False)


@pytest.mark.parametrize("scheduler", ["gantt", "shadow"])
def test_gantt_cannot_decide_with_another_placement(scheduler: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command_line.parse(["--scheduler", scheduler, "--placement", "placement"])
    assert exit_info.value.code == 2
    assert f"--scheduler: {scheduler} cannot decide with --placement placement" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--install", "--down"], "not allowed with argument"),
        (["--computes", "0"], "argument --computes"),
        (["--servers", "many"], "argument --servers"),
        (["host1"], "unrecognized arguments: host1"),
    ],
)
def test_invalid_arguments_are_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command_line.parse(arguments)
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err


def test_command_line_names_the_choices_of_a_role(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command_line.parse(["--placement", "nobody"])
    assert exit_info.value.code == 2
    assert "'gantt', 'placement'" in capsys.readouterr().err


def test_second_cell_has_its_own_message_bus_and_no_other_database(parts: CloudParts) -> None:
    size = replace(parts.size, second_cell=1)
    assert size.hosts == ["host1", "host2", "remote1"]
    of_cells = replace(parts, size=size)
    conductors = [_read(daemon.command[-1]) for daemon in roles.conductor(of_cells)]
    assert [conf["DEFAULT"]["transport_url"] for conf in conductors] == ["rabbit://bus", "rabbit://cell2"]
    assert [conf["database"]["connection"] for conf in conductors] == ["mysql://nova", "mysql://nova_cell2"]
    assert "api_database" not in conductors[1]
    *_, remote = roles.computes(of_cells)
    assert _read(remote.command[-1])["DEFAULT"]["transport_url"] == "rabbit://cell2"
    assert len(roles.conductor(parts)) == 1
