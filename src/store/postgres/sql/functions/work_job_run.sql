-- work_job_run(job, instants, triggered, t) → how many runs were made, and the
-- last of them: a message of the door job_runs for each instant, unless there is
-- a run of this job and instant. The payload may be longer than the queue
-- allows: it was checked when the job was set.
--
-- The caller holds the job's row, so no other transaction makes runs of it. The unique index
-- decides before a message is written.
CREATE OR REPLACE FUNCTION {p}work_job_run(
    _job {p}job, _instants timestamptz[], _triggered boolean, _t timestamptz,
    OUT made int, OUT last_at timestamptz, OUT last_run uuid)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _queue {p}queue;
    _ids uuid[];
BEGIN
    _queue := {p}queue_get(3::smallint, _job.namespace);
    WITH new AS (
        INSERT INTO {p}job_run (id, scheduled_at, triggered, maybe_open, job)
        SELECT u.id, u.at, _triggered, true, _job.name
        FROM unnest({p}ids_new(3::smallint, cardinality(_instants)), _instants) u(id, at)
        ON CONFLICT (job, scheduled_at) WHERE NOT triggered DO NOTHING
        RETURNING id, scheduled_at)
    SELECT array_agg(n.id), array_agg(n.scheduled_at) INTO _ids, _instants FROM new n;
    made := coalesce(cardinality(_ids), 0);
    last_at := _instants[made];
    last_run := _ids[made];
    INSERT INTO {p}message (id, created_at, due_at, queue, level, topic, headers, payload)
    SELECT u.id, _t, u.at, _queue.id, 1, _job.topic,
           jsonb_build_object('job', _job.name, 'scheduled_at',
                              to_char(u.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
           coalesce(_job.payload, '')
    FROM unnest(_ids, _instants) u(id, at);
    INSERT INTO {p}pending (due, id, lane, topic, attempts, lost)
    SELECT greatest(u.at, _t), u.id, {p}lane(_queue.id, 1), {p}topic_mark(_job.topic, _queue.by_topic), 0, 0
    FROM unnest(_ids, _instants) u(id, at);
END
$$;
