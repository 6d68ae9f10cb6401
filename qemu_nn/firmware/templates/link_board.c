/* The link on a board that QEMU emulates, where `-icount shift=6` makes each instruction take 64 ns
 * of its time: SysTick runs at LINK_CLOCK in that time, so it counts instructions. */
#include "cycles.h"
#include "link.h"
#include "uart.h"

enum { BAUD = 115200, NANOSECONDS = 64 };

static uint32_t instructions(void) {
    return (uint32_t)(link_ticks() * (1000000000u / NANOSECONDS) / LINK_CLOCK);
}

int main(void) {
    static const link_port port = {uart_read, uart_write, instructions, "instructions", 0};
    uart_start(LINK_CLOCK, BAUD);
    link_start_count();
    link_serve(&port, &link_exported);
    return 0;
}
