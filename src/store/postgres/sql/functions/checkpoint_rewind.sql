-- checkpoint_rewind(stream, consumer, seq) → where the checkpoint was: sets it on purpose; the
-- next message to handle is seq + 1, and completions above it are forgotten.
CREATE OR REPLACE FUNCTION {p}checkpoint_rewind(
    stream text, consumer text, seq bigint, namespace text = '', door text = 'outbox') RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _problem text := {p}stream_problem(door, namespace, stream, consumer, seq, 0);
    _rewound record;
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'checkpoint_rewind: ' || _problem;
    END IF;
    _rewound := {p}work_checkpoint_rewind({p}door_number(door), namespace, stream, consumer, seq);
    PERFORM {p}result_raise('checkpoint_rewind', _rewound.problem);
    RETURN _rewound.old;
END
$$;
