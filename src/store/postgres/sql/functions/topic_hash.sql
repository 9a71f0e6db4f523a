-- topic_hash(topic) → a number from 0 to 2^31 - 1, by which pending knows the topic. The topic itself
-- decides: see work_pick.
CREATE OR REPLACE FUNCTION {p}topic_hash(topic text) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashtext(topic) & 2147483647;
