"""Stand-ins for TensorFlow Lite Micro and the driver of the Ethos-U, to compile exports on this PC.

The interpreter answers from answers.bin: for each run one byte, the step since the start or 255 for
any; then the inputs; then the results of all operators, which write them when they are invoked.
"""

import re

FRAMEWORK = """
#pragma once
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>
#ifdef NPU
#include "ethosu_driver.h"
#endif
enum TfLiteStatus { kTfLiteOk, kTfLiteError };
struct TfLiteTensor { union { char *raw; } data; };
struct TfLiteEvalTensor { union { char *raw; } data; };
struct TfLiteIntArray { int size; int data[8]; };
struct TfLiteContext { TfLiteEvalTensor *(*GetEvalTensor)(const TfLiteContext *, int); };
struct TfLiteNode { const TfLiteIntArray *outputs; };
struct TFLMRegistration { TfLiteStatus (*invoke)(TfLiteContext *, TfLiteNode *); };
namespace tflite {
struct Model {};
inline const Model *GetModel(const void *data) {
    assert((uintptr_t)data % 16 == 0);
    assert(memcmp((const char *)data + 4, "TFL3", 4) == 0);
    return (const Model *)data;
}
/* Tensors of the network, and the results that its operators are to write. */
inline std::vector<std::string> tensors{TENSORS}, results;
inline TfLiteEvalTensor *eval_tensor(const TfLiteContext *, int index) {
    static TfLiteEvalTensor found;
    found.data.raw = &tensors[index][0];
    return &found;
}
inline TfLiteStatus compute(TfLiteContext *context, TfLiteNode *node) {
    for (int i = 0; i < node->outputs->size; i++) {
        const int index = node->outputs->data[i];
        memcpy(context->GetEvalTensor(context, index)->data.raw, results[index].data(),
               results[index].size());
    }
    return kTfLiteOk;
}
inline TfLiteStatus compute_on_npu(TfLiteContext *context, TfLiteNode *node) {
#ifdef NPU
    const uint64_t bases[3] = {16, 16, 16};
    const size_t sizes[3] = {0, 64, 0};
    struct ethosu_driver *driver = ethosu_reserve_driver();
    if (ethosu_invoke_v3(driver, "COP1", 4, bases, sizes, 3, NULL) != 0) return kTfLiteError;
    ethosu_release_driver(driver);
#endif
    return compute(context, node);
}
enum BuiltinOperator { BuiltinOperator_ADD };
using BuiltinParser = void (*)();
struct MicroOpResolver {
    virtual const TFLMRegistration *FindOp(BuiltinOperator op) const = 0;
    virtual const TFLMRegistration *FindOp(const char *op) const = 0;
    virtual BuiltinParser GetOpDataParser(BuiltinOperator op) const = 0;
    virtual ~MicroOpResolver() {}
};
template <int N> class MicroMutableOpResolver : public MicroOpResolver {
    int count = 0;
    TFLMRegistration builtin{compute}, npu{compute_on_npu};
  public:
    const TFLMRegistration *FindOp(BuiltinOperator) const override { return &builtin; }
    const TFLMRegistration *FindOp(const char *) const override { return &npu; }
    BuiltinParser GetOpDataParser(BuiltinOperator) const override { return nullptr; }
    TfLiteStatus Add() { return ++count <= N ? kTfLiteOk : kTfLiteError; }
METHODS
};
struct MicroAllocator {
    static MicroAllocator *Create(uint8_t *arena, size_t bytes) {
        assert((uintptr_t)arena % 16 == 0 && bytes >= ARENA);
        return (MicroAllocator *)arena;
    }
};
struct MicroResourceVariables {
    static MicroResourceVariables *Create(MicroAllocator *allocator, int count) {
        assert(count == VARIABLES);
        return (MicroResourceVariables *)allocator;
    }
};
struct Operator { const char *name; TfLiteIntArray outputs; };
class MicroInterpreter {
    std::vector<int> in{INPUTS}, out{OUTPUTS};
    std::vector<Operator> operators{OPERATORS};
    const MicroOpResolver &resolver;
    TfLiteTensor tensor;
    int step = -1;
    TfLiteTensor *at(int index) { tensor.data.raw = &tensors[index][0]; return &tensor; }
    TfLiteStatus Run() {
        TfLiteContext context = {eval_tensor};
        for (auto &each : operators) {
            const bool is_npu = strcmp(each.name, "ethos-u") == 0;
            TfLiteNode node = {&each.outputs};
            const TFLMRegistration *found =
                is_npu ? resolver.FindOp(each.name) : resolver.FindOp(BuiltinOperator_ADD);
            if (found->invoke(&context, &node) != kTfLiteOk) return kTfLiteError;
        }
        step++;
        return kTfLiteOk;
    }
  public:
    MicroInterpreter(const Model *, const MicroOpResolver &ops, MicroAllocator *,
                     MicroResourceVariables *variables) : resolver(ops) {
        assert(!variables == !VARIABLES);
    }
    TfLiteStatus AllocateTensors() { step = 0; return kTfLiteOk; }
    size_t arena_used_bytes() const { return 1234; }
    TfLiteTensor *input(int i) { return at(in[i]); }
    TfLiteTensor *output(int i) { return at(out[i]); }
    TfLiteStatus Invoke() {
        FILE *file = fopen("answers.bin", "rb");
        std::string given, wanted;
        for (int each : in) given += tensors[each];
        wanted = given;
        results = tensors;
        for (int at = fgetc(file); at != EOF; at = fgetc(file)) {
            assert(fread(&wanted[0], 1, wanted.size(), file) == wanted.size());
            for (auto &each : operators) for (int i = 0; i < each.outputs.size; i++) {
                std::string &to = results[each.outputs.data[i]];
                assert(fread(&to[0], 1, to.size(), file) == to.size());
            }
            if ((at == step || at == 255) && given == wanted) { fclose(file); return Run(); }
        }
        fclose(file);
        return kTfLiteError;
    }
};
}
"""

_HEADERS = [
    *(f"tensorflow/lite/micro/micro_{name}.h" for name in (
        "allocator", "interpreter", "mutable_op_resolver", "resource_variable")),
    "tensorflow/lite/schema/schema_generated.h",
]  # fmt: skip

DRIVER = """
#ifndef ETHOSU_DRIVER_H
#define ETHOSU_DRIVER_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
struct ethosu_driver { int reserved; };
int ethosu_init(struct ethosu_driver *driver, const void *base, const void *fast, size_t fast_bytes,
                uint32_t secure, uint32_t privileged);
int ethosu_invoke_v3(struct ethosu_driver *driver, const void *commands, int bytes,
                     const uint64_t *bases, const size_t *sizes, int count, void *user);
void ethosu_irq_handler(struct ethosu_driver *driver);
struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *driver);
#ifdef __cplusplus
}
#endif
#endif
"""

#: Driver that starts, counts its runs, and gives the outputs of answers.bin if it has the arena.
DRIVER_SOURCE = """
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "ethosu_driver.h"
static const struct { uint32_t at, bytes; } inputs[] = {{0, 0}INPUT_PLACES},
    outputs[] = {{0, 0}OUTPUT_PLACES};
static struct ethosu_driver *own;
int ethosu_init(struct ethosu_driver *driver, const void *base, const void *fast, size_t fast_bytes,
                uint32_t secure, uint32_t privileged) {
    own = driver;
    return (uintptr_t)base == 0x48102000u && fast_bytes == FAST && !fast == !FAST && secure == 1 &&
           privileged == 1 ? 0 : -1;
}
void ethosu_irq_handler(struct ethosu_driver *driver) { (void)driver; }
struct ethosu_driver *ethosu_reserve_driver(void) { own->reserved++; return own; }
void ethosu_release_driver(struct ethosu_driver *driver) { driver->reserved--; }
int ethosu_invoke_v3(struct ethosu_driver *driver, const void *commands, int bytes,
                     const uint64_t *bases, const size_t *sizes, int count, void *user) {
    static unsigned char content[1 << 16];
    unsigned char *arena = (unsigned char *)(uintptr_t)bases[1];
    assert(driver == own && driver->reserved == 1 && count == 3 && user == NULL);
    assert(memcmp(commands, "COP1", 4) == 0 && bytes % 4 == 0);
    for (int i = 0; i < count; i++) assert(bases[i] % 16 == 0);
    if (sizeof inputs == sizeof inputs[0]) return 0;
    FILE *file = fopen("answers.bin", "rb");
    while (fgetc(file) != EOF) {
        int equal = 1;
        for (size_t i = 1; i < sizeof inputs / sizeof inputs[0]; i++) {
            assert(fread(content, 1, inputs[i].bytes, file) == inputs[i].bytes);
            assert(inputs[i].at + inputs[i].bytes <= sizes[1]);
            equal &= memcmp(content, arena + inputs[i].at, inputs[i].bytes) == 0;
        }
        for (size_t i = 1; i < sizeof outputs / sizeof outputs[0]; i++) {
            assert(fread(content, 1, outputs[i].bytes, file) == outputs[i].bytes);
            if (equal) memcpy(arena + outputs[i].at, content, outputs[i].bytes);
        }
        if (equal) { fclose(file); return 0; }
    }
    fclose(file);
    return -1;
}
"""


def write_framework(folder, source, header, tensors, inputs, outputs, operators):
    """Write the framework's headers, for the methods and sizes of an export.

    source, header: the text of its C++ and of its header. tensors: bytes of each. inputs, outputs:
    of the network. operators: pairs (name, numbers of its outputs).
    """
    methods = re.findall(r"memory\.(\w+)\(", source)
    listed = [
        f'{{"{name}", {{{len(outs)}, {{{", ".join(map(str, outs))}}}}}}}'
        for name, outs in operators
    ]
    sizes = {
        "METHODS": "".join(f"    TfLiteStatus {name}() {{ return Add(); }}\n" for name in methods),
        "ARENA": re.search(r"_ARENA = (\d+)", header)[1],
        "VARIABLES": re.search(r"kVariables = (\d+)", source)[1],
        "TENSORS": ", ".join(f"std::string({nbytes}, 0)" for nbytes in tensors),
        "INPUTS": ", ".join(map(str, inputs)),
        "OUTPUTS": ", ".join(map(str, outputs)),
        "OPERATORS": ", ".join(listed),
    }
    text = FRAMEWORK
    for word, value in sizes.items():
        text = re.sub(rf"\b{word}\b", value, text)
    files = {"tensorflow/lite/micro/stand_in.h": text}
    files |= dict.fromkeys(_HEADERS, '#include "tensorflow/lite/micro/stand_in.h"\n')
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


def write_driver(folder, fast=0, inputs=(), outputs=()):
    """Write the driver's header and source; inputs, outputs: (offset in the arena, bytes)."""
    text = DRIVER_SOURCE
    for word, places in (("INPUT_PLACES", inputs), ("OUTPUT_PLACES", outputs)):
        text = text.replace(word, "".join(f", {{{at}, {nbytes}}}" for at, nbytes in places))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ethosu_driver.h").write_text(DRIVER)
    (folder / "driver.c").write_text(re.sub(r"\bFAST\b", str(fast), text))
    return folder / "driver.c"
