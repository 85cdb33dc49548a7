"""Formatting a broker's data folder without starting a JVM for each.

``meta.properties`` identifies the node. ``bootstrap.checkpoint`` holds the feature levels of a new cluster and
nothing about the node, so the tool of Kafka makes it once for each version and every folder gets a copy.
"""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

from stream2gym.errors import StartFailed
from stream2gym.software.kafka_config import properties_text
from stream2gym.software.kafka_software import KafkaSoftware

FORMAT_TIMEOUT_S = 60.0
_NAME = "bootstrap.checkpoint"


def new_id(random_bytes: bytes | None = None) -> str:
    """A cluster or folder id as Kafka writes them: 16 bytes in URL-safe base64, without a leading dash."""
    raw = random_bytes if random_bytes is not None else os.urandom(16)
    text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    return "A" + text[1:] if text.startswith("-") else text


def format_folder(software: KafkaSoftware, folder: Path, *, cluster_id: str, node_id: int) -> None:
    """Make ``folder`` the empty data folder of one node."""
    checkpoint = ensure_checkpoint(software).read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _NAME).write_bytes(checkpoint)
    meta = {"version": "1", "cluster.id": cluster_id, "node.id": str(node_id), "directory.id": new_id()}
    (folder / "meta.properties").write_text(properties_text(meta), "ascii")


def ensure_checkpoint(software: KafkaSoftware) -> Path:
    """The cached checkpoint of this version; the tool of Kafka makes it if it is missing."""
    kept = software.cache.path("kafka", software.version, _NAME)
    if not kept.is_file():
        with software.cache.lock(), software.cache.scratch() as scratch:
            software.cache.write(kept, _format_with_tool(software, scratch))
    return kept


def _format_with_tool(software: KafkaSoftware, scratch: Path) -> bytes:
    config = scratch / "format.properties"
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "log.dirs": str(scratch / "data"),
    }
    config.write_text(properties_text(properties), "ascii")
    tool = ["kafka.tools.StorageTool", "format", "--cluster-id", new_id(), "--config", str(config)]
    command = [software.java.java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", software.classpath, *tool]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FORMAT_TIMEOUT_S, cwd=scratch, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise StartFailed(f"Kafka's storage tool did not end within {FORMAT_TIMEOUT_S:g} s") from error
    made = scratch / "data" / _NAME
    if done.returncode != 0 or not made.is_file():
        raise StartFailed(f"Kafka's storage tool failed:\n{(done.stdout + done.stderr)[-1500:]}")
    return made.read_bytes()
