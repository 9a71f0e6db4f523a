/* mailer.c - handlers of a dispatcher: done, try again, and what becomes of a message that never
 * works.
 *
 * A mail here is a file in a folder. Its name follows from the message, so a
 * message that is delivered twice makes one mail: handlers must bear that. A
 * mail server that does not answer is worth another try. A customer without an
 * address is, too, until the attempts are spent: then the message is dead, and
 * an operator can put it back once the address is known.
 *
 * usage: mailer FILE FOLDER */
#include "service.h"

#include <posthorn/sqlite.h>
#include <stdio.h>
#include <string.h>

struct shop {
    const char *file;   /* the database */
    const char *folder; /* where mails go */
};

/* The mail address of who placed the order; false: there is none. */
static bool find_address(const struct shop *shop, int order, char *ret_address, int size)
{
    sqlite3_stmt *query = NULL;
    const char *found = NULL;
    sqlite3 *db;

    /* Handlers run on several threads: each look has a connection of its own. */
    if (sqlite3_open_v2(shop->file, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(db, 10000) == SQLITE_OK &&
        sqlite3_prepare_v2(db,
                           "SELECT mail FROM orders JOIN customers ON name = customer WHERE id = ?",
                           -1, &query, NULL) == SQLITE_OK &&
        sqlite3_bind_int(query, 1, order) == SQLITE_OK && sqlite3_step(query) == SQLITE_ROW)
        found = (const char *)sqlite3_column_text(query, 0);
    if (found)
        snprintf(ret_address, (size_t)size, "%s", found);
    sqlite3_finalize(query);
    sqlite3_close(db);
    return found != NULL;
}

static ph_verdict send_mail(const struct shop *shop, ph_work *work, const char *kind)
{
    const ph_delivery *message = ph_work_delivery(work);
    char address[200], path[4096], part[4096];
    int order = 0;
    FILE *mail;

    if (sscanf(message->payload, "{\"order\":%d", &order) != 1) {
        ph_work_error(work, "the payload names no order");
        return PH_VERDICT_FAIL; /* trying again does not help */
    }
    if (!find_address(shop, order, address, sizeof(address))) {
        printf("order %d, attempt %d: no address\n", order, message->attempts);
        ph_work_error(work, "the customer has no mail address");
        return PH_VERDICT_RETRY;
    }
    /* Under its final name only when it is complete: a crash leaves no half mail. */
    snprintf(path, sizeof(path), "%s/%s-%d", shop->folder, kind, order);
    snprintf(part, sizeof(part), "%.4000s.part", path);
    mail = fopen(part, "w");
    if (!mail || fprintf(mail, "To: %s\n\nOrder %d: %s.\n", address, order, kind) < 0 ||
        fclose(mail) != 0 || rename(part, path) != 0) {
        ph_work_error(work, "the mail cannot be written");
        return PH_VERDICT_RETRY;
    }
    printf("order %d, attempt %d: %s sent to %s\n", order, message->attempts, kind, address);
    return PH_VERDICT_DONE;
}

static ph_verdict on_confirm(void *context, ph_work *work)
{
    const ph_delivery *message = ph_work_delivery(work);

    /* The mail server has a bad day: it never answers at first when order 3 is confirmed. */
    if (message->attempts == 1 && strstr(message->payload, "\"order\":3,")) {
        printf("order 3, attempt 1: the mail server does not answer\n");
        ph_work_error(work, "the mail server does not answer");
        return PH_VERDICT_RETRY;
    }
    return send_mail(context, work, "confirmation");
}

static ph_verdict on_reminder(void *context, ph_work *work)
{
    return send_mail(context, work, "reminder");
}

int main(int argc, char **argv)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handlers[2] = { PH_HANDLER_INIT, PH_HANDLER_INIT };
    struct shop shop;

    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE FOLDER\n", argv[0]);
        return 2;
    }
    shop = (struct shop){ argv[1], argv[2] };
    handlers[0].topic = "mail.confirm";
    handlers[0].handle = on_confirm;
    handlers[0].context = &shop;
    handlers[1].topic = "mail.remind";
    handlers[1].handle = on_reminder;
    handlers[1].context = &shop;
    return serve(shop.file, &opts, handlers, 2);
}
