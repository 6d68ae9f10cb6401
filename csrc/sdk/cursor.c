/* The fields of a file in sequence, and its checksum. */
#include <string.h>

#include "net.h"

const uint8_t *cnn_bytes(cnn_cursor *from, uint64_t count) {
    if (from->ended || count > from->size - from->at) {
        from->ended = 1;
        return NULL;
    }
    from->at += (size_t)count;
    return from->data + from->at - count;
}

uint32_t cnn_u8(cnn_cursor *from) {
    const uint8_t *at = cnn_bytes(from, 1);
    return at ? at[0] : 0;
}

uint32_t cnn_u32(cnn_cursor *from) {
    const uint8_t *at = cnn_bytes(from, 4);
    return at ? at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24 : 0;
}

int32_t cnn_i32(cnn_cursor *from) {
    int32_t value;
    uint32_t bits = cnn_u32(from);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Return the CRC-32 of zip and PNG: polynomial 0xEDB88320, all bits inverted at both ends. */
uint32_t cnn_checksum(const uint8_t *data, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        }
    }
    return ~crc;
}
