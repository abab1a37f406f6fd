// kernels.cpp - how a piece of work on the CPU becomes a kernel of the device.
//
// In:  a function that works on host aliases of device memory; what is to be shown of it.
// Out: one launch on the current stream; the function runs on the stream's thread, below autograd and
//      unseen by torch's profiler. Whether the host waits is the caller's choice.
//
// Also here: the CPU allocator that stands before torch's own, so that a kernel's results lie in device
// memory.
#include "backend.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <shared_mutex>
#include <unordered_map>

// libgomp's; torch's CPU library brings it. Each stream computes on its own thread alone.
extern "C" void omp_set_num_threads(int) __attribute__((weak));

namespace flagos {

// ---- the same memory as a tensor of the CPU

namespace {

void keep_memory(void *) {}

c10::Storage host_storage(const c10::Storage &device, StorageAliases *aliases) {
    if (aliases)
        for (auto &pair : aliases->pairs)
            if (pair.device.unsafeGetStorageImpl() == device.unsafeGetStorageImpl())
                return pair.host;
    void *memory = device.unsafeGetStorageImpl()->mutable_data();
    c10::Storage host(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), device.nbytes(),
        c10::DataPtr(memory, memory, &keep_memory, c10::Device(c10::DeviceType::CPU)), c10::GetCPUAllocator(),
        true));
    if (aliases)
        aliases->pairs.push_back({ device, host });
    return host;
}

} // namespace

void copy_bits(const at::Tensor &from, const at::Tensor &to) {
    if (from.unsafeGetTensorImpl()->is_wrapped_number())
        to.unsafeGetTensorImpl()->set_wrapped_number(true);
    if (from.is_conj())
        to._set_conj(true);
    if (from.is_neg())
        to._set_neg(true);
}

at::Tensor host_alias(const at::Tensor &tensor, StorageAliases *aliases) {
    auto alias = at::detail::make_tensor<c10::TensorImpl>(
        host_storage(tensor.storage(), aliases), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
    alias.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                       tensor.storage_offset());
    copy_bits(tensor, alias);
    return alias;
}

// ---- kernels

namespace {

// Between a launch and the host thread that waits for its result. Where no idle memory fits, the kernel asks
// here and the host thread allocates, so that the call belongs to the operator that is being recorded.
class Meeting final : public Server {
  public:
    Meeting(int device, flagsim_stream *stream) : device_(device), stream_(stream) {}

    c10::DataPtr allocate(size_t bytes) override { // on the stream's thread
        auto idle = allocate_idle(bytes, stream_, c10::Device(c10::DeviceType::CPU));
        if (idle)
            return idle;
        std::unique_lock<std::mutex> hold(lock_);
        wanted_ = bytes;
        turn_.notify_all();
        turn_.wait(hold, [this] { return wanted_ == 0; });
        if (memory_error_)
            std::rethrow_exception(std::exchange(memory_error_, nullptr));
        return std::move(memory_);
    }

    bool take_back(void *pointer) override {
        return give_back(pointer);
    }

    void finish(std::exception_ptr error) noexcept { // on the stream's thread
        std::lock_guard<std::mutex> hold(lock_);
        error_ = std::move(error);
        done_ = true;
        turn_.notify_all();
    }

    void wait() { // on the host thread
        std::unique_lock<std::mutex> hold(lock_);
        for (;;) {
            turn_.wait(hold, [this] { return done_ || wanted_ > 0; });
            if (wanted_ == 0)
                break;
            try {
                memory_ = allocate_quietly(wanted_, device_, stream_, c10::Device(c10::DeviceType::CPU));
            } catch (...) {
                memory_error_ = std::current_exception();
            }
            wanted_ = 0;
            turn_.notify_all();
        }
        if (error_)
            std::rethrow_exception(error_);
    }

  private:
    const int device_;
    flagsim_stream *const stream_;
    std::mutex lock_;
    std::condition_variable turn_;
    size_t wanted_ = 0;
    c10::DataPtr memory_;
    std::exception_ptr memory_error_, error_;
    bool done_ = false;
};

// On a stream's thread: who serves the CPU kernel's allocations; NULL: torch's own allocator.
thread_local Server *serving = nullptr;

// Stands in for torch's CPU allocator and behaves as it does, except inside a kernel that makes new results.
class HostAllocator final : public c10::Allocator {
  public:
    explicit HostAllocator(c10::Allocator *torchs) : torchs_(torchs) {
        torchs_free = torchs->raw_deleter();
    }
    c10::DataPtr allocate(size_t bytes) override {
        if (serving && bytes > 0)
            if (auto served = serving->allocate(bytes))
                return served;
        return torchs_->allocate(bytes);
    }
    c10::DeleterFnPtr raw_deleter() const override {
        return torchs_free ? &free_raw : nullptr;
    }
    void copy_data(void *to, const void *from, size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }

  private:
    static void free_raw(void *pointer) {
        if (!(serving && serving->take_back(pointer)) && !give_back(pointer))
            torchs_free(pointer);
    }
    static c10::DeleterFnPtr torchs_free;
    c10::Allocator *torchs_;
};

c10::DeleterFnPtr HostAllocator::torchs_free = nullptr;

struct Kernel {
    std::function<void()> body;
    Meeting *meeting; // NULL: nobody waits
    int device;
};

// Runs on a stream's thread, below autograd and unseen by profilers of host operators.
void run_kernel(void *arg) {
    thread_local bool prepared = false;
    if (!prepared) {
        prepared = true;
        (void)at::get_num_threads(); // torch sets the count at its first question; ours must come after
        if (omp_set_num_threads)
            omp_set_num_threads(1);
    }
    auto *kernel = static_cast<Kernel *>(arg);
    std::exception_ptr error;
    try {
        at::AutoDispatchBelowADInplaceOrView below_autograd;
        at::DisableRecordFunctionGuard unseen;
        serving = kernel->meeting;
        kernel->body();
    } catch (...) {
        error = std::current_exception();
    }
    serving = nullptr;
    if (kernel->meeting)
        kernel->meeting->finish(std::move(error));
    else if (error)
        keep_kernel_error(kernel->device, std::move(error));
}

void destroy_kernel(void *arg) {
    delete static_cast<Kernel *>(arg);
}

// Itanium codes of the element types; none contains something that a later code could refer back to.
const char *type_code(c10::ScalarType type) {
    switch (type) {
    case c10::ScalarType::Float:
        return "f";
    case c10::ScalarType::Double:
        return "d";
    case c10::ScalarType::Half:
        return "N3c104HalfE";
    case c10::ScalarType::BFloat16:
        return "N3c108BFloat16E";
    case c10::ScalarType::Int:
        return "i";
    case c10::ScalarType::Long:
        return "l";
    case c10::ScalarType::Short:
        return "s";
    case c10::ScalarType::Char:
        return "a";
    case c10::ScalarType::Byte:
        return "h";
    case c10::ScalarType::Bool:
        return "b";
    case c10::ScalarType::ComplexFloat:
        return "N3c107complexIfEE";
    case c10::ScalarType::ComplexDouble:
        return "N3c107complexIdEE";
    default:
        return "v";
    }
}

// void flagos::add<float>(float*, long), mangled as a compiler would.
const char *kernel_name(const std::string &operation, c10::ScalarType type) {
    static std::shared_mutex lock;
    static auto *names = new std::unordered_map<std::string, const char *>();
    const std::string mangled =
        "_ZN6flagos" + std::to_string(operation.size()) + operation + "I" + type_code(type) + "EEvPT_l";
    {
        std::shared_lock<std::shared_mutex> hold(lock);
        auto found = names->find(mangled);
        if (found != names->end())
            return found->second;
    }
    std::unique_lock<std::shared_mutex> hold(lock);
    return names->emplace(mangled, flagsim_intern(mangled.c_str())).first->second;
}

bool is_matrix_product(const std::string &operation) {
    return operation.size() >= 2 && operation.compare(operation.size() - 2, 2, "mm") == 0;
}

const bool allocator_installed = [] {
    c10::SetCPUAllocator(new HostAllocator(c10::GetCPUAllocator()));
    return true;
}();

} // namespace

void serve(Server *server) {
    serving = server;
}

Server *served_by() {
    return serving;
}

// Geometry as a compiler's and a library's kernels would have it: four elements a thread; matrix products in
// tiles of 128 by 64 with their operands in shared memory.
flagsim_kernel_info describe(const std::string &operation, c10::ScalarType type, int64_t elements) {
    flagsim_kernel_info info = {};
    info.name = kernel_name(operation, type);
    info.block[0] = 128;
    info.block[1] = info.block[2] = 1;
    info.grid[1] = info.grid[2] = 1;
    const bool product = is_matrix_product(operation);
    const int64_t per_block = product ? 128 * 64 : 128 * 4;
    info.grid[0] = static_cast<uint32_t>(std::max<int64_t>(1, (elements + per_block - 1) / per_block));
    info.registers = product ? 168 : 16 + 8 * (std::hash<std::string>()(operation) % 5);
    info.shared_static_bytes = product ? 18816 : 0;
    // Libraries of matrix products launch some of their kernels below the runtime.
    if (operation == "addmm" || operation == "baddbmm")
        info.flags |= FLAGSIM_LAUNCH_LOW_LEVEL;
    return info;
}

bool launches_block() {
    static const bool blocking = [] {
        const char *value = std::getenv("FLAGOS_LAUNCH_BLOCKING");
        return value != nullptr && std::strcmp(value, "1") == 0;
    }();
    return blocking;
}

void launch_and_forget(int device, std::function<void()> body, const flagsim_kernel_info &info) {
    auto *stream = current_stream(device);
    auto *kernel = new Kernel{ std::move(body), nullptr, device };
    std::lock_guard<std::mutex> hold(enqueue_lock(stream));
    check(flagsim_launch_owned(stream, &run_kernel, kernel, &destroy_kernel, &info), "kernel launch");
}

void launch_and_wait(int device, std::function<void()> body, const flagsim_kernel_info &info) {
    auto *stream = current_stream(device);
    TORCH_CHECK(!flagsim_stream_is_capturing(stream),
                "flagos: an operator whose result the host must see cannot be captured in a graph");
    Meeting meeting(device, stream);
    Kernel kernel{ std::move(body), &meeting, device };
    std::lock_guard<std::mutex> hold(enqueue_lock(stream));
    check(flagsim_launch(stream, &run_kernel, &kernel, 0, &info), "kernel launch");
    meeting.wait();
}

void launch(const char *operation, const at::Tensor &shape, std::function<void()> work) {
    const int device = shape.device().index();
    const auto info = describe(operation, shape.scalar_type(), shape.numel());
    if (launches_block())
        launch_and_wait(device, std::move(work), info);
    else
        launch_and_forget(device, std::move(work), info);
}

} // namespace flagos
