# SPDX-License-Identifier: Apache-2.0
"""``gantt complete``: completion for bash and zsh, with values of options, which cliff's lacks."""

import argparse
from collections.abc import Mapping, Sequence

from cliff.app import App

from rpcapi.admin.argument import Argument
from rpcapi.cli.command import Command

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
SCRIPTS = {"bash": BASH, "zsh": ZSH}


class PrintCompletion(Command):
    """Print a script that completes gantt's commands and options in bash or zsh."""

    ARGUMENTS = (Argument("shell", choices=list(SCRIPTS), help="Load it with: source <(gantt complete SHELL)."),)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.app.stdout.write(SCRIPTS[parsed_args.shell].format(functions=_functions(self.app)))


def _functions(app: App) -> str:
    words: dict[str, list[str]] = {"": _options(app.parser)}
    values: dict[str, list[str]] = {}
    for name, entry_point in sorted(app.command_manager):
        _add_command(words, name)
        if name != "help":  # The arguments of ``help`` are a command.
            parser = entry_point.load()(app, None).get_parser(name)
            words[name] = _options(parser)
            for action in parser._actions:
                choices = [str(choice) for choice in action.choices or ()]
                words[name] += choices if not action.option_strings else []
                values |= {f"{name} {option}": choices for option in action.option_strings if choices}
    return FUNCTIONS.format(words=_cases(words), values=_cases(values))


def _add_command(words: dict[str, list[str]], name: str) -> None:
    parts = name.split()
    for index, part in enumerate(parts):
        following = words.setdefault(" ".join(parts[:index]), [])
        if part not in following:
            following.append(part)


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]


def _cases(replies: Mapping[str, Sequence[str]]) -> str:
    return "\n".join(f'        "{key}") _gantt_reply="{" ".join(words)}" ;;' for key, words in sorted(replies.items()))
