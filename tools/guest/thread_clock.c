// SPDX-License-Identifier: GPL-2.0
/*
 * Linked into a stock selftest with -Wl,--wrap=clock_gettime: the elapsed times that the test prints become CPU time of
 * its thread. Under QEMU's -icount shift=0 that is the number of instructions that the thread has executed.
 */
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	return __real_clock_gettime(clock == CLOCK_MONOTONIC ? CLOCK_THREAD_CPUTIME_ID : clock, ts);
}
