// SPDX-License-Identifier: GPL-2.0
/*
 * Counts what the dirty-log ioctls cost the thread that calls them.
 *
 * Linked into a stock selftest with -Wl,--wrap=ioctl; the test itself does not know. Or built with -DPRELOAD as a library,
 * for LD_PRELOAD in front of a dynamic program, such as QEMU. At exit it prints a line
 *
 *	count <phase> <nth> <cpu ns> <wall ns>
 *
 * for each ioctl, to the file COUNT_OUT if that is set: phase is enable, disable, get, clear or reset (of the dirty rings),
 * nth counts from 1 within a phase. With QEMU's -icount shift=0 a nanosecond of the thread's CPU time is one instruction.
 *
 * COUNT_ALONE=1 runs each counted ioctl under SCHED_FIFO. The stock tests spin in their vCPU threads: on one CPU, such
 * a thread would otherwise be switched in at any cond_resched() of the ioctl, and its ticks land in the figure.
 */
#ifdef PRELOAD
#define _GNU_SOURCE
#include <dlfcn.h>
#endif
#include <linux/kvm.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The selftests load their whole binary, with its .bss, into the guest. */
#ifdef PRELOAD
#define MAX_COUNTS	65536
#else
#define MAX_COUNTS	4096
#endif
#define MAX_SLOTS	512

enum phase { ENABLE, DISABLE, GET, CLEAR, RESET, NR_PHASES, NONE };

static const char * const phase_name[NR_PHASES] = { "enable", "disable", "get", "clear", "reset" };

static struct count {
	enum phase phase;
	long long cpu_ns;
	long long wall_ns;
} counts[MAX_COUNTS];
static unsigned int nr_counts;
static bool logging[MAX_SLOTS];

#ifdef PRELOAD
static int (*__real_ioctl)(int fd, unsigned long request, ...);
#define __wrap_ioctl ioctl

static void __attribute__((constructor)) find_ioctl(void)
{
	__real_ioctl = dlsym(RTLD_NEXT, "ioctl");
}
#else
int __real_ioctl(int fd, unsigned long request, ...);
#endif
int __wrap_ioctl(int fd, unsigned long request, ...);

static long long now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The same argument serves both forms of the memory-region ioctl: slot and flags come first in both. */
static enum phase region_phase(const struct kvm_userspace_memory_region *region)
{
	/* Bits 16 and up of a slot's number are its address space. */
	unsigned int slot = (region->slot + (region->slot >> 16) * MAX_SLOTS / 2) % MAX_SLOTS;
	bool on = region->flags & KVM_MEM_LOG_DIRTY_PAGES;
	enum phase phase = NONE;

	if (on != logging[slot])
		phase = on ? ENABLE : DISABLE;
	logging[slot] = on;
	return phase;
}

static enum phase phase_of(unsigned long request, void *arg)
{
	switch (request) {
	case KVM_SET_USER_MEMORY_REGION:
	case KVM_SET_USER_MEMORY_REGION2:
		return region_phase(arg);
	case KVM_GET_DIRTY_LOG:
		return GET;
	case KVM_CLEAR_DIRTY_LOG:
		return CLEAR;
	case KVM_RESET_DIRTY_RINGS:
		return RESET;
	default:
		return NONE;
	}
}

static void run_alone(bool alone)
{
	struct sched_param param = { .sched_priority = alone ? 50 : 0 };

	if (sched_setscheduler(0, alone ? SCHED_FIFO : SCHED_OTHER, &param)) {
		perror("count: sched_setscheduler (COUNT_ALONE=1 needs CAP_SYS_NICE)");
		exit(1);
	}
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	bool alone = getenv("COUNT_ALONE");
	long long cpu_ns, wall_ns;
	enum phase phase;
	unsigned int n;
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);

	phase = phase_of(request, arg);
	if (phase == NONE)
		return __real_ioctl(fd, request, arg);

	if (alone)
		run_alone(true);
	wall_ns = now_ns(CLOCK_MONOTONIC);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	ret = __real_ioctl(fd, request, arg);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	wall_ns = now_ns(CLOCK_MONOTONIC) - wall_ns;
	if (alone)
		run_alone(false);

	n = __atomic_fetch_add(&nr_counts, 1, __ATOMIC_RELAXED);
	if (n >= MAX_COUNTS) {
		fprintf(stderr, "count: more than %d ioctls\n", MAX_COUNTS);
		_exit(1);
	}
	counts[n] = (struct count){ phase, cpu_ns, wall_ns };
	return ret;
}

static void __attribute__((destructor)) print_counts(void)
{
	const char *file = getenv("COUNT_OUT");
	FILE *out = file ? fopen(file, "w") : stdout;
	unsigned int nth[NR_PHASES] = { 0 };
	unsigned int i;

	for (i = 0; out && i < nr_counts; i++)
		fprintf(out, "count %s %u %lld %lld\n", phase_name[counts[i].phase], ++nth[counts[i].phase],
			counts[i].cpu_ns, counts[i].wall_ns);
	if (file && out)
		fclose(out);
}
