"""Requests and responses of every version, encoded by kafka-python and read here."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.consumer.group import JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataResponse
from kafka.protocol.producer.produce import ProduceRequest, ProduceResponse
from kafka.protocol.producer.transaction import EndTxnRequest, EndTxnResponse

from stream2gym.packets import messages
from stream2gym.packets.fields import Undecodable
from tests.support.kafka_bytes import batch

ID = uuid.uuid4()
RECORDS = batch([(b"k", b"v")])
PRODUCE_VERSIONS, FETCH_VERSIONS = range(3, 14), range(4, 19)


def asked(message: Any, version: int) -> tuple[bytes, messages.RequestHeader]:
    """A request as it stands on the wire, with its header as it is read."""
    message.with_header(correlation_id=77, client_id="me")
    data = bytes(message.encode(version=version, header=True))
    header = messages.read_header(data)
    assert (header.version, header.correlation, header.client) == (version, 77, "me")
    assert messages.is_known(header)
    return data, header


def answered(message: Any, kind: int, version: int) -> tuple[bytes, messages.RequestHeader]:
    """A response as it stands on the wire, with the header of its request."""
    header = messages.RequestHeader(kind, version, 77, "me", 0)
    no_tags = b"\0" if header.is_flexible else b""
    return struct.pack("!i", 77) + no_tags + bytes(message.encode(version=version)), header


def topic(version: int) -> messages.Topic:
    return ID.bytes if version >= 13 else "t"


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_a_produce_request_is_read_in_every_version(version: int) -> None:
    one = ProduceRequest.TopicProduceData
    part = one.PartitionProduceData
    data, header = asked(
        ProduceRequest(
            version=version, transactional_id="tx", acks=-1, timeout_ms=500,
            topic_data=[one(name="t", topic_id=ID, partition_data=[part(index=2, records=RECORDS)])],
        ),
        version,
    )  # fmt: skip
    found = messages.read_produce_request(data, header)
    assert found.acks == -1
    assert {place: bytes(records) for place, records in found.records.items()} == {(topic(version), 2): RECORDS}


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_a_produce_response_is_read_in_every_version(version: int) -> None:
    one = ProduceResponse.TopicProduceResponse
    part = one.PartitionProduceResponse
    bad = part.BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message="why")
    results = [
        part(index=0, error_code=0, base_offset=7, log_append_time_ms=-1, log_start_offset=0, record_errors=[]),
        part(
            index=1, error_code=87, base_offset=-1, log_append_time_ms=-1, log_start_offset=0, record_errors=[bad],
            error_message="no", current_leader=part.LeaderIdAndEpoch(leader_id=3, leader_epoch=4),
        ),
    ]  # fmt: skip
    message = ProduceResponse(
        version=version, responses=[one(name="t", topic_id=ID, partition_responses=results)], throttle_time_ms=3
    )
    found = messages.read_produce_response(*answered(message, messages.PRODUCE, version))
    assert found[topic(version), 0].base_offset == 7
    assert found[topic(version), 0].error == 0
    assert found[topic(version), 1].error == 87


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_fetch_request_is_read_in_every_version(version: int) -> None:
    one = FetchRequest.FetchTopic
    part = one.FetchPartition
    gone = FetchRequest.ForgottenTopic(topic="t", topic_id=ID, partitions=[5, 6])
    data, header = asked(
        FetchRequest(
            version=version, replica_id=-1, max_wait_ms=5, min_bytes=1, max_bytes=99, isolation_level=1, session_id=8,
            session_epoch=4, forgotten_topics_data=[gone], rack_id="r",
            topics=[
                one(
                    topic="t", topic_id=ID,
                    partitions=[part(partition=n, fetch_offset=100 + n, partition_max_bytes=7) for n in (0, 1)],
                )
            ],
        ),
        version,
    )  # fmt: skip
    found = messages.read_fetch_request(data, header)
    assert found.offsets == {(topic(version), 0): 100, (topic(version), 1): 101}
    assert found.reads_committed
    assert found.is_full == (version < 7)
    assert found.forgotten == (() if version < 7 else ((topic(version), 5), (topic(version), 6)))


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_fetch_response_is_read_in_every_version(version: int) -> None:
    one = FetchResponse.FetchableTopicResponse
    part = one.PartitionData
    aborted = [part.AbortedTransaction(producer_id=5, first_offset=6)]
    common = {"high_watermark": 9, "last_stable_offset": 8, "log_start_offset": 0, "preferred_read_replica": -1}
    partitions = [
        part(partition_index=0, error_code=0, aborted_transactions=aborted, records=RECORDS, **common),
        part(
            partition_index=1, error_code=6, aborted_transactions=None, records=None,
            current_leader=part.LeaderIdAndEpoch(leader_id=1, leader_epoch=2), **common,
        ),
    ]  # fmt: skip
    message = FetchResponse(
        version=version, throttle_time_ms=0, error_code=0, session_id=4,
        responses=[one(topic="t", topic_id=ID, partitions=partitions)],
    )  # fmt: skip
    found = messages.read_fetch_response(*answered(message, messages.FETCH, version))
    assert bytes(found[topic(version), 0].records) == RECORDS
    assert found[topic(version), 0].aborted == ((5, 6),)
    assert found[topic(version), 1].error == 6
    assert not found[topic(version), 1].records


@pytest.mark.parametrize("version", range(14))
def test_metadata_tells_the_names_of_topics_by_id_from_version_10_on(version: int) -> None:
    one = MetadataResponse.MetadataResponseTopic
    part = one.MetadataResponsePartition
    numbers = {"replica_nodes": [1, 2], "isr_nodes": [1], "offline_replicas": [2]}
    partitions = [part(error_code=0, partition_index=0, leader_id=1, leader_epoch=0, **numbers)] * 2
    broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="h", port=9092, rack=None)
    message = MetadataResponse(
        version=version, throttle_time_ms=0, brokers=[broker], cluster_id="c", controller_id=1,
        topics=[one(error_code=0, name="t", topic_id=ID, is_internal=False, partitions=partitions)],
    )  # fmt: skip
    found = messages.read_topic_ids(*answered(message, messages.METADATA, version))
    assert found == ({ID.bytes: "t"} if version >= 10 else {})


GROUPS: list[tuple[Callable[[int], Any], range]] = [
    (lambda v: JoinGroupRequest(version=v, group_id="g", protocol_type="consumer"), range(10)),
    (lambda v: SyncGroupRequest(version=v, group_id="g", generation_id=1, member_id="m"), range(6)),
    (lambda v: OffsetCommitRequest(version=v, group_id="g"), range(2, 10)),
    (lambda v: FindCoordinatorRequest(version=v, key="g", key_type=0, coordinator_keys=["g"]), range(7)),
]


@pytest.mark.parametrize(("make", "version"), [(make, version) for make, versions in GROUPS for version in versions])
def test_requests_of_consumer_groups_name_the_group(make: Callable[[int], Any], version: int) -> None:
    assert messages.read_group(*asked(make(version), version)) == "g"


@pytest.mark.parametrize("version", range(1, 7))
def test_a_search_for_the_coordinator_of_transactions_names_no_group(version: int) -> None:
    request = FindCoordinatorRequest(version=version, key="tx", key_type=1, coordinator_keys=["tx"])
    assert messages.read_group(*asked(request, version)) is None


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("is_committed", [True, False])
def test_the_end_of_a_transaction_is_read_in_every_version(version: int, is_committed: bool) -> None:
    request = EndTxnRequest(
        version=version, transactional_id="tx", producer_id=12, producer_epoch=3, committed=is_committed
    )
    assert messages.read_end_transaction(*asked(request, version)) == messages.EndTransaction(12, is_committed)
    response = EndTxnResponse(version=version, throttle_time_ms=0, error_code=51, producer_id=1, producer_epoch=1)
    assert messages.read_end_error(*answered(response, messages.END_TRANSACTION, version)) == 51


def test_versions_that_brokers_of_kafka_4_do_not_take_are_not_known() -> None:
    for kind, version in ((messages.PRODUCE, 2), (messages.PRODUCE, 14), (messages.FETCH, 3), (messages.FETCH, 19)):
        assert not messages.is_known(messages.RequestHeader(kind, version, 1, "me", 0))


@pytest.mark.parametrize("version", [3, 9, 13])
def test_a_request_that_is_cut_off_anywhere_is_refused_and_never_read_in_part(version: int) -> None:
    one = ProduceRequest.TopicProduceData
    part = one.PartitionProduceData
    message = ProduceRequest(
        version=version, transactional_id=None, acks=1, timeout_ms=1,
        topic_data=[one(name="t", topic_id=ID, partition_data=[part(index=0, records=RECORDS)])],
    )  # fmt: skip
    data, header = asked(message, version)
    for end in range(header.body_at + 1, len(data) - 4):
        with pytest.raises((Undecodable, IndexError, struct.error)):
            messages.read_produce_request(data[:end], header)
