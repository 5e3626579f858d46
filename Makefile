# SPDX-License-Identifier: GPL-2.0
#
# fastwalk: from nothing to a measured kernel. `make help` lists what there is.

ARCH	?= arm64
TREE	?= patched
export ARCH TREE V KDIR FORCE
export CMD MODE ICOUNT SMP MEM TIMEOUT APPEND CONFIG OUT CPU
export VERSION TOPIC SENT SIGNOFF
export BENCH METRIC VENDOR ONLY HERE COUNTS REPEAT ACCEPT

MAKEFLAGS += --no-print-directory
Q = $(if $(filter 1,$(V)),,@)
S = $(Q)scripts

help:
	@echo 'The two commands:'
	@echo '  make bench                  base and patched kernel side by side  [ARCH=arm64|x86] [BENCH=quick|full] [METRIC=insns|time] [VENDOR=intel] [ONLY=regex]'
	@echo '  make check                  all tests  [PHASES="phase..."]'
	@echo 'Day to day:'
	@echo '  make run CMD="..."          boot and run a command  [ARCH=] [TREE=base|patched] [MODE=] [ICOUNT=1] [SMP=] [MEM=] [TIMEOUT=]'
	@echo '  make tree                   build/linux-base and build/linux, one commit a patch'
	@echo '  make refresh                write the commits of build/linux back to patches/'
	@echo '  make rebase KDIR=...        carry the series to another base; again after a conflict, to go on'
	@echo '  make series                 the mails of each topic, checked: cover letters, To and Cc, range-diff  [TOPIC=] [VERSION=N] [SIGNOFF=1] [SENT=1: tag it]'
	@echo '  make kernel selftests       [ARCH=] [TREE=] [CONFIG="fragment..."]'
	@echo '  make check PHASES=config CONFIG="fragment..."  the in-tree tests on such kernels: debug, 16k, 64k  [ARCH=] [TREES=patched] [SLOW=3]'
	@echo '  make bench-walk             the walker alone, in user space: native times'
	@echo '  make fuzz SECONDS=600       fuzz the walker of base against the patched one'
	@echo '  make calls                  walks, TLB invalidations and the longest hold of mmu_lock, base and patched, counted by QEMU  [ARCH=] [ONLY=regex]'
	@echo '  make results                make the tables of the documents and the plots from Documentation/results/*.tsv  [ACCEPT=1: after taking the latest]'
	@echo '  make migrate                a guest migrated live by QEMU in the emulated host  [ARCH=] [TREE=] [BACKING=4k|thp|hugetlb] [DIRTY=sparse|dense] [SMP=] [RING=4096] [CONVERGE=1]'
	@echo '  make nested                 arm64: Linux as guest hypervisor in the emulated host, base and patched  [TREE=] [TRIES=5] [TESTS="command; ..."]'
	@echo '  make matrix                 every in-tree test, and some on other CPUs and parameters, base and patched; goes on where it stopped  [ONLY=regex] [BUDGET=minutes] [BUILD=1] [RETRY=1]'
	@echo '  make bench-list             the scenarios and what each one runs'
	@echo '  make clean                  remove build/ but for what was downloaded'
	@echo 'Everywhere: V=1 shows commands; KDIR=/path/to/linux uses that tree as the base.'

packages:
	$(S)/packages.sh fetch build boot $(if $(filter intel vmx%,$(VENDOR) $(MODE)),bochs)

tree:
	$(S)/packages.sh fetch build
	$(S)/fetch.sh
	$(S)/tree.sh

rebase:
	$(S)/rebase.sh

refresh:
	$(S)/refresh.sh

series: tree
	$(S)/series.sh

kernel: tree
	$(S)/kernel.sh $(ARCH) $(TREE) $(CONFIG)

selftests: tree
	$(S)/selftests.sh $(ARCH) $(TREE)

initramfs:
	$(S)/build.sh $(ARCH)

run:
	$(S)/build.sh $(ARCH) $(TREE)
	$(S)/run.sh

bench-list:
	$(S)/bench.sh list

bench check calls results matrix:
	$(S)/$@.sh

# Both trees unless TREE is given.
migrate nested:
	$(Q)$(if $(filter-out file,$(origin TREE)),TREES=$(TREE)) scripts/$@.sh

bench-walk fuzz: tree
	$(S)/packages.sh harness
	$(Q)$(MAKE) -C tools/s2walk $@

clean:
	$(S)/clean.sh

.PHONY: help packages tree rebase refresh series kernel selftests initramfs run bench calls migrate nested matrix results bench-list bench-walk fuzz check clean
.NOTPARALLEL:
