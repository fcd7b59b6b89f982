"""A user at a real browser: opens a link in Chromium and signs in at whatever page comes.

    python3 browser.py SETTINGS URL [PAGE]

SETTINGS is a file of JSON with User and Password. It types them where a page asks, goes on where a page
asks to go on, and ends at the first page of credd's or, with PAGE, when a page has that text. The text of
the last page is written beside SETTINGS, as SETTINGS.page. Nothing but loopback is reachable.
"""

import json
import os
import sys
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
SECONDS = 30


def start(folder):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ARGUMENTS + [f"--user-data-dir={folder}"]:
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def shown(driver, selector):
    return [element for element in driver.find_elements(By.CSS_SELECTOR, selector) if element.is_displayed()]


def step(driver, settings, done):
    """What a person would do with the page; what was done, or None."""
    names = shown(driver, "input[name=username]")
    words = shown(driver, "input[name=password]")
    if names and words and "password" not in done:
        names[0].clear()
        names[0].send_keys(settings["User"])
        words[0].send_keys(settings["Password"] + "\n")
        return "password"
    for button in shown(driver, "button"):
        text = button.text.strip().lower()
        if text in ("continue", "authorize", "allow", "approve") and not (names and words):
            button.click()
            return "consent"
    return None


def visit(driver, settings, url, wanted):
    done = set()
    driver.get(url)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            text = driver.find_element(By.TAG_NAME, "body").text
            if driver.title.startswith("credd:") or (wanted and wanted.lower() in text.lower()):
                return driver.title + "\n" + text
            action = step(driver, settings, done)
            if action:
                done.add(action)
                time.sleep(0.2)
        except WebDriverException as error:
            # The page went away while it was looked at.
            last = str(error).splitlines()[0]
            print(last, file=sys.stderr)
        time.sleep(0.1)
    shown_text = driver.find_element(By.TAG_NAME, "body").text
    raise SystemExit(
        f"no end in {SECONDS} s, at {driver.current_url.split('?')[0]}: {driver.title}\n{shown_text}")


def main():
    path, url = sys.argv[1], sys.argv[2]
    wanted = sys.argv[3] if len(sys.argv) > 3 else None
    with open(path) as file:
        settings = json.load(file)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Chromium and its driver keep files of theirs in the home.
        os.environ["HOME"] = os.environ["TMPDIR"] = folder
        driver = start(os.path.join(folder, "profile"))
        try:
            page = visit(driver, settings, url, wanted)
        finally:
            driver.quit()
    with open(path + ".page.new", "w") as file:
        file.write(page)
    os.rename(path + ".page.new", path + ".page")


main()
