# SPDX-License-Identifier: Apache-2.0
#
# Read before jemalloc's own Makefile, which compiles each file three times: for a library without
# position-independent code, which nothing links; for the names of its symbols; and for the library
# that is linked. The first is left out, and names need no optimised code.

override STATIC_LIBS := lib/libjemalloc_pic.a
%.sym.o: CFLAGS += -O0
