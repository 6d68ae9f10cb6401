/* The device's end of the link. See link.h, and docs/protocol.md for the frames. */
#include "link.h"

#include <string.h>

enum { VERSION = 1, HEADER = 4, CHECK = 4 };

/* Requests; an answer has the request's number with ANSWER added, or is a REFUSAL. */
enum { HELLO = 1, WRITE = 2, START = 3, STEP = 4, READ = 5, ANSWER = 0x80, REFUSAL = 0xff };

enum { UNKNOWN = 1, OUTSIDE = 2, STRANGER = 3, NOT_NOW = 4, DAMAGED = 5 }; /* why it is refused */

enum { DESCRIPTION = 0, INPUT = 1, RESULT = 2, OUTPUT = 3 }; /* memory that a request names */

enum { AT_REST = 0, AT_LAYER = 1, ENDED = 2 }; /* what a run is doing */

enum { STOP_AT_LAYERS = 1, FIRST = 2 }; /* how a run is asked for */

static const link_port *port;
static const link_network *network;

/* The frame that comes in, or goes out: header, content, CRC-32. */
static uint8_t frame[LINK_BUFFER];
static size_t filled;
static uint8_t code, left; /* of the block that comes in: its first byte, and bytes to come */
static int spoiled;
static uint8_t raw[48]; /* the first bytes since the last zero */
static size_t seen;

static uint16_t session; /* that of the last HELLO; 0 after a reset */
static uint16_t run, stop;
static uint8_t state, flags, abandoned;
static uint8_t turn_kind, turn_number; /* the request that waits until the network stops */
static const char *layer = "";
static link_block result;
static uint32_t begun, spent;
static int status;

static uint32_t number(const uint8_t *at, int bytes) {
    uint32_t value = 0;
    while (bytes-- > 0) {
        value = value << 8 | at[bytes];
    }
    return value;
}

static size_t put(size_t at, uint32_t value, int bytes) {
    for (; bytes-- > 0; value >>= 8) {
        frame[at++] = (uint8_t)value;
    }
    return at;
}

/* CRC-32 as in zip files and Ethernet, four bits at a time. */
static uint32_t crc32(const uint8_t *bytes, size_t size) {
    static const uint32_t table[16] = {
        0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
        0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
        0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
    };
    uint32_t crc = 0xffffffffu;
    for (; size-- > 0; bytes++) {
        crc = table[(crc ^ *bytes) & 15] ^ crc >> 4;
        crc = table[(crc ^ *bytes >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

static uint32_t now(void) { return port->count != NULL ? port->count() : 0; }

/* ---- frames: bytes without 0 (COBS), between zeros ---- */

static void keep(uint8_t byte) {
    if (filled < sizeof frame) {
        frame[filled++] = byte;
    } else {
        spoiled = 1;
    }
}

/* Takes one byte; returns the bytes of header and content if it ends a whole frame, otherwise 0. */
static size_t taken(uint8_t byte) {
    size_t size = 0;
    if (byte != 0 && seen < sizeof raw) {
        raw[seen++] = byte;
    }
    if (byte == 0) {
        if (left == 0 && !spoiled && filled >= HEADER + CHECK &&
            crc32(frame, filled - CHECK) == number(&frame[filled - CHECK], CHECK)) {
            size = filled - CHECK;
        }
        filled = 0;
        code = left = 0;
        spoiled = 0;
    } else if (left > 0) {
        keep(byte);
        left--;
    } else {
        if (code != 0 && code != 0xff) {
            keep(0);
        }
        code = byte;
        left = (uint8_t)(byte - 1);
    }
    return size;
}

/* Sends header and content, `size` bytes of the frame. */
static void send(size_t size) {
    static const uint8_t zero = 0;
    size_t at = 0;
    size = put(size, crc32(frame, size), CHECK);
    port->write(&zero, 1);
    for (;;) {
        uint8_t head, more = 0;
        while (at + more < size && more < 254 && frame[at + more] != 0) {
            more++;
        }
        head = (uint8_t)(more + 1);
        port->write(&head, 1);
        port->write(&frame[at], more);
        at += more;
        if (at == size) {
            break;
        }
        at += more < 254; /* the 0 that ends a shorter block is not sent */
    }
    port->write(&zero, 1);
}

static size_t answer(uint8_t kind, uint8_t sequence) {
    frame[0] = kind;
    frame[1] = sequence;
    return put(2, session, 2);
}

/* ---- requests ---- */

static void refuse(uint8_t sequence, uint8_t reason) {
    send(put(answer(REFUSAL, sequence), reason, 1));
}

static void hello(uint8_t sequence) {
    size_t at = put(answer(HELLO | ANSWER, sequence), VERSION, 1), length = strlen(port->counts);
    at = put(at, sizeof frame, 2);
    at = put(at, (uint32_t)strlen(network->description), 4);
    at = put(at, port->clock, 4);
    memcpy(&frame[at], port->counts, length);
    send(at + length);
}

/* Send the position of the run, and the start of a layer's result. */
static void report(uint8_t kind, uint8_t sequence) {
    size_t length = strlen(layer), at = answer(kind | ANSWER, sequence), more;
    length = length < 40 ? length : 40;
    at = put(at, run, 2);
    at = put(at, stop, 2);
    at = put(at, state, 1);
    at = put(at, state == ENDED ? (uint32_t)status : 0, 2);
    at = put(at, spent, 4);
    at = put(at, result.size, 4);
    at = put(at, (uint32_t)length, 1);
    memcpy(&frame[at], layer, length);
    at += length;
    more = sizeof frame - CHECK - at;
    more = more < result.size ? more : result.size;
    if (more > 0) {
        memcpy(&frame[at], result.bytes, more);
    }
    send(at + more);
}

/* The memory that a request names; of size 0 if there is none now. */
static link_block memory(uint8_t what, uint8_t index) {
    const link_block none = {NULL, 0};
    if (what == INPUT && index < network->input_count) {
        return network->inputs[index];
    }
    if (what == OUTPUT && index < network->output_count) {
        return network->outputs[index];
    }
    return what == RESULT && index == 0 && state == AT_LAYER ? result : none;
}

static void write_memory(uint8_t sequence, size_t size) {
    const uint8_t what = frame[HEADER];
    const link_block block = memory(what, frame[HEADER + 1]);
    const uint32_t from = number(&frame[HEADER + 2], 4), more = (uint32_t)size - HEADER - 6;
    if (what == INPUT && state == AT_LAYER) {
        refuse(sequence, NOT_NOW);
    } else if ((what != INPUT && what != RESULT) || from > block.size || more > block.size - from) {
        refuse(sequence, OUTSIDE);
    } else {
        memcpy((uint8_t *)block.bytes + from, &frame[HEADER + 6], more);
        send(answer(WRITE | ANSWER, sequence));
    }
}

static void read_memory(uint8_t sequence) {
    const uint32_t from = number(&frame[HEADER + 2], 4), more = number(&frame[HEADER + 6], 2);
    link_block block = memory(frame[HEADER], frame[HEADER + 1]);
    const uint8_t *bytes = block.bytes;
    if (frame[HEADER] == DESCRIPTION) {
        bytes = (const uint8_t *)network->description;
        block.size = (uint32_t)strlen(network->description);
    }
    if (more == 0 || from > block.size || more > block.size - from ||
        more > sizeof frame - HEADER - CHECK) {
        refuse(sequence, OUTSIDE);
        return;
    }
    (void)answer(READ | ANSWER, sequence);
    memcpy(&frame[HEADER], bytes + from, more);
    send(HEADER + more);
}

/* Answers one request, or returns 1 if the network has to go on before there is an answer. */
static int handled(size_t size) {
    static const uint8_t lengths[] = {0, 0, 6, 3, 4, 8}; /* of what follows the header, at least */
    const uint8_t kind = frame[0], sequence = frame[1];
    const uint16_t from = (uint16_t)number(&frame[2], 2);
    uint16_t wanted;
    if (kind == 0 || kind >= sizeof lengths || size - HEADER < lengths[kind]) {
        refuse(sequence, UNKNOWN);
        return 0;
    }
    if (kind == HELLO) {
        turn_number = sequence;
        abandoned = state == AT_LAYER && from != session;
        if (from != session) { /* its runs are counted anew */
            session = from;
            run = 0;
        }
        if (!abandoned) {
            hello(sequence);
        }
        return abandoned;
    }
    if (from != session || session == 0) {
        refuse(sequence, STRANGER);
        return 0;
    }
    if (kind == WRITE) {
        write_memory(sequence, size);
    } else if (kind == READ) {
        read_memory(sequence);
    } else {
        wanted = (uint16_t)number(&frame[HEADER], 2);
        turn_kind = kind;
        turn_number = sequence;
        if (kind == START && wanted != run && state != AT_LAYER) {
            flags = frame[HEADER + 2];
            run = wanted;
            stop = 0;
            return 1;
        }
        if (kind == STEP && wanted == run && state == AT_LAYER &&
            number(&frame[HEADER + 2], 2) == stop) {
            return 1;
        }
        if (wanted != run) {
            refuse(sequence, NOT_NOW);
        } else { /* asked once more: the answer was lost */
            report(kind, sequence);
        }
    }
    return 0;
}

/* Sends the bytes that are no frame: the PC sees what the line did to its request. A frame that is
 * still coming in is kept. */
static void tell_damage(void) {
    uint8_t begun_frame[HEADER + 1 + sizeof raw + CHECK];
    size_t at;
    memcpy(begun_frame, frame, sizeof begun_frame);
    at = put(answer(REFUSAL, 0), DAMAGED, 1);
    memcpy(&frame[at], raw, seen);
    send(at + seen);
    memcpy(frame, begun_frame, sizeof begun_frame);
}

/* Answers requests until the network has to go on. */
static void serve(void) {
    for (;;) {
        const int byte = port->read();
        const size_t size = byte < 0 ? 0 : taken((uint8_t)byte);
        if (size > 0 && handled(size)) {
            seen = 0;
            return;
        }
        /* Before a session, a line that changes zeros shows by many bytes without one. */
        if (byte == 0 || (session == 0 && seen == sizeof raw)) {
            if (size == 0 && seen > 0) {
                tell_damage();
            }
            seen = 0;
        }
    }
}

void link_layer_done(const char *name, void *bytes, size_t size) {
    if (abandoned || (flags & STOP_AT_LAYERS) == 0) {
        return;
    }
    spent = now() - begun;
    state = AT_LAYER;
    stop++;
    layer = name;
    result.bytes = bytes;
    result.size = (uint32_t)size;
    report(turn_kind, turn_number);
    serve();
    begun = now();
}

void link_serve(const link_port *own, const link_network *exported) {
    port = own;
    network = exported;
    for (;;) {
        serve();
        begun = now();
        status = network->run((flags & FIRST) != 0);
        spent = now() - begun;
        layer = "";
        result.size = 0;
        if (abandoned) {
            state = AT_REST;
            abandoned = 0;
            hello(turn_number);
        } else {
            state = ENDED;
            stop++;
            report(turn_kind, turn_number);
        }
    }
}
