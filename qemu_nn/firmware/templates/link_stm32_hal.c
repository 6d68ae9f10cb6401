/* The link on an STM32, by the HAL: a project of STM32CubeMX with a UART as huart2, for example.
 *
 * Add link.c, link_network.c, this file, network.c and the library to the project, define
 * NETWORK_TEST for all of them, and call link_on_stm32() at the end of main(). The PC waits for
 * each answer, so neither interrupts nor DMA are needed, at any baud rate. */
#include "cycles.h"
#include "link.h"
#include "main.h" /* CubeMX's: includes the HAL */

extern UART_HandleTypeDef huart2;

static int next(void) {
    uint8_t byte;
    if (__HAL_UART_GET_FLAG(&huart2, UART_FLAG_ORE)) {
        __HAL_UART_CLEAR_OREFLAG(&huart2); /* a byte came while the network ran */
    }
    return HAL_UART_Receive(&huart2, &byte, 1, 1) == HAL_OK ? byte : -1;
}

static void put(const uint8_t *bytes, size_t size) {
    if (size > 0) {
        HAL_UART_Transmit(&huart2, (uint8_t *)bytes, (uint16_t)size, HAL_MAX_DELAY);
    }
}

void link_on_stm32(void) {
    static link_port port = {next, put, link_count, "cycles", 0};
    port.clock = SystemCoreClock;
    link_start_count(); /* on a Cortex-M0: remove SysTick_Handler of either side, or the counter */
    link_serve(&port, &link_exported);
}
