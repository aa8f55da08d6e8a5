# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, with what the tests of the dashboard look at."""

import base64
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axe_core_python.selenium import Axe
from selenium import webdriver
from selenium.common import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.functional.packaging.programs import need_programs

SECONDS = 30
WIDE, PHONE = (1280, 900), (390, 844)
PROGRAMS = {"chromium": "chromium", "chromedriver": "chromium-driver"}


def need_chromium() -> None:
    """Skip where Debian's Chromium is missing, or fail in CI."""
    need_programs(PROGRAMS)


class Browser:
    """One window of Chromium; everything that its pages log, and each request that fails, is kept."""

    def __init__(self, url: str, profile: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(shutil.which("chromium"))
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.set_page_load_timeout(SECONDS)
        self._url = url

    def close(self) -> None:
        """End Chromium."""
        self.driver.quit()

    def resize(self, size: tuple[int, int]) -> None:
        """Give pages this width and height, as a phone's or a desktop's window."""
        self._command(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE},
        )

    def prefer(self, scheme: str) -> None:
        """Prefer "light" or "dark" pages."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._command("Emulation.setEmulatedMedia", {"features": features})

    def open(self, path: str) -> None:
        """Open a page of the dashboard."""
        self.driver.get(self._url + path)

    def sign_in(self, token: str) -> None:
        """Sign in with the token."""
        self.open("/")
        self.find("input[name=token]").send_keys(token)
        self.find("main button").click()
        self.wait(lambda: self.text("h1") == "Overview")

    def find(self, selector: str) -> Any:
        """Return the first element of a CSS selector, as soon as there is one."""
        return WebDriverWait(self.driver, SECONDS).until(lambda driver: driver.find_element(By.CSS_SELECTOR, selector))

    def find_all(self, selector: str) -> Sequence[Any]:
        """Return the elements of a CSS selector that there are."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """Return the text of an element as it is shown."""
        return str(self.find(selector).text)

    def wait(self, condition: Any) -> Any:
        """Return the first true answer of ``condition``, which may fail while another page replaces this one."""
        waiting = WebDriverWait(self.driver, SECONDS, ignored_exceptions=[WebDriverException])
        return waiting.until(lambda driver: condition())

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript in the page, and return what it returns or resolves to."""
        return self.driver.execute_script(script, *arguments)

    def drawn_cells(self) -> int:
        """Return the number of hosts in the heat map, once it is drawn."""
        return int(self.wait(lambda: self.find("#heat-map").get_attribute("data-drawn")))

    def violations(self) -> list[str]:
        """Return what axe-core objects to on this page: the rule, and the elements."""
        violations = Axe().run(self.driver)["violations"]
        return [f"{item['id']}: {[node['html'][:120] for node in item['nodes'][:3]]}" for item in violations]

    def complaints(self) -> list[str]:
        """Return what Chromium has logged since the last call: errors of scripts, refused loads, failed requests."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def screenshot(self) -> bytes:
        """Return the visible part of the page as PNG."""
        return base64.b64decode(self.driver.get_screenshot_as_base64())

    def _command(self, name: str, values: dict[str, Any]) -> None:
        self.driver.execute_cdp_cmd(name, values)
