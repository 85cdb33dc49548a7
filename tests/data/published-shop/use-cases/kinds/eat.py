import sys

from kafka import KafkaConsumer

host, instance = sys.argv[1:3]
consumer = KafkaConsumer("own", bootstrap_servers=f"10.0.0.{host[1:]}:9092", auto_offset_reset="earliest")
with open(f"logs/output/cons/cons-node{host[1:]}-instance{instance}.log", "w", buffering=1) as log:
    for message in consumer:
        log.write(f"Message received: {message.value.decode()}\n")
