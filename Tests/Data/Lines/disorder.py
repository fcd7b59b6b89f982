#!/usr/bin/env python3
"""A cable between two network namespaces that loses, delays and disorders packets when told to.

    disorder.py PID PID    of a process in each namespace

Its ends are the TUN devices `near` and `far`. It says `laid` when they are there. SIGUSR1 makes it
bad; SIGUSR2 makes it good again, and it says how many packets were lost and how many were overtaken.
The kernel's netem does the same, but many kernels are built without it.
"""

import ctypes
import errno
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import sys
import time

# From linux/if_tun.h and linux/sched.h.
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000

LOSS = 0.2
DELAY, JITTER = 0.1, 0.08  # seconds
HELD = 4096  # packets at most; a full cable loses
LONGEST_PACKET = 65536


class Cable:
    def __init__(self, near, far):
        self.other = {near: far, far: near}
        self.is_bad = False
        # Packets under way: when each is due, its number, the end it goes to.
        self.under_way, self.number = [], 0
        self.last_sent = {near: 0, far: 0}
        self.lost = self.overtaken = 0

    def worsen(self, *_):
        self.is_bad, self.lost, self.overtaken = True, 0, 0

    def recover(self, *_):
        self.is_bad = False
        print(f"{self.lost} lost, {self.overtaken} overtaken", flush=True)

    def carry(self):
        while True:
            readable, _, _ = select.select(list(self.other), [], [], self.until_due())
            for end in readable:
                self.take(os.read(end, LONGEST_PACKET), self.other[end])
            while self.under_way and self.until_due() == 0:
                self.send(*heapq.heappop(self.under_way)[1:])

    def until_due(self):
        return max(0, self.under_way[0][0] - time.monotonic()) if self.under_way else None

    def take(self, packet, end):
        if self.is_bad and (random.random() < LOSS or len(self.under_way) >= HELD):
            self.lost += 1
            return
        self.number += 1
        delay = random.uniform(DELAY - JITTER, DELAY + JITTER) if self.is_bad else 0
        heapq.heappush(self.under_way, (time.monotonic() + delay, self.number, end, packet))

    def send(self, number, end, packet):
        self.overtaken += number < self.last_sent[end]
        self.last_sent[end] = max(number, self.last_sent[end])
        try:
            os.write(end, packet)
        except OSError as error:
            if error.errno != errno.EIO:  # that end is down
                raise


def open_end(pid, name):
    """A TUN device is in the namespace of the process that opens it."""
    with open(f"/proc/{pid}/ns/net") as namespace:
        library = ctypes.CDLL(None, use_errno=True)
        if library.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"the network namespace of {pid}")
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name, IFF_TUN | IFF_NO_PI))
    return end


def main():
    near, far = sys.argv[1:]
    cable = Cable(open_end(near, b"near"), open_end(far, b"far"))
    signal.signal(signal.SIGUSR1, cable.worsen)
    signal.signal(signal.SIGUSR2, cable.recover)
    print("laid", flush=True)
    cable.carry()


if __name__ == "__main__":
    main()
