"""An emulator of the machine code that CUDA's compiler makes of Numba kernels: counts without a GPU, for developers.

`launching.carried_out(kernel, grid, block, arguments)` compiles a kernel for compute capability 9.0 and carries the launch
out instruction by instruction, warp by warp, with the convergence barriers that the code itself has. It counts what Nsight
Compute counts: warp instructions, threads, requests, sectors, wavefronts, by instruction and by source line. An
instruction that it lacks is refused (`Unsupported`). It needs the packages that ../spellings.py names and a C compiler.

compiling.py: kernel to machine code; decoding*.py, parts.py, operations.py: text to instructions; machine.h, values.c,
memory.c, stepping.c: what they do; launching.py: a launch; agreement.py: held against an H200; ordinary.py: against the
simulated GPU; sampled.py: the same of kernels that nobody tuned on, which recording.py takes from the labs' known answers
and from public programs and random_kernels.py makes.
"""
