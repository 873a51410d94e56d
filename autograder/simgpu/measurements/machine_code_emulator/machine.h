/* One decoded instruction, what a launch is given, and what a warp holds. decoding.py makes `Instruction`s; both must agree. */

#include <stdint.h>

#define LANES 32
#define EVERYBODY 0xffffffffu
#define LANE(l) for (int l = 0; l < LANES; l++)
#define SHARED_SIZE (256 * 1024)
#define LOCAL_SIZE (64 * 1024)

enum { IMMEDIATE, REGISTER, UNIFORM };                        /* where an operand is */
enum { INTEGER, FLOAT, LONG, DOUBLE, HALVES };                /* what it is */
enum { LT, EQ, LE, GT, NE, GE, NUMBERS, NANS, LARGER, SMALLER };
enum { AND, OR, XOR };
enum { NEAREST, DOWN, UP, TO_ZERO };
enum { DONE, FAULT_ADDRESS, FAULT_DEADLOCK, FAULT_OPERATION, FAULT_LIMIT, FAULT_TARGET };
enum { WARPS_RUN, THREADS_RUN, THREADS_ON, REQUESTS, SECTORS, WAVEFRONTS, CONFLICTS, COUNTS };

typedef struct {
    int32_t where, number, type, negative, absolute, inverted, half, unordered;
    uint64_t value;
} Operand;

typedef struct {
    int32_t op, guard, flags, to, to_uniform, to_registers;
    int32_t predicate_to[2], predicate[3], predicate_not[3];
    int32_t sources, compare, combine, table, table_two, shift, bytes, target, what, rounding;
    Operand source[4];
} Instruction;

typedef struct {
    const Instruction *code;
    int32_t instructions, warps_of_block, threads_of_block, shared_end;
    int32_t grid[3], block[3];
    uint8_t *memory;                                          /* global memory, `base` is the address of its first byte */
    uint64_t base, size;
    uint8_t *constant[8];
    int64_t constant_size[8];
    uint64_t *counts;                                         /* COUNTS of each instruction */
    uint64_t limit;                                           /* warp instructions after which a launch is ended */
    int32_t fault, fault_at;
} Launch;

typedef struct {
    uint32_t mask;
    int32_t at, waits;                                        /* waits: -1 for nothing, 0 to 15 for a convergence barrier, 16
                                                                 for the block's barrier, 17 for the lanes in `awaited` */
    uint32_t awaited;
} Group;

typedef struct {
    uint32_t (*r)[LANES];                                     /* registers, 256 of them; the last is never written */
    uint32_t u[64], p[16], alive;                             /* uniform registers; predicates, 8 to 15 the uniform ones */
    uint32_t barrier[16][LANES];                              /* who takes part, as each lane that does has it */
    Group group[LANES];
    int32_t groups, number;
    uint32_t result[LANES];                                   /* of the block's last barrier that counts */
    uint8_t *local;
} Warp;
