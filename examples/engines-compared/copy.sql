-- Copies a topic into another with Flink.
CREATE TABLE messages (message BYTES) WITH (
  'connector' = 'kafka', 'topic' = 'in', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.group.id' = 'copy', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw');
CREATE TABLE copies (message BYTES) WITH (
  'connector' = 'kafka', 'topic' = 'out', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'format' = 'raw',
  'properties.linger.ms' = '0', 'sink.delivery-guarantee' = '${GUARANTEE}',
  'sink.transactional-id-prefix' = 'copy', 'properties.transaction.timeout.ms' = '600000');

INSERT INTO copies SELECT message FROM messages;
