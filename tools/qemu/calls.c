// SPDX-License-Identifier: GPL-2.0
/*
 * A TCG plugin for QEMU (10.0 and later): counts calls of kernel functions, and instructions between them, with no help
 * from the kernel. For one vCPU.
 *
 *	-plugin calls.so,out=FILE,scope=FN,count=FN,count=FN...,lock=FN,check=FN,unlock=FN,pause=FN
 *
 * FN is <name>:<address>:<size>. For each call of the scope function, from its entry to its return, a line goes to FILE:
 *
 *	<scope> <nth> instructions <n> longest <n> <function> <calls> <function> <calls> ...
 *
 * with the calls of each "count" function, and with the longest stretch of instructions from a call of "lock" or "check" to
 * one of "check" or "unlock": how long others must wait for the lock at most. What happens meanwhile within a "pause"
 * function, such as the handler of interrupts, until it returns or (x86) there is an iretq, counts
 * for nothing. At exit comes a line "total 1 ..." for all of the run.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t len);
uint64_t qemu_plugin_u64_get(struct plugin_u64 value, unsigned int cpu);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*cb)(unsigned int cpu, void *data),
					    int no_regs, void *data);

enum role { SCOPE, COUNT, LOCK, CHECK, UNLOCK, PAUSE, NR_ROLES };

static const char * const role_name[NR_ROLES] = { "scope", "count", "lock", "check", "unlock", "pause" };

#define MAX_FUNCTIONS 32

static struct function {
	enum role role;
	char name[128];
	uint64_t start, end;
	uint64_t calls, total;
} functions[MAX_FUNCTIONS];
static int nr_functions;

/* An instruction at which something happens: the first one of a function, or a return. */
struct site {
	struct function *function;
	bool returns;
	unsigned int to_come;	/* Instructions of the block that are counted already, but come later */
};

static struct plugin_u64 insns;
static uint64_t paused_insns, paused_at;
static uint64_t scope_start, scope_nth, last_check, longest;
static bool in_scope, locked, paused, is_x86;
static FILE *out;

static void check(uint64_t now)
{
	if (locked && now - last_check > longest)
		longest = now - last_check;
	last_check = now;
}

static void print_counts(bool total)
{
	struct function *f;

	for (f = functions; f < functions + nr_functions; f++)
		if (f->role == COUNT)
			fprintf(out, " %s %" PRIu64, f->name, total ? f->total : f->calls);
	fputc('\n', out);
}

static void enter_scope(struct function *scope, uint64_t now)
{
	struct function *f;

	if (in_scope) {
		fprintf(out, "error: %s was entered again before it returned\n", scope->name);
		return;
	}
	in_scope = true;
	scope_start = now;
	longest = 0;
	for (f = functions; f < functions + nr_functions; f++)
		f->calls = 0;
}

static void leave_scope(struct function *scope, uint64_t now)
{
	if (!in_scope)
		return;
	in_scope = false;
	fprintf(out, "%s %" PRIu64 " instructions %" PRIu64 " longest %" PRIu64, scope->name, ++scope_nth, now - scope_start,
		longest);
	print_counts(false);
	fflush(out);
}

static void at_site(unsigned int cpu, void *data)
{
	struct site *site = data;
	struct function *f = site->function;
	uint64_t now = qemu_plugin_u64_get(insns, cpu) - site->to_come;

	/* Without the lock, another task may run before the handler returns. */
	if (f->role == PAUSE) {
		if (!site->returns && !paused && locked) {
			paused_at = now;
			paused = true;
		} else if (site->returns && paused) {
			paused_insns += now - paused_at;
			paused = false;
		}
		return;
	}
	if (paused)
		return;

	now -= paused_insns;
	switch (f->role) {
	case SCOPE:
		(site->returns ? leave_scope : enter_scope)(f, now);
		break;
	case COUNT:
		f->calls++;
		f->total++;
		break;
	default:
		check(now);
		if (f->role != CHECK)
			locked = f->role == LOCK;
	}
}

static bool is_return(const struct qemu_plugin_insn *insn)
{
	uint32_t code = 0;
	size_t size = qemu_plugin_insn_data(insn, &code, sizeof(code));

	/* x86: ret, with the int3 behind it at most in another instruction */
	if (is_x86)
		return size == 1 && code == 0xc3;

	/* AArch64: ret, retaa, retab */
	return code == 0xd65f03c0 || code == 0xd65f0bff || code == 0xd65f0fff;
}

/* The handlers of interrupts on x86 jump to where they return from: any such place ends the first "pause" function. */
static struct function *returned_from_interrupt(const struct qemu_plugin_insn *insn)
{
	struct function *f;
	uint16_t code = 0;

	if (!is_x86 || qemu_plugin_insn_data(insn, &code, sizeof(code)) != 2 || code != 0xcf48)
		return NULL;
	for (f = functions; f < functions + nr_functions; f++)
		if (f->role == PAUSE)
			return f;
	return NULL;
}

static void add_site(struct qemu_plugin_insn *insn, struct function *function, bool returns, unsigned int to_come)
{
	struct site *site = malloc(sizeof(*site));

	if (!site)
		abort();
	*site = (struct site){ function, returns, to_come };
	qemu_plugin_register_vcpu_insn_exec_cb(insn, at_site, 0, site);
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *insn;
	struct function *f;
	uint64_t addr;
	bool returns;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, 0, insns, n);

	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		addr = qemu_plugin_insn_vaddr(insn);
		for (f = functions; f < functions + nr_functions; f++) {
			if (addr < f->start || addr >= f->end)
				continue;
			returns = addr != f->start;
			if (returns && ((f->role != SCOPE && f->role != PAUSE) || !is_return(insn)))
				continue;
			add_site(insn, f, returns, n - i);
		}
		f = returned_from_interrupt(insn);
		if (f)
			add_site(insn, f, true, n - i);
	}
}

static void at_exit(uint64_t id, void *data)
{
	(void)id;
	(void)data;
	fprintf(out, "total 1 instructions %" PRIu64 " longest 0", qemu_plugin_u64_get(insns, 0));
	print_counts(true);
	fclose(out);
}

/* <name>:<address>:<size>, both in hex */
static bool add_function(enum role role, const char *arg)
{
	struct function *f = &functions[nr_functions];
	uint64_t size;

	if (nr_functions == MAX_FUNCTIONS ||
	    sscanf(arg, "%127[^:]:%" SCNx64 ":%" SCNx64, f->name, &f->start, &size) != 3)
		return false;
	f->role = role;
	f->end = f->start + size;
	nr_functions++;
	return true;
}

static bool add_arg(const char *arg)
{
	size_t len;
	int role;

	if (!strncmp(arg, "out=", 4)) {
		out = fopen(arg + 4, "w");
		return out;
	}
	for (role = 0; role < NR_ROLES; role++) {
		len = strlen(role_name[role]);
		if (!strncmp(arg, role_name[role], len) && arg[len] == '=')
			return add_function(role, arg + len + 1);
	}
	return false;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	int i;

	/* The name of the target comes first in what QEMU tells about itself. */
	is_x86 = !strcmp(*(const char * const *)info, "x86_64");
	for (i = 0; i < argc; i++) {
		if (!add_arg(argv[i])) {
			fprintf(stderr, "calls: bad argument '%s'\n", argv[i]);
			return -1;
		}
	}
	if (!out) {
		fprintf(stderr, "calls: no out=FILE\n");
		return -1;
	}

	insns = (struct plugin_u64){ qemu_plugin_scoreboard_new(sizeof(uint64_t)), 0 };
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
