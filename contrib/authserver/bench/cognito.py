"""Answers GetOpenIdTokenForDeveloperIdentity at once: the same token for everybody.

    cognito.py PORT
"""

import asyncio
import sys

BODY = (
    b'{"IdentityId":"us-east-1:00000000-0000-4000-8000-000000000000","Token":"' + b"x" * 900 + b'"}'
)
REPLY = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: %d\r\n\r\n"
    % len(BODY)
) + BODY


class Cognito(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.rest = b""

    def data_received(self, data):
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head = self.rest[:end].lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.rest) < end + 4 + length:
                return
            self.rest = self.rest[end + 4 + length :]
            self.transport.write(REPLY)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Cognito, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
