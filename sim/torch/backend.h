// backend.h - what the parts of the flagos torch backend know of each other.
//
// The backend puts torch's PrivateUse1 device on the simulated accelerator (sim/flagsim.h):
//   device.cpp     streams, events, generators: what torch asks of a device
//   memory.cpp     device memory, kept by stream, and pinned host memory
//   copies.cpp     tensors made, viewed, resized, copied and filled: what needs no arithmetic
//   kernels.cpp    work on the CPU as a kernel of the device
//   fallback.cpp   every other operator: torch's CPU kernel, run as one launch on device memory
//   sizes.cpp      what an operator's results will look like, where the host can tell
//   autocast.cpp   torch.autocast
//   interface.cpp  C functions for the Python module
// Only this directory includes torch's headers together with the simulator's.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>
#include <c10/core/Stream.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/DimVector.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../flagsim.h"

namespace c10 {
struct IValue;
}

namespace at {
class Tensor;
struct Generator;
} // namespace at

namespace flagos {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;
constexpr int kDevicesMax = 16;
constexpr int kStreamsMax = 33; // id 0 is the default stream, the others are handed out in turn

// Throws torch's error when a simulator call failed.
void check(int result, const char *what);

// ---- device.cpp

int device_count() noexcept;
int current_device();
void set_device(int device);
void check_device(int device);

// Makes `device` current for a scope, without a simulator call where it is already.
class CurrentDevice {
  public:
    explicit CurrentDevice(int device) : before_(current_device()) {
        set_device(device);
    }
    ~CurrentDevice();
    CurrentDevice(const CurrentDevice &) = delete;
    CurrentDevice &operator=(const CurrentDevice &) = delete;

  private:
    int before_;
};

// The stream that the calling thread uses on `device` now.
flagsim_stream *current_stream(int device);
flagsim_stream *stream_handle(const c10::Stream &stream);

// Held while work is put on a stream. A launch whose result the host waits for keeps it until the result is
// there, so that memory freed meanwhile can be given to that launch: nothing queued later can still read it.
std::mutex &enqueue_lock(flagsim_stream *stream);

// An error that a kernel raised while nobody waited for it; thrown at the next wait, then forgotten.
void keep_kernel_error(int device, std::exception_ptr error) noexcept;
void throw_kernel_error(int device);

// The CPU generator from which the device draws; `given` may be undefined (the device's default one).
at::Generator host_generator(const at::Generator &given, int device);

// ---- copies.cpp

// From now on copies between host and device are made by AscendCL's own call, found in the process's global scope, and
// what zeroes is a kernel. Throws where there is no AscendCL.
void use_ascendcl();

// ---- memory.cpp

// Device memory. A freed block goes back to the list of the stream it was allocated on, and is reused there
// without waiting: what used it was queued before.
c10::Allocator *device_allocator();
// As device_allocator, but the profiler is not told: for memory that only might become a tensor's.
c10::DataPtr allocate_quietly(size_t bytes, int device, flagsim_stream *stream, c10::Device shown_as);
// The same, but only what lies idle: an empty DataPtr where that is nothing. Makes no call of the simulator.
c10::DataPtr allocate_idle(size_t bytes, flagsim_stream *stream, c10::Device shown_as);
// Tells the profiler of memory that came from allocate_quietly and is a tensor's from now on.
void announce(const c10::DataPtr &memory);
bool owns(const c10::DataPtr &memory);
// Frees what was allocated here and begins at this address; false: nothing was.
bool give_back(void *pointer) noexcept;
// Gives the storage memory of this size with what it held, on the current stream.
void resize_storage(const c10::Storage &storage, size_t bytes);

// While a stream is captured its allocations belong to the graph, until release.
int begin_graph_memory(flagsim_stream *stream);
void end_graph_memory(flagsim_stream *stream);
void release_graph_memory(int graph);

c10::Allocator *pinned_allocator();
bool is_pinned(const void *pointer);
// Memory of either kind at this address is in use by `stream` until what is queued there when it is freed has
// run.
void memory_used_on(const void *pointer, flagsim_stream *stream);

// ---- sizes.cpp

struct Result {
    c10::DimVector sizes;
    c10::ScalarType type;
    bool defined;
};
// False: the operator must run before anybody knows. `operation` is the name without namespace and
// underscore.
bool known_results(const std::string &operation, c10::ArrayRef<c10::IValue> given,
                   std::vector<Result> &results);

// ---- kernels.cpp

// Storages of the device and the CPU storages that stand for them in one call, so that tensors which share
// one share the other.
struct StorageAliases {
    struct Pair {
        c10::Storage device, host;
    };
    c10::SmallVector<Pair, 8> pairs;
};
// A tensor of torch's CPU on the same memory, without owning it. `aliases` may be NULL.
at::Tensor host_alias(const at::Tensor &tensor, StorageAliases *aliases);
// Carries over what sizes and type do not tell: conjugate, negative, a number in a tensor.
void copy_bits(const at::Tensor &from, const at::Tensor &to);

// Serves a CPU kernel's allocations from device memory.
class Server {
  public:
    virtual ~Server() = default;
    // An empty DataPtr: torch's own allocator shall serve. The context is the pointer itself, since torch
    // keeps nothing else of a raw allocation.
    virtual c10::DataPtr allocate(size_t bytes) = 0;
    // Takes memory back that it served; false: it is not its own.
    virtual bool take_back(void *pointer) = 0;
};
// Sets who serves the kernel that runs on the calling stream's thread; NULL: torch's own allocator.
void serve(Server *server);
Server *served_by();
class ServedBy {
  public:
    explicit ServedBy(Server *server) {
        serve(server);
    }
    ~ServedBy() {
        serve(nullptr);
    }
    ServedBy(const ServedBy &) = delete;
    ServedBy &operator=(const ServedBy &) = delete;
};

// What is shown of a kernel: its name says the operation and the type, its geometry the elements.
flagsim_kernel_info describe(const std::string &operation, c10::ScalarType type, int64_t elements);
// FLAGOS_LAUNCH_BLOCKING=1
bool launches_block();
// An error in `body` is kept for the next wait.
void launch_and_forget(int device, std::function<void()> body, const flagsim_kernel_info &info);
// Returns when `body` has run, or throws what it threw. What it allocates is device memory.
void launch_and_wait(int device, std::function<void()> body, const flagsim_kernel_info &info);
// A kernel of the backend's own, shown with the type and size of `shape`.
void launch(const char *operation, const at::Tensor &shape, std::function<void()> body);

// ---- fallback.cpp

// How often a kernel kept its result in memory that the device does not own, so that it had to be copied.
int64_t results_copied();

} // namespace flagos
