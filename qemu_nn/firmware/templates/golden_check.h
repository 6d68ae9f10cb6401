/* Compares what your firmware computes with the goldens of this folder, on the device or on a PC.
 *
 * Add golden_check.c to the build and call, right after each layer,
 *
 *     qn_check("x0/conv1", buffer, sizeof buffer);
 *
 * The name is the path of the golden's file without its ending: input x0, layer conv1. A recurrent
 * network has a folder for each time step: "x0/t1/conv1". golden_table.h lists the names.
 *
 * One line is printed per call:
 *
 *     PASS x0/conv1
 *     FAIL layer=x0/conv1 index=5 got=-3 want=-2 differing=17
 *     FAIL layer=x0/conv1 size=100 want=128
 *     FAIL layer=x0/conv1 unknown
 *
 * index: the first element that differs, counted from 0 in memory order; differing: how many
 * elements differ; got, want: of float, uint32_t and what has 64 bits the bits, 0x3f800000; size,
 * want (second form): bytes. A name is unknown if no golden has it, or if
 * its input is not compiled in.
 *
 * -DQN_GOLDEN_INPUT=0   compiles the goldens of input x0 in and no others: where flash is short
 * -DQN_DUMP             prints each buffer, too, for `qemu-nn compare GOLDENS LOG`: hexadecimal
 *                       bytes after their offset, and the CRC-32 of all, as in zip files:
 *
 *     DATA x0/conv1 32 0003f7ff...
 *     CRC x0/conv1 size=512 crc32=8d2c01aa
 *
 * -DQN_PRINTF=my_printf prints with your own `int my_printf(const char *format, ...)`, which must
 *                       know %s, %ld and %lu, and %08lx for bits
 *
 * C99, no heap, no floating point, no static data but the goldens (constant: they stay in flash).
 */
#ifndef QN_GOLDEN_CHECK_H
#define QN_GOLDEN_CHECK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compares `size` bytes at `buffer` with the golden of that name, prints the line above and
 * returns 0 if all of them are equal, 1 otherwise. The buffer may have any alignment. One NaN is as
 * good as another. */
int qn_check(const char *name, const void *buffer, size_t size);

/* Says the same without a line: 1 if all of them are equal, 0 otherwise. */
int qn_equal(const char *name, const void *buffer, size_t size);

/* The elements of the golden of that name; NULL if it is unknown. */
const void *qn_golden_values(const char *name);

#ifdef __cplusplus
}
#endif

#endif
