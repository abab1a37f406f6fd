// interface.cpp - the C functions that the Python module (sim/python/flagos) calls through ctypes.
//
// In:  plain numbers and buffers.
// Out: 0 or more, or -1 with a sentence in flagos_error_text() of the thread.
#include "backend.h"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>

namespace flagos {

namespace {

thread_local std::string error_text;

template <typename Body> int64_t guarded(Body body) noexcept {
    try {
        return body();
    } catch (const c10::Error &error) {
        error_text = error.what_without_backtrace();
    } catch (const std::exception &error) {
        error_text = error.what();
    } catch (...) {
        error_text = "flagos: an unknown error";
    }
    return -1;
}

} // namespace

} // namespace flagos

#define FLAGOS_API extern "C" __attribute__((visibility("default")))

using flagos::guarded;

FLAGOS_API const char *flagos_error_text(void) {
    return flagos::error_text.c_str();
}

FLAGOS_API int64_t flagos_use_ascendcl(void) {
    return guarded([] {
        flagos::use_ascendcl();
        return 0;
    });
}

FLAGOS_API int64_t flagos_device_count(void) {
    return flagos::device_count();
}

FLAGOS_API int64_t flagos_current_device(void) {
    return flagos::current_device();
}

FLAGOS_API int64_t flagos_set_device(int64_t device) {
    return guarded([&] {
        flagos::check_device(static_cast<int>(device));
        flagos::set_device(static_cast<int>(device));
        return 0;
    });
}

FLAGOS_API int64_t flagos_synchronize(int64_t device) {
    return guarded([&] {
        flagos::check_device(static_cast<int>(device));
        c10::impl::VirtualGuardImpl(flagos::kDevice).synchronizeDevice(static_cast<c10::DeviceIndex>(device));
        return 0;
    });
}

FLAGOS_API int64_t flagos_current_stream_id(int64_t device) {
    return guarded([&] {
        return c10::impl::VirtualGuardImpl(flagos::kDevice)
            .getStream(c10::Device(flagos::kDevice, static_cast<c10::DeviceIndex>(device)))
            .id();
    });
}

FLAGOS_API int64_t flagos_set_stream(int64_t device, int64_t id) {
    return guarded([&] {
        const c10::Device on(flagos::kDevice, static_cast<c10::DeviceIndex>(device));
        flagos::check_device(static_cast<int>(device));
        (void)c10::impl::VirtualGuardImpl(flagos::kDevice)
            .exchangeStream(c10::Stream(c10::Stream::UNSAFE, on, id));
        return 0;
    });
}

FLAGOS_API int64_t flagos_empty_cache(void) {
    return guarded([] {
        static_cast<c10::DeviceAllocator *>(flagos::device_allocator())->emptyCache({ 0, 0 });
        return 0;
    });
}

// out: allocated now, at most, in all, freed in all; then the same of reserved bytes.
FLAGOS_API int64_t flagos_memory_stats(int64_t device, int64_t out[8]) {
    return guarded([&] {
        const auto stats = static_cast<c10::DeviceAllocator *>(flagos::device_allocator())
                               ->getDeviceStats(static_cast<c10::DeviceIndex>(device));
        const c10::CachingAllocator::Stat *both[] = { &stats.allocated_bytes[0], &stats.reserved_bytes[0] };
        for (int i = 0; i < 2; i++) {
            out[4 * i] = both[i]->current;
            out[4 * i + 1] = both[i]->peak;
            out[4 * i + 2] = both[i]->allocated;
            out[4 * i + 3] = both[i]->freed;
        }
        return 0;
    });
}

FLAGOS_API int64_t flagos_reset_peak_memory_stats(int64_t device) {
    return guarded([&] {
        static_cast<c10::DeviceAllocator *>(flagos::device_allocator())
            ->resetPeakStats(static_cast<c10::DeviceIndex>(device));
        return 0;
    });
}

FLAGOS_API int64_t flagos_memory_info(int64_t device, int64_t out[2]) {
    return guarded([&] {
        flagos::CurrentDevice scope(static_cast<int>(device));
        size_t free_bytes = 0, total_bytes = 0;
        flagos::check(flagsim_mem_info(&free_bytes, &total_bytes), "memory info");
        out[0] = static_cast<int64_t>(free_bytes);
        out[1] = static_cast<int64_t>(total_bytes);
        return 0;
    });
}

// Copies that results of kernels needed after all, since they lay in memory the device does not own. 0 is
// what the tests pin.
FLAGOS_API int64_t flagos_results_copied(void) {
    return flagos::results_copied();
}

// ---- random numbers of a device

FLAGOS_API int64_t flagos_manual_seed(int64_t device, uint64_t seed) {
    return guarded([&] {
        flagos::host_generator(at::Generator(), static_cast<int>(device)).set_current_seed(seed);
        return 0;
    });
}

FLAGOS_API int64_t flagos_initial_seed(int64_t device, uint64_t *seed) {
    return guarded([&] {
        *seed = flagos::host_generator(at::Generator(), static_cast<int>(device)).current_seed();
        return 0;
    });
}

// Returns the number of bytes of the state; fills `out` when it is as large as that.
FLAGOS_API int64_t flagos_get_rng_state(int64_t device, void *out, int64_t bytes) {
    return guarded([&]() -> int64_t {
        const auto state = flagos::host_generator(at::Generator(), static_cast<int>(device)).get_state();
        const int64_t needed = static_cast<int64_t>(state.nbytes());
        if (bytes >= needed)
            std::memcpy(out, state.const_data_ptr(), needed);
        return needed;
    });
}

FLAGOS_API int64_t flagos_set_rng_state(int64_t device, const void *state, int64_t bytes) {
    return guarded([&] {
        auto generator = flagos::host_generator(at::Generator(), static_cast<int>(device));
        auto tensor = generator.get_state();
        TORCH_CHECK(static_cast<int64_t>(tensor.nbytes()) == bytes, "flagos: a state of ", bytes,
                    " bytes, expected ", tensor.nbytes());
        std::memcpy(tensor.mutable_data_ptr(), state, bytes);
        generator.set_state(tensor);
        return 0;
    });
}

// ---- graphs: work described once and started many times by one call

struct flagos_graph {
    int memory;
    flagsim_stream *stream;
    flagsim_graph *graph;
    flagsim_graph_exec *exec;
};

FLAGOS_API flagos_graph *flagos_graph_begin(int64_t device) {
    flagos_graph *made = nullptr;
    const int64_t result = guarded([&] {
        auto *stream = flagos::current_stream(static_cast<int>(device));
        flagos::check(flagsim_capture_begin(stream), "capture begin");
        made = new flagos_graph{ flagos::begin_graph_memory(stream), stream, nullptr, nullptr };
        return 0;
    });
    return result < 0 ? nullptr : made;
}

// Ends the capture also where it failed, so that the stream runs again.
FLAGOS_API int64_t flagos_graph_end(flagos_graph *graph) {
    return guarded([&] {
        flagos::end_graph_memory(graph->stream);
        flagos::check(flagsim_capture_end(graph->stream, &graph->graph), "capture end");
        flagos::check(flagsim_graph_instantiate(graph->graph, &graph->exec), "graph instantiate");
        return 0;
    });
}

FLAGOS_API int64_t flagos_graph_replay(flagos_graph *graph, int64_t device) {
    return guarded([&] {
        auto *stream = flagos::current_stream(static_cast<int>(device));
        std::lock_guard<std::mutex> hold(flagos::enqueue_lock(stream));
        flagos::check(flagsim_graph_launch(graph->exec, stream), "graph launch");
        return 0;
    });
}

FLAGOS_API int64_t flagos_graph_destroy(flagos_graph *graph) {
    return guarded([&] {
        if (graph->exec)
            (void)flagsim_graph_exec_destroy(graph->exec);
        if (graph->graph)
            (void)flagsim_graph_destroy(graph->graph);
        flagos::release_graph_memory(graph->memory);
        delete graph;
        return 0;
    });
}
