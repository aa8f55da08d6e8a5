# SPDX-License-Identifier: Apache-2.0
"""Options of stack.sh: invalid ones are reported in a sentence."""

import pytest

from devstack import command_line


@pytest.mark.parametrize("text", ["0", "-1", "100001", "many", "1.5", "", "1_0", "٣", "9" * 5000])
@pytest.mark.parametrize(
    "option", ["--computes", "--nodes", "--servers", "--schedulers", "--amqp-port", "--redis-port"]
)
def test_invalid_number_is_reported_in_a_sentence(capsys, option: str, text: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command_line.parse([f"{option}={text}"])
    assert exit_info.value.code == 2
    output = capsys.readouterr().err
    assert f"{text!r} is not a " in output
    assert "invalid" not in output


@pytest.mark.parametrize("text", ["-0.1", "1.01", "nan", "inf", "half", "", "0_1", "٣"])
def test_invalid_share_is_reported_in_a_sentence(capsys, text: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command_line.parse([f"--churn={text}"])
    assert exit_info.value.code == 2
    assert f"{text!r} is not a share from 0 to 1" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "0.99", "3601", "nan", "-5", "1e9"])
def test_invalid_interval_is_reported_in_a_sentence(capsys, text: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command_line.parse([f"--report-interval={text}"])
    assert exit_info.value.code == 2
    assert f"{text!r} is not a number of seconds from 1 to 3600" in capsys.readouterr().err


def test_too_many_nodes_are_refused(capsys) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command_line.parse(["--computes=2001", "--nodes=50"])
    assert exit_info.value.code == 2
    assert "100050 nodes are more than the 100000" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "port"), [([], None), (["--placement"], 0), (["--placement", "8778"], 8778)])
def test_placement_api_has_a_given_or_a_free_port(arguments: list[str], port: int | None) -> None:
    assert command_line.parse(arguments).placement == port
