/* Warps, step by step: who is active, what waits for whom, and what each instruction counted. */

static void put(Warp *w, const Instruction *i, uint32_t mask, const uint64_t *out, uint32_t first, uint32_t second) {
    if (i->to_uniform) {
        int l = __builtin_ctz(mask);
        if (i->to >= 0 && i->to < 63) {
            w->u[i->to] = (uint32_t)out[l];
            if (i->to_registers == 2) w->u[i->to + 1] = (uint32_t)(out[l] >> 32);
        }
        if (i->predicate_to[0] % 8 != 7) w->p[i->predicate_to[0]] = first >> l & 1 ? EVERYBODY : 0;
        if (i->predicate_to[1] % 8 != 7) w->p[i->predicate_to[1]] = second >> l & 1 ? EVERYBODY : 0;
        return;
    }
    if (i->to >= 0 && i->to < 255) {
        LANE(l) if (mask >> l & 1) {
            w->r[i->to][l] = (uint32_t)out[l];
            if (i->to_registers == 2) w->r[i->to + 1][l] = (uint32_t)(out[l] >> 32);
        }
    }
    if (i->predicate_to[0] % 8 != 7) w->p[i->predicate_to[0]] = (w->p[i->predicate_to[0]] & ~mask) | (first & mask);
    if (i->predicate_to[1] % 8 != 7) w->p[i->predicate_to[1]] = (w->p[i->predicate_to[1]] & ~mask) | (second & mask);
}

static uint64_t special(const Launch *launch, const Warp *w, const int *block, int which, int l, uint64_t time) {
    int thread = w->number * LANES + l, x = launch->block[0], y = launch->block[1];
    switch (which) {
    case 0: return thread % x;
    case 1: return thread / x % y;
    case 2: return thread / x / y;
    case 3: case 4: case 5: return block[which - 3];
    case 6: return l;
    case 7: return 1u << l;
    case 8: return (1u << l) - 1;
    case 9: return (2u << l) - 1;
    case 10: return ~((2u << l) - 1);
    case 11: return ~((1u << l) - 1);
    case 12: case 13: case 14: return launch->grid[which - 12];
    case 15: return time;
    default: return 0;
    }
}

/* What lanes tell each other: shuffles, votes, matches, reductions. */
static void exchange(Warp *w, const Instruction *i, uint32_t mask, uint64_t *out, uint32_t *first) {
    uint64_t a[LANES], b[LANES], c[LANES];
    fetch(w, &i->source[0], a);
    if (i->sources > 1) fetch(w, &i->source[1], b);
    if (i->sources > 2) fetch(w, &i->source[2], c);
    uint32_t p = w->p[i->predicate[0]] ^ (i->predicate_not[0] ? EVERYBODY : 0);
    *first = 0;
    LANE(l) if (mask >> l & 1) {
        switch (i->op) {
        case OP_SHFL: {
            int clamp = c[l] & 31, segment = c[l] >> 8 & 31, by = b[l] & 31;
            int least = l & segment, most = least | (clamp & ~segment), from, inside;
            if (i->what == 0) { from = l - by; inside = from >= most; }
            else if (i->what == 1) { from = l + by; inside = from <= most; }
            else if (i->what == 2) { from = l ^ by; inside = from <= most; }
            else { from = least | (by & ~segment); inside = from <= most; }
            out[l] = a[inside ? from & 31 : l];
            *first |= (uint32_t)inside << l;
            break;
        }
        case OP_VOTE: {
            uint32_t say = p & mask;
            out[l] = say;
            int bit = i->what == 0 ? say != 0 : i->what == 1 ? say == mask : say == mask || !say;
            *first |= (uint32_t)bit << l;
            break;
        }
        case OP_MATCH: {
            uint32_t alike = 0;
            LANE(o) if (mask >> o & 1 && a[o] == a[l]) alike |= 1u << o;
            out[l] = i->what == 1 && alike != mask ? 0 : alike;
            *first |= (uint32_t)(alike == mask) << l;
            break;
        }
        case OP_REDUX: {
            uint32_t made = 0;
            int begun = 0;
            LANE(o) if (mask >> o & 1) {
                uint32_t v = (uint32_t)a[o];
                if (!begun) made = v;
                else switch (i->what) {
                case 0: made += v; break;
                case 1: made = least_or_most(i, made, v, 1); break;
                case 2: made = least_or_most(i, made, v, 0); break;
                case 3: made &= v; break;
                case 4: made |= v; break;
                default: made ^= v;
                }
                begun = 1;
            }
            out[l] = made;
        }
        }
    }
}

static void divide(Warp *w, int group, uint32_t part, int32_t at) {  /* `part` of a group goes on elsewhere */
    w->group[group].mask &= ~part;
    w->group[w->groups++] = (Group){part, at, -1, 0};
}

static void leave(Warp *w, int group) { w->group[group] = w->group[--w->groups]; }

/* Lets go on who waits for nobody any more. Groups that come together at one place become one. */
static int reconverge(Warp *w) {
    int changed = 0;
    for (int g = 0; g < w->groups; g++) {
        Group *one = &w->group[g];
        if (one->waits < 0 || one->waits == 16) continue;
        uint32_t wanted = one->waits == 17 ? one->awaited : w->barrier[one->waits][__builtin_ctz(one->mask)];
        uint32_t here = 0;
        for (int k = 0; k < w->groups; k++)
            if (w->group[k].waits == one->waits && w->group[k].at == one->at) here |= w->group[k].mask;
        if (wanted & w->alive & ~here) continue;
        here &= wanted;
        for (int k = w->groups - 1; k >= 0; k--)
            if (k != g && w->group[k].waits == one->waits && w->group[k].at == one->at && w->group[k].mask & here) {
                one->mask |= w->group[k].mask;
                w->group[k].mask = 0;
            }
        one->waits = -1;
        one->at++;
        int kept = 0;
        for (int k = 0; k < w->groups; k++) if (w->group[k].mask) w->group[kept++] = w->group[k];
        w->groups = kept;
        changed = 1;
        g = -1;
    }
    return changed;
}

/* Runs one group until it waits, ends, or has had its turn; a fault or DONE. */
static int run_group(Launch *launch, Warp *w, int g, uint8_t *shared, const int *block, uint64_t *run) {
    uint64_t out[LANES], a[LANES];
    for (int turn = 0; turn < 20000; turn++) {
        Group *group = &w->group[g];
        if (group->at < 0 || group->at >= launch->instructions) return FAULT_TARGET;
        const Instruction *i = &launch->code[group->at];
        uint64_t *counts = launch->counts + (int64_t)group->at * COUNTS;
        uint32_t mask = group->mask & (w->p[i->guard] ^ (i->flags & GUARD_NOT ? EVERYBODY : 0)), first = 0, second = 0;
        counts[WARPS_RUN]++;
        counts[THREADS_RUN] += __builtin_popcount(group->mask);
        counts[THREADS_ON] += __builtin_popcount(mask);
        launch->fault_at = group->at;
        if (++*run > launch->limit) return FAULT_LIMIT;
        if (!mask) { group->at++; continue; }
        switch (i->op) {
        case OP_NOP: group->at++; break;
        case OP_BRA: {
            uint32_t going = mask & (w->p[i->predicate[0]] ^ (i->predicate_not[0] ? EVERYBODY : 0));
            if (i->what == 1) {                               /* where not all are here that should be */
                fetch(w, &i->source[0], a);
                going = group->mask == (uint32_t)a[0] ? 0 : mask;
            }
            if (going == group->mask) { group->at = i->target; break; }
            group->at++;
            if (going) divide(w, g, going, i->target);
            break;
        }
        case OP_JUMP: {                                       /* to an address in a register */
            fetch(w, &i->source[0], a);
            int32_t here = group->at;
            uint32_t left = mask;
            if (mask != group->mask) { divide(w, g, mask, here); w->group[g].at++; g = w->groups - 1; }
            while (left) {
                uint64_t to = a[__builtin_ctz(left)] + (uint64_t)(int64_t)i->shift;
                uint32_t going = 0;
                LANE(l) if (left >> l & 1 && a[l] + (uint64_t)(int64_t)i->shift == to) going |= 1u << l;
                if (i->what) to += 16 * (uint64_t)(here + 1);
                if (to % 16 || to / 16 >= (uint64_t)launch->instructions) return FAULT_TARGET;
                left &= ~going;
                if (left) divide(w, g, going, (int32_t)(to / 16));
                else w->group[g].at = (int32_t)(to / 16);
            }
            return DONE;
        }
        case OP_EXIT:
            w->alive &= ~mask;
            if (mask == group->mask) { leave(w, g); return DONE; }
            group->mask &= ~mask;
            group->at++;
            break;
        case OP_BSSY: LANE(l) if (mask >> l & 1) w->barrier[i->what][l] = group->mask; group->at++; break;
        case OP_BREAK: LANE(l) w->barrier[i->what][l] &= ~mask; group->at++; break;
        case OP_BSYNC: group->waits = i->what; return DONE;
        case OP_WARPSYNC:
            fetch(w, &i->source[0], a);
            group->awaited = (uint32_t)a[__builtin_ctz(mask)];
            group->waits = 17;
            return DONE;
        case OP_BMOV_FROM:                                    /* a convergence barrier is kept in a register */
            LANE(l) if (mask >> l & 1) {
                w->r[i->to][l] = w->barrier[i->what][l];
                if (i->flags & HIGH) w->barrier[i->what][l] = 0;
            }
            group->at++;
            break;
        case OP_BMOV_TO:
            fetch(w, &i->source[0], a);
            LANE(l) if (mask >> l & 1) w->barrier[i->what][l] = (uint32_t)a[l];
            group->at++;
            break;
        case OP_BAR: group->waits = 16; return DONE;
        case OP_B2R:
            LANE(l) out[l] = w->result[l];
            LANE(l) first |= (uint32_t)(w->result[l] != 0) << l;
            put(w, i, mask, out, first, 0);
            group->at++;
            break;
        case OP_S2R:
            LANE(l) out[l] = special(launch, w, block, i->what, l, *run);
            put(w, i, mask, out, 0, 0);
            group->at++;
            break;
        case OP_LDC:
            if (!load_constant(launch, w, i, mask)) return FAULT_ADDRESS;
            group->at++;
            break;
        case OP_LOAD: case OP_STORE: case OP_ATOMIC:
            if (!access_memory(launch, w, shared, i, mask, counts)) return FAULT_ADDRESS;
            group->at++;
            break;
        case OP_SHFL: case OP_VOTE: case OP_MATCH: case OP_REDUX:
            exchange(w, i, mask, out, &first);
            put(w, i, mask, out, first, 0);
            group->at++;
            break;
        case OP_R2P:
            fetch(w, &i->source[0], a);
            for (int k = 0; k < 7; k++) if (i->table >> k & 1) {
                LANE(l) first = (first & ~(1u << l)) | (uint32_t)(a[l] >> (k + i->shift) & 1) << l;
                w->p[k] = (w->p[k] & ~mask) | (first & mask);
            }
            group->at++;
            break;
        default:
            if (!work_out(w, i, mask, out, &first, &second)) return FAULT_OPERATION;
            put(w, i, mask, out, first, second);
            group->at++;
        }
    }
    return DONE;
}

/* The block's barrier: opens where every thread that has not ended waits at it, and hands out what it counted. */
static int open_barrier(Launch *launch, Warp *warps) {
    int any = 0;
    for (int k = 0; k < launch->warps_of_block; k++)
        for (int g = 0; g < warps[k].groups; g++) {
            if (warps[k].group[g].waits != 16) return 0;
            any = 1;
        }
    if (!any) return 0;
    uint32_t said = 0, all = 1, some = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < launch->warps_of_block; k++)
            for (int g = 0; g < warps[k].groups; g++) {
                Warp *w = &warps[k];
                Group *group = &w->group[g];
                const Instruction *i = &launch->code[group->at];
                uint32_t p = w->p[i->predicate[0]] ^ (i->predicate_not[0] ? EVERYBODY : 0);
                if (!pass) {
                    said += __builtin_popcount(p & group->mask);
                    all &= (p & group->mask) == group->mask;
                    some |= (p & group->mask) != 0;
                    continue;
                }
                LANE(l) if (group->mask >> l & 1) w->result[l] = i->what == 1 ? said : i->what == 2 ? all : some;
                group->waits = -1;
                group->at++;
            }
    return 1;
}

static int run_block(Launch *launch, Warp *warps, uint8_t *shared, const int *block, uint64_t *run) {
    for (;;) {
        int alive = 0, moved = 0;
        for (int k = 0; k < launch->warps_of_block; k++) {
            Warp *w = &warps[k];
            for (int again = 1, turns = 0; again && turns < 64; turns++) {
                again = 0;
                for (int g = 0; g < w->groups; g++) if (w->group[g].waits < 0) {
                    int fault = run_group(launch, w, g, shared, block, run);
                    if (fault) return fault;
                    moved = 1;
                    break;                                    /* groups may have come or gone */
                }
                if (reconverge(w)) moved = again = 1;
                for (int g = 0; g < w->groups; g++) again |= w->group[g].waits < 0;
                if (again && w->groups > 1) {                 /* those that were not in turn come first */
                    Group one = w->group[0];
                    for (int g = 1; g < w->groups; g++) w->group[g - 1] = w->group[g];
                    w->group[w->groups - 1] = one;
                }
            }
            alive |= w->groups > 0;
        }
        if (!alive) return DONE;
        if (open_barrier(launch, warps)) continue;
        if (!moved) return FAULT_DEADLOCK;
    }
}

/* Carries out a launch, block after block. */
int run_launch(Launch *launch) {
    Warp *warps = calloc(launch->warps_of_block, sizeof(Warp));
    uint8_t *shared = calloc(SHARED_SIZE, 1), *local = calloc((size_t)launch->warps_of_block * LANES, LOCAL_SIZE);
    uint32_t (*registers)[LANES] = calloc((size_t)launch->warps_of_block * 260, sizeof *registers);
    uint64_t run = 0;
    int fault = DONE;
    for (int n = 0; n < launch->grid[0] * launch->grid[1] * launch->grid[2] && !fault; n++) {
        int block[3] = {n % launch->grid[0], n / launch->grid[0] % launch->grid[1], n / launch->grid[0] / launch->grid[1]};
        for (int k = 0; k < launch->warps_of_block; k++) {
            Warp *w = &warps[k];
            int left = launch->threads_of_block - k * LANES;
            memset(w, 0, sizeof *w);
            w->r = registers + k * 260;
            w->local = local + (size_t)k * LANES * LOCAL_SIZE;
            w->number = k;
            w->alive = left >= LANES ? EVERYBODY : (1u << left) - 1;
            w->p[7] = w->p[15] = EVERYBODY;
            w->groups = 1;
            w->group[0] = (Group){w->alive, 0, -1, 0};
        }
        fault = run_block(launch, warps, shared, block, &run);
    }
    launch->fault = fault;
    free(warps);
    free(shared);
    free(local);
    free(registers);
    return fault;
}
