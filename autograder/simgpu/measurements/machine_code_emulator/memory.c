/* Loads, stores and atomics of a warp, and what they move: sectors of global memory, wavefronts of shared memory. */

#define SECTOR 32

static int is_among(const uint64_t *some, int n, uint64_t one) {
    for (int k = 0; k < n; k++) if (some[k] == one) return 1;
    return 0;
}

static int sectors_of(const uint64_t *at, uint32_t mask, int bytes) {
    uint64_t found[LANES * 2];
    int n = 0;
    LANE(l) if (mask >> l & 1)
        for (uint64_t s = at[l] / SECTOR; s <= (at[l] + bytes - 1) / SECTOR; s++)
            if (!is_among(found, n, s)) found[n++] = s;
    return n;
}

/* Wide accesses go by twice as many lanes where each lane agrees with the next one, or with the one two away. */
static int go_in_pairs(const uint64_t *at, uint32_t mask) {
    for (int apart = 1; apart <= 2; apart++) {
        int agree = 1;
        LANE(l) {
            int o = l ^ apart;
            if (mask >> l & 1 && mask >> o & 1 && at[l] != at[o]) agree = 0;
        }
        if (agree) return 1;
    }
    return 0;
}

static int wavefronts_of(const uint64_t *at, uint32_t mask, int bytes, int *conflicts) {
    int lanes = bytes <= 4 ? 32 : 128 / bytes, each = bytes <= 4 ? 1 : bytes / 4, all = 0;
    if (bytes >= 8 && go_in_pairs(at, mask)) lanes *= 2;
    *conflicts = 0;
    for (int first = 0; first < LANES; first += lanes) {
        uint64_t words[128];
        int n = 0, depth[32] = {0}, worst = 0;
        for (int l = first; l < first + lanes && l < LANES; l++) if (mask >> l & 1)
            for (int k = 0; k < each; k++) {
                uint64_t word = at[l] / 4 + k;
                if (is_among(words, n, word)) continue;
                words[n++] = word;
                if (++depth[word % 32] > worst) worst = depth[word % 32];
            }
        all += worst;
        if (worst) *conflicts += worst - 1;
    }
    return all;
}

/* Where an address of a lane lies on this machine; null where nothing may lie there. */
static uint8_t *place(Launch *launch, Warp *w, uint8_t *shared, const Instruction *i, int lane, uint64_t at) {
    switch (i->what) {
    case IN_GLOBAL:
        return at < launch->base || at + i->bytes > launch->base + launch->size ? 0 : launch->memory + (at - launch->base);
    case IN_SHARED: return at + i->bytes > (uint64_t)launch->shared_end ? 0 : shared + at;
    default: return at + i->bytes > LOCAL_SIZE ? 0 : w->local + (uint64_t)lane * LOCAL_SIZE + at;
    }
}

static uint64_t atomically(const Instruction *i, uint64_t old, uint64_t v, uint64_t other) {
    int wide = i->bytes == 8, is_signed = i->flags & SIGNED;
    int less = wide ? (is_signed ? (int64_t)v < (int64_t)old : v < old) : (is_signed ? (int32_t)v < (int32_t)old : (uint32_t)v < (uint32_t)old);
    switch (i->table) {
    case ATOMIC_ADD: return old + v;
    case ATOMIC_ADD_F32: return of_float(as_float((uint32_t)old) + as_float((uint32_t)v));
    case ATOMIC_ADD_F64: return of_double(as_double(old) + as_double(v));
    case ATOMIC_MIN: return less ? v : old;
    case ATOMIC_MAX: return less ? old : v;
    case ATOMIC_AND: return old & v;
    case ATOMIC_OR: return old | v;
    case ATOMIC_XOR: return old ^ v;
    case ATOMIC_INC: return old >= v ? 0 : old + 1;
    case ATOMIC_DEC: return old == 0 || old > v ? v : old - 1;
    case ATOMIC_COUNT: return old + 1;
    case ATOMIC_EXCHANGE: return v;
    default: return old == v ? other : old;                   /* compare and swap */
    }
}

/* Carries out an access to memory; false where a lane is outside. */
static int access_memory(Launch *launch, Warp *w, uint8_t *shared, const Instruction *i, uint32_t mask, uint64_t *counts) {
    uint64_t at[LANES], offset[LANES], spread[LANES], v[LANES], other[LANES];
    fetch(w, &i->source[0], at);
    fetch(w, &i->source[1], offset);
    LANE(l) at[l] = i->what == IN_GLOBAL ? at[l] + (uint64_t)(int64_t)(int32_t)i->shift + offset[l]
                                         : (uint32_t)(at[l] + offset[l] + (uint32_t)i->shift);
    if (!mask) return 1;
    counts[REQUESTS]++;
    if (i->what == IN_GLOBAL) counts[SECTORS] += sectors_of(at, mask, i->bytes);
    if (i->what == IN_LOCAL) {                                /* the words of 32 threads lie side by side */
        LANE(l) spread[l] = (at[l] / 4 * LANES + l) * 4;
        for (int k = 0; k < (i->bytes + 3) / 4; k++) {
            counts[SECTORS] += sectors_of(spread, mask, 4);
            LANE(l) spread[l] += 4 * LANES;
        }
    }
    if (i->what == IN_SHARED) {
        int conflicts;
        counts[WAVEFRONTS] += wavefronts_of(at, mask, i->bytes, &conflicts);
        counts[CONFLICTS] += conflicts;
    }
    LANE(l) if (mask >> l & 1 && !place(launch, w, shared, i, l, at[l])) return 0;
    int registers = (i->bytes + 3) / 4;
    if (i->op == OP_LOAD) {
        LANE(l) if (mask >> l & 1) {
            uint32_t words[4] = {0};
            memcpy(words, place(launch, w, shared, i, l, at[l]), i->bytes);
            if (i->flags & SIGNED) words[0] = i->bytes == 1 ? (uint32_t)(int32_t)(int8_t)words[0] : (uint32_t)(int32_t)(int16_t)words[0];
            for (int k = 0; k < registers && i->to < 255; k++) w->r[i->to + k][l] = words[k];
        }
    } else if (i->op == OP_STORE) {
        const Operand *from = &i->source[2];
        LANE(l) if (mask >> l & 1) {
            uint32_t words[4] = {0};
            for (int k = 0; k < registers; k++)
                words[k] = from->where == REGISTER ? w->r[from->number + k][l]
                         : from->where == UNIFORM ? w->u[from->number + k] : (uint32_t)from->value;
            memcpy(place(launch, w, shared, i, l, at[l]), words, i->bytes);
        }
    } else {
        fetch(w, &i->source[2], v);
        if (i->sources > 3) fetch(w, &i->source[3], other);
        uint64_t taken[LANES];
        int n = 0;
        LANE(l) if (mask >> l & 1) {
            uint64_t old = 0;
            uint8_t *where = place(launch, w, shared, i, l, at[l]);
            memcpy(&old, where, i->bytes);
            if (i->table == ATOMIC_CAST) {                    /* of lanes that want one word only the first may swap */
                int swaps = old == v[l] && !is_among(taken, n, at[l]);
                if (swaps) { memcpy(where, &other[l], i->bytes); taken[n++] = at[l]; }
                old = swaps;
            } else {
                uint64_t made = atomically(i, old, v[l], other[l]);
                memcpy(where, &made, i->bytes);
            }
            if (i->to < 255) {
                w->r[i->to][l] = (uint32_t)old;
                if (i->bytes == 8) w->r[i->to + 1][l] = (uint32_t)(old >> 32);
            }
        }
    }
    return 1;
}

/* Constant memory: parameters, sizes of the launch, tables. */
static int load_constant(Launch *launch, Warp *w, const Instruction *i, uint32_t mask) {
    uint64_t at[LANES];
    fetch(w, &i->source[0], at);
    LANE(l) if (mask >> l & 1) {
        uint64_t from = (uint32_t)(at[l] + i->shift);
        if (from + i->bytes > (uint64_t)launch->constant_size[i->table]) return 0;
        uint64_t v = 0;
        memcpy(&v, launch->constant[i->table] + from, i->bytes);
        if (i->flags & SIGNED) v = i->bytes == 1 ? (uint32_t)(int8_t)v : (uint32_t)(int16_t)v;
        if (i->to_uniform) {
            if (i->to < 63) { w->u[i->to] = (uint32_t)v; if (i->bytes == 8) w->u[i->to + 1] = (uint32_t)(v >> 32); }
        } else if (i->to < 255) {
            w->r[i->to][l] = (uint32_t)v;
            if (i->bytes == 8) w->r[i->to + 1][l] = (uint32_t)(v >> 32);
        }
    }
    return 1;
}
