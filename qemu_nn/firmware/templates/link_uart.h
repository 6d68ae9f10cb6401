/* The serial port of a board that QEMU emulates. */
#ifndef UART_H
#define UART_H

#include <stddef.h>
#include <stdint.h>

void uart_start(uint32_t clock, uint32_t baud);
int uart_read(void); /* -1 if nothing has come */
void uart_write(const uint8_t *bytes, size_t size);

#endif
