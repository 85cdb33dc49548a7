-- Job 2: how often each word occurs in all files so far, whenever that changes.
CREATE TABLE counts (file STRING, word STRING, `count` BIGINT, PRIMARY KEY (file, word) NOT ENFORCED) WITH (
  'properties.group.id' = 'rank',
  'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'topic' = 'counts', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE top (word STRING, total BIGINT, PRIMARY KEY (word) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'topic' = 'top', 'key.format' = 'raw', 'value.format' = 'json');

INSERT INTO top SELECT word, SUM(`count`) FROM counts GROUP BY word;
