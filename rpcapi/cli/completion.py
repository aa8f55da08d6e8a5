# SPDX-License-Identifier: Apache-2.0
"""Writes the files that `gantt --help`, `gantt COMMAND --help` and `gantt complete` print, from the commands' parsers.

`python -m rpcapi.cli.completion` writes them again after a command or an option changed.
"""

import argparse
import functools
import io
from collections.abc import Callable, Iterator
from pathlib import Path

from rpcapi.cli import static_output
from rpcapi.cli.main import GanttApp

HELP_WIDTH = 100

FUNCTIONS = """\
# Words that may follow the words of a command.
_gantt_words() {{
    case "$1" in
{words}
        *) _gantt_reply=""; return 1 ;;
    esac
}}

# Values of the options of commands that have a fixed set of values.
_gantt_values() {{
    case "$1" in
{values}
        *) _gantt_reply=""; return 1 ;;
    esac
}}
"""

BASH = """\
# Completion of gantt for bash. Load it with: source <(gantt complete bash)

{functions}
_gantt() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" command="" index next _gantt_reply
    for ((index = 1; index < COMP_CWORD; index++)); do
        next="${{command:+$command }}${{COMP_WORDS[index]}}"
        _gantt_words "$next" && command="$next"
    done
    _gantt_values "$command ${{COMP_WORDS[COMP_CWORD-1]}}" || _gantt_words "$command"
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$_gantt_reply" -- "$current"))
    else
        COMPREPLY=($(compgen -X '-*' -W "$_gantt_reply" -- "$current"))
    fi
}}
complete -o default -F _gantt gantt
"""

ZSH = """\
#compdef gantt
# Completion of gantt for zsh. Load it after compinit with: source <(gantt complete zsh)

{functions}
_gantt() {{
    local command="" next _gantt_reply
    integer index
    for ((index = 2; index < CURRENT; index++)); do
        next="${{command:+$command }}${{words[index]}}"
        _gantt_words "$next" && command="$next"
    done
    _gantt_values "$command ${{words[CURRENT-1]}}" || _gantt_words "$command"
    local -a matches=(${{=_gantt_reply}})
    [[ ${{words[CURRENT]}} == -* ]] || matches=(${{matches:#-*}})
    if (( $#matches )); then compadd -- $matches; else _files; fi
}}
if [[ $funcstack[1] == _gantt ]]; then _gantt "$@"; else compdef _gantt gantt; fi
"""


def make_files() -> dict[str, str]:
    """Return the text of each file by its name."""
    app = GanttApp(stdout=io.StringIO())
    words: dict[str, list[str]] = {"": _options(app.parser)}
    values: dict[str, list[str]] = {}
    descriptions: dict[str, str] = {}
    command_helps: dict[str, str] = {}
    for name, entry_point in sorted(app.command_manager):
        if name == "help":
            words[""].append(name)  # followed by the words of a command
            continue
        command = entry_point.load()(app, None)
        descriptions[name] = command.get_description().partition("\n")[0].rstrip(".")
        parser = command.get_parser(f"gantt {name}")
        _add_command(words, name)
        words[name] = [*_options(parser), *_fixed_arguments(parser)]
        values |= dict(_fixed_values(name, parser))
        formatter: Callable[..., argparse.HelpFormatter] = parser.formatter_class
        parser.formatter_class = functools.partial(formatter, width=HELP_WIDTH)
        command_helps[static_output.help_file(name.split())] = parser.format_help()
    functions = FUNCTIONS.format(words=_cases(words), values=_cases(values))
    return {
        static_output.HELP: _help(app.parser, descriptions),
        static_output.SCRIPTS["bash"]: BASH.format(functions=functions),
        static_output.SCRIPTS["zsh"]: ZSH.format(functions=functions),
        **command_helps,
    }


def _add_command(words: dict[str, list[str]], name: str) -> None:
    parts = name.split()
    for index, part in enumerate(parts):
        following = words.setdefault(" ".join(parts[:index]), [])
        if part not in following:
            following.append(part)


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]


def _fixed_arguments(parser: argparse.ArgumentParser) -> list[str]:
    return [str(word) for action in parser._actions if not action.option_strings for word in action.choices or ()]


def _fixed_values(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[str]]]:
    for action in parser._actions:
        for option in action.option_strings if action.choices else ():
            yield f"{name} {option}", [str(choice) for choice in action.choices or ()]


def _cases(replies: dict[str, list[str]]) -> str:
    return "\n".join(f'        "{key}") _gantt_reply="{" ".join(words)}" ;;' for key, words in sorted(replies.items()))


def _help(parser: argparse.ArgumentParser, descriptions: dict[str, str]) -> str:
    parser.formatter_class = functools.partial(argparse.HelpFormatter, width=HELP_WIDTH)
    width = max(map(len, descriptions))
    lines = [f"  {name:<{width}}  {text}\n" for name, text in descriptions.items()]
    return f"{parser.format_help()}\ncommands (gantt help COMMAND describes one):\n{''.join(lines)}"


def main() -> None:
    """Write the files."""
    for name, text in make_files().items():
        Path(static_output.FOLDER, name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
