/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What our TCG plugins use of QEMU's interface for them, version 4. Debian does not package QEMU's header.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

struct plugin_u64 {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int add, struct plugin_u64 value,
						       uint64_t n);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*cb)(uint64_t id, void *data), void *data);

EXPORT int qemu_plugin_version = 4;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

#endif
