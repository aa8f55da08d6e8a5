# SPDX-License-Identifier: Apache-2.0
"""Pages name only commands, options, links and files that exist."""

import importlib
import importlib.metadata
import re

import pytest
from oslo_config import cfg

from devstack.lab import main as lab
from rpcapi.cli import commands as operators
from scheduler_svc.cmd import catalogue, placement_import
from tests.support import CHECKOUT, documentation

APPLICATIONS = {
    "gantt": operators.COMMANDS,
    documentation.LAB: lab.COMMANDS,
    "gantt-status": {},
    documentation.PLUGIN: operators.OPENSTACK_COMMANDS,
}
DAEMONS = ("gantt-placement", "gantt-placement-shadow")
SAMPLE = (CHECKOUT / "devstack" / "deploy" / "etc" / "gantt.conf.sample").read_text()
RECORDS = sorted((CHECKOUT / "docs" / "adr").glob("*.md"))


def option_names(command_class):
    parser = command_class(None, None).get_parser("command")
    return set(parser._option_string_actions)


@pytest.mark.parametrize(("page", "arguments"), list(documentation.mentions()))
def test_commands_and_their_options_exist(page, arguments):
    program, *words = arguments
    if program == "gantt-status":
        assert words == ["upgrade", "check"]
        return
    if program in DAEMONS and words[0] == "--config-file":
        assert len(words) == 2
        return
    if program == "gantt-placement":
        command, url, *options = words
        assert command == catalogue.COMMAND
        assert catalogue.parser().parse_args([url, *options])
        return
    if program == "gantt-placement-import":
        assert placement_import.parser().parse_args(words)
        return
    if words[0] == "help":
        return
    commands = APPLICATIONS[program]
    name = next((" ".join(words[:size]) for size in (2, 1) if " ".join(words[:size]) in commands), None)
    assert name is not None, f"{page}: no command {' '.join(arguments)}"
    module, _, class_name = commands[name].partition(":")
    command_options = option_names(getattr(importlib.import_module(module), class_name))
    options = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert options <= command_options


def sample_options():
    """{group: options} of the sample configuration; groups of a kind, such as [flavor:NAME], by the kind."""
    options: dict[str, set[str]] = {}
    group: set[str] = set()
    for line in SAMPLE.splitlines():
        if header := re.match(r"\[(.+)\]", line):
            group = options.setdefault(header[1].partition(":")[0], set())
        elif option := re.match(r"#(\w+) =", line):
            group.add(option[1])
    return options


@pytest.mark.parametrize("block", [block for block in documentation.blocks() if block.language == "ini"])
def test_options_of_configuration_examples_exist(block, tmp_path):
    path = tmp_path / "gantt.conf"
    path.write_text(block.text)
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(path), sections).parse()
    assert sections
    sample = sample_options()
    for section, values in sections.items():
        assert set(values) <= sample[section.partition(":")[0]], section
        # oslo.config has no comments after values.
        assert not [value for texts in values.values() for value in texts if " #" in value]


@pytest.mark.parametrize("path", [*documentation.PAGES, *RECORDS], ids=lambda path: path.name)
def test_links_and_paths_exist(path):
    text = path.read_text()
    links = [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in link]
    missing = [link for link in links if not (path.parent / link).exists()]
    code = re.findall(r"`((?:rpcapi|scheduler_svc|conductor|compute_agent|devstack|tests)/[\w/.-]+)`", text)
    missing += [name for name in code if "NAME" not in name and not (CHECKOUT / name).exists()]
    assert missing == []


def test_first_page_of_the_site_has_picture_comparison_and_both_commands():
    index = (CHECKOUT / "docs" / "index.md").read_text()
    begin, end = (re.search(rf':{option}: "(.+)"', index)[1] for option in ("start-after", "end-before"))
    readme = (CHECKOUT / "README.md").read_text()
    part = readme.partition(begin.replace("\\n", "\n"))[2].partition(end)[0]
    assert len(part) < len(readme) / 2
    for text in ("](docs/pictures/", "| nova-scheduler: ", "./devstack/stack.sh ", "./devstack/run_tests.sh "):
        assert text in part


def test_every_decision_record_is_in_the_index():
    index = (CHECKOUT / "docs" / "adr" / "README.md").read_text()
    assert [path.name for path in RECORDS if path.name != "README.md" and f"({path.name})" not in index] == []


def test_each_program_has_a_page_that_becomes_its_man_page():
    scripts = importlib.metadata.distribution("gantt").entry_points.select(group="console_scripts")
    folder = CHECKOUT / "docs" / "reference" / "commands"
    titles = {path.stem: path.read_text().partition("\n")[0] for path in folder.glob("*.md")}
    assert titles.keys() == {script.name for script in scripts} - {"gantt"}
    for name, title in titles.items():
        assert re.fullmatch(rf"# {name}: [a-z].{{10,60}}", title)
    index = (CHECKOUT / "docs" / "index.md").read_text()
    assert all(f"reference/commands/{name}\n" in index for name in titles)
