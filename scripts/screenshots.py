"""Make the pictures of docs/reviewing.md: `python scripts/screenshots.py`, with chromium and mixtea[review,test]."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from mixtea import MixTEA, load_example

DOCS = Path(__file__).parent.parent / "docs"
SIZES = {"review-desktop": (1280, 1150), "review-phone": (390, 844)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "world"
        MixTEA(seed=1, device="cpu").fit(load_example(), progress=False).save(run)
        command = [sys.executable, "-m", "mixtea", "review", str(run), "--no-browser", "--reviewer", "Ada"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(address)
            page.wait_for_selector("#decide")
            for key in "aa1xau":
                page.keyboard.press(key)
                page.wait_for_timeout(300)
            page.keyboard.press("v")
            for name, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                page.wait_for_timeout(1500)
                page.screenshot(path=DOCS / f"{name}.png")
            browser.close()
            server.terminate()


if __name__ == "__main__":
    main()
