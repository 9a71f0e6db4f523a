#include "roles.h"

#define EVERYBODY " clock schema_version "
#define ENQUEUE                                                                                    \
    " enqueue enqueue_many work_enqueue work_enqueue_many doorbell_ring inbox_receive "            \
    "timer_schedule timer_cancel join_start join_attach join_attach_many join_report_completed "   \
    "join_report_failed join_wait join_cancel work_join_start work_join_attach work_join_report "  \
    "work_join_wait work_join_cancel "
#define DOOR(name)                                                                                 \
    " " name "_claim " name "_ack " name "_abandon " name "_fail " name "_release " name           \
    "_renew " name "_reap_expired "
#define WORK                                                                                       \
    DOOR("outbox")                                                                                 \
    DOOR("inbox")                                                                                  \
    DOOR("timers")                                                                                 \
    DOOR("job_runs")                                                                               \
    " work_claim work_settle work_renew work_reap_expired job_trigger "                            \
    "work_job_trigger process_work_batch work_batch work_batch_whole instance_leave work_leave "   \
    "receptor_complete receptor_fail work_receptors checkpoint_complete checkpoint_fail "          \
    "checkpoint_rewind work_checkpoints work_checkpoint_rewind "

#define READ                                                                                       \
    " work_count work_history id_number lane work_list work_queues queue_is_used "                 \
    "work_places work_joins "                                                                      \
    "work_streams work_unclaimed "                                                                 \
    "work_stream_read stream_read partition_owner "
#define VIEWS                                                                                      \
    " work_state outbox timers job_runs jobs dead_letters queues joins join_members inbox "        \
    "instances streams receptors checkpoints "

const struct role producer = { "producer", EVERYBODY ENQUEUE, "" };
const struct role worker = { "worker", EVERYBODY ENQUEUE WORK READ, VIEWS };
const struct role scheduler = { "scheduler", EVERYBODY " work_tick work_advance doorbell_ring ",
                                "" };
const struct role reader = { "reader", EVERYBODY READ, VIEWS };
const struct role stranger = { "stranger", "", "" };

static const char *database; /* of this test */
struct t_conn *super;

/* The schema's name is in it, for roles belong to the whole server. */
const char *login(const char *name)
{
    return say("%s_%s_login", t_schema(), name);
}

const char *url_as(const struct role *role)
{
    return url_with(database, say("user=%s", login(role->name)));
}

static ph_store *open_store(const char *name, bool deploy)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    opts.schema = t_schema();
    opts.deploy_schema = deploy;
    OK(t_try_open(url_with(database, say("user=%s", login(name))), &opts, &store));
    return store;
}

ph_store *open_as(const char *name)
{
    return open_store(name, false);
}

static void apply_roles(ph_store *store)
{
    char *sql = NULL;

    OK(ph_migrate_sql(store, true, &sql, &t_err));
    t_sql(super, sql);
    t_sql(super, sql); /* a second time changes nothing */
    ph_free(sql);
}

void roles_set_up(void)
{
    static const char *const with_role[] = { "producer", "worker", "scheduler", "reader" };
    ph_store *owner;

    database = t_fresh_database();
    super = a_connection(database);
    t_sql(super, say("CREATE ROLE %s LOGIN", login("owner")));
    t_sql(super, say("CREATE ROLE %s LOGIN", login("stranger")));
    t_sql(super, say("GRANT CREATE ON DATABASE %s TO %s",
                     t_value(super, "SELECT current_database()"), login("owner")));
    owner = open_store("owner", true);
    apply_roles(owner);
    for (size_t i = 0; i < 4; i++) {
        t_sql(super, say("CREATE ROLE %s LOGIN", login(with_role[i])));
        t_sql(super, say("GRANT %s_%s TO %s", t_schema(), with_role[i], login(with_role[i])));
    }
}

void roles_tear_down(void)
{
    static const char *const all[] = { "owner",     "producer", "worker",
                                       "scheduler", "reader",   "stranger" };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        t_sql(super, say("DROP OWNED BY %s; DROP ROLE %s", login(all[i]), login(all[i])));
    for (size_t i = 1; i < 5; i++)
        t_sql(super,
              say("DROP OWNED BY %s_%s; DROP ROLE %s_%s", t_schema(), all[i], t_schema(), all[i]));
}
