/* commands.h - the tables of all verbs; each is in the file that runs it. */
#ifndef POSTHORN_CLI_COMMANDS_H
#define POSTHORN_CLI_COMMANDS_H

#include "cli.h"

extern const struct cli_command cli_abandon;
extern const struct cli_command cli_ack;
extern const struct cli_command cli_bench;
extern const struct cli_command cli_checkpoint_complete;
extern const struct cli_command cli_checkpoint_fail;
extern const struct cli_command cli_checkpoint_list;
extern const struct cli_command cli_checkpoint_rewind;
extern const struct cli_command cli_claim;
extern const struct cli_command cli_completion;
extern const struct cli_command cli_config_show;
extern const struct cli_command cli_dead_discard;
extern const struct cli_command cli_dead_list;
extern const struct cli_command cli_dead_retry;
extern const struct cli_command cli_dead_show;
extern const struct cli_command cli_demo;
extern const struct cli_command cli_doctor;
extern const struct cli_command cli_enqueue;
extern const struct cli_command cli_explain;
extern const struct cli_command cli_fail_verb;
extern const struct cli_command cli_help_verb;
extern const struct cli_command cli_instance_leave;
extern const struct cli_command cli_instance_list;
extern const struct cli_command cli_job_delete;
extern const struct cli_command cli_job_list;
extern const struct cli_command cli_job_next;
extern const struct cli_command cli_job_pause;
extern const struct cli_command cli_job_resume;
extern const struct cli_command cli_job_runs_verb;
extern const struct cli_command cli_job_set;
extern const struct cli_command cli_job_trigger;
extern const struct cli_command cli_join_attach;
extern const struct cli_command cli_join_cancel;
extern const struct cli_command cli_join_list;
extern const struct cli_command cli_join_report;
extern const struct cli_command cli_join_show;
extern const struct cli_command cli_join_start;
extern const struct cli_command cli_join_wait;
extern const struct cli_command cli_list;
extern const struct cli_command cli_man;
extern const struct cli_command cli_migrate_sql;
extern const struct cli_command cli_migrate_status;
extern const struct cli_command cli_migrate_up;
extern const struct cli_command cli_migrate_validate;
extern const struct cli_command cli_queue_delete;
extern const struct cli_command cli_queue_list;
extern const struct cli_command cli_queue_pause;
extern const struct cli_command cli_queue_resume;
extern const struct cli_command cli_queue_set;
extern const struct cli_command cli_reap;
extern const struct cli_command cli_receive;
extern const struct cli_command cli_release;
extern const struct cli_command cli_renew;
extern const struct cli_command cli_retention;
extern const struct cli_command cli_schedule;
extern const struct cli_command cli_show;
extern const struct cli_command cli_stats;
extern const struct cli_command cli_stream_list;
extern const struct cli_command cli_stream_read;
extern const struct cli_command cli_stream_show;
extern const struct cli_command cli_tables;
extern const struct cli_command cli_timer_add;
extern const struct cli_command cli_timer_cancel;
extern const struct cli_command cli_timer_list;
extern const struct cli_command cli_work;

#endif
