/* A counter of cycles that wraps at 2^32: the PMU of cores with Helium, the DWT of Cortex-M3, M4,
 * M7 and M33, and SysTick of those that have neither, or where LINK_SYSTICK is defined. SysTick has
 * 24 bits, so its interrupt counts the rest: SysTick_Handler must stand in the table of vectors.
 * Included once, by the C file that fills a link_port. */
#include <stdint.h>

#define LINK_REGISTER(address) (*(volatile uint32_t *)(address))

#if defined LINK_SYSTICK || (defined __ARM_ARCH && !defined __ARM_FEATURE_SAT)
static volatile uint32_t link_turns; /* of SysTick through its 24 bits */

void SysTick_Handler(void);
void SysTick_Handler(void) { link_turns++; }

static void link_start_count(void) {
    LINK_REGISTER(0xe000e014) = 0xffffff; /* SYST_RVR: counts down from here */
    LINK_REGISTER(0xe000e018) = 0;        /* SYST_CVR: any write clears it */
    LINK_REGISTER(0xe000e010) = 7;        /* SYST_CSR: the core's clock, interrupt, on */
}

static uint64_t link_ticks(void) {
    uint32_t turns, left;
    do {
        turns = link_turns;
        left = LINK_REGISTER(0xe000e018);
    } while (turns != link_turns);
    return ((uint64_t)turns << 24) + (0xffffff - left);
}

static inline uint32_t link_count(void) { return (uint32_t)link_ticks(); }
#elif defined __ARM_FEATURE_MVE
static void link_start_count(void) {
    LINK_REGISTER(0xe000edfc) |= 1u << 24; /* DEMCR: TRCENA */
    LINK_REGISTER(0xe0003e04) |= 1u | 1u << 2; /* PMU_CTRL: on, cycle counter from 0 */
    LINK_REGISTER(0xe0003c00) = 1u << 31;      /* PMU_CNTENSET: the cycle counter */
}

static uint32_t link_count(void) { return LINK_REGISTER(0xe000307c); /* PMU_CCNTR */ }
#else
static void link_start_count(void) {
    LINK_REGISTER(0xe000edfc) |= 1u << 24; /* DEMCR: TRCENA */
    LINK_REGISTER(0xe0001fb0) = 0xc5acce55; /* DWT_LAR: some Cortex-M7 are locked */
    LINK_REGISTER(0xe0001000) |= 1;         /* DWT_CTRL: CYCCNTENA */
}

static uint32_t link_count(void) { return LINK_REGISTER(0xe0001004); /* DWT_CYCCNT */ }
#endif
