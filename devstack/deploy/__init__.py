# SPDX-License-Identifier: Apache-2.0
"""What deployments are made of: units, alerts, server users, sample configuration, packages."""
