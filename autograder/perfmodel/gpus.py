"""The GPUs that the model knows: each figure with its source.

A GPU's figures come from three layers: what the architecture fixes, what was measured on one H200 and carried over to GPUs
on which this kit has measured nothing, and what is particular to the chip. A later layer overrides an earlier one.
"""

from __future__ import annotations

from typing import Any

from autograder.perfmodel.specification import Specification

GUIDE = "CUDA C++ Programming Guide, arithmetic instructions and technical specifications by compute capability"
OURS = "microbenchmark on an H200, measurements/microbenchmarks.json"
LIMITS = "measured on an H200, measurements/limits.json"
CARRIED = "carried over from the H200 microbenchmark, not measured on this GPU"
RESERVED = "CUDA Ampere tuning guide: the system keeps 1 KiB of shared memory for each block (8.0 and later)"
FOUR_SCHEDULERS = "CUDA C++ Programming Guide: four warp schedulers, one instruction a cycle each"

Figure = tuple[Any, str]  # the value of a field of `Specification`, and where it is from

# Behaviour that data sheets leave out. Times in cycles carry over from GPU to GPU better than times in nanoseconds.
# A test compares these figures with the file.
MEASURED_ON_H200: dict[str, Figure] = {
    "load_store_requests_per_cycle": (1.0, OURS),
    "l1_wavefronts_per_cycle": (1.0, OURS),
    "l1_latency_cycles": (53.0, OURS + " (a dependent load with its address arithmetic)"),
    "l2_latency_cycles": (290.0, OURS + " (likewise)"),
    "dram_latency_cycles": (700.0, OURS + " (likewise)"),
    "shared_latency_cycles": (28.0, OURS + " (likewise)"),
    "barrier_cycles": (43.0, OURS),
    "float64_more_cycles": (3.9, LIMITS + " (a multiply-add that waits for another one, beside float32's)"),
    "gpu_atomic_sectors_per_cycle": (48.8, OURS),
    "gpu_used_atomic_sectors_per_cycle": (35.2, LIMITS + " (old value used)"),
    "gpu_atomic_sectors_per_cycle_and_sector": (0.042, OURS + " (slope between 256 and 16384 places)"),
    "gpu_atomic_least_sectors_per_cycle": (0.69, OURS),
    "gpu_float_atomic_least_sectors_per_cycle": (0.287, LIMITS + " (additions of float32 on one place)"),
    "gpu_stores_to_one_sector_per_cycle": (1.05, LIMITS + " (a flag, beside loads of neighbours)"),
    "gpu_stores_to_one_sector_among_others_per_cycle": (0.67, LIMITS + " (a flag, beside gathers or atomics)"),
    "shared_atomic_lanes_per_cycle": (5.94, OURS),
    "shared_atomic_try_cycles": (13.5, LIMITS + " (additions of float32 on 1 to 4,096 places)"),
    "launch_overhead_ns": (2850.0, OURS),
    "further_launch_ns": (1290.0, "99 more empty launches in a row on an H200, measurements/limits.json"),
    "gpu_blocks_per_cycle": (0.84, OURS),
}
DRAM_ACHIEVABLE_GB_PER_S = 4170.0
DRAM_SCATTERED_GSECTORS_PER_S = 43.3
DRAM_SCATTERED_STORE_GSECTORS_PER_S = 16.4
L2_LOAD_GB_PER_S = 4900.0
L2_STORE_GB_PER_S = 4600.0


def _lanes(float32: int, float64: int, float16: int, special: int, conversion: int) -> dict[str, Figure]:
    rates = {
        "float32_lanes_per_cycle": float32,
        "float64_lanes_per_cycle": float64,
        "float16_lanes_per_cycle": float16,
        "special_lanes_per_cycle": special,
        "conversion_lanes_per_cycle": conversion,
    }
    return {name: (float(value), GUIDE) for name, value in rates.items()}


def _capacity(capability: tuple[int, int], threads: int, blocks: int, shared_kib: int) -> dict[str, Figure]:
    reserved: Figure = (1024, RESERVED) if capability >= (8, 0) else (0, "none before compute capability 8.0")
    return {
        "compute_capability": (capability, GUIDE),
        "max_threads": (threads, GUIDE),
        "max_blocks": (blocks, GUIDE),
        "registers": (65536, GUIDE),
        "shared_bytes": (shared_kib * 1024, GUIDE),
        "shared_reserved_bytes_per_block": reserved,
        "warp_instructions_per_cycle": (4.0, FOUR_SCHEDULERS),
    }


HOPPER = _lanes(128, 64, 256, 16, 64) | _capacity((9, 0), 2048, 32, 228)
AMPERE_A100 = _lanes(64, 32, 256, 16, 64) | _capacity((8, 0), 2048, 32, 164)
ADA = _lanes(128, 2, 128, 16, 64) | _capacity((8, 9), 1536, 24, 100)
TURING = _lanes(64, 2, 128, 16, 64) | _capacity((7, 5), 1024, 16, 64)
KEPLER = _lanes(192, 64, 192, 32, 128) | _capacity((3, 5), 2048, 16, 48)

HOPPER_SHEET = "https://www.nvidia.com/en-us/data-center/h200/"
H100_SHEET = "https://www.nvidia.com/en-us/data-center/h100/ (SXM)"
A100_PAPER = "NVIDIA A100 Tensor Core GPU Architecture whitepaper, 2020 (40 GB SXM)"
T4_PAPER = "NVIDIA Turing GPU Architecture whitepaper, 2018, and NVIDIA T4 data sheet"
ADA_PAPER = "NVIDIA Ada GPU Architecture whitepaper, 2022"
LAPTOP_SHEET = "https://www.nvidia.com/en-us/geforce/laptops/compare/ (115 W part)"
QUADRO_SHEET = "NVIDIA Quadro RTX 6000 data sheet, 2018, and the seeds' slides on DRAM bandwidth"
K40_SHEET = "NVIDIA Tesla K40 board specification BD-06902-001, 2013, and the GK110 whitepaper"
GTX280_SHEET = "NVIDIA GeForce GTX 200 GPU Technical Brief, 2008"


def _chip(sms: int, clock_ghz: float, dram: float, l2_mib: float, source: str) -> dict[str, Figure]:
    return {
        "multiprocessors": (sms, source),
        "clock_ghz": (clock_ghz, source + "; boost clock"),
        "dram_gb_per_s": (dram, source),
        "l2_bytes": (int(l2_mib * 2**20), source),
    }


def _scaled(chip: dict[str, Figure]) -> dict[str, Figure]:
    """The rates that the H200 achieved, scaled to another chip: DRAM by the data sheets, L2 by multiprocessors and clock."""
    dram, sms, clock = (float(chip[name][0]) for name in ("dram_gb_per_s", "multiprocessors", "clock_ghz"))
    memory, l2 = dram / 4800.0, sms * clock / (132 * 1.98)
    of_dram, of_l2 = "the H200's share of the data sheet's rate", "the H200's rate per multiprocessor and cycle"
    return {
        "dram_achievable_gb_per_s": (round(DRAM_ACHIEVABLE_GB_PER_S * memory, 1), of_dram),
        "dram_scattered_gsectors_per_s": (round(DRAM_SCATTERED_GSECTORS_PER_S * memory, 2), of_dram),
        "dram_scattered_store_gsectors_per_s": (round(DRAM_SCATTERED_STORE_GSECTORS_PER_S * memory, 2), of_dram),
        "l2_load_gb_per_s": (round(L2_LOAD_GB_PER_S * l2, 1), of_l2),
        "l2_store_gb_per_s": (round(L2_STORE_GB_PER_S * l2, 1), of_l2),
    }


def _build(name: str, architecture: dict[str, Figure], chip: dict[str, Figure], **particular: Figure) -> Specification:
    carried = {key: (value, CARRIED) for key, (value, _) in MEASURED_ON_H200.items()}
    figures = architecture | carried | _scaled(chip) | chip | particular
    values = {key: value for key, (value, _) in figures.items()}
    return Specification(name=name, sources={key: source for key, (_, source) in figures.items()}, **values)


_H200_CHIP = _chip(132, 1.98, 4800.0, 60, HOPPER_SHEET) | {
    "l2_bytes": (60 * 2**20, "CUDA device attribute read on an H200"),
    "clock_ghz": (1.98, "nvidia-smi on a busy H200"),
}
_BEFORE_VOLTA = "assumed: nobody measured it for this kit, and the H200's figure is not of this kind of memory system"

SPECIFICATIONS: dict[str, Specification] = {
    "H200": _build(
        "NVIDIA H200",
        HOPPER,
        _H200_CHIP,
        **MEASURED_ON_H200,
        dram_achievable_gb_per_s=(DRAM_ACHIEVABLE_GB_PER_S, OURS),
        dram_scattered_gsectors_per_s=(DRAM_SCATTERED_GSECTORS_PER_S, OURS),
        dram_scattered_store_gsectors_per_s=(DRAM_SCATTERED_STORE_GSECTORS_PER_S, OURS),
        l2_load_gb_per_s=(L2_LOAD_GB_PER_S, OURS),
        l2_store_gb_per_s=(L2_STORE_GB_PER_S, LIMITS + " (single elements, down 8,192 rows)"),
    ),
    "H100": _build("NVIDIA H100 SXM", HOPPER, _chip(132, 1.98, 3350.0, 50, H100_SHEET)),
    "A100": _build("NVIDIA A100 40 GB SXM", AMPERE_A100, _chip(108, 1.41, 1555.0, 40, A100_PAPER)),
    "T4": _build("NVIDIA T4", TURING, _chip(40, 1.59, 320.0, 4, T4_PAPER)),
    "RTX 4090": _build("NVIDIA GeForce RTX 4090", ADA, _chip(128, 2.52, 1008.0, 72, ADA_PAPER)),
    "RTX 4060 Laptop": _build("NVIDIA GeForce RTX 4060 Laptop", ADA, _chip(24, 2.37, 256.0, 32, LAPTOP_SHEET)),
    "Quadro RTX 6000": _build("NVIDIA Quadro RTX 6000", TURING, _chip(72, 1.77, 672.0, 6, QUADRO_SHEET)),
    "K40": _build("NVIDIA Tesla K40 (Kepler GK110)", KEPLER, _chip(15, 0.745, 288.0, 1.5, K40_SHEET)),
    "GTX 280": _build(
        "NVIDIA GeForce GTX 280",
        _lanes(8, 1, 8, 2, 8) | _capacity((1, 3), 1024, 8, 16),
        _chip(30, 1.296, 141.7, 0, GTX280_SHEET),
        registers=(16384, GTX280_SHEET),
        warp_instructions_per_cycle=(0.25, GTX280_SHEET + ": 8 cores, so a warp issues over 4 cycles"),
        special_lanes_per_cycle=(2.0, GTX280_SHEET),
        conversion_lanes_per_cycle=(8.0, _BEFORE_VOLTA),
        load_store_requests_per_cycle=(0.25, _BEFORE_VOLTA),
        l1_wavefronts_per_cycle=(0.5, GTX280_SHEET + ": 16 banks, half a warp at a time"),
        shared_atomic_lanes_per_cycle=(1.0, _BEFORE_VOLTA),
        dram_latency_cycles=(500.0, "the seeds' slides of HiPC 2009: 400 to 600 cycles"),
        l2_latency_cycles=(500.0, "no cache: the latency of DRAM"),
        l1_latency_cycles=(500.0, "no cache: the latency of DRAM"),
    ),
}
