# SPDX-License-Identifier: Apache-2.0
"""Store of one partition's host state, claims and log, behind one interface."""
