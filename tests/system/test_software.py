"""The real software in the user's own cache: fetched once, then started bare on loopback."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.software.cache import Cache
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.fetch import ensure_jars
from stream2gym.software.flink_software import FlinkSoftware
from stream2gym.software.flink_start_cache import flink_start_cache, make_start_caches
from stream2gym.software.java import find_java, spark_home
from stream2gym.software.kafka_config import broker_defaults, properties_text
from stream2gym.software.kafka_software import KafkaSoftware
from stream2gym.software.kafka_storage import format_folder, new_id
from stream2gym.software.loopback_broker import exercise, free_ports, loopback_broker
from stream2gym.software.software_lists import JDBC, SPARK_KAFKA
from stream2gym.wait import wait_until


@pytest.fixture(scope="module")
def kafka() -> KafkaSoftware:
    return ensure_kafka()


def test_the_second_time_nothing_is_fetched(kafka: KafkaSoftware) -> None:
    started = time.monotonic()
    again = ensure_kafka(progress=lambda *words: pytest.fail(f"nothing to do, but {words}"))
    assert time.monotonic() - started < 0.5
    assert again == replace(kafka, cache=again.cache)


@pytest.mark.parametrize("with_cache", [True, False], ids=["start cache", "no start cache"])
def test_a_bare_broker_serves_a_topic(kafka: KafkaSoftware, tmp_path: Path, with_cache: bool) -> None:
    assert kafka.start_cache is not None
    software = kafka if with_cache else replace(kafka, start_cache=None)
    with loopback_broker(software, tmp_path) as broker:
        mapped = Path(f"/proc/{broker.process.pid}/maps").read_text()
        assert (str(kafka.start_cache) in mapped) == with_cache
        exercise(broker)
    assert broker.process.returncode == 143, "an orderly end after SIGTERM"
    log = broker.log.read_text()
    assert "Kafka Server started" in log
    assert "SLF4J" not in log


def test_three_nodes_form_one_cluster_from_copied_checkpoints(kafka: KafkaSoftware, tmp_path: Path) -> None:
    with _cluster(kafka, tmp_path, 3) as ports:
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{ports[0]}", "log_level": 0})
        wait_until(lambda: len(admin.list_topics(timeout=10).brokers) == 3, timeout_s=30, reason="three brokers")
        admin.create_topics([NewTopic("t", 3, 3)])["t"].result(30)
        wait_until(
            lambda: all(
                len(part.isrs) == 3 for part in admin.list_topics("t", timeout=10).topics["t"].partitions.values()
            ),
            timeout_s=30,
            reason="full ISR",
        )


@contextlib.contextmanager
def _cluster(kafka: KafkaSoftware, folder: Path, nodes: int) -> Iterator[list[int]]:
    ports, controllers, cluster = free_ports(nodes), free_ports(nodes), new_id()
    voters = ",".join(f"{n + 1}@127.0.0.1:{controllers[n]}" for n in range(nodes))
    processes = []
    try:
        for n in range(nodes):
            format_folder(kafka, folder / str(n), cluster_id=cluster, node_id=n + 1)
            properties = broker_defaults(nodes) | {
                "process.roles": "broker,controller",
                "node.id": str(n + 1),
                "controller.quorum.voters": voters,
                "controller.listener.names": "CONTROLLER",
                "listeners": f"PLAINTEXT://127.0.0.1:{ports[n]},CONTROLLER://127.0.0.1:{controllers[n]}",
                "log.dirs": str(folder / str(n)),
            }
            config = folder / f"{n}.properties"
            config.write_text(properties_text(properties))
            with (folder / f"{n}.log").open("wb") as log:
                processes.append(subprocess.Popen(kafka.command(config), stdout=log, stderr=subprocess.STDOUT))
        yield ports
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_start_up_cache_that_is_rotten_only_costs_time(kafka: KafkaSoftware, tmp_path: Path) -> None:
    rotten = tmp_path / "rotten.aot"
    rotten.write_bytes(b"no cache" * 1000)
    with loopback_broker(replace(kafka, start_cache=rotten), tmp_path) as broker:
        assert broker.process.poll() is None


def test_without_network_one_message_says_what_to_do_and_nothing_is_left(tmp_path: Path) -> None:
    apart = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no network namespaces here")
    env = os.environ | {"S2G_CACHE": str(tmp_path / "cache")}
    command = [*apart, sys.executable, "-m", "stream2gym", "setup"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 4, done.stderr
    assert "no network" in done.stderr
    assert "S2G_IVY_SETTINGS" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "cache").rglob("*.jar"))
    assert not list((tmp_path / "cache" / "tmp").iterdir())


def test_offline_a_broker_still_starts(kafka: KafkaSoftware, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from stream2gym.software.ensure_kafka import ensure_kafka\n"
        "from stream2gym.software.loopback_broker import loopback_broker\n"
        "import subprocess; subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)\n"
        "with loopback_broker(ensure_kafka(), Path(sys.argv[1])): print('open')\n"
    )
    apart = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode != 0 or not shutil.which("ip"):
        pytest.skip("no network namespaces here")
    command = [*apart, sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "open\n", done.stderr


@pytest.mark.long
def test_a_broken_jar_is_replaced_by_setup_verify(tmp_path: Path, kafka: KafkaSoftware) -> None:
    cache = Cache(tmp_path / "cache")
    shutil.copytree(kafka.cache.folder, cache.folder, ignore=shutil.ignore_patterns("tmp", "aot"), symlinks=True)
    jar = next((cache.folder / "jars").rglob("slf4j-simple-*.jar"))
    stat = jar.stat()
    good = jar.read_bytes()
    jar.write_bytes(bytes(len(good)))
    os.utime(jar, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    env = os.environ | {"S2G_CACHE": str(cache.folder)}
    command = [sys.executable, "-m", "stream2gym", "setup", "--verify", "--json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["replaced"] == ["org.slf4j:slf4j-simple:1.7.36"]
    assert jar.read_bytes() == good


@pytest.mark.long
def test_spark_starts_on_the_bundled_java_with_the_kafka_connector() -> None:
    jars = [*ensure_jars(SPARK_KAFKA), *ensure_jars(JDBC)]
    program = (
        "import sys\nfrom pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false')"
        ".config('spark.driver.memory', '512m').config('spark.jars', sys.argv[1]).getOrCreate()\n"
        "loader = spark._jvm.Thread.currentThread().getContextClassLoader()\n"
        "for name in sys.argv[2:]: print(loader.loadClass(name).getName())\n"
    )
    classes = ["org.apache.spark.sql.kafka010.KafkaSourceProvider", "org.mariadb.jdbc.Driver"]
    env = os.environ | {"JAVA_HOME": str(spark_home(find_java()))}
    command = [sys.executable, "-c", program, ",".join(map(str, jars)), *classes]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == classes, done.stderr


@pytest.mark.long
def test_another_kafka_version_is_resolved_recorded_and_starts(tmp_path: Path) -> None:
    older = ensure_kafka("3.9.1", start_cache=False)
    assert older.origin == "first use"
    assert (older.cache.folder / "locks" / "kafka-3.9.1.json").is_file()
    with loopback_broker(older, tmp_path) as broker:
        exercise(broker)
    with pytest.raises(Exception, match=r"does not have org\.apache\.kafka:kafka_2\.13:4\.3\.99"):
        ensure_kafka("4.3.99")


@pytest.mark.long
@pytest.mark.alone
def test_making_the_start_up_cache_of_flink_leaves_nothing_behind() -> None:
    software = FlinkSoftware.ensure()
    made = flink_start_cache(software, "taskmanager").find()
    if made is not None:
        made.unlink()
    temporary = Path(tempfile.gettempdir())
    before = set(temporary.glob("flink-*"))
    assert "taskmanager" in dict(make_start_caches(roles=("taskmanager",)).start_caches)
    assert set(temporary.glob("flink-*")) == before
