# SPDX-License-Identifier: Apache-2.0
"""URLs of cell databases."""

import pytest

from scheduler_svc.databases import DatabaseUnusable
from scheduler_svc.nova.bridge.cell_database import cell_url

QUOTED = "p@w"
MAIN = "mysql+pymysql://nova:secret@db.example:3306/nova?charset=utf8"


@pytest.mark.parametrize(
    ("login", "connection", "url"),
    [
        ({}, "sqlite:////x/{odd}.sqlite", "sqlite:////x/{odd}.sqlite"),
        (
            {"template": MAIN},
            "{scheme}://{username}:{password}@{hostname}:{port}/cell_{path}?{query}",
            "mysql+pymysql://nova:secret@db.example:3306/cell_nova?charset=utf8",
        ),
        ({"template": MAIN}, "mysql://u:p@other/nova", "mysql://u:p@other/nova"),
        ({"username": "reader", "password": QUOTED}, "mysql://u:p@other/n", "mysql://reader:p%40w@other/n"),
        (
            {"template": MAIN, "username": "reader", "password": "pw"},
            "mysql://{username}@{hostname}/n",
            "mysql://reader:pw@db.example/n",
        ),
        ({"username": "reader", "password": QUOTED}, "sqlite:////x/n.sqlite", "sqlite:////x/n.sqlite"),
    ],
)
def test_url_of_a_cell(login, connection, url):
    assert cell_url(connection, **login) == url


@pytest.mark.parametrize("connection", ["mysql://{user}@h/n", "mysql://{0}@h/n", "mysql://{h/n"])
def test_template_of_unknown_parts_is_refused_without_the_password(connection):
    with pytest.raises(DatabaseUnusable) as refusal:
        cell_url(connection, MAIN)
    assert "secret" not in str(refusal.value)


def test_connection_that_is_no_url_is_refused_without_its_text():
    with pytest.raises(DatabaseUnusable) as refusal:
        cell_url("secret", username="reader")
    assert "secret" not in str(refusal.value)
