-- Job 1: a message is a file; for each file, how often each of its words occurs.
CREATE TABLE files (text STRING) WITH (
  'connector' = 'kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}', 'properties.group.id' = 'split',
  'scan.startup.mode' = 'earliest-offset', 'topic' = 'files', 'format' = 'raw');
CREATE TABLE counts (file STRING, word STRING, `count` BIGINT, PRIMARY KEY (file, word) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'topic' = 'counts', 'key.format' = 'json', 'value.format' = 'json');

INSERT INTO counts
SELECT file, word, COUNT(*)
FROM (
  SELECT
    REGEXP_EXTRACT(text, ' File: (\d+)$', 1) AS file,
    LOWER(REGEXP_EXTRACT(text, '(?s)^(.*) Topic: ', 1)) AS body
  FROM files
) CROSS JOIN UNNEST(REGEXP_EXTRACT_ALL(body, '[a-z]+', 0)) AS words (word)
GROUP BY file, word;
