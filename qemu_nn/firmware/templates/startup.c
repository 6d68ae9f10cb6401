/* Starts a program on a Cortex-M without an operating system; it speaks through semihosting. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* From the linker script. */
extern uint32_t stack_top;
extern char data_start, data_end, data_load, bss_start, bss_end;

extern void initialise_monitor_handles(void); /* of newlib: opens stdout */
extern void _exit(int status);
extern int main(void);

void reset(void);
void _fini(void);

void reset(void) {
#ifdef __ARM_FP
    /* Floating point and Helium are off after reset: CP10 and CP11 in CPACR. */
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20;
    __asm volatile("dsb\n\tisb" ::: "memory");
#endif
    memcpy(&data_start, &data_load, (size_t)(&data_end - &data_start));
    memset(&bss_start, 0, (size_t)(&bss_end - &bss_start));
#ifdef BARE
    _exit(main());
#else
    initialise_monitor_handles();
    exit(main());
#endif
}

/* newlib's exit() calls it, and -nostartfiles leaves it out. */
void _fini(void) {}

/* Any fault or interrupt: nothing here expects one. */
static void fault(void) { _exit(3); }

/* Fault of boards without another timer. */
void SysTick_Handler(void);
__attribute__((weak)) void SysTick_Handler(void) { fault(); }

typedef struct vectors {
    const void *stack;
    void (*handlers[15])(void);
} vectors;

__attribute__((section(".vectors"), used)) static const vectors table = {
    &stack_top,
    {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault,
     fault, SysTick_Handler},
};
