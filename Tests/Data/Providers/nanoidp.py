"""Starts PyPI's nanoidp as an OpenID Connect provider on 127.0.0.1, from nothing:

    PYTHON nanoidp.py FOLDER PORT REDIRECT_URI

PYTHON is that of a virtual environment with nanoidp. Its files go into FOLDER. When it is ready, one line
of JSON on standard output names the issuer, the client, a user and the password. It ends by SIGTERM.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

folder, port, redirect_uri = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
issuer = f"http://127.0.0.1:{port}"
program = os.path.join(os.path.dirname(sys.executable), "nanoidp")
settings = {
    "config_version": 1,
    "server": {"host": "127.0.0.1", "port": port},
    "oauth": {
        "issuer": issuer, "audience": "credd-test", "token_expiry_minutes": 20, "require_pkce": True,
        "refresh_token_rotation": True, "refresh_token_expiry_minutes": 60,
        "clients": [{
            "client_id": "credd-public", "client_secret": "", "token_endpoint_auth_method": "none",
            "redirect_uris": [redirect_uri]}],
    },
    "device_flow": {"code_expiry_seconds": 120, "polling_interval": 1},
    "login": {"auto_login": False},
    "session": {"enforce_password_check": True},
}

READY_SECONDS = 120


def wait_until_ready(server):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    # On a busy machine Python takes a while to read what it imports.
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            with open(os.path.join(folder, "log")) as file:
                raise SystemExit("nanoidp ended:\n" + file.read()[-2000:])
        try:
            return opener.open(f"{issuer}/.well-known/openid-configuration", timeout=5)
        except OSError:
            time.sleep(0.05)
    raise SystemExit("nanoidp does not answer")


users = {
    "config_version": 1,
    "users": {"testuser": {"password": "test123", "email": "test@example.org", "roles": ["USER"]}},
}

log = open(os.path.join(folder, "log"), "w")
for name, content in [("settings", settings), ("users", users)]:
    with open(os.path.join(folder, name + ".yaml"), "w") as file:
        json.dump(content, file)  # which is YAML too
# It makes its keys in the working directory, whatever --config names.
server = subprocess.Popen(
    ["setpriv", "--pdeathsig", "TERM", "--", program, "--config", folder],
    cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    wait_until_ready(server)
    print(json.dumps({
        "Issuer": issuer, "Client": "credd-public", "User": "testuser", "Password": "test123",
        "Scopes": "openid offline_access"}), flush=True)
    signal.pause()
finally:
    server.terminate()
    server.wait()
