"""Opens connections to the first broker and reports how long each took, in milliseconds: a round trip each."""

import socket
import time

from stream2gym.program import bootstrap, is_load_over, report

host, _, port = bootstrap().split(",")[0].rpartition(":")
while not is_load_over():
    began = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=10):
        took = time.monotonic() - began
    report(rtt_ms=took * 1e3)
    time.sleep(0.05)
