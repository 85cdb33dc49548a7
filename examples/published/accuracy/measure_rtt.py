"""Opens connections to the first broker and reports the round-trip time of each, in milliseconds.

The kernel measures it between the first packet of a connection and the answer, so that no time of this program
counts.
"""

import socket
import struct
import time

from stream2gym.program import bootstrap, is_load_over, report

RTT_AT = 68  # where struct tcp_info of Linux has tcpi_rtt, in microseconds

host, _, port = bootstrap().split(",")[0].rpartition(":")
while not is_load_over():
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    [rtt_us] = struct.unpack_from("I", info, RTT_AT)
    report(rtt_ms=rtt_us / 1e3)
    time.sleep(0.05)
