"""Starts Debian's glewlwyd as an OpenID Connect provider on 127.0.0.1, from nothing:

    python3 glewlwyd.py FOLDER PORT REDIRECT_URI

Its database and keys go into FOLDER. When it is ready, one line of JSON on standard output names the
issuer, the client, a user and the password. It ends by SIGTERM.
"""

import http.cookiejar
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

folder, port, redirect_uri = sys.argv[1], int(sys.argv[2]), sys.argv[3]
base = f"http://127.0.0.1:{port}"
client, user, password = "credd-public", "alice", "correct horse battery"
scopes = "openid offline_access"


def path(name):
    return os.path.join(folder, name)


def prepare():
    schema = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
    with open(schema) as commands:
        subprocess.run(["sqlite3", path("db")], stdin=commands, check=True)
    subprocess.run(["openssl", "genrsa", "-out", path("key"), "2048"], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(
        ["openssl", "rsa", "-in", path("key"), "-pubout", "-out", path("public")],
        check=True, stderr=subprocess.DEVNULL)
    # The server gives out no file to which a link leads, and Debian has a folder in the place of one.
    pages = path("webapp")
    shutil.copytree("/usr/share/glewlwyd/webapp", pages)
    configuration = os.path.join(pages, "config.json")
    if os.path.isdir(configuration):
        os.rename(configuration, configuration + ".d")
        shutil.copy(os.path.join(configuration + ".d", "config.json"), configuration)
    with open("/etc/glewlwyd/glewlwyd.conf") as file:
        text = file.read()
    # A slash at the end of external_url would become two in each endpoint.
    for pattern, line in [
        (r"port=.*", f"port={port}"),
        (r"external_url=.*", f'external_url="{base}"'),
        (r"log_mode=.*", 'log_mode="console"'),
        (r"#\s*bind_address=.*", 'bind_address="127.0.0.1"'),
        (r"#\s*static_files_path=.*", f'static_files_path="{path("webapp")}"'),
        (r"@include.*", f'database = {{ type = "sqlite3"; path = "{path("db")}"; }};'),
    ]:
        text, count = re.subn(r"(?m)^" + pattern, lambda _: line, text, count=1)
        assert count == 1, pattern
    with open(path("conf"), "w") as file:
        file.write(text)


class Session:
    """Somebody's calls of the server's own interface."""

    def __init__(self, name, word):
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self.call("POST", "auth/", {"username": name, "password": word})

    def call(self, method, place, body):
        request = urllib.request.Request(
            f"{base}/api/{place}", json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
        try:
            return self.opener.open(request, timeout=10).read()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {place}: {error.code} {error.read()[:500]}")


def read(name):
    with open(path(name)) as file:
        return file.read()


def configure():
    admin = Session("admin", "password")
    on = [
        "refresh-token-rolling", "allow-non-oidc", "auth-type-code-enabled", "auth-type-id-token-enabled",
        "auth-type-device-enabled", "auth-type-refresh-enabled", "auth-type-code-revoke-replayed", "jwks-show",
        "pkce-allowed", "pkce-required", "introspection-revocation-allowed",
    ]
    parameters = {
        "iss": f"{base}/api/oidc", "jwt-type": "rsa", "jwt-key-size": "256", "key": read("key"),
        "cert": read("public"), "access-token-duration": 120, "refresh-token-duration": 3600,
        "code-duration": 60, "refresh-token-one-use": "always", "device-authorization-expiration": 120,
        "device-authorization-interval": 1, "session-cookie-name": "SID",
        "session-cookie-expiration": 2419200, "subject-type": "public", "pkce-method-plain-allowed": False,
        **{name: True for name in on},
    }
    admin.call("POST", "mod/plugin/", {
        "module": "oidc", "name": "oidc", "display_name": "OIDC", "enabled": True, "parameters": parameters})
    admin.call("POST", "scope/", {
        "name": "offline_access", "display_name": "offline", "password_required": False, "scheme": {}})
    admin.call("POST", "client/", {
        "client_id": client, "enabled": True, "confidential": False, "redirect_uri": [redirect_uri],
        "authorization_type": ["code", "refresh_token", "device_authorization"],
        "token_endpoint_auth_method": ["none"]})
    admin.call("POST", "user/", {
        "username": user, "password": password, "enabled": True, "scope": scopes.split() + ["g_profile"]})
    Session(user, password).call("PUT", f"auth/grant/{client}", {"scope": scopes})


READY_SECONDS = 120  # on a busy machine


def wait_until_ready(server):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            raise SystemExit("glewlwyd ended:\n" + read("log")[-2000:])
        try:
            return opener.open(f"{base}/api/", timeout=5)
        except urllib.error.HTTPError:
            return None
        except OSError:
            time.sleep(0.05)
    raise SystemExit("glewlwyd does not answer")


prepare()
with open(path("log"), "w") as log:
    server = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "--", "/usr/bin/glewlwyd", "--config-file=" + path("conf")], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    wait_until_ready(server)
    configure()
    print(json.dumps({
        "Issuer": f"{base}/api/oidc", "Client": client, "User": user, "Password": password,
        "Scopes": scopes}), flush=True)
    signal.pause()
finally:
    server.terminate()
    server.wait()
