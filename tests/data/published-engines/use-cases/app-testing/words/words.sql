-- The words of every line, each as a message.
CREATE TABLE lines (line STRING) WITH (
  'connector' = 'kafka', 'topic' = 'inTopic', 'properties.bootstrap.servers' = '10.0.0.2:9092',
  'properties.group.id' = 'words', 'scan.startup.mode' = 'earliest-offset', 'format' = 'raw');
CREATE TABLE words (word STRING) WITH (
  'connector' = 'kafka', 'topic' = 'outTopic', 'properties.bootstrap.servers' = '10.0.0.2:9092', 'format' = 'raw');

INSERT INTO words
SELECT word FROM lines CROSS JOIN UNNEST(REGEXP_EXTRACT_ALL(line, '[a-z]+', 0)) AS parts (word);
