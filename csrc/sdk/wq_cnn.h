/* Runs networks packed by qemu_nn.ndk.modelpack on a PC, bit for bit as the NPU does: the functions
 * that the manual of the NPU's kit calls in its chapter 5. Link with -lpthread.
 *
 *   struct cnn_net_pack_info info = cnn_load_net_pack("lenet.bin");
 *   if (info.input_addr == NULL) { ... info.error says why ... }
 *   cnn_run_net_pack(&info, input, output);
 *   cnn_delete_net_pack(&info);
 *
 * All integers are int8_t (feature_byte 1; an unsigned input: uint8_t) or int16_t (feature_byte 2).
 * The functions may be called from several threads; there is one NPU, which computes one network
 * at a time. */
#ifndef WQ_CNN_H
#define WQ_CNN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CNN_ROW_BYTES = 32, CNN_ERROR_BYTES = 256 };

/* What the functions below return. */
enum { CNN_OK = 0, CNN_DELETED = 1, CNN_BUSY = 2, CNN_WRONG_FEATURE_BYTE = 3 };

/* A loaded network. input_addr and output_addr are NULL where it could not be loaded (error says
 * why) and once it is deleted; they are the library's: write to where they point, never to them. */
struct cnn_net_pack_info {
    void *input_addr;             /* [channels][height][row], a row starts every 32 bytes */
    void *output_addr;            /* the same; several outputs follow each other */
    uint8_t feature_byte;         /* bytes of an integer: 1 or 2 */
    uint32_t input_size;          /* bytes that cnn_run_net_pack() reads */
    uint32_t output_size;         /* bytes that it writes */
    uint32_t input_aligned_size;  /* bytes at input_addr */
    uint32_t output_aligned_size; /* bytes at output_addr */
    uint32_t net;                 /* the library's number of the network; 0: none */
    char error[CNN_ERROR_BYTES];  /* why it could not be loaded, one sentence; else empty */
};

/* Loads a pack: the file `name` as given or, if there is none, custom/`name`. What is wrong with
 * it is written to stderr, too. Delete every network that was loaded. */
struct cnn_net_pack_info cnn_load_net_pack(const char *name);

/* The same from a pack in memory, which is not needed afterwards. */
struct cnn_net_pack_info cnn_load_net_pack_from(const void *pack, uint32_t size);

/* Computes output from input, both [channels][height][width] without gaps, and returns when it is
 * done; waits where the NPU is busy. Returns 0, 1 or 3 as cnn_start_net_pack(). */
uint8_t cnn_run_net_pack(struct cnn_net_pack_info *info, const void *input, void *output);

/* Starts computing what lies at info->output_addr from what lies at info->input_addr. Returns
 * 0: it runs, until cnn_get_status() says 0; 1: the network was deleted, or never loaded; 2: the
 * NPU is busy; 3: info->feature_byte is not that of the network. */
uint8_t cnn_start_net_pack(struct cnn_net_pack_info *info);

/* 0: the NPU is idle, all it was told to compute is done; otherwise it is busy. */
int8_t cnn_get_status(void);

/* Frees a network, after the NPU is done with it; any copy of info is deleted as well. */
void cnn_delete_net_pack(struct cnn_net_pack_info *info);

/* Prints the five largest of n 8-bit integers and their indices, the largest first; of equal ones
 * the first one comes first. */
void cnn_print_top5(const int8_t *output, uint32_t n);

/* The system's memory. module: who asks, which changes nothing here. */
void *os_mem_malloc(uint32_t module, uint32_t size);
void os_mem_free(void *memory);
void os_mem_cpy(void *dst, const void *src, uint32_t len);

#ifdef __cplusplus
}
#endif

#endif
