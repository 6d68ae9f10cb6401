/* The link on this PC: `qemu-nn validate MODEL --on command:build/link` talks to its standard
 * streams. */
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

#include "link.h"

static int next(void) {
    const int byte = getchar();
    if (byte == EOF) {
        exit(0);
    }
    return byte;
}

static void put(const uint8_t *bytes, size_t size) {
    fwrite(bytes, 1, size, stdout);
    if (size == 1 && *bytes == 0) { /* a frame has ended */
        fflush(stdout);
    }
}

int main(void) {
    static const link_port port = {next, put, NULL, "", 0};
#ifdef _WIN32
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    link_serve(&port, &link_exported);
    return 0;
}
