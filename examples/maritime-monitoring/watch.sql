-- Ships under way in the bay: how often each was heard in each minute, and its greatest speed.
CREATE TABLE positions (ship BIGINT, kind STRING, lat DOUBLE, lon DOUBLE, knots DOUBLE, `at` TIMESTAMP(3)) WITH (
  'connector' = 'kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'properties.group.id' = 'watch',
  'scan.startup.mode' = 'earliest-offset', 'topic' = 'positions', 'format' = 'json',
  'json.timestamp-format.standard' = 'ISO-8601');
CREATE TABLE traffic (
  ship BIGINT, `minute` STRING, heard BIGINT, knots DOUBLE, PRIMARY KEY (ship, `minute`) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'topic' = 'traffic', 'key.format' = 'json', 'value.format' = 'json');

INSERT INTO traffic
SELECT ship, `minute`, COUNT(*), MAX(knots)
FROM (SELECT *, DATE_FORMAT(`at`, 'HH:mm') AS `minute` FROM positions)
WHERE knots > 0.5 AND kind <> 'pilot' AND lat BETWEEN 53.5 AND 54.8 AND lon > 7.2
GROUP BY ship, `minute`;
