# SPDX-License-Identifier: Apache-2.0
"""The pages about installations can be read by the tests that run them, and what they configure exists."""

import re
import subprocess

import pytest
from oslo_config import cfg
from oslo_messaging import opts as messaging_opts

from tests.contract.test_documentation import sample_options
from tests.support.clusters.guide import INSTALL, LARGE, SINGLE, Block, Guide

GUIDES = (INSTALL, LARGE)
MACHINES = {
    INSTALL: {"controller1", "controller2", "compute1"},
    LARGE: {"controller1", "controller2", "compute1", "compute2", "compute3", "compute4"},
}
# Sections without commands.
PROSE = {
    INSTALL: {"", "Sizing", "Firewall"},
    LARGE: {"", "Steps", "Sizing", "Firewall", "Quorum queues"},
}
# Sections of the large guide that are no steps of the installation.
OPERATION = {"Check", "A machine is lost", "Rotate a certificate", "Rotate a password", "Back up", "Restore"}
CONFIGURATION_FILES = {INSTALL: 5, LARGE: 4}

per_guide = pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)


@per_guide
def test_every_block_names_machines_of_the_table(guide: Guide) -> None:
    assert set(guide.machines()) == MACHINES[guide]
    for block in guide.blocks():
        assert set(block.machines) <= set(guide.machines()), block.commands


@per_guide
def test_the_guide_has_no_other_commands(guide: Guide) -> None:
    fences = re.findall(r"^```(.+)$", guide.text, re.MULTILINE)
    assert set(fences) == {"bash"}
    assert {block.section for block in guide.blocks()} == guide.sections().keys() - PROSE[guide]


def test_the_steps_of_the_large_guide_have_commands() -> None:
    steps = LARGE.steps()
    assert {guide for guide, _ in steps} == {INSTALL, LARGE}
    own = [section for guide, section in steps if guide == LARGE]
    assert {*own, *OPERATION} == LARGE.sections().keys() - PROSE[LARGE]
    for guide, section in steps:
        assert guide.blocks(section), section


def test_page_of_one_machine_has_commands_of_root_only() -> None:
    assert {block.machines for block in SINGLE.blocks()} == {("root",)}
    assert set(re.findall(r"^```(.+)$", SINGLE.text, re.MULTILINE)) == {"bash"}
    assert SINGLE.blocks()[-1].section == "Remove", "the last block undoes the others"


@pytest.mark.parametrize(
    "block", [block for guide in (*GUIDES, SINGLE) for block in guide.blocks()], ids=lambda block: block.section
)
def test_commands_are_valid_shell(block: Block) -> None:
    checked = subprocess.run(["bash", "-n"], input=block.commands, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    for path, text in block.files():
        if text.startswith("#!/bin/sh\n"):
            checked = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
            assert checked.returncode == 0, f"{path}: {checked.stderr}"


@per_guide
def test_options_exist(guide: Guide, tmp_path) -> None:
    options = sample_options()
    libraries = dict(messaging_opts.list_opts())
    rabbit = {option.name for option in libraries["oslo_messaging_rabbit"]}
    texts: dict[str, str] = {}
    for path, text in (file for block in guide.blocks() for file in block.files()):
        if re.match(r"/etc/gantt/.*\.conf", path):
            texts[path] = texts.get(path, "") + text
    assert len(texts) == CONFIGURATION_FILES[guide]
    for text in texts.values():
        path = tmp_path / "gantt.conf"
        path.write_text(text)
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(str(path), sections).parse()
        for section, values in sections.items():
            assert set(values) <= (rabbit if section == "oslo_messaging_rabbit" else options[section]), section


def test_variables_of_the_cells_are_options() -> None:
    options = sample_options()
    names = {
        match.groups()
        for block in LARGE.blocks("Cells")
        for _, text in block.files()
        for match in re.finditer(r"^OS_([A-Z]+)__([A-Z_]+)=", text, re.MULTILINE)
    }
    assert len(names) == 3
    for section, option in names:
        assert option.lower() in options[section.lower()]


@per_guide
def test_addresses_agree(guide: Guide) -> None:
    for address, name in re.findall(r"\b(192\.0\.2\.\d+) (controller[12]|compute[1-4])\b", guide.text):
        assert guide.machines()[name] == address
    for name, address in re.findall(r"\b(controller[12]|compute[1-4]) (192\.0\.2\.\d+)", guide.text):
        assert guide.machines()[name] == address
