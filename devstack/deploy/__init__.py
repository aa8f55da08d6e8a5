# SPDX-License-Identifier: Apache-2.0
"""Parts of deployments: units, alerts, server users, sample configuration, packages."""
