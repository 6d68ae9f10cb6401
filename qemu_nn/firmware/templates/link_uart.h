/* The serial port of a board that QEMU emulates. */
#ifndef UART_H
#define UART_H

#include <stddef.h>
#include <stdint.h>

void uart_start(uint32_t clock); /* with an interrupt for each byte that comes */
int uart_waiting(void);          /* not 0 if a byte has come */
int uart_read(void);             /* that byte */
void uart_write(const uint8_t *bytes, size_t size);

#endif
