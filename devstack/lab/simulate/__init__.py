# SPDX-License-Identifier: Apache-2.0
"""lab.sh simulate: random examples of the tests' state machines, for as long as wanted."""
