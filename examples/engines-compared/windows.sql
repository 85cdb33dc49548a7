-- Counts measurements in windows of two seconds, each measurement once, as long as the watermark waits for it.
CREATE TABLE measurements (
  id INT,
  `at` TIMESTAMP(3),
  WATERMARK FOR `at` AS `at` - INTERVAL '${WATERMARK}' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = 'measurements', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.group.id' = '${S2G_COMPONENT}', 'scan.startup.mode' = 'earliest-offset',
  'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601');
CREATE TABLE windows (`start` STRING, `count` BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${OUT}', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.linger.ms' = '0', 'format' = 'json');

INSERT INTO windows
SELECT DATE_FORMAT(window_start, 'HH:mm:ss'), COUNT(DISTINCT id)
FROM TABLE(TUMBLE(TABLE measurements, DESCRIPTOR(`at`), INTERVAL '2' SECOND))
GROUP BY window_start, window_end;
