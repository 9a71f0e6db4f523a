/* random_test.c - random sequences of calls against the model.
 *
 * The seed is fixed, so that a run that was green stays green; with --soak it
 * is a new one each time. PH_MODEL_SEED, PH_MODEL_SEQUENCES: the seed and the number of sequences;
 * PH_MODEL_SEQUENCE: only that one. A failure prints the seed, the sequence
 * and its steps, after leaving out those that do not matter. */
#include "run.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SEQUENCES 1500
#define SEQUENCES_PG 700 /* each call is a round trip */
#define SOAK 20
#define STEPS 50
#define SHARDS 4
#define LIMIT_S 900

/* This is about logic, not about what survives a power cut: SQLite need not wait for the disk. */
int fsync(int fd)
{
    (void)fd;
    return 0;
}

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}

struct choice {
    int weight;
    bool (*step)(struct run *run);
};

/* Where the last full batch began is no good place to begin when the clock has stepped back;
 * the store finds that out within a second. A claim elsewhere makes it forget at once. */
static void forget_bounds(struct run *run)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;

    opts.ns = "nowhere";
    OK(ph_outbox_claim(run->store, PH_OWN_TX, owner_of(0), &opts, 0, &batch, &t_err));
    ph_batch_free(batch);
}

static bool step_clock(struct run *run)
{
    int64_t by = ONE_OF(run, 1, 1000, M_SECOND, 2 * M_SECOND, 6 * M_SECOND, 31 * M_SECOND,
                        61 * M_SECOND, 61 * M_SECOND, 3601 * M_SECOND, 8 * 86400 * M_SECOND,
                        -M_SECOND, -20 * M_SECOND, -3600 * M_SECOND);

    if (run->in_tx) /* the clock is not part of the caller's transaction */
        return true;
    say(run, "clock %+lld us", (long long)by);
    set_clock(run, run->model.now + by);
    if (by < 0)
        forget_bounds(run);
    return true;
}

static const struct choice choices[] = {
    { 20, step_enqueue },  { 25, step_claim },     { 20, step_settle },
    { 15, step_exchange }, { 6, step_renew },      { 4, step_reap },
    { 14, step_clock },    { 4, step_dead_retry }, { 2, step_dead_discard },
    { 4, step_queue_set }, { 3, step_pause },      { 3, step_retention },
    { 3, step_count },     { 5, step_find },       { 4, step_queue_delete },
};
#define CHOICES (sizeof(choices) / sizeof(*choices))

static bool random_step(struct run *run)
{
    int total = 0, at;

    for (size_t i = 0; i < CHOICES; i++)
        total += choices[i].weight;
    at = roll(run, total);
    for (size_t i = 0; i < CHOICES; i++) {
        at -= choices[i].weight;
        if (at < 0)
            return choices[i].step(run);
    }
    return true;
}

/* --------------------------------------------- steps in the caller's transaction */

static void maybe_begin(struct run *run)
{
    if (run->in_tx || !chance(run, 12))
        return;
    say(run, "begin; ");
    t_begin(run->raw);
    run->in_tx = true;
    run->before_tx = run->model;
}

static bool maybe_end(struct run *run, bool must)
{
    bool commit;

    if (!run->in_tx || !(must || chance(run, 45)))
        return true;
    commit = chance(run, 50);
    say(run, "; %s", commit ? "commit" : "rollback");
    run->in_tx = false;
    if (commit) {
        t_commit(run->raw);
    } else {
        t_rollback(run->raw);
        run->model = run->before_tx;
    }
    return view_matches(run);
}

/* -------------------------------------------------------------- one sequence */

static bool one_step(struct run *run, int step)
{
    bool last = step == STEPS - 1;

    run->random =
        run->seed * UINT64_C(0x100000001b3) + (uint64_t)run->sequence * 1000 + (uint64_t)step;
    roll(run, 2);
    say(run, "  %2d  ", step);
    maybe_begin(run);
    if (!random_step(run) || !look_at_tokens(run) || !view_matches(run) || !maybe_end(run, last) ||
        !look_at_tokens(run))
        return false;
    say(run, "\n");
    return true;
}

static bool run_sequence(struct run *run)
{
    if (run->in_tx)
        t_rollback(run->raw);
    run->in_tx = false;
    run->failed_step = -1;
    run->drafts = 0;
    run->steps[0] = run->difference[0] = '\0';
    view_clear(run->raw);
    m_init(&run->model, T_EPOCH);
    run->model.keeps_tokens = t_is_pg();
    run->model.keeps_queues = t_is_pg();
    t_clock_set(run->store, T_EPOCH);
    forget_bounds(run);
    for (int step = 0; step < STEPS; step++) {
        if (run->omitted & UINT64_C(1) << step)
            continue;
        if (!one_step(run, step)) {
            run->failed_step = step;
            return false;
        }
    }
    return true;
}

/* Leaves out steps, one after the other, as long as the sequence still fails. */
static void shrink(struct run *run)
{
    int last = run->failed_step;

    for (int step = last + 1; step < STEPS; step++)
        run->omitted |= UINT64_C(1) << step;
    for (int step = last - 1; step >= 0; step--) {
        run->omitted |= UINT64_C(1) << step;
        if (run_sequence(run))
            run->omitted &= ~(UINT64_C(1) << step);
    }
    run_sequence(run);
}

static void report(struct run *run)
{
    printf("PH_MODEL_SEED=%llu PH_MODEL_SEQUENCE=%d: step %d differs from the model:\n%s\n",
           (unsigned long long)run->seed, run->sequence, run->failed_step, run->difference);
    printf("all steps:\n%s\n", run->steps);
    shrink(run);
    printf("\nwithout the steps that do not matter:\n%s\n%s\n", run->steps, run->difference);
    FAIL("the store and the model agree");
}

/* ------------------------------------------------------------- all sequences */

static long long number_from(const char *name, long long otherwise)
{
    const char *text = getenv(name);

    return text && *text ? atoll(text) : otherwise;
}

static void run_shard(int shard)
{
    static struct run run;
    long long usual = t_is_pg() ? SEQUENCES_PG : SEQUENCES;
    long long count = number_from("PH_MODEL_SEQUENCES", t_soak() ? usual * SOAK : usual);
    long long only = number_from("PH_MODEL_SEQUENCE", -1);

    if (only >= 0 && only % SHARDS != shard)
        t_skip("PH_MODEL_SEQUENCE is another part's");
    t_limit(t_soak() ? LIMIT_S * SOAK : LIMIT_S);
    run.seed = (uint64_t)number_from("PH_MODEL_SEED", t_soak() ? (long long)time(NULL) : 1);
    printf("PH_MODEL_SEED=%llu, %lld sequences of %d steps, part %d of %d\n",
           (unsigned long long)run.seed, count, STEPS, shard + 1, SHARDS);
    run.store = t_open(NULL);
    run.raw = t_connect();
    view_prepare(run.raw);
    for (run.sequence = shard; run.sequence < count; run.sequence += SHARDS) {
        run.omitted = 0;
        if ((only < 0 || run.sequence == only) && !run_sequence(&run))
            report(&run);
    }
    view_end();
}

TEST(random_sequences_1)
{
    run_shard(0);
}

TEST(random_sequences_2)
{
    run_shard(1);
}

TEST(random_sequences_3)
{
    run_shard(2);
}

TEST(random_sequences_4)
{
    run_shard(3);
}
