/* The UART of Nordic's nRF51; LINK_UART is the address of its registers. */
#include "uart.h"

enum {
    START_RECEIVER = 0x000,
    START_TRANSMITTER = 0x008,
    RECEIVED = 0x108,
    SENT = 0x11c,
    INTERRUPT_SET = 0x304,
    ENABLE = 0x500,
    INPUT = 0x518,
    OUTPUT = 0x51c,
    BAUD = 0x524,
};

static volatile uint32_t *at(uint32_t offset) { return (uint32_t *)(LINK_UART + offset); }

void uart_start(uint32_t clock) {
    (void)clock;
    *at(BAUD) = 0x01d7e000; /* 115200 */
    *at(ENABLE) = 4;
    *at(INTERRUPT_SET) = 1u << 2; /* RECEIVED */
    *at(START_RECEIVER) = 1;
    *at(START_TRANSMITTER) = 1;
}

int uart_waiting(void) { return *at(RECEIVED) != 0; }

int uart_read(void) {
    *at(RECEIVED) = 0;
    return (int)(*at(INPUT) & 0xff);
}

void uart_write(const uint8_t *bytes, size_t size) {
    while (size-- > 0) {
        *at(SENT) = 0;
        *at(OUTPUT) = *bytes++;
        while (*at(SENT) == 0) {
        }
    }
}
