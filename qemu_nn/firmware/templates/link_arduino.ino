// The link of a sketch, over the port that Serial is. Put link.h, link.c, link_network.c, cycles.h
// and the exported network beside the sketch, and define NETWORK_TEST (in boards.txt or
// platform.local.txt: compiler.c.extra_flags=-DNETWORK_TEST). Print nothing else to Serial.
#include "cycles.h"
#include "link.h"

static int next_byte() { return Serial.read(); }

static void put(const uint8_t *bytes, size_t size) { Serial.write(bytes, size); }

void setup() { Serial.begin(921600); }

void loop() {
    // Without a counter, as on a Cortex-M0: {next_byte, put, NULL, "", 0}, and no cycles.h.
    static const link_port port = {next_byte, put, link_count, "cycles", F_CPU};
    link_start_count();
    link_serve(&port, &link_exported);  // for ever
}
