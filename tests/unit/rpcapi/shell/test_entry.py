# SPDX-License-Identifier: Apache-2.0
"""The console script where the library alone is installed, and where all is."""

import subprocess
import sys

# A name that is None in sys.modules cannot be imported.
SCRIPT = "import sys; {hide}; sys.argv[1:] = ['--help']; from rpcapi.shell import entry; sys.exit(entry.main())"


def run(hide):
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT.format(hide=hide)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_without_its_packages_it_says_what_to_install():
    done = run("sys.modules['cliff'] = None")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gantt: cliff is not installed; run: pip install 'gantt[shell]'\n"


def test_a_module_of_our_own_that_is_missing_is_no_matter_of_installing():
    done = run("sys.modules['rpcapi.shell.session'] = None")
    assert done.returncode == 1
    assert "pip install" not in done.stderr and "rpcapi.shell.session" in done.stderr


def test_with_them_it_is_the_command():
    done = run("pass")
    assert (done.returncode, done.stderr) == (0, "")
    assert "server delete" in done.stdout
