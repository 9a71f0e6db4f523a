/* cold_test.c - files that have no connection, since others have it: what time alone brings to them is
 * noticed, and nothing else makes anybody look. */
#include "fleet.h"

#include <poll.h>

#define FILES 4

static struct tally tally = TALLY_INIT;

/* One connection for all of them, and each has been looked at. */
static void start_cold(struct fleet *fleet, int poll_ms)
{
    fleet_init(fleet, 1);
    fleet->opts.lease_s = 3600;
    fleet->opts.stale_threshold_s = 36000;
    fleet->opts.poll_ms = poll_ms;
    fleet->opts.retention_ms = -1;
    for (int n = 0; n < FILES; n++)
        (void)base_lite(n);
    fleet_add(fleet, 0, FILES);
    for (int n = 0; n < FILES; n++)
        base_put(base_at(n), "t", 1);
    fleet_run(fleet, count_up, &tally);
    fleet_drain(fleet);
}

/* ---------------------------------------------------------------------- what time brings */

static ph_join_id any_join(int n, int64_t in_ms)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_id id;
    int64_t now;

    OK(ph_clock(base_at(n)->side, PH_OWN_TX, 0, &now, &t_err));
    opts.deadline = now + in_ms * 1000;
    OK(ph_join_start(base_at(n)->side, PH_OWN_TX, 1, &opts, 0, &id, &t_err));
    return id;
}

static bool is_pending(int n, ph_join_id id)
{
    ph_join_info *info = NULL;
    bool pending;

    OK(ph_join_find(base_at(n)->side, PH_OWN_TX, id, 0, 0, &info, &t_err));
    pending = info->state == PH_JOIN_PENDING;
    ph_join_info_free(info);
    return pending;
}

/* The look that comes each minute is too late. */
TEST(a_join_of_a_cold_file_fails_when_its_deadline_has_passed)
{
    ph_join_id joins[FILES];
    struct fleet fleet;
    double began;

    start_cold(&fleet, 1000000);
    for (int n = 0; n < FILES; n++)
        joins[n] = any_join(n, 1500);
    began = t_now_s();
    for (int n = 0; n < FILES; n++)
        AWAIT(!is_pending(n, joins[n]));
    CHECK(t_now_s() - began < AWAIT_LIMIT_S / 2);
    fleet_end(&fleet);
}

/* ------------------------------------------------------------------- what is not ours */

/* A message of the inbox, which has no handler here, and whose worker is dead. */
static void leave_in_inbox(struct base *base)
{
    ph_inbox_message message = PH_INBOX_MESSAGE_INIT;
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;

    message.source = "elsewhere";
    message.source_id = "1";
    message.topic = "t";
    message.payload = "x";
    OK(ph_inbox_receive(base->side, PH_OWN_TX, &message, 0, NULL, &t_err));
    claim.lease_s = 1;
    OK(ph_inbox_claim(base->side, PH_OWN_TX, ph_owner_new(), &claim, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    ph_batch_free(batch);
}

TEST(a_lease_of_a_door_without_handlers_does_not_keep_a_cold_file_awake)
{
    int64_t before[FILES];
    struct fleet fleet;
    int alone = 0;

    start_cold(&fleet, 100);
    for (int n = 0; n < FILES; n++)
        leave_in_inbox(base_at(n));
    (void)poll(NULL, 0, 6000); /* the leases have run out, and the rings are forgotten */
    for (int n = 0; n < FILES; n++)
        before[n] = standing(&fleet, base_at(n)->id).exchanges;
    (void)poll(NULL, 0, 1000);
    for (int n = 0; n < FILES; n++)
        alone += standing(&fleet, base_at(n)->id).exchanges == before[n];
    CHECK(alone >= FILES / 2); /* one has the connection */
    fleet_end(&fleet);
}
