-- topic_mark(topic, by_topic) → what pending.topic is in a queue: the topic's hash if messages are found
-- by their topics there (queue.by_topic above 0), else its complement, which is negative and so not
-- in the index pending_topic.
CREATE OR REPLACE FUNCTION {p}topic_mark(topic text, by_topic smallint) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashtext(topic) & 2147483647) # CASE WHEN by_topic > 0 THEN 0 ELSE -1 END;
