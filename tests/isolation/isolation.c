/* isolation.c - the program: each spec is a test. */
#include "harness.h"
#include "runner.h"

#include <dirent.h>

#define SPECS(X)                                                                                   \
    X(abandon_claim)                                                                               \
    X(ack_abandon)                                                                                 \
    X(ack_ack)                                                                                     \
    X(ack_reap)                                                                                    \
    X(ack_rollback_reap)                                                                           \
    X(checkpoint_checkpoint)                                                                       \
    X(checkpoint_failed)                                                                           \
    X(checkpoint_rewind)                                                                           \
    X(checkpoint_rollback)                                                                         \
    X(claim_claim)                                                                                 \
    X(claim_claim_claim)                                                                           \
    X(claim_reap)                                                                                  \
    X(dead_retry_retry)                                                                            \
    X(deadlock)                                                                                    \
    X(deadlock_own)                                                                                \
    X(dedupe_commit)                                                                               \
    X(dedupe_deadlock)                                                                             \
    X(dedupe_rollback)                                                                             \
    X(discard_retry)                                                                               \
    X(enqueue_claim)                                                                               \
    X(evict_ack)                                                                                   \
    X(evict_beat)                                                                                  \
    X(evict_beat_rollback)                                                                         \
    X(evict_claim)                                                                                 \
    X(evict_evict)                                                                                 \
    X(evict_work)                                                                                  \
    X(fail_reap)                                                                                   \
    X(inbox_commit)                                                                                \
    X(inbox_handled)                                                                               \
    X(inbox_retention)                                                                             \
    X(inbox_rollback)                                                                              \
    X(inbox_stream)                                                                                \
    X(job_delete_claim)                                                                            \
    X(job_delete_tick)                                                                             \
    X(job_set_set)                                                                                 \
    X(job_set_tick)                                                                                \
    X(join_ack_ack)                                                                                \
    X(join_shared_ack)                                                                             \
    X(join_shared_sits)                                                                            \
    X(join_ack_fail_rollback)                                                                      \
    X(join_attach_ack)                                                                             \
    X(join_attach_attach)                                                                          \
    X(join_attach_claim)                                                                           \
    X(join_attach_delete)                                                                          \
    X(join_attach_fail)                                                                            \
    X(join_attach_reap)                                                                            \
    X(join_attach_retention)                                                                       \
    X(join_attach_retry)                                                                           \
    X(join_attach_rollback)                                                                        \
    X(join_attach_same)                                                                            \
    X(join_attach_sits)                                                                            \
    X(join_cancel_retention)                                                                       \
    X(join_claim_deadlock)                                                                         \
    X(join_claim_sits)                                                                             \
    X(join_complete_cancel)                                                                        \
    X(join_complete_wait)                                                                          \
    X(join_cross)                                                                                  \
    X(join_cross_tx)                                                                               \
    X(join_deadline_ack)                                                                           \
    X(join_deadline_attach)                                                                        \
    X(join_deadlock)                                                                               \
    X(join_deadlock_own)                                                                           \
    X(join_enqueue_cancel)                                                                         \
    X(join_enqueue_complete)                                                                       \
    X(join_enqueue_duplicate)                                                                      \
    X(join_head_sits)                                                                              \
    X(join_head_sits_end)                                                                          \
    X(join_head_sits_rollback)                                                                     \
    X(join_report_ack)                                                                             \
    X(join_report_order)                                                                           \
    X(join_report_report)                                                                          \
    X(join_snapshot_ack)                                                                           \
    X(join_snapshot_attach)                                                                        \
    X(join_snapshot_loose)                                                                         \
    X(join_snapshot_loose_pending)                                                                 \
    X(join_snapshot_loose_reap)                                                                    \
    X(join_snapshot_wait)                                                                          \
    X(join_wait_cancel)                                                                            \
    X(join_wait_rollback)                                                                          \
    X(leave_ack)                                                                                   \
    X(leave_beat)                                                                                  \
    X(leave_evict)                                                                                 \
    X(migrate_migrate)                                                                             \
    X(partial_ack)                                                                                 \
    X(pause_claim)                                                                                 \
    X(pause_tick)                                                                                  \
    X(queue_delete_ack)                                                                            \
    X(queue_delete_delete)                                                                         \
    X(queue_delete_enqueue)                                                                        \
    X(queue_delete_keyed)                                                                          \
    X(queue_delete_set)                                                                            \
    X(queue_delete_snapshot)                                                                       \
    X(queue_delete_stream)                                                                         \
    X(queue_first)                                                                                 \
    X(receptor_receptor)                                                                           \
    X(receptor_retention)                                                                          \
    X(register_register)                                                                           \
    X(release_claim)                                                                               \
    X(renew_reap)                                                                                  \
    X(retention_ack)                                                                               \
    X(retention_claim)                                                                             \
    X(retention_dedupe)                                                                            \
    X(same_owner_fence)                                                                            \
    X(settle_claim_reap)                                                                           \
    X(snapshot_ack)                                                                                \
    X(snapshot_claim)                                                                              \
    X(snapshot_dedupe)                                                                             \
    X(stream_abandon_claim)                                                                        \
    X(stream_abandon_now_claim)                                                                    \
    X(stream_ack_ack)                                                                              \
    X(stream_ack_rollback_claim)                                                                   \
    X(stream_attach_ack)                                                                           \
    X(stream_attach_claim)                                                                         \
    X(stream_attach_cross)                                                                         \
    X(stream_attach_rest)                                                                          \
    X(stream_claim_ack)                                                                            \
    X(stream_claim_claim)                                                                          \
    X(stream_claim_claim_two)                                                                      \
    X(stream_close_enqueue)                                                                        \
    X(stream_close_rollback)                                                                       \
    X(stream_dead_block_enqueue)                                                                   \
    X(stream_dead_block_retry)                                                                     \
    X(stream_dead_enqueue)                                                                         \
    X(stream_dead_retry_discard)                                                                   \
    X(stream_dead_retry_retry)                                                                     \
    X(stream_dead_unblock_claim)                                                                   \
    X(stream_dead_unblock_enqueue)                                                                 \
    X(stream_dead_unblock_fail)                                                                    \
    X(stream_dead_unblock_reap)                                                                    \
    X(stream_dead_unblock_retry)                                                                   \
    X(stream_discard_enqueue)                                                                      \
    X(stream_empty_commit)                                                                         \
    X(stream_empty_idle)                                                                           \
    X(stream_empty_rollback)                                                                       \
    X(stream_enqueue_cross)                                                                        \
    X(stream_enqueue_cross_many)                                                                   \
    X(stream_enqueue_dedupe)                                                                       \
    X(stream_enqueue_enqueue)                                                                      \
    X(stream_enqueue_first)                                                                        \
    X(stream_enqueue_first_rollback)                                                               \
    X(stream_enqueue_rollback)                                                                     \
    X(stream_exchange_exchange)                                                                    \
    X(stream_expire_claim)                                                                         \
    X(stream_first_first)                                                                          \
    X(stream_join_close)                                                                           \
    X(stream_reap_ack)                                                                             \
    X(stream_reap_ack_all)                                                                         \
    X(stream_reap_claim)                                                                           \
    X(stream_release_ack)                                                                          \
    X(stream_renew_reap)                                                                           \
    X(stream_retention_checkpoint)                                                                 \
    X(stream_retention_claim)                                                                      \
    X(stream_retention_enqueue)                                                                    \
    X(stream_snapshot_ack)                                                                         \
    X(stream_snapshot_claim)                                                                       \
    X(stream_snapshot_enqueue)                                                                     \
    X(stream_snapshot_loose)                                                                       \
    X(stream_snapshot_run)                                                                         \
    X(stream_work_cross)                                                                           \
    X(tick_rollback_job)                                                                           \
    X(tick_tick)                                                                                   \
    X(tick_tick_job)                                                                               \
    X(timer_cancel_claim)                                                                          \
    X(timer_cancel_rollback)                                                                       \
    X(timer_cancel_tick)                                                                           \
    X(timer_claim_tick)                                                                            \
    X(trigger_overlap)                                                                             \
    X(trigger_tick)

#define SPEC_TEST(name)                                                                            \
    TEST(name)                                                                                     \
    {                                                                                              \
        iso_run_file(SPEC_DIR "/" #name ".spec");                                                  \
    }
SPECS(SPEC_TEST)

static bool is_listed(const char *file)
{
#define SPEC_FILE(name) #name ".spec",
    static const char *const files[] = { SPECS(SPEC_FILE) };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (strcmp(files[i], file) == 0)
            return true;
    }
    return false;
}

/* A file that was forgotten above would never run. */
TEST(every_spec_is_listed)
{
    DIR *folder = opendir(SPEC_DIR);

    CHECK(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        printf("%s\n", entry->d_name);
        CHECK(is_listed(entry->d_name));
    }
    closedir(folder);
}
