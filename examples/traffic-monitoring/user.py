"""One user: ``user.py HOST INSTANCE`` sends a hundred packets of a few flows, pausing now and then."""

import json
import os
import random
import sys
import time
from datetime import datetime, timedelta

from confluent_kafka import Producer

START = datetime(2026, 3, 1, 20, 0)
PORTS = (53, 80, 443, 443, 443, 8080, 9092)

instance = int(sys.argv[2])
chance = random.Random(f"{os.environ['S2G_SEED']} {instance}")
producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "acks": "all", "linger.ms": 5})
second = 0.0
for packet in range(100):
    second += chance.expovariate(2.0)
    flow = {
        "user": instance,
        "packet": packet,
        "port": chance.choice(PORTS),
        "bytes": chance.randint(60, 1500),
        "at": (START + timedelta(seconds=second)).isoformat(timespec="milliseconds"),
    }
    producer.produce("flows", json.dumps(flow), key=str(instance))
    producer.poll(0)
    if packet % 20 == 19:
        time.sleep(chance.uniform(0.2, 0.8))
producer.flush(30)
print(f'S2G {{"packets": {packet + 1}}}', flush=True)
