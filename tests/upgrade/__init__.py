# SPDX-License-Identifier: Apache-2.0
"""Rolling upgrades from a former commit, which is installed into an environment of its own."""
