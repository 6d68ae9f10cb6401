/* The link on Zephyr, by the UART that the devicetree calls zephyr,shell-uart (where the console
 * does not write). It counts cycles by Zephyr's own timing functions: CONFIG_TIMING_FUNCTIONS=y,
 * CONFIG_SERIAL=y. */
#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>
#include <zephyr/timing/timing.h>

#include "link.h"

static const struct device *const uart = DEVICE_DT_GET(DT_CHOSEN(zephyr_shell_uart));

static int next(void) {
    unsigned char byte;
    return uart_poll_in(uart, &byte) == 0 ? byte : -1;
}

static void put(const uint8_t *bytes, size_t size) {
    while (size-- > 0) {
        uart_poll_out(uart, *bytes++);
    }
}

static uint32_t count(void) { return (uint32_t)timing_counter_get(); }

int main(void) {
    static link_port port = {next, put, count, "cycles", 0};
    timing_init();
    timing_start();
    port.clock = (uint32_t)timing_freq_get();
    link_serve(&port, &link_exported);
    return 0;
}
