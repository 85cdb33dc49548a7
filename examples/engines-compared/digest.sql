-- Replaces every message by the digest of what it is 16,000 times over, with Flink: work that needs a CPU.
CREATE TABLE messages (message STRING) WITH (
  'connector' = 'kafka', 'topic' = 'in', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.group.id' = 'digest', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw');
CREATE TABLE digests (message STRING) WITH (
  'connector' = 'kafka', 'topic' = 'out', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'format' = 'raw');

INSERT INTO digests SELECT SHA256(REPEAT(message, 16000)) FROM messages;
