"""Passes requests on to a provider and keeps what passes, as a test's own eyes:

    python3 relay.py TARGET FILE

TARGET is the provider's origin. The port is printed first. FILE gets a line of JSON for each request: its
path, the form that was sent, the status and the reply.
"""

import http.client
import http.server
import json
import sys
import threading
import urllib.parse

target, path = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2]
lock = threading.Lock()


class Relay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection(target.hostname, target.port, timeout=20)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        connection.request("POST", self.path, body, headers)
        reply = connection.getresponse()
        answer = reply.read()
        with lock, open(path, "a") as file:
            file.write(json.dumps({
                "Path": self.path, "Form": dict(urllib.parse.parse_qsl(body.decode())), "Status": reply.status,
                "Reply": answer.decode(errors="replace")}) + "\n")
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "server", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
print(server.server_port, flush=True)
server.serve_forever()
