"""The office: files every bill until it is asked to stop (SIGTERM), and tells how many there were."""

import signal
import threading

from confluent_kafka import Consumer

from stream2gym.program import bootstrap, group, report, topics

stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
consumer = Consumer({"bootstrap.servers": bootstrap(), "group.id": group("office"), "auto.offset.reset": "earliest"})
consumer.subscribe(topics("bills"))
filed = 0
with open("logs/output/bills.jsonl", "w", buffering=1) as bills:
    while not stop.is_set():
        message = consumer.poll(0.2)
        if message is None:
            continue
        if message.error():
            print(message.error())
            continue
        print(message.value().decode(), file=bills)
        filed += 1
consumer.close()
report(filed=filed)
