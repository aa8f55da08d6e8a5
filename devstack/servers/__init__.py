# SPDX-License-Identifier: Apache-2.0
"""Private servers (Redis, RabbitMQ, PostgreSQL, ...) in a run folder, for the development stack and for tests."""
