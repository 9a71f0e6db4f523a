/* inbox.h - messages from elsewhere, each taken in once.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by posthorn.h. A receiver (a broker's client, a web hook, the relay of
 * another service) calls ph_inbox_receive() with the name of the message's source
 * and the message's id there. The first call stores the message; every further one
 * answers is_new = false, even if the message was handled long ago, and even if two
 * receivers bring it at once. Then a dispatcher's handlers with inbox set handle it,
 * or you claim and settle it yourself, as in the outbox.
 *
 * The record of (source, id) outlives the message: it stays for ever, or at least
 * for the queue's dedupe_retention_s if that is set.
 *
 * A HANDLER HAS ITS EFFECT EXACTLY ONCE only if its writes and its completion
 * share a transaction. There are two ways:
 *   1. A handler with in_transaction: its writes, the outbox messages that it
 *      enqueues with ph_work_tx(), and the ack commit together.
 *   2. ph_inbox_receive() with handled, inside a transaction of yours: if
 *      is_new, do the work in that same transaction; the record of the message,
 *      its completion, your writes and the messages you enqueue commit together. */
#include <posthorn/posthorn.h> /* first: it includes all of them, in order */

#ifndef POSTHORN_INBOX_H
#define POSTHORN_INBOX_H

#ifdef __cplusplus
extern "C" {
#endif

/* A message to take in. Zero means default; everything is borrowed. */
typedef struct {
    size_t size;               /* set by PH_INBOX_MESSAGE_INIT; new members are only appended */
    const char *source;        /* required: the name of its source, "billing" or a broker's queue,
                                  say */
    const char *source_id;     /* required: its id there; any text up to PH_NAME_MAX code points */
    const char *topic;         /* required, not empty */
    const char *payload;       /* required, may be empty; returned byte for byte */
    size_t payload_length;     /* PH_TEXT_LENGTH (the default of PH_INBOX_MESSAGE_INIT):
                                  strlen(payload) */
    const char *ns;            /* namespace; NULL: "". Each has records of its own */
    const ph_tenant_id *tenant_id; /* NULL: none */
    const char *correlation_id; /* NULL or "": none */
    const char *stream;        /* NULL: none; as in ph_message */
    ph_priority priority;
    const char *headers;       /* a JSON object, or NULL */
    bool handled;              /* you handle it in this same transaction: it is stored as done.
                                  Needs a transaction of yours, and no stream */
} ph_inbox_message;
#define PH_INBOX_MESSAGE_INIT                                                                      \
    {                                                                                              \
        sizeof(ph_inbox_message), NULL, NULL, NULL, NULL, PH_TEXT_LENGTH, NULL, NULL, NULL, NULL,  \
            PH_PRIORITY_NORMAL, NULL, false                                                        \
    }

typedef struct {
    ph_work_id work_id; /* of the message that was stored, now or the first time */
    bool is_new;        /* false: it had come before, and nothing was stored */
} ph_received;

/* Takes a message in. A duplicate is an answer, not an error. If another
 * transaction is storing the same message, the call waits for it, and stores the
 * message if the other rolls back.
 * Errors: PH_EINVAL (says which member; your transaction is not harmed),
 * PH_ECONFLICT (REPEATABLE READ or a deadlock in your transaction), … */
PH_API PH_MUST_CHECK int ph_inbox_receive(ph_store *store, ph_tx tx, const ph_inbox_message *message,
                                          int timeout_ms, ph_received *ret_received,
                                          ph_error *reterr);

/* Takes count messages in (1 … PH_BATCH_MAX, an array of structs of equal size),
 * all or none. If a message occurs twice among them, the later one is the
 * duplicate. ret_received, if not NULL, has room for count. All payloads and
 * headers together may have PH_ENQUEUE_BYTES_MAX bytes (beyond that PH_EINVAL). */
PH_API PH_MUST_CHECK int ph_inbox_receive_many(ph_store *store, ph_tx tx,
                                               const ph_inbox_message *messages, size_t count,
                                               int timeout_ms, ph_received *ret_received,
                                               ph_error *reterr);

/* These claim, settle and look exactly as the functions of the outbox with the same
 * names (posthorn.h) do. Deliveries have source and source_id. */
PH_API PH_MUST_CHECK int ph_inbox_claim(ph_store *store, ph_tx tx, ph_owner owner,
                                        const ph_claim_opts *opts, int timeout_ms,
                                        ph_batch **ret_batch, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_settle(ph_store *store, ph_tx tx, ph_owner owner,
                                         const ph_settlement *items, size_t count, int timeout_ms,
                                         ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_ack(ph_store *store, ph_tx tx, ph_owner owner,
                                      const ph_lease_ref *items, size_t count, int timeout_ms,
                                      ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_abandon(ph_store *store, ph_tx tx, ph_owner owner,
                                          const ph_lease_ref *items, size_t count,
                                          const char *error, int64_t delay_ms, int timeout_ms,
                                          ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_fail(ph_store *store, ph_tx tx, ph_owner owner,
                                       const ph_lease_ref *items, size_t count, const char *error,
                                       int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_release(ph_store *store, ph_tx tx, ph_owner owner,
                                          const ph_lease_ref *items, size_t count, int timeout_ms,
                                          ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_renew(ph_store *store, ph_tx tx, ph_owner owner,
                                        const ph_lease_ref *items, size_t count, int lease_s,
                                        int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_reap_expired(ph_store *store, ph_tx tx, int timeout_ms,
                                               int64_t *ret_count, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_find(ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                                       ph_message_info **ret_info, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_count(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                                        ph_queue_counts *ret_counts, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_inbox_list(ph_store *store, ph_tx tx, const ph_message_list_opts *opts,
                                       int timeout_ms, ph_messages **ret_list,
                                       ph_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_INBOX_H */
