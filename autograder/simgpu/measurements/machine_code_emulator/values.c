/* What an instruction that touches no memory makes of its operands, for the 32 lanes of a warp at once. */

#include <fenv.h>
#include <math.h>
#include <string.h>

#pragma STDC FENV_ACCESS ON

static float as_float(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static uint32_t of_float(float f) { uint32_t bits; memcpy(&bits, &f, 4); return bits; }
static double as_double(uint64_t bits) { double d; memcpy(&d, &bits, 8); return d; }
static uint64_t of_double(double d) { uint64_t bits; memcpy(&bits, &d, 8); return bits; }
static _Float16 as_half(uint32_t bits) { uint16_t b = (uint16_t)bits; _Float16 h; memcpy(&h, &b, 2); return h; }
static uint32_t of_half(_Float16 h) { uint16_t b; memcpy(&b, &h, 2); return b; }
static float flushed(float f) { return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f; }

static void fetch(const Warp *w, const Operand *o, uint64_t *out) {
    int wide = o->type == LONG || o->type == DOUBLE;
    LANE(l) {
        uint64_t v = o->value;
        if (o->where == REGISTER) v = w->r[o->number][l] | (wide ? (uint64_t)w->r[o->number + 1][l] << 32 : 0);
        if (o->where == UNIFORM) v = w->u[o->number] | (wide ? (uint64_t)w->u[o->number + 1] << 32 : 0);
        if (o->inverted) v = wide ? ~v : (uint32_t)~v;
        switch (o->type) {
        case INTEGER:
            if (o->absolute) v = (uint32_t)((int32_t)v < 0 ? -v : v);
            if (o->negative) v = (uint32_t)-v;
            break;
        case LONG: if (o->negative) v = -v; break;
        case FLOAT:
            if (o->absolute) v &= 0x7fffffff;
            if (o->negative) v ^= 0x80000000;
            break;
        case DOUBLE:
            if (o->absolute) v &= ~(1ull << 63);
            if (o->negative) v ^= 1ull << 63;
            break;
        case HALVES:
            if (o->half == 1) v = (v & 0xffff) * 0x10001;
            if (o->half == 2) v = (v >> 16 & 0xffff) * 0x10001;
            if (o->absolute) v &= 0x7fff7fff;
            if (o->negative) v ^= 0x80008000;
            break;
        }
        out[l] = v;
    }
}

/* A condition on integers: extended by what their lower words said. */
static int compared(const Instruction *i, uint32_t a, uint32_t b, int lower) {
    int less = i->flags & SIGNED ? (int32_t)a < (int32_t)b : a < b, equal = a == b, more = !less && !equal;
    int extended = i->flags & EXTENDED;
    switch (i->compare) {
    case LT: return less || (extended && equal && lower);
    case LE: return less || (extended ? equal && lower : equal);
    case GT: return more || (extended && equal && lower);
    case GE: return more || (extended ? equal && lower : equal);
    case EQ: return equal && (!extended || lower);
    default: return !equal || (extended && lower);
    }
}

static int compared_floats(const Instruction *i, double a, double b) {
    int unordered = isnan(a) || isnan(b);
    if (i->compare == NUMBERS) return !unordered;
    if (i->compare == NANS) return unordered;
    if (i->compare == LARGER) return a > b || (isnan(b) && !isnan(a));
    if (i->compare == SMALLER) return a < b || (isnan(b) && !isnan(a));
    if (unordered) return i->source[0].unordered;
    switch (i->compare) {
    case LT: return a < b;
    case LE: return a <= b;
    case GT: return a > b;
    case GE: return a >= b;
    case EQ: return a == b;
    default: return a != b;
    }
}

static int combined(int how, int a, int b) { return how == AND ? a && b : how == OR ? a || b : a != b; }

static uint32_t looked_up(int table, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t found = 0;
    for (int k = 0; k < 8; k++)
        if (table >> k & 1) found |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return found;
}

static uint32_t permuted(uint32_t a, uint32_t chosen, uint32_t c) {
    uint64_t all = a | (uint64_t)c << 32;
    uint32_t made = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t which = chosen >> 4 * k & 15, byte = all >> 8 * (which & 7) & 255;
        if (which & 8) byte = byte & 128 ? 255 : 0;
        made |= byte << 8 * k;
    }
    return made;
}

static uint32_t shifted(const Instruction *i, uint32_t a, uint32_t by, uint32_t c) {
    uint64_t v = a | (uint64_t)c << 32;
    uint32_t most = i->flags & FROM_64 ? 64 : 32;
    uint32_t s = i->flags & WRAPS ? by & (most - 1) : by > most ? most : by;
    if (i->flags & LEFT) v = s > 63 ? 0 : v << s;
    else if (i->flags & SIGNED) v = (uint64_t)((int64_t)v >> (s > 63 ? 63 : s));
    else v = s > 63 ? 0 : v >> s;
    return (uint32_t)(i->flags & HIGH ? v >> 32 : v);
}

static float float_function(int which, float x) {
    double d = x;
    switch (which) {
    case 0: return (float)(1 / d);
    case 1: return (float)(1 / sqrt(d));
    case 2: return (float)sqrt(d);
    case 3: return (float)sin(d * 2 * M_PI);
    case 4: return (float)cos(d * 2 * M_PI);
    case 5: return (float)exp2(d);
    case 6: return (float)log2(d);
    default: return (float)tanh(d);
    }
}

/* Whether a / b needs the long way: numbers so large or so small that the short one loses bits. */
static int needs_long_division(float a, float b) {
    int ea = (of_float(a) >> 23 & 255), eb = (of_float(b) >> 23 & 255);
    if (eb == 0 || eb >= 253 || ea == 255) return 1;
    return ea - eb >= 126 || ea - eb <= -126 || ea <= 24;
}

static double rounded_as(int how, double d) {
    return how == DOWN ? floor(d) : how == UP ? ceil(d) : how == TO_ZERO ? trunc(d) : nearbyint(d);
}

static uint64_t to_integer(const Instruction *i, double d) {
    double whole = rounded_as(i->rounding, d);
    if (i->flags & TO_64) {
        if (i->flags & SIGNED)
            return isnan(d) ? 1ull << 63 : whole >= 0x1p63 ? INT64_MAX : whole < -0x1p63 ? 1ull << 63 : (uint64_t)(int64_t)whole;
        return isnan(d) ? 1ull << 63 : whole >= 0x1p64 ? UINT64_MAX : whole < 0 ? 0 : (uint64_t)whole;
    }
    if (i->flags & SIGNED) return isnan(d) ? 0 : (uint32_t)(whole >= 0x1p31 ? INT32_MAX : whole < -0x1p31 ? INT32_MIN : (int32_t)whole);
    return isnan(d) ? 0 : whole >= 0x1p32 ? UINT32_MAX : whole < 0 ? 0 : (uint32_t)whole;
}

static uint64_t from_integer(const Instruction *i, uint64_t v) {
    if (i->what) v &= i->what == 1 ? 255 : 65535;             /* a byte or two */
    if (i->what && i->flags & SIGNED) v = (uint64_t)(i->what == 1 ? (int64_t)(int8_t)v : (int64_t)(int16_t)v);
    if (i->flags & FROM_64) {
        if (i->flags & TO_64) return of_double(i->flags & SIGNED ? (double)(int64_t)v : (double)v);
        return of_float(i->flags & SIGNED ? (float)(int64_t)v : (float)v);
    }
    if (i->flags & TO_64) return of_double(i->flags & SIGNED ? (double)(int32_t)v : (double)(uint32_t)v);
    return of_float(i->flags & SIGNED ? (float)(int32_t)v : (float)(uint32_t)v);
}

static uint32_t clipped(const Instruction *i, float f) {
    if (i->flags & SATURATE) f = f > 0 ? (f < 1 ? f : 1) : 0;
    if (i->flags & FLUSH) f = flushed(f);
    return of_float(f);
}

static uint32_t least_or_most(const Instruction *i, uint32_t a, uint32_t b, int least) {
    int first = i->flags & SIGNED ? (int32_t)a < (int32_t)b : a < b;
    return first == least ? a : b;
}

/* Works out values and predicates of lanes; false where it does not know the operation. */
static int work_out(Warp *w, const Instruction *i, uint32_t mask, uint64_t *out, uint32_t *first, uint32_t *second) {
    static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    uint64_t s[4][LANES];
    for (int k = 0; k < i->sources; k++) fetch(w, &i->source[k], s[k]);
    uint32_t p[3];
    for (int k = 0; k < 3; k++) p[k] = w->p[i->predicate[k]] ^ (i->predicate_not[k] ? EVERYBODY : 0);
    uint32_t yes = 0, other = 0;
    if (i->rounding && i->op != OP_F2I && i->op != OP_FRND) fesetround(modes[i->rounding]);
    LANE(l) {
        uint64_t a = s[0][l], b = s[1][l], c = s[2][l], v = 0;
        int bit = 0, bit_two = 0, q[3] = {p[0] >> l & 1, p[1] >> l & 1, p[2] >> l & 1};
        if (i->flags & FLUSH) {
            if (i->source[0].type == FLOAT) a = of_float(flushed(as_float(a)));
            if (i->source[1].type == FLOAT) b = of_float(flushed(as_float(b)));
            if (i->source[2].type == FLOAT) c = of_float(flushed(as_float(c)));
        }
        switch (i->op) {
        case OP_MOV: v = a; break;
        case OP_IADD3:
            for (int k = 0; k < 3; k++) {                     /* a negative one is its complement and one, which may carry */
                const Operand *o = &i->source[k];
                v += o->negative ? (uint64_t)(uint32_t)~(uint32_t)-(uint32_t)s[k][l] + 1 : s[k][l];
            }
            if (i->flags & EXTENDED) v += q[0] + q[1];
            bit = v >> 32 >= 1;
            bit_two = v >> 32 >= 2;
            v = (uint32_t)v;
            break;
        case OP_IMAD: v = (uint32_t)(a * b + c + (i->flags & EXTENDED ? q[0] : 0)); break;
        case OP_IMAD_WIDE: case OP_IMAD_HI: {
            uint64_t product = i->flags & SIGNED ? (uint64_t)((int64_t)(int32_t)a * (int32_t)b) : a * b;
            unsigned __int128 sum = (unsigned __int128)product + c + (i->flags & EXTENDED ? q[0] : 0);
            bit = (int)(sum >> 64 & 1);
            v = i->op == OP_IMAD_HI ? (uint64_t)sum >> 32 : (uint64_t)sum;
            break;
        }
        case OP_LEA: {
            uint64_t high = i->flags & SIGN_EXTENDS ? (uint64_t)(int64_t)(int32_t)a : a | c << 32;
            uint64_t part = i->flags & HIGH ? high << i->shift >> 32 : (uint32_t)(a << i->shift);
            v = part + b + (i->flags & EXTENDED ? q[0] : 0);
            bit = v >> 32 & 1;
            v = (uint32_t)v;
            break;
        }
        case OP_SHF: v = shifted(i, a, b, c); break;
        case OP_LOP3: v = looked_up(i->table, a, b, c); bit = v != 0 || q[0]; break;
        case OP_PLOP3:
            bit = looked_up(i->table, q[0], q[1], q[2]) & 1;
            bit_two = looked_up(i->table_two, q[0], q[1], q[2]) & 1;
            break;
        case OP_ISETP: {
            int found = compared(i, a, b, q[1]);
            bit = combined(i->combine, found, q[0]);
            bit_two = combined(i->combine, !found, q[0]);
            break;
        }
        case OP_FSETP: case OP_DSETP: {
            double one = i->op == OP_FSETP ? as_float(a) : as_double(a), two = i->op == OP_FSETP ? as_float(b) : as_double(b);
            int found = compared_floats(i, one, two);
            bit = combined(i->combine, found, q[0]);
            bit_two = i->compare >= LARGER ? isnan(one) && isnan(two) : combined(i->combine, !found, q[0]);
            break;
        }
        case OP_FSET:
            bit = combined(i->combine, compared_floats(i, as_float(a), as_float(b)), q[0]);
            v = !bit ? 0 : i->flags & TO_FLOAT ? of_float(1) : EVERYBODY;
            break;
        case OP_SEL: v = q[0] ? a : b; break;
        case OP_VIMNMX: v = least_or_most(i, a, b, q[0]); break;
        case OP_VIMNMX3: v = least_or_most(i, least_or_most(i, a, b, q[0]), c, q[0]); break;
        case OP_VIADDMNMX: v = least_or_most(i, (uint32_t)(a + b), c, q[0]); break;
        case OP_FMNMX: v = of_float(q[0] ? fminf(as_float(a), as_float(b)) : fmaxf(as_float(a), as_float(b))); break;
        case OP_PRMT: v = permuted(a, b, c); break;
        case OP_POPC: v = (uint64_t)__builtin_popcount((uint32_t)a); break;
        case OP_FLO: {
            uint32_t x = i->flags & SIGNED && (int32_t)a < 0 ? ~(uint32_t)a : (uint32_t)a;
            v = x ? (uint32_t)(31 - __builtin_clz(x)) : EVERYBODY;
            if (x && i->flags & HIGH) v = 31 - v;
            break;
        }
        case OP_BREV: for (int k = 0; k < 32; k++) v |= (a >> k & 1) << (31 - k); break;
        case OP_IABS: v = (uint32_t)((int32_t)a < 0 ? -a : a); break;
        case OP_SGXT: {
            uint32_t bits = b & 31, from = 32 - bits;
            v = !bits ? 0 : i->flags & SIGNED ? (uint32_t)((int32_t)((uint32_t)a << from) >> from) : (uint32_t)a << from >> from;
            break;
        }
        case OP_BMSK: {
            uint32_t from = a & 31, many = b > 32 ? 32 : b;
            v = (uint32_t)((many >= 32 ? EVERYBODY : (1u << many) - 1) << from);
            break;
        }
        case OP_IDP_2A: v = (uint32_t)(c + (a & 65535) * (b & 255) + (a >> 16) * (b >> 8 & 255)); break;
        case OP_I2F: v = from_integer(i, a); break;
        case OP_F2I: v = to_integer(i, i->flags & FROM_64 ? as_double(a) : as_float(a)); break;
        case OP_F2F:
            if (i->what == 1) v = of_double(as_float(a));
            else if (i->what == 2) v = of_float((float)as_double(a));
            else if (i->what == 3) v = of_half((_Float16)as_float(a));
            else if (i->what == 4) v = of_half((_Float16)as_double(a));
            else if (i->what == 5) v = of_double((double)as_half(a));
            else v = of_half((_Float16)as_float(a)) << 16 | of_half((_Float16)as_float(b));
            break;
        case OP_FRND: v = i->flags & FROM_64 ? of_double(rounded_as(i->rounding, as_double(a)))
                                             : of_float((float)rounded_as(i->rounding, as_float(a))); break;
        case OP_FADD: v = clipped(i, as_float(a) + as_float(b)); break;
        case OP_FMUL: v = clipped(i, as_float(a) * as_float(b)); break;
        case OP_FFMA: v = clipped(i, fmaf(as_float(a), as_float(b), as_float(c))); break;
        case OP_FCHK: bit = needs_long_division(as_float(a), as_float(b)); break;
        case OP_MUFU: v = of_float(float_function(i->what, as_float(a))); break;
        case OP_MUFU_64H: {
            double x = as_double(a << 32);
            v = of_double(i->what == 0 ? 1 / x : 1 / sqrt(x)) >> 32;
            break;
        }
        case OP_DADD: v = of_double(as_double(a) + as_double(b)); break;
        case OP_DMUL: v = of_double(as_double(a) * as_double(b)); break;
        case OP_DFMA: v = of_double(fma(as_double(a), as_double(b), as_double(c))); break;
        case OP_HADD2_F32: v = of_float((float)as_half(a) + (float)as_half(b)); break;
        case OP_HADD2: v = of_half(as_half(a) + as_half(b)) | of_half(as_half(a >> 16) + as_half(b >> 16)) << 16; break;
        case OP_HMUL2: v = of_half(as_half(a) * as_half(b)) | of_half(as_half(a >> 16) * as_half(b >> 16)) << 16; break;
        case OP_HFMA2:
            v = of_half((_Float16)((double)as_half(a) * (double)as_half(b) + (double)as_half(c)))
                | of_half((_Float16)((double)as_half(a >> 16) * (double)as_half(b >> 16) + (double)as_half(c >> 16))) << 16;
            break;
        case OP_HSETP2: {
            int low = compared_floats(i, as_half(a), as_half(b)), high = compared_floats(i, as_half(a >> 16), as_half(b >> 16));
            bit = combined(i->combine, low, q[0]);
            bit_two = combined(i->combine, high, q[0]);
            break;
        }
        case OP_P2R:
            for (int k = 0; k < 7; k++) v |= (uint64_t)(w->p[k] >> l & 1) << k;
            v = (a & ~b) | (v & b);
            break;
        default: fesetround(FE_TONEAREST); return 0;
        }
        out[l] = v;
        yes |= (uint32_t)bit << l;
        other |= (uint32_t)bit_two << l;
    }
    if (i->rounding) fesetround(FE_TONEAREST);
    *first = yes;
    *second = other;
    (void)mask;
    return 1;
}
