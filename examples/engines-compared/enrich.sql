-- Joins every order with the price that its product had at its time, by the messages of a compacted topic, with Flink.
CREATE TABLE orders (
  id INT,
  product STRING,
  `at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  WATERMARK FOR `at` AS `at`
) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.group.id' = 'enrich', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE prices (
  product STRING,
  price INT,
  since TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  WATERMARK FOR since AS since,
  PRIMARY KEY (product) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'prices', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.group.id' = 'enrich', 'key.format' = 'raw', 'value.format' = 'json',
  'value.fields-include' = 'EXCEPT_KEY');
CREATE TABLE enriched (id INT, product STRING, price INT) WITH (
  'connector' = 'kafka', 'topic' = 'enriched', 'properties.bootstrap.servers' = '${S2G_BOOTSTRAP}',
  'properties.linger.ms' = '0', 'format' = 'json');

INSERT INTO enriched
SELECT orders.id, orders.product, prices.price
FROM orders JOIN prices FOR SYSTEM_TIME AS OF orders.`at` ON orders.product = prices.product;
