// SPDX-License-Identifier: GPL-2.0
/*
 * A TCG plugin for QEMU (10.0 and later): counts the instructions that a kernel spends in each of its functions, and how
 * often each is entered, with no help from the kernel.
 *
 *	-plugin profile.so,out=FILE,symbols=FILE
 *
 * "symbols" is what "nm -n --defined-only vmlinux" prints. At exit one line for each function that ran goes to "out":
 *
 *	<instructions> <entries> <function>
 *
 * and two more, "[else]" for what is not that kernel (user space, guests, firmware) and "[total]". A guest often runs a
 * kernel at the same addresses: only what lies where that of the machine itself was loaded counts as its own. An entry is
 * an execution of the first instruction; a block that an exception ends counts as a whole.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_u64_sum(struct plugin_u64 value);

#define MAX_FUNCTIONS	131072

static struct function {
	uint64_t start;
	char *name;
} functions[MAX_FUNCTIONS];
static size_t nr_functions;
static uint64_t text_start, text_end;

/* What a vCPU counts for each function; that of nr_functions is for all else. */
struct counter {
	uint64_t insns;
	uint64_t entries;
};

static struct qemu_plugin_scoreboard *counters;

/* Where the kernel of the machine itself was loaded, in QEMU's memory, less the address that it runs at. */
static uint64_t loaded;
static bool seen_kernel;
static FILE *out;

static struct plugin_u64 counter(size_t nr, size_t member)
{
	return (struct plugin_u64){ counters, nr * sizeof(struct counter) + member };
}

/* Adds n to that counter each time that the block runs. */
static void count(struct qemu_plugin_tb *tb, size_t nr, size_t member, uint64_t n)
{
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, 0, counter(nr, member), n);
}

/* The function that an address is in; nr_functions if in none. */
static size_t find(uint64_t addr)
{
	size_t low = 0, high = nr_functions, mid;

	if (addr < text_start || addr >= text_end)
		return nr_functions;
	while (high - low > 1) {
		mid = (low + high) / 2;
		if (functions[mid].start <= addr)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb), nr, run = 0, last = nr_functions;
	struct qemu_plugin_insn *insn;
	uint64_t addr, place;

	(void)id;
	/* A block may reach from one function into the next one. */
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		addr = qemu_plugin_insn_vaddr(insn);
		nr = find(addr);
		if (nr < nr_functions) {
			/* The machine's own kernel runs before any guest does. */
			place = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(insn) - addr;
			if (!seen_kernel)
				loaded = place;
			seen_kernel = true;
			if (place != loaded)
				nr = nr_functions;
			else if (addr == functions[nr].start)
				count(tb, nr, offsetof(struct counter, entries), 1);
		}
		if (nr != last && run) {
			count(tb, last, offsetof(struct counter, insns), run);
			run = 0;
		}
		last = nr;
		run++;
	}
	if (run)
		count(tb, last, offsetof(struct counter, insns), run);
}

static void at_exit(uint64_t id, void *data)
{
	uint64_t insns, entries, total = 0;
	size_t i;

	(void)id;
	(void)data;
	for (i = 0; i <= nr_functions; i++) {
		insns = qemu_plugin_u64_sum(counter(i, offsetof(struct counter, insns)));
		entries = qemu_plugin_u64_sum(counter(i, offsetof(struct counter, entries)));
		total += insns;
		if (insns)
			fprintf(out, "%" PRIu64 " %" PRIu64 " %s\n", insns, entries,
				i < nr_functions ? functions[i].name : "[else]");
	}
	fprintf(out, "%" PRIu64 " 0 [total]\n", total);
	fclose(out);
}

static bool read_symbols(const char *file)
{
	FILE *in = fopen(file, "r");
	char line[1024], name[512], type;
	uint64_t addr;

	if (!in)
		return false;
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%" SCNx64 " %c %511s", &addr, &type, name) != 3)
			continue;
		if (!strcmp(name, "_stext"))
			text_start = addr;
		else if (!strcmp(name, "_etext"))
			text_end = addr;
		if (!strchr("tTwW", type) || !text_start || text_end || name[0] == '$')
			continue;
		if (nr_functions && functions[nr_functions - 1].start == addr)
			continue;
		if (nr_functions == MAX_FUNCTIONS)
			return false;
		functions[nr_functions].start = addr;
		functions[nr_functions].name = strdup(name);
		if (!functions[nr_functions++].name)
			return false;
	}
	fclose(in);
	return nr_functions && text_end > text_start;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4)) {
			out = fopen(argv[i] + 4, "w");
		} else if (strncmp(argv[i], "symbols=", 8) || !read_symbols(argv[i] + 8)) {
			fprintf(stderr, "profile: bad argument '%s'\n", argv[i]);
			return -1;
		}
	}
	if (!out || !nr_functions) {
		fprintf(stderr, "profile: needs out=FILE and symbols=FILE\n");
		return -1;
	}

	counters = qemu_plugin_scoreboard_new((nr_functions + 1) * sizeof(struct counter));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
