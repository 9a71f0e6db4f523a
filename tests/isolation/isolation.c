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
    X(fail_reap)                                                                                   \
    X(migrate_migrate)                                                                             \
    X(partial_ack)                                                                                 \
    X(pause_claim)                                                                                 \
    X(queue_first)                                                                                 \
    X(release_claim)                                                                               \
    X(renew_reap)                                                                                  \
    X(retention_ack)                                                                               \
    X(retention_claim)                                                                             \
    X(retention_dedupe)                                                                            \
    X(same_owner_fence)                                                                            \
    X(settle_claim_reap)                                                                           \
    X(snapshot_ack)                                                                                \
    X(snapshot_claim)                                                                              \
    X(snapshot_dedupe)

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
