/* Arm's CMSDK UART, which the MPS2 and MPS3 boards have: LINK_UART is the address of its registers. */
#include "uart.h"

typedef struct cmsdk {
    volatile uint32_t data, state, control, interrupt, divider;
} cmsdk;

enum { TRANSMITTER_FULL = 1, RECEIVER_FULL = 2 };       /* of the state */
enum { BOTH_ON = 3, RECEIVER_INTERRUPT = 8, CAME = 2 }; /* of control, and of the interrupt */

/* The first 64 interrupts: on, off, no longer pending. */
static volatile uint32_t *const on = (uint32_t *)0xe000e100;
static volatile uint32_t *const off = (uint32_t *)0xe000e180;
static volatile uint32_t *const unpend = (uint32_t *)0xe000e280;

static cmsdk *const uart = (cmsdk *)LINK_UART;

void uart_start(uint32_t clock, uint32_t baud) {
    uart->divider = clock / baud < 16 ? 16 : clock / baud; /* it cannot divide by less */
    uart->control = BOTH_ON | RECEIVER_INTERRUPT;
}

/* Sleeps until a byte may have come, as the emulator takes a core that polls for a busy one: an
 * interrupt that is on ends the sleep, and as the core masks all, it does nothing else. */
static void doze(void) {
    __asm volatile("cpsid i" ::: "memory");
    on[0] = on[1] = 0xffffffff;
    if ((uart->state & RECEIVER_FULL) == 0) {
        __asm volatile("dsb\n\twfi" ::: "memory");
    }
    off[0] = off[1] = 0xffffffff;
    uart->interrupt = CAME;
    unpend[0] = unpend[1] = 0xffffffff;
    __asm volatile("dsb\n\tisb\n\tcpsie i" ::: "memory");
}

int uart_read(void) {
    if ((uart->state & RECEIVER_FULL) == 0) {
        doze();
    }
    return (uart->state & RECEIVER_FULL) != 0 ? (int)(uart->data & 0xff) : -1;
}

void uart_write(const uint8_t *bytes, size_t size) {
    while (size-- > 0) {
        while ((uart->state & TRANSMITTER_FULL) != 0) {
        }
        uart->data = *bytes++;
    }
}
