"""The shop: places ten orders a second until the load ends, and tells how many of them Kafka acknowledged."""

import json
import os
import random
import time

from confluent_kafka import Producer

from stream2gym.program import bootstrap, grace_s, is_load_over, report, seed, topics

(ORDERS,) = topics("orders")
GIVE_UP_S = float(os.environ.get("GIVE_UP_S", "300"))
counts = {"placed": 0, "acknowledged": 0, "failed": 0}


def answered(error, message):
    counts["failed" if error else "acknowledged"] += 1
    if error:
        print(f"gave up order {message.key().decode()}: {error.str()}")


chance = random.Random(seed())
producer = Producer(
    {
        "bootstrap.servers": bootstrap(),
        "acks": "all",
        "enable.idempotence": True,
        "message.timeout.ms": int(GIVE_UP_S * 1000),
    }
)
with open("logs/output/orders.jsonl", "w", buffering=1) as placed:
    while not is_load_over():
        counts["placed"] += 1
        order = {"id": counts["placed"], "cents": chance.randint(100, 99_999)}
        print(json.dumps(order), file=placed)
        producer.produce(ORDERS, json.dumps(order), key=str(order["id"]), on_delivery=answered)
        producer.poll(0)
        time.sleep(0.1)
producer.flush(grace_s())
report(**counts)
