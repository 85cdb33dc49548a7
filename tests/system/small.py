"""The experiment that tests of trouble change: one broker, one producer, one consumer."""

from __future__ import annotations

SMALL = """\
s2g: 1
name: small
topology: {kind: star, hosts: 2, latency: 1 ms}
brokers: [{on: h1}]
topics: [t]
producers: [{name: gen, on: h2, topic: t, rate: 100/s, size: 20 B}]
consumers: [{name: see, on: h2, topics: [t]}]
time: 30 s
drain: 5 s
"""
