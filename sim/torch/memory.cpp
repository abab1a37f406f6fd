// memory.cpp - device memory and pinned host memory for torch, over the simulator's.
//
// In:  torch's allocations and frees, from any thread, also from a kernel's on a stream's thread.
// Out: blocks kept by stream and used again there; memory use told to torch's profiler on the thread that
//      allocates or frees, which is where the operator is.
//
// A block is never split. The pool is never destroyed: torch frees tensors after static destructors have
// begun.
#include "backend.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

namespace flagos {

namespace {

struct Block {
    void *pointer;
    size_t bytes;     // as got from the simulator
    size_t requested; // as torch asked
    int device;       // -1: pinned host memory
    flagsim_stream *stream;
    bool announced;
    std::vector<flagsim_stream *> used_on;
    int graph; // whose replays write here, 0: none's
};

struct Waiting {
    Block *block;
    std::vector<flagsim_event *> events;
};

// Blocks by owner stream and size. One pool serves all devices, since a stream belongs to one device; pinned
// memory has the stream NULL.
class Pool {
  public:
    Block *take(size_t requested, int device, flagsim_stream *stream) {
        std::lock_guard<std::mutex> hold(lock_);
        collect_waiting();
        Block *block = find_idle(requested, stream);
        return hand_out(block ? block : make(rounded(requested), device, stream), requested);
    }

    // NULL: none lies idle.
    Block *take_idle(size_t requested, flagsim_stream *stream) {
        std::lock_guard<std::mutex> hold(lock_);
        Block *block = find_idle(requested, stream);
        return block ? hand_out(block, requested) : nullptr;
    }

    bool give_back(void *pointer) noexcept {
        std::lock_guard<std::mutex> hold(lock_);
        auto found = live_.find(pointer);
        if (found == live_.end())
            return false;
        Block *block = found->second;
        live_.erase(found);
        if (block->announced)
            report(block, -1);
        if (block->used_on.empty()) {
            idle_[{ block->stream, block->graph }].emplace(block->bytes, block);
            return true;
        }
        Waiting waiting{ block, {} };
        for (auto *stream : std::exchange(block->used_on, {})) {
            flagsim_event *event = nullptr;
            if (flagsim_event_create(&event) == 0 && flagsim_event_record(event, stream) == 0)
                waiting.events.push_back(event);
        }
        waiting_.push_back(std::move(waiting));
        return true;
    }

    void announce(const void *pointer) {
        std::lock_guard<std::mutex> hold(lock_);
        Block *block = find(pointer);
        if (block == nullptr || block->announced || block->device < 0)
            return;
        block->announced = true;
        report(block, 1);
    }

    void used_on(const void *pointer, flagsim_stream *stream) {
        std::lock_guard<std::mutex> hold(lock_);
        if (Block *block = find(pointer))
            if (stream != block->stream &&
                std::find(block->used_on.begin(), block->used_on.end(), stream) == block->used_on.end())
                block->used_on.push_back(stream);
    }

    bool holds(const void *pointer) {
        std::lock_guard<std::mutex> hold(lock_);
        return find(pointer) != nullptr;
    }

    // From here to end_graph, what is allocated on the stream belongs to a graph: it is used again only
    // inside it, since every replay writes there. Returns the graph's number.
    int begin_graph(flagsim_stream *stream) {
        std::lock_guard<std::mutex> hold(lock_);
        capturing_[stream] = ++graphs_;
        return graphs_;
    }

    void end_graph(flagsim_stream *stream) {
        std::lock_guard<std::mutex> hold(lock_);
        capturing_.erase(stream);
    }

    // The graph is gone: its memory is like any other.
    void release_graph(int graph) {
        std::lock_guard<std::mutex> hold(lock_);
        for (auto &entry : live_)
            if (entry.second->graph == graph)
                entry.second->graph = 0;
        for (auto &waiting : waiting_)
            if (waiting.block->graph == graph)
                waiting.block->graph = 0;
        for (auto list = idle_.begin(); list != idle_.end();) {
            if (list->first.second != graph) {
                ++list;
                continue;
            }
            for (auto &entry : list->second) {
                entry.second->graph = 0;
                idle_[{ list->first.first, 0 }].insert(entry);
            }
            list = idle_.erase(list);
        }
    }

    // Frees without the lock: a free waits for the device, whose kernels may be giving blocks back.
    void release_idle() {
        IdleLists idle;
        {
            std::lock_guard<std::mutex> hold(lock_);
            collect_waiting();
            for (auto list = idle_.begin(); list != idle_.end();)
                if (list->first.second == 0)
                    idle.insert(idle_.extract(list++));
                else
                    ++list;
            for (auto &list : idle)
                for (auto &entry : list.second)
                    if (entry.second->device >= 0)
                        reserved_[entry.second->device].decrease(entry.second->bytes);
        }
        for (auto &list : idle)
            for (auto &entry : list.second)
                destroy(entry.second);
    }

    c10::CachingDeviceAllocator::Stat &allocated(int device) {
        return allocated_[device];
    }
    c10::CachingDeviceAllocator::Stat &reserved(int device) {
        return reserved_[device];
    }
    std::mutex &lock() {
        return lock_;
    }

  private:
    using IdleLists = std::map<std::pair<flagsim_stream *, int>, std::multimap<size_t, Block *>>;

    int graph_of(flagsim_stream *stream) const {
        auto found = capturing_.find(stream);
        return found == capturing_.end() ? 0 : found->second;
    }

    static size_t rounded(size_t bytes) {
        size_t step = 512;
        while (step * 8 < bytes)
            step *= 2;
        return std::max<size_t>(step, (bytes + step - 1) / step * step);
    }

    Block *find_idle(size_t requested, flagsim_stream *stream) {
        const size_t bytes = rounded(requested);
        auto &list = idle_[{ stream, graph_of(stream) }];
        auto found = list.lower_bound(bytes);
        if (found == list.end() || found->first > bytes + bytes / 4)
            return nullptr;
        Block *block = found->second;
        list.erase(found);
        return block;
    }

    Block *hand_out(Block *block, size_t requested) {
        block->requested = requested;
        block->announced = false;
        live_[block->pointer] = block;
        return block;
    }

    Block *find(const void *pointer) {
        auto at = live_.upper_bound(pointer);
        if (at == live_.begin())
            return nullptr;
        Block *block = (--at)->second;
        return static_cast<const char *>(pointer) < static_cast<char *>(block->pointer) + block->bytes
                   ? block
                   : nullptr;
    }

    Block *make(size_t bytes, int device, flagsim_stream *stream) {
        void *pointer = nullptr;
        if (device < 0) {
            check(flagsim_host_malloc(&pointer, bytes), "pinned memory");
        } else {
            CurrentDevice scope(device);
            const int result = flagsim_malloc(&pointer, bytes);
            TORCH_CHECK_WITH(OutOfMemoryError, result == 0, "flagos: out of memory, tried to allocate ",
                             bytes, " bytes on device ", device, ": ", std::strerror(-result));
            reserved_[device].increase(bytes);
        }
        return new Block{ pointer, bytes, 0, device, stream, false, {}, graph_of(stream) };
    }

    static void destroy(Block *block) {
        (void)(block->device < 0 ? flagsim_host_free(block->pointer) : flagsim_free(block->pointer));
        delete block;
    }

    // Blocks that another stream used come back once that stream has passed the point of their freeing.
    void collect_waiting() {
        for (size_t i = 0; i < waiting_.size();) {
            auto &events = waiting_[i].events;
            while (!events.empty() && flagsim_event_query(events.back()) == 0) {
                (void)flagsim_event_destroy(events.back());
                events.pop_back();
            }
            if (!events.empty()) {
                i++;
                continue;
            }
            Block *block = waiting_[i].block;
            idle_[{ block->stream, block->graph }].emplace(block->bytes, block);
            waiting_[i] = std::move(waiting_.back());
            waiting_.pop_back();
        }
    }

    void report(Block *block, int sign) noexcept {
        auto &total = allocated_[block->device];
        if (sign > 0)
            total.increase(block->requested);
        else
            total.decrease(block->requested);
        try {
            c10::reportMemoryUsageToProfiler(
                block->pointer, sign * static_cast<int64_t>(block->requested), total.current,
                reserved_[block->device].current,
                c10::Device(kDevice, static_cast<c10::DeviceIndex>(block->device)));
        } catch (...) {
            // a profiler that fails must not fail a free
        }
    }

    std::mutex lock_;
    IdleLists idle_; // by stream and graph
    std::map<flagsim_stream *, int> capturing_;
    int graphs_ = 0;
    std::map<const void *, Block *> live_;
    std::vector<Waiting> waiting_;
    std::array<c10::CachingDeviceAllocator::Stat, kDevicesMax> allocated_, reserved_;
};

Pool &pool() {
    static auto *the_pool = new Pool();
    return *the_pool;
}

void free_memory(void *pointer) {
    (void)pool().give_back(pointer);
}

c10::DataPtr as_data_ptr(Block *block, c10::Device device) {
    return c10::DataPtr(block->pointer, block->pointer, &free_memory, device);
}

class DeviceAllocator final : public c10::DeviceAllocator {
  public:
    c10::DataPtr allocate(size_t bytes) override {
        const int device = current_device();
        const c10::Device shown_as(kDevice, static_cast<c10::DeviceIndex>(device));
        if (bytes == 0)
            return c10::DataPtr(nullptr, shown_as);
        auto memory = allocate_quietly(bytes, device, current_stream(device), shown_as);
        announce(memory);
        return memory;
    }
    void copy_data(void *to, const void *from, size_t bytes) const override {
        auto *stream = current_stream(current_device());
        std::lock_guard<std::mutex> hold(enqueue_lock(stream));
        check(flagsim_memcpy_async(to, from, bytes, FLAGSIM_COPY_DTOD, stream), "a copy");
    }
    bool initialized() override {
        return true;
    }
    void emptyCache([[maybe_unused]] c10::MempoolId_t pool_id) override {
        pool().release_idle();
    }
    void recordStream(const c10::DataPtr &memory, c10::Stream stream) override {
        pool().used_on(memory.get(), stream_handle(stream));
    }
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
        check_device(device);
        std::lock_guard<std::mutex> hold(pool().lock());
        c10::CachingDeviceAllocator::DeviceStats stats;
        stats.allocated_bytes[0] = pool().allocated(device);
        stats.active_bytes[0] = stats.requested_bytes[0] = stats.allocated_bytes[0];
        stats.reserved_bytes[0] = pool().reserved(device);
        return stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex device) override {
        check_device(device);
        std::lock_guard<std::mutex> hold(pool().lock());
        pool().allocated(device).reset_accumulated();
        pool().reserved(device).reset_accumulated();
    }
    void resetPeakStats(c10::DeviceIndex device) override {
        check_device(device);
        std::lock_guard<std::mutex> hold(pool().lock());
        pool().allocated(device).reset_peak();
        pool().reserved(device).reset_peak();
    }
// Overrides where torch has it, which is not everywhere: `override` cannot be written.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winconsistent-missing-override"
#endif
    virtual std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) {
        CurrentDevice scope(device);
        size_t free_bytes = 0, total_bytes = 0;
        check(flagsim_mem_info(&free_bytes, &total_bytes), "memory info");
        return { free_bytes, total_bytes };
    }
#ifdef __clang__
#pragma clang diagnostic pop
#endif
};

class PinnedAllocator final : public c10::Allocator {
  public:
    c10::DataPtr allocate(size_t bytes) override {
        return as_data_ptr(pool().take(bytes, -1, nullptr), c10::Device(c10::DeviceType::CPU));
    }
    void copy_data(void *to, const void *from, size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }
};

} // namespace

c10::Allocator *device_allocator() {
    static auto *allocator = new DeviceAllocator();
    return allocator;
}

c10::Allocator *pinned_allocator() {
    static auto *allocator = new PinnedAllocator();
    return allocator;
}

c10::DataPtr allocate_quietly(size_t bytes, int device, flagsim_stream *stream, c10::Device shown_as) {
    return as_data_ptr(pool().take(bytes, device, stream), shown_as);
}

c10::DataPtr allocate_idle(size_t bytes, flagsim_stream *stream, c10::Device shown_as) {
    Block *block = pool().take_idle(bytes, stream);
    return block ? as_data_ptr(block, shown_as) : c10::DataPtr(nullptr, shown_as);
}

bool give_back(void *pointer) noexcept {
    return pool().give_back(pointer);
}

bool owns(const c10::DataPtr &memory) {
    return memory.get_deleter() == &free_memory;
}

void announce(const c10::DataPtr &memory) {
    if (owns(memory))
        pool().announce(memory.get());
}

int begin_graph_memory(flagsim_stream *stream) {
    return pool().begin_graph(stream);
}

void end_graph_memory(flagsim_stream *stream) {
    pool().end_graph(stream);
}

void release_graph_memory(int graph) {
    pool().release_graph(graph);
}

bool is_pinned(const void *pointer) {
    return flagsim_pointer_kind(pointer, nullptr, nullptr, nullptr) == FLAGSIM_MEMORY_PINNED;
}

void memory_used_on(const void *pointer, flagsim_stream *stream) {
    pool().used_on(pointer, stream);
}

void resize_storage(const c10::Storage &storage, size_t bytes) {
    const int device = storage.device().index();
    CurrentDevice scope(device);
    auto memory = device_allocator()->allocate(bytes);
    const size_t kept = std::min(bytes, storage.nbytes());
    if (kept > 0) {
        auto *stream = current_stream(device);
        std::lock_guard<std::mutex> hold(enqueue_lock(stream));
        check(flagsim_memcpy_async(memory.get(), storage.data(), kept, FLAGSIM_COPY_DTOD, stream), "a copy");
    }
    storage.set_data_ptr_noswap(std::move(memory));
    storage.set_nbytes(bytes);
}

} // namespace flagos
