#!/usr/bin/python3
# Sends reports of one site to the broker of that site, to a random topic each.

import logging
import queue
import random
import re
import sys
import threading
import time
from pathlib import Path

from kafka import KafkaProducer

node = sys.argv[1]
instance = sys.argv[2]
nodeNumber = node[1:]
rate = 6.0
topics = ["topic-0", "topic-1"]

logging.basicConfig(
    filename="logs/output/prod/prod-node" + nodeNumber + "-instance" + instance + ".log",
    format="%(asctime)s %(levelname)s:%(message)s",
    level=logging.INFO,
)

sentMessages = queue.Queue()


def readMessage():
    lines = Path("use-cases/military-coordination/position.xml").read_text().splitlines()
    return "".join(re.sub(r"\d+", str(random.randint(1, 999)), line) for line in lines)


def checkMessages():
    """Waits for the answer to each message in turn, beside the loop that sends."""
    while True:
        messageID, future = sentMessages.get()
        try:
            logging.info("Produced message ID: %s; Value: %s", messageID, future.get(timeout=200))
        except Exception as e:
            logging.info("Message not produced. ID: %s; Error: %s", messageID, e)


producer = KafkaProducer(
    bootstrap_servers="10.0.0." + nodeNumber + ":9092",
    acks=1,
    compression_type="gzip",
    linger_ms=100,
    request_timeout_ms=100000,
)
threading.Thread(target=checkMessages, daemon=True).start()

messageNumber = 0
while True:
    messageID = str(messageNumber).zfill(6)
    topic = random.choice(topics)
    value = (nodeNumber.zfill(2) + messageID + readMessage()).encode()
    future = producer.send(topic, value)
    sentMessages.put((messageID, future))
    logging.info("Topic-name: %s; Message ID: %s; Message: %s", topic, messageID, value)
    messageNumber += 1
    time.sleep(1.0 / rate)
