/* The link on a board that QEMU emulates, where `-icount shift=6` makes each instruction take 64 ns
 * of its time: SysTick runs at LINK_CLOCK in that time, so it counts instructions. */
#include "cycles.h"
#include "link.h"
#include "uart.h"

enum { NANOSECONDS = 64 };

/* The first 64 interrupts: on, off, no longer pending. */
static volatile uint32_t *const on = (uint32_t *)0xe000e100;
static volatile uint32_t *const off = (uint32_t *)0xe000e180;
static volatile uint32_t *const unpend = (uint32_t *)0xe000e280;

static uint32_t instructions(void) {
    return (uint32_t)(link_ticks() * (1000000000u / NANOSECONDS) / LINK_CLOCK);
}

/* Sleeps until a byte has come: a core that polls for it keeps the emulator busy. An interrupt that
 * is on ends the sleep; as the core masks all of them, it does nothing else. */
static void doze(void) {
    __asm volatile("cpsid i" ::: "memory");
    on[0] = on[1] = 0xffffffff;
    if (!uart_waiting()) {
        __asm volatile("dsb\n\twfi" ::: "memory");
    }
    off[0] = off[1] = 0xffffffff;
    unpend[0] = unpend[1] = 0xffffffff;
    __asm volatile("dsb\n\tisb\n\tcpsie i" ::: "memory");
}

static int next(void) {
    if (!uart_waiting()) {
        doze();
    }
    return uart_waiting() ? uart_read() : -1;
}

int main(void) {
    static const link_port port = {next, uart_write, instructions, "instructions", 0};
    uart_start(LINK_CLOCK);
    link_start_count();
    link_serve(&port, &link_exported);
    return 0;
}
