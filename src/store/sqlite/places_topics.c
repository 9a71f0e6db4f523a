/* places_topics.c - the deep examination of the index of topics: has each row of pending its
 * message's topic, and is it in the index if that is its queue's rule (by_topic.h)? */
#include "store/sqlite/doctor.h"
#include "store/sqlite/topics.h"
#include "store/sqlite/transaction.h"

#include <inttypes.h>

int ph__sqlite_examine_topics(struct ph__sqlite_tx *tx, struct ph__examination *examination)
{
    struct ph__query query = ph__query(tx, PH__SQL_places_topics);
    int64_t wrong = 0, example = 0;
    int r;

    while ((r = ph__query_row(&query)) > 0) {
        const char *topic = (const char *)sqlite3_column_text(query.stmt, 3);

        if (!ph__column_int(&query, 2) &&
            ph__topic_of_stored(ph__column_int(&query, 1)) == ph__topic_hash(topic))
            continue;
        if (wrong++ == 0)
            example = ph__column_int(&query, 0);
    }
    if (r == 0 && wrong)
        ph__finding(examination, "places", PH_FINDING_ERROR,
                    PH__ADVISE(MEND,
                               "find out who writes Posthorn's tables by hand: claims that name "
                               "topics do not find these messages, others do"),
                    "%" PRId64 " rows of pending have a wrong topic; the first is that of message "
                    "%" PRId64,
                    wrong, example);
    return r;
}
