"""How a Spark program's JVM is started, and which start-up cache fits it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.software.cache import Cache
from stream2gym.software.java import JavaRuntime
from stream2gym.software.spark_software import MASTER, SUBMIT, SparkSoftware
from stream2gym.software.spark_start_cache import job_start_cache, with_start_cache


@pytest.fixture
def software(tmp_path: Path) -> SparkSoftware:
    home = tmp_path / "spark"
    for name in ("jars/b.jar", "jars/a.jar", "connector.jar", "package.jar"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    java = JavaRuntime(str(tmp_path), str(tmp_path / "java"), "25.0.1")
    Path(java.java).touch()
    return SparkSoftware(home, java, tmp_path, ("-Dx=y",), (home / "connector.jar",))


def test_the_class_path_is_jar_by_jar_in_one_order_with_packages_last(software: SparkSoftware) -> None:
    asked = replace(software, packages=(software.home / "package.jar",))
    names = [Path(jar).name for jar in asked.class_path.split(":")]
    assert names == ["connector.jar", "a.jar", "b.jar", "package.jar"]


def test_a_cache_fits_jobs_with_packages_of_their_own_but_no_other_jars(
    software: SparkSoftware, tmp_path: Path
) -> None:
    cache = Cache(tmp_path / "cache")
    file = job_start_cache(software, cache).file
    assert job_start_cache(replace(software, packages=(software.home / "package.jar",)), cache).file == file
    assert job_start_cache(replace(software, jars=(software.home / "package.jar",)), cache).file != file
    assert job_start_cache(replace(software, options=()), cache).file != file


def test_jobs_use_the_cache_where_it_is_and_nobody_else_does(software: SparkSoftware, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert with_start_cache(software, cache) == software
    file = job_start_cache(software, cache).file
    file.parent.mkdir(parents=True)
    file.touch()
    cached = with_start_cache(software, cache)
    assert f"-XX:AOTCache={file}" in cached.command(SUBMIT, heap_mb=512)
    assert not any("AOTCache" in word for word in cached.command(MASTER, heap_mb=256))
    assert job_start_cache(cached, cache).file == file
