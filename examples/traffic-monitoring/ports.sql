-- Packets, bytes and users of each port in each ten seconds.
CREATE TABLE flows (`user` INT, packet INT, port INT, `bytes` BIGINT, `at` TIMESTAMP(3)) WITH (
  'connector' = 'kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'properties.group.id' = 'ports',
  'scan.startup.mode' = 'earliest-offset', 'topic' = 'flows', 'format' = 'json',
  'json.timestamp-format.standard' = 'ISO-8601');
CREATE TABLE ports (
  port INT, `start` STRING, packets BIGINT, `bytes` BIGINT, users BIGINT, PRIMARY KEY (port, `start`) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'topic' = 'ports', 'key.format' = 'json', 'value.format' = 'json');

INSERT INTO ports
SELECT port, `start`, COUNT(*), SUM(`bytes`), COUNT(DISTINCT `user`)
FROM (SELECT *, SUBSTRING(DATE_FORMAT(`at`, 'HH:mm:ss') FROM 1 FOR 7) || '0' AS `start` FROM flows)
GROUP BY port, `start`;
