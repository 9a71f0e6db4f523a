/* commands.h - every verb: the group it belongs to, and its table, which is in the file that runs it. */
#ifndef POSTHORN_CLI_COMMANDS_H
#define POSTHORN_CLI_COMMANDS_H

#include "cli.h"

/* In the order of help and manual. */
#define CLI_VERBS(V)                                                                               \
    V(migrate, migrate_up)                                                                         \
    V(migrate, migrate_status)                                                                     \
    V(migrate, migrate_validate)                                                                   \
    V(migrate, migrate_sql)                                                                        \
    V(enqueue, enqueue)                                                                            \
    V(enqueue, receive)                                                                            \
    V(claim, claim)                                                                                \
    V(claim, ack)                                                                                  \
    V(claim, abandon)                                                                              \
    V(claim, fail_verb)                                                                            \
    V(claim, release)                                                                              \
    V(claim, renew)                                                                                \
    V(claim, reap)                                                                                 \
    V(work, work)                                                                                  \
    V(stream, stream_list)                                                                         \
    V(stream, stream_show)                                                                         \
    V(stream, stream_read)                                                                         \
    V(stream, checkpoint_list)                                                                     \
    V(stream, checkpoint_complete)                                                                 \
    V(stream, checkpoint_fail)                                                                     \
    V(stream, checkpoint_rewind)                                                                   \
    V(instance, instance_list)                                                                     \
    V(instance, instance_leave)                                                                    \
    V(join, join_start)                                                                            \
    V(join, join_attach)                                                                           \
    V(join, join_wait)                                                                             \
    V(join, join_show)                                                                             \
    V(join, join_list)                                                                             \
    V(join, join_cancel)                                                                           \
    V(join, join_report)                                                                           \
    V(timer, timer_add)                                                                            \
    V(timer, timer_cancel)                                                                         \
    V(timer, timer_list)                                                                           \
    V(job, job_set)                                                                                \
    V(job, job_list)                                                                               \
    V(job, job_next)                                                                               \
    V(job, job_runs_verb)                                                                          \
    V(job, job_trigger)                                                                            \
    V(job, job_pause)                                                                              \
    V(job, job_resume)                                                                             \
    V(job, job_delete)                                                                             \
    V(schedule, schedule)                                                                          \
    V(list, show)                                                                                  \
    V(list, list)                                                                                  \
    V(list, stats)                                                                                 \
    V(list, explain)                                                                               \
    V(dead, dead_list)                                                                             \
    V(dead, dead_show)                                                                             \
    V(dead, dead_retry)                                                                            \
    V(dead, dead_discard)                                                                          \
    V(queue, queue_list)                                                                           \
    V(queue, queue_set)                                                                            \
    V(queue, queue_pause)                                                                          \
    V(queue, queue_resume)                                                                         \
    V(queue, queue_delete)                                                                         \
    V(queue, retention)                                                                            \
    V(doctor, doctor)                                                                              \
    V(doctor, bench)                                                                               \
    V(doctor, demo)                                                                                \
    V(config, config_show)                                                                         \
    V(config, completion)                                                                          \
    V(config, help_verb)                                                                           \
    V(config, man)                                                                                 \
    V(config, tables)

#define CLI_DECLARE_VERB(group, name) extern const struct cli_command cli_##name;
CLI_VERBS(CLI_DECLARE_VERB)

#endif
