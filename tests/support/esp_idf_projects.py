"""ESP-IDF projects compiled on this PC: their sources, and stand-ins for UART and ESP-DL."""

import re
import subprocess

#: Headers of ESP-IDF for the link, whose serial port is the standard streams of the program.
UART = {
    "driver/uart.h": """
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { UART_NUM_0, UART_DATA_8_BITS, UART_PARITY_DISABLE, UART_STOP_BITS_1,
       UART_HW_FLOWCTRL_DISABLE, UART_SCLK_DEFAULT };
typedef struct {
    int baud_rate, data_bits, parity, stop_bits, flow_ctrl, source_clk;
} uart_config_t;
static inline int uart_driver_install(int port, int rx, int tx, int size, void *queue, int flags) {
    return port + tx + size + flags + (queue != NULL) + (rx < 256) ? abort(), -1 : 0;
}
static inline int uart_param_config(int port, const uart_config_t *config) {
    return port + (config->baud_rate != 921600) ? abort(), -1 : 0;
}
static inline int uart_read_bytes(int port, void *byte, uint32_t size, uint32_t ticks) {
    const int found = getchar();
    if (found == EOF) exit(port + size + ticks == 2 ? 0 : 1);
    *(uint8_t *)byte = (uint8_t)found;
    return 1;
}
static inline int uart_write_bytes(int port, const void *bytes, size_t size) {
    fwrite(bytes, 1, size, stdout);
    fflush(stdout);
    return port;
}
""",
    "esp_cpu.h": """
#pragma once
#include <stdint.h>
static inline uint32_t esp_cpu_get_cycle_count(void) { static uint32_t now; return now += 100; }
""",
    "esp_log.h": """
#pragma once
enum { ESP_LOG_NONE };
static inline void esp_log_level_set(const char *tag, int level) { (void)tag; (void)level; }
""",
    "freertos/FreeRTOS.h": "#pragma once\n",
    "sdkconfig.h": "#pragma once\n#define CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ 240\n",
}

#: Header of ESP-DL. The model answers from answers.bin: for each run the step since the start or
#: 255 for any, the inputs, and all results of nodes, which a stage writes when it runs.
ESP_DL = """
#pragma once
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <map>
#include <string>
#include <vector>
namespace fbs {
enum { MODEL_LOCATION_IN_FLASH_RODATA };
struct Node { std::string name; std::vector<std::string> outputs; };
inline const std::vector<Node> nodes{NODES};
struct FbsModel {
    bool loaded = false;
    void load_map() { loaded = true; }
    void clear_map() { loaded = false; }
    std::vector<std::string> topological_sort() {
        std::vector<std::string> names;
        assert(loaded);
        for (const Node &node : nodes) names.push_back(node.name);
        return names;
    }
    int get_operation_inputs_and_outputs(std::string name, std::vector<std::string> &,
                                         std::vector<std::string> &outputs) {
        assert(loaded);
        for (const Node &node : nodes) if (node.name == name) outputs = node.outputs;
        return 0;
    }
};
}
namespace dl {
struct TensorBase {
    std::string bytes;
    int get_bytes() { return (int)bytes.size(); }
    void *get_element_ptr() { return &bytes[0]; }
};
class Model {
    fbs::FbsModel file;
    std::map<std::string, TensorBase> tensors;
    std::map<std::string, std::string> results;
    std::vector<std::string> inputs{INPUTS}, outputs{OUTPUTS}, made;
    int step = 0;
    static bool has(const std::vector<std::string> &names, const std::string &name) {
        for (const std::string &each : names) if (each == name) return true;
        return false;
    }
    void start() {
        FILE *answers = fopen("answers.bin", "rb");
        std::string given;
        for (const std::string &name : inputs) given += tensors[name].bytes;
        bool known = false;
        for (int at = fgetc(answers); at != EOF && !known; at = fgetc(answers)) {
            std::string wanted(given.size(), 0);
            assert(fread(&wanted[0], 1, wanted.size(), answers) == wanted.size());
            for (const std::string &name : made) {
                results[name].resize(tensors[name].bytes.size());
                const size_t size = results[name].size();
                assert(fread(&results[name][0], 1, size, answers) == size);
            }
            known = (at == step || at == 255) && given == wanted;
        }
        fclose(answers);
        assert(known);
        step++;
    }
  public:
    Model(const char *data, int location) {
        assert((uintptr_t)data % 16 == 0 && location == fbs::MODEL_LOCATION_IN_FLASH_RODATA);
        assert(memcmp(data, "EDL2", 4) == 0);
        for (const auto &each : std::map<std::string, int>{SIZES}) {
            tensors[each.first].bytes.assign(each.second, 0);
        }
        for (const fbs::Node &node : fbs::nodes) {
            made.insert(made.end(), node.outputs.begin(), node.outputs.end());
        }
    }
    void reset() { step = 0; }
    void run(int stages, int stage) {
        assert(stages == (int)fbs::nodes.size());
        if (stage == 0) start();
        for (const std::string &n : fbs::nodes[stage].outputs) tensors[n].bytes = results[n];
    }
    void run() {
        const int stages = (int)fbs::nodes.size();
        for (int i = 0; i < stages; i++) run(stages, i);
    }
    TensorBase *get_input(const std::string &n) { return has(inputs, n) ? &tensors[n] : nullptr; }
    TensorBase *get_output(const std::string &n) { return has(outputs, n) ? &tensors[n] : nullptr; }
    TensorBase *get_intermediate(const std::string &n) { return &tensors[n]; }
    fbs::FbsModel *get_fbs_model() { return &file; }
};
}
"""


def write_headers(folder, headers):
    """Write headers by their paths in a folder."""
    for path, text in headers.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def write_esp_dl(folder, file, sizes):
    """Write the header of ESP-DL for a model; sizes: bytes of each tensor of the file."""

    def listed(names):
        return ", ".join(f'"{name}"' for name in names)

    nodes = (f'{{"{node.name}", {{{listed(node.outputs)}}}}}' for node in file.nodes)
    words = {
        "NODES": ", ".join(nodes),
        "INPUTS": listed(value.name for value in file.inputs),
        "OUTPUTS": listed(value.name for value in file.outputs),
        "SIZES": ", ".join(f'{{"{name}", {size}}}' for name, size in sizes.items()),
    }
    text = ESP_DL
    for word, value in words.items():
        text = re.sub(rf"\{{{word}\}}", lambda _, value=value: f"{{{value}}}", text)
    write_headers(folder, {"dl_model_base.hpp": text})


def sources(project, main="main"):
    """Return the files that the CMakeLists of a project name, and its folders of headers."""
    files, includes = [], []
    for part in (main, "components/network"):
        text = (project / part / "CMakeLists.txt").read_text()
        named, folders = (
            re.search(rf"{word}((?:\s+\"[^\"]+\")+)", text)[1] for word in ("SRCS", "INCLUDE_DIRS")
        )
        files += [project / part / name for name in re.findall(r'"([^"]+)"', named)]
        includes += [project / part / name for name in re.findall(r'"([^"]+)"', folders)]
    return files, includes


def compile_project(project, folder, link=False):
    """Return the program of a project, with stand-ins in a folder: its self-test, or the link."""
    if link:
        write_headers(folder, UART)
        assert "-DNETWORK_TEST" in (project / "link/CMakeLists.txt").read_text()
    files, includes = sources(project, "link/main" if link else "main")
    out = folder / ("link" if link else "selftest")
    out.mkdir(exist_ok=True)
    flags = ["-Wall", "-Wextra", "-Werror", "-I", folder, *(f"-I{each}" for each in includes)]
    flags += ["-DNETWORK_TEST"] if link else []
    objects = []
    for number, path in enumerate(files):
        is_c = path.suffix == ".c"
        command = ["gcc", "-std=c99"] if is_c else ["g++", "-std=c++17", "-fno-exceptions"]
        objects.append(out / f"{number}.o")
        subprocess.run([*command, *flags, "-c", path, "-o", objects[-1]], check=True)
    main = out / "host.c"
    name = "app_main" if link else "network_selftest"
    kind, result = ("void", "0") if link else ("int", f"{name}()")
    call = f"{name}(); " if link else ""
    main.write_text(f"{kind} {name}(void); int main(void) {{ {call}return {result}; }}\n")
    program = out / "program"
    subprocess.run(["gcc", main, *objects, "-lstdc++", "-o", program], check=True)
    return program
