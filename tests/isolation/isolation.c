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
    X(settle_claim_reap)

#define SPEC_TEST(name)                                                                            \
    TEST(name)                                                                                     \
    {                                                                                              \
        iso_run_file(SPEC_DIR "/" #name ".spec");                                                  \
    }
SPECS(SPEC_TEST)

/* A file that was forgotten above would never run. */
TEST(every_spec_is_listed)
{
#define SPEC_NAME(name) #name,
    static const char *const names[] = { SPECS(SPEC_NAME) };
    DIR *folder = opendir(SPEC_DIR);
    size_t found = 0;

    CHECK(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *dot = strrchr(entry->d_name, '.');
        bool listed = false;

        if (!dot || strcmp(dot, ".spec") != 0)
            continue;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            listed = listed || (strlen(names[i]) == (size_t)(dot - entry->d_name) &&
                                strncmp(names[i], entry->d_name, (size_t)(dot - entry->d_name)) == 0);
        if (!listed)
            printf("%s\n", entry->d_name);
        CHECK(listed);
        found++;
    }
    closedir(folder);
    CHECK_INT(found, sizeof(names) / sizeof(names[0]));
}
