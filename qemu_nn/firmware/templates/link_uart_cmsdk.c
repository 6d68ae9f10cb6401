/* The UART of Arm's MPS2 and MPS3 boards (CMSDK); LINK_UART is the address of its registers. */
#include "uart.h"

enum { TRANSMITTER_FULL = 1, RECEIVER_FULL = 2 };       /* of state */
enum { BOTH_ON = 3, RECEIVER_INTERRUPT = 8, CAME = 2 }; /* of control, and of interrupt */

typedef struct cmsdk {
    volatile uint32_t data, state, control, interrupt, divider;
} cmsdk;

static cmsdk *const uart = (cmsdk *)LINK_UART;

void uart_start(uint32_t clock) {
    uart->divider = clock / 115200;
    uart->control = BOTH_ON | RECEIVER_INTERRUPT;
}

int uart_waiting(void) { return (uart->state & RECEIVER_FULL) != 0; }

int uart_read(void) {
    uart->interrupt = CAME;
    return (int)(uart->data & 0xff);
}

void uart_write(const uint8_t *bytes, size_t size) {
    while (size-- > 0) {
        while ((uart->state & TRANSMITTER_FULL) != 0) {
        }
        uart->data = *bytes++;
    }
}
