/* boot.h - time that does not stand still while the machine sleeps. */
#ifndef PH_UTIL_BOOT_H
#define PH_UTIL_BOOT_H

#include <stdint.h>

/* Microseconds of CLOCK_BOOTTIME. */
int64_t ph__boot_us(void);

#endif
