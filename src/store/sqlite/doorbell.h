/* doorbell.h - wakes us when another connection has committed. */
#ifndef PH_STORE_SQLITE_DOORBELL_H
#define PH_STORE_SQLITE_DOORBELL_H

#include "store/sqlite/connection.h"

/* Gives the descriptor back, if there is one. */
void ph__sqlite_doorbell_remove(struct ph__sqlite *own);

/* Takes the write lock for a moment, if it is free. */
bool ph__sqlite_somebody_writes(struct ph__sqlite *own);

#endif
