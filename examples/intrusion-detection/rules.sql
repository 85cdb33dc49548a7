-- Three rules over one log, each stateful in event time, with a minute of disorder allowed.
--
-- scan    a count in a window: one source tries 20 ports of one target within a minute
-- guess   a sequence: five failed logins or more, then a success, of one user from one source within two minutes
-- bare    a negation: a login from outside, and no VPN session of that user in the ten minutes before
CREATE TABLE log (
  event INT, kind STRING, source STRING, target STRING, port INT, `user` STRING, ok BOOLEAN, `at` TIMESTAMP(3),
  WATERMARK FOR `at` AS `at` - INTERVAL '1' MINUTE
) WITH (
  'connector' = 'kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'properties.group.id' = 'rules',
  'scan.startup.mode' = 'earliest-offset', 'topic' = 'log', 'format' = 'json',
  'json.timestamp-format.standard' = 'ISO-8601');
CREATE TABLE alarms (rule STRING, source STRING, what STRING, `at` STRING, `count` BIGINT) WITH (
  'connector' = 'kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'topic' = 'alarms', 'format' = 'json');

CREATE VIEW connects AS SELECT * FROM log WHERE kind = 'connect';
CREATE VIEW failures AS SELECT * FROM log WHERE kind = 'login' AND NOT ok;
CREATE VIEW successes AS SELECT * FROM log WHERE kind = 'login' AND ok;
CREATE VIEW sessions AS SELECT * FROM log WHERE kind = 'vpn';

INSERT INTO alarms
SELECT 'scan', source, target, DATE_FORMAT(window_start, 'HH:mm:ss'), COUNT(DISTINCT port)
FROM TABLE(HOP(TABLE connects, DESCRIPTOR(`at`), INTERVAL '30' SECOND, INTERVAL '1' MINUTE))
GROUP BY source, target, window_start, window_end
HAVING COUNT(DISTINCT port) >= 20;

CREATE VIEW followed AS
SELECT s.event, s.source, s.`user`, s.`at`
FROM successes AS s
JOIN failures AS f ON s.source = f.source AND s.`user` = f.`user`
  AND f.`at` >= s.`at` - INTERVAL '2' MINUTE AND f.`at` < s.`at`;

INSERT INTO alarms
SELECT 'guess', source, `user`, DATE_FORMAT(window_start, 'HH:mm:ss'), COUNT(*)
FROM TABLE(TUMBLE(TABLE followed, DESCRIPTOR(`at`), INTERVAL '1' SECOND))
GROUP BY event, source, `user`, window_start, window_end
HAVING COUNT(*) >= 5;

INSERT INTO alarms
SELECT 'bare', l.source, l.`user`, DATE_FORMAT(l.`at`, 'HH:mm:ss'), CAST(0 AS BIGINT)
FROM successes AS l
LEFT JOIN sessions AS v ON l.`user` = v.`user`
  AND v.`at` >= l.`at` - INTERVAL '10' MINUTE AND v.`at` <= l.`at`
WHERE l.source NOT LIKE '10.%' AND v.`user` IS NULL;
