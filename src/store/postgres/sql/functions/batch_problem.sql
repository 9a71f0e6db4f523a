-- batch_problem(…) → what is wrong with the arguments that only process_work_batch has, or null.
CREATE OR REPLACE FUNCTION {p}batch_problem(
    _flags int, _partitions int, _max_partitions int, _renew_outbox_ids uuid[], _renew_inbox_ids uuid[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _flags IS NULL OR _flags NOT BETWEEN 0 AND 15
            THEN format('flags is %s; give the bits 1, 2, 4 and 8', coalesce(_flags::text, 'null'))
        WHEN _partitions IS NULL OR _partitions NOT BETWEEN 1 AND 1000000
            THEN format('partition_count is %s; give 1 to 1000000', coalesce(_partitions::text, 'null'))
        WHEN _max_partitions < 1
            THEN format('max_partitions_per_instance is %s; give 1 or more, or leave it out', _max_partitions)
        ELSE coalesce('renew_outbox_ids: ' || CASE WHEN _renew_outbox_ids IS NOT NULL THEN {p}ids_problem(_renew_outbox_ids) END,
                      'renew_inbox_ids: ' || CASE WHEN _renew_inbox_ids IS NOT NULL THEN {p}ids_problem(_renew_inbox_ids) END)
    END;
END
$$;
