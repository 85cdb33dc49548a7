#!/usr/bin/python3
# Reads every topic of all sites from the broker of one site, for ever.

import logging
import sys

from kafka import KafkaConsumer

node = sys.argv[1]
instance = sys.argv[2]
nodeNumber = node[1:]

logging.basicConfig(
    filename="logs/output/cons/cons-node" + nodeNumber + "-instance" + instance + ".log",
    format="%(asctime)s %(levelname)s:%(message)s",
    level=logging.INFO,
)

consumer = KafkaConsumer(
    bootstrap_servers="10.0.0." + nodeNumber + ":9092",
    auto_offset_reset="earliest",
    enable_auto_commit=True,
    consumer_timeout_ms=1000,
    group_id="group-" + nodeNumber + "-instance" + instance,
)
consumer.subscribe(pattern="^topic-*")

while True:
    # The iteration ends whenever nothing came for a second.
    for msg in consumer:
        content = str(msg.value, "utf-8")
        logging.info(
            "Prod ID: %s; Message ID: %s; Latest: False; Topic: %s; Offset: %s; Size: %s",
            content[:2],
            content[2:8],
            msg.topic,
            msg.offset,
            len(msg.value),
        )
