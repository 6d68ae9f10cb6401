"""SDKs and the state of CMSIS-NN that each ships, sorted by SDK and date."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sdk:
    """A delivery of an SDK.

    state: of CMSIS-NN. how: that it was established: "code": the files equal those of the state;
    "pin": a build script names it; "symbols": guessed from names in a library. note: what is not
    the state's.
    """

    state: str
    how: str
    evidence: str
    note: str = ""


_TFLM = {
    "2021-04-09": "0d7e4fa7 a37043ff7",
    "2021-04-28": "59d62498 27eff3c71",
    "2021-08-24": "c43379be 4e091a46e",
    "2021-11-05": "bff28575 034fa3572",
    "2021-12-30": "977abe98 f6c16a25a",
    "2022-03-29": "9dc018e6 1a0c74232",
    "2022-05-09": "184ccfd0 500cf89de",
    "2022-05-10": "6a18a74b 04229912e",
    "2022-10-27": "e98ee09a 5448dcf07",
    "2023-03-02": "d071e9f7 c373ad48b",
    "2023-06-14": "dc64e488 6f2828619",
    "2023-09-19": "58f17705 3022d0960",
    "2023-11-07": "ca476254 c845961df",
    "2023-11-14": "5.0.0 5beca7c52",
    "2024-02-09": "2a999a2f 0ec823ed2",
    "2024-02-23": "72e1ebf6 f5e498b68",
    "2024-03-18": "6cc31fb3 178cfebaa",
    "2024-04-23": "8492d82a 9741578df",
    "2024-04-29": "15dbe7cd e5e230552",
    "2024-05-07": "01dee38e 6b766e357",
    "2024-09-09": "95f293df 89f99a9e7",
    "2024-09-17": "f2cb41ca 6147f2044",
    "2024-11-12": "7.0.0 182c8c770",
    "2025-03-20": "e096196a 392b78f2f",
    "2026-05-21": "6d9d61d8 d0890bb45",
    "2026-06-24": "4ab83cc3 acc13e42e",
}
_ARDUINO = {
    "2021-08": "c43379be 08d73bf39",
    "2021-11": "bff28575 08d73bf39",
    "2021-12": "977abe98 08d73bf39",
    "2022-03": "9dc018e6 08d73bf39",
    "2022-05": "184ccfd0 08d73bf39",
    "2022-06": "6a18a74b be1c8b0ee",
    "2022-12": "5969db41 06841a819",
}
_RORN = "own __SXTB16_RORn"
_TWO_CORES = "arm_nn_mat_mult_nt_t_s8 is rewritten for two cores"

#: Name -> delivery. A name without a date is that of the newest, or of the only one.
SDKS = {
    **{
        f"arduino-tensorflowlite-{day}": Sdk(
            line.split()[0], "code", f"tflite-micro-arduino-examples {line.split()[1]}"
        )
        for day, line in _ARDUINO.items()
    },
    "edge-impulse-2020-05": Sdk("b214a23d", "code", "firmware-arduino-nano-33-ble-sense b6ef5bee7"),
    "edge-impulse-2020-06": Sdk("f7e96efd", "code", "fea93203b, 67 of 68 files", _RORN),
    "edge-impulse-2021-08": Sdk("07bb28ed", "code", "0c67ed619, 69 of 69 files"),
    "edge-impulse-2023-10": Sdk(
        *("51263182", "code", "5b8e11f5e, 86 of 87 files", "softmax can be switched off")
    ),
    "executorch-1.0": Sdk("4.1.0", "pin", "18907e69a9 backends/cortex_m/CMakeLists.txt"),
    "executorch-1.1": Sdk("7.0.0", "pin", "d87306352b, tag v1.1.0"),
    "executorch-1.2": Sdk("7.0.0", "pin", "tag v1.2.0"),
    "executorch-1.3": Sdk("d933672e", "pin", "d939b9b8eb, tag v1.3.0"),
    "executorch-1.4": Sdk("dbf45dbf", "pin", "539bda2ac2, tag v1.4.0"),
    "executorch-2026-03-13": Sdk("098d54a6", "pin", "a391d674b5"),
    "grove-vision-ai-v2-cmsis": Sdk("51263182", "code", "d3265e20", "one of two folders"),
    "grove-vision-ai-v2-cmsis-nn": Sdk("7.0.0", "code", "d3265e20, 113 of 113", "the other folder"),
    "infineon-ml-tflite-micro-3.0": Sdk("5.0.0", "symbols", "732db9c, 3.0.1 of March 2025"),
    "infineon-ml-tflite-micro-3.1": Sdk("7.0.0", "symbols", "767ebc1 to 424235a, 3.1.0 to 3.4.0"),
    "neuralspot-2026-03": Sdk("f2cb41ca", "code", "AmbiqSuite R5.1 to R5.3, 308c4e63"),
    "openmv-2018-03": Sdk("5fc96e5a", "code", "75d89f717, 27 of 27 files"),
    "openmv-2018-05": Sdk("4e515bb6", "code", "83dd9bafd, 26 of 27 files"),
    "openmv-2018-06": Sdk("ce46c7c2", "code", "e4f238e79, 26 of 27 files"),
    "openmv-2020-12": Sdk("42606930", "code", "13a6ccd12, 31 of 32 files", "maxpool nonsquare"),
    "openmv-2024": Sdk("184ccfd0", "code", "9f56943cf, 84 of 84 files"),
    "openmv-2024-01-16": Sdk("184ccfd0", "code", "9f56943cf, 84 of 84 files"),
    "pico-tflmicro-2023-07": Sdk("38e92201", "code", "47085151c", _TWO_CORES),
    "pico-tflmicro-2023-08-09": Sdk("4.1.0", "code", "5757b585a"),
    "pico-tflmicro-2023-10-18": Sdk("58f17705", "code", "2403bc0b3"),
    "pico-tflmicro-2023-12-29": Sdk("5.0.0", "code", "6b2e515f2"),
    "pico-tflmicro-2024-03-03": Sdk("72e1ebf6", "code", "03cbb1e7b", _TWO_CORES),
    "pico-tflmicro-2024-12-26": Sdk("7.0.0", "code", "dfea53b97", _TWO_CORES),
    "stm32cube-g0": Sdk("5.6.0", "code", "xingke-mo/STM32CubeG0@a79eae64, a user's mirror"),
    "tensorflow-2.1": Sdk("d76d5e3a", "pin", "tensorflow@0004ac98, third_party_downloads.inc"),
    "tensorflow-2.2": Sdk("d76d5e3a", "pin", "antmicro/tensorflow@1422f4b8"),
    "tensorflow-2019-12": Sdk("d76d5e3a", "pin", "tensorflow@0004ac98"),
    "tensorflow-2020-04": Sdk("8a4db53f", "pin", "sensiml/tensorflow@02d7c488"),
    "tensorflow-2020-09": Sdk("01f5b32b", "pin", "sparkfun/tensorflow@738cdbdd"),
    **{
        f"tflm-{day}": Sdk(
            line.split()[0], "pin", f"tflite-micro {line.split()[1]}, ext_libs/cmsis_download.sh"
        )
        for day, line in _TFLM.items()
    },
    "zephyr-2023-07": Sdk("4.1.0", "code", "zephyrproject-rtos/cmsis-nn 0c8669d, 72 of 72"),
    "zephyr-2024-06": Sdk("6.0.0", "code", "zephyrproject-rtos/cmsis-nn ea987c1, 99 of 99"),
    "zephyr-2025-02": Sdk("7.0.0", "code", "zephyrproject-rtos/cmsis-nn e9328d6, 113 of 113"),
}
