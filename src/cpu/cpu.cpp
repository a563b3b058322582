// Which level of instructions the processor has. Built for any processor of its family, since it is loaded first.
//
// The levels are those of the x86-64 psABI. The compiler's own question, __builtin_cpu_supports, needs a runtime
// library that zig's clang does not have, so the processor is asked directly.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace {

#if defined(__x86_64__)

struct Registers {
    unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers ask(unsigned leaf) {
    Registers r;
    __get_cpuid_count(leaf, 0, &r.a, &r.b, &r.c, &r.d);
    return r;
}

bool has(unsigned bits, std::initializer_list<int> wanted) {
    for (const int bit : wanted)
        if ((bits >> bit & 1u) == 0) return false;
    return true;
}

// The registers that the operating system saves when it switches threads.
std::uint64_t saved_registers() {
    std::uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

std::string best_level() {
    const Registers first = ask(1), seventh = ask(7), extended = ask(0x80000001u);
    const bool has_v2 = has(first.c, {0, 9, 13, 19, 20, 23});  // SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT
    if (!has_v2) return "v1";
    const bool saves = has(first.c, {27});  // OSXSAVE
    const std::uint64_t saved = saves ? saved_registers() : 0;
    const bool has_v3 = (saved & 0x6) == 0x6 && has(first.c, {12, 22, 28, 29}) &&  // FMA, MOVBE, AVX, F16C
                        has(seventh.b, {3, 5, 8}) && has(extended.c, {5});         // BMI1, AVX2, BMI2; LZCNT
    if (!has_v3) return "v2";
    const bool has_v4 = (saved & 0xE6) == 0xE6 && has(seventh.b, {16, 17, 28, 30, 31});  // AVX-512 F, DQ, CD, BW, VL
    return has_v4 ? "v4" : "v3";
}

#else

std::string best_level() { return "base"; }

#endif

}  // namespace

NB_MODULE(_cpu, m) {
    m.doc() = "The level of instructions of this processor.";
    m.def("best_level", &best_level);
}
