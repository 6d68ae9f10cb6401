/* Networks packed by qemu_nn.ndk.modelpack on a PC, bit for bit as on the NPU: the functions in
 * chapter 5 of the manual of the NPU's kit. Link with -lpthread.
 *
 *   struct cnn_net_pack_info info = cnn_load_net_pack("lenet.bin");
 *   if (info.input_addr == NULL) { ... print info.error ... }
 *   cnn_run_net_pack(&info, input, output);
 *   cnn_delete_net_pack(&info);
 *
 * All integers are int8_t (feature_byte 1; an unsigned input: uint8_t) or int16_t (feature_byte 2).
 * Several threads may call the functions. There is one NPU; it computes one network at a time. */
#ifndef WQ_CNN_H
#define WQ_CNN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CNN_ROW_BYTES = 32, CNN_ERROR_BYTES = 256 };

/* Return values of the functions below. */
enum { CNN_OK = 0, CNN_DELETED = 1, CNN_BUSY = 2, CNN_WRONG_FEATURE_BYTE = 3 };

/* A loaded network. input_addr and output_addr are NULL after an error (see error) and after
 * deletion. The library owns both buffers: write to them, but do not change the two pointers. */
struct cnn_net_pack_info {
    void *input_addr;             /* [channels][height][row], a row every 32 bytes */
    void *output_addr;            /* likewise; several outputs are contiguous */
    uint8_t feature_byte;         /* bytes of an integer: 1 or 2 */
    uint32_t input_size;          /* bytes that cnn_run_net_pack() reads */
    uint32_t output_size;         /* bytes that cnn_run_net_pack() writes */
    uint32_t input_aligned_size;  /* bytes at input_addr */
    uint32_t output_aligned_size; /* bytes at output_addr */
    uint32_t net;                 /* the library's number of the network; 0: none */
    char error[CNN_ERROR_BYTES];  /* one sentence if loading failed, otherwise empty */
};

/* Load a pack: the file `name` or, if there is none, custom/`name`. Errors are also written to
 * stderr. Delete every network that was loaded. */
struct cnn_net_pack_info cnn_load_net_pack(const char *name);

/* Load a pack from memory. The memory is not needed afterwards. */
struct cnn_net_pack_info cnn_load_net_pack_from(const void *pack, uint32_t size);

/* Wait until the NPU is idle, compute output from input and return. Both are
 * [channels][height][width] without gaps. Return 0, 1 or 3 like cnn_start_net_pack(). */
uint8_t cnn_run_net_pack(struct cnn_net_pack_info *info, const void *input, void *output);

/* Start computing the buffer at info->output_addr from the buffer at info->input_addr. Return 0:
 * the NPU runs until cnn_get_status() returns 0; 1: the network was deleted or never loaded; 2: the
 * NPU is busy; 3: info->feature_byte is not that of the network. */
uint8_t cnn_start_net_pack(struct cnn_net_pack_info *info);

/* Return 0 if the NPU is idle and all started work is done, otherwise 1: busy. */
int8_t cnn_get_status(void);

/* Free a network after the NPU is done with it. Every copy of info counts as deleted afterwards. */
void cnn_delete_net_pack(struct cnn_net_pack_info *info);

/* Print the five largest of n 8-bit integers and their indices, the largest first. Equal values are
 * in the order of their indices. */
void cnn_print_top5(const int8_t *output, uint32_t n);

/* The system's memory. module: the caller, ignored here. */
void *os_mem_malloc(uint32_t module, uint32_t size);
void os_mem_free(void *memory);
void os_mem_cpy(void *dst, const void *src, uint32_t len);

#ifdef __cplusplus
}
#endif

#endif
