// count_allocations.cc - counts the memory that chosen libraries of a process hold: preload it (LD_PRELOAD).
//
// In:  count_library(start, end) for each mapped range of code whose allocations are meant.
// Out: counted_blocks() and counted_bytes(), what was allocated by a call from there and not freed since,
//      by whomever. malloc and operator new are looked at where they are called, so that a caller's own
//      code decides, not the C++ library between.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

enum { RANGES_MAX = 64, TABLE = 1 << 22, PROBES = 512 };

struct Range {
    uintptr_t start, end;
};
Range ranges[RANGES_MAX];
std::atomic<int> range_count{ 0 };
std::atomic<uintptr_t> table[TABLE]; // the blocks that are counted; 0: empty, 1: was freed
std::atomic<int64_t> blocks{ 0 }, bytes{ 0 };

bool meant(void *caller) {
    auto address = reinterpret_cast<uintptr_t>(caller);
    for (int at = 0; at < range_count.load(std::memory_order_acquire); at++)
        if (address >= ranges[at].start && address < ranges[at].end)
            return true;
    return false;
}

size_t home(uintptr_t block) {
    return (block >> 4) * 0x9e3779b97f4a7c15ull >> 42;
}

void remember(void *pointer) {
    auto block = reinterpret_cast<uintptr_t>(pointer);
    for (size_t at = home(block), probe = 0; probe < PROBES; probe++, at = (at + 1) % TABLE) {
        uintptr_t found = table[at].load(std::memory_order_relaxed);
        if (found <= 1 && table[at].compare_exchange_strong(found, block)) {
            blocks++;
            bytes += static_cast<int64_t>(malloc_usable_size(pointer));
            return;
        }
    }
}

void forget(void *pointer) {
    if (!pointer || range_count.load(std::memory_order_relaxed) == 0)
        return;
    auto block = reinterpret_cast<uintptr_t>(pointer);
    for (size_t at = home(block), probe = 0; probe < PROBES; probe++, at = (at + 1) % TABLE) {
        uintptr_t found = table[at].load(std::memory_order_relaxed);
        if (found == 0)
            return;
        if (found == block && table[at].compare_exchange_strong(found, 1)) {
            blocks--;
            bytes -= static_cast<int64_t>(malloc_usable_size(pointer));
            return;
        }
    }
}

void *counted(void *pointer, void *caller) {
    if (pointer && range_count.load(std::memory_order_relaxed) && meant(caller))
        remember(pointer);
    return pointer;
}

} // namespace

extern "C" {

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);

void count_library(uintptr_t start, uintptr_t end) {
    // The table's pages become resident now and not bit by bit, where they would be taken for somebody's growth.
    for (auto &slot : table)
        slot.store(slot.load(std::memory_order_relaxed), std::memory_order_relaxed);
    int at = range_count.load();
    if (at < RANGES_MAX) {
        ranges[at] = { start, end };
        range_count.store(at + 1, std::memory_order_release);
    }
}

int64_t counted_blocks() {
    return blocks.load();
}

int64_t counted_bytes() {
    return bytes.load();
}

void *malloc(size_t size) {
    return counted(__libc_malloc(size), __builtin_return_address(0));
}

void *calloc(size_t count, size_t size) {
    return counted(__libc_calloc(count, size), __builtin_return_address(0));
}

void *realloc(void *pointer, size_t size) {
    forget(pointer);
    return counted(__libc_realloc(pointer, size), __builtin_return_address(0));
}

void free(void *pointer) {
    forget(pointer);
    __libc_free(pointer);
}

} // extern "C"

void *operator new(size_t size) {
    void *pointer = counted(__libc_malloc(size), __builtin_return_address(0));
    if (!pointer)
        throw std::bad_alloc();
    return pointer;
}

void *operator new[](size_t size) {
    void *pointer = counted(__libc_malloc(size), __builtin_return_address(0));
    if (!pointer)
        throw std::bad_alloc();
    return pointer;
}

void operator delete(void *pointer) noexcept {
    free(pointer);
}

void operator delete[](void *pointer) noexcept {
    free(pointer);
}

void operator delete(void *pointer, size_t) noexcept {
    free(pointer);
}

void operator delete[](void *pointer, size_t) noexcept {
    free(pointer);
}
