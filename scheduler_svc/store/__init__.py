# SPDX-License-Identifier: Apache-2.0
"""The store: host state, claims and the log of one partition, behind one interface."""
