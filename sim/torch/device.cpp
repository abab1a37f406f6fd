// device.cpp - the simulated accelerator as torch sees a device: streams, events, generators.
//
// In:  torch's requests through its guard, hooks and generator interfaces.
// Out: calls of the simulator.
//
// All state lives to the end of the process and is never destroyed: torch frees tensors after static
// destructors have begun.
#include "backend.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/version.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <unordered_map>
#include <vector>

namespace flagos {

void check(int result, const char *what) {
    TORCH_CHECK(result >= 0, "flagos: ", what, " failed: ", std::strerror(-result), " (", result, ")");
}

// ---- devices and streams

namespace {

struct StreamSlot {
    std::atomic<flagsim_stream *> handle{ nullptr };
    std::mutex enqueue;
};

struct DeviceState {
    std::array<StreamSlot, kStreamsMax> streams;
    std::atomic<unsigned> next_stream{ 0 };
    std::mutex create;
    std::mutex error_lock;
    std::exception_ptr error;
    std::atomic<bool> has_error{ false };
};

std::array<DeviceState, kDevicesMax> &devices() {
    static auto *all = new std::array<DeviceState, kDevicesMax>();
    return *all;
}

thread_local std::array<c10::StreamId, kDevicesMax> chosen_streams{};

DeviceState &state_of(int device) {
    check_device(device);
    return devices()[device];
}

thread_local int the_current_device = 0;

StreamSlot &slot_of(int device, c10::StreamId id) {
    auto &state = state_of(device);
    TORCH_CHECK(id >= 0 && id < kStreamsMax, "flagos: no stream ", id);
    auto &slot = state.streams[id];
    if (slot.handle.load(std::memory_order_acquire) == nullptr) {
        std::lock_guard<std::mutex> hold(state.create);
        if (slot.handle.load(std::memory_order_relaxed) == nullptr) {
            CurrentDevice scope(device);
            flagsim_stream *made = nullptr;
            check(id == 0 ? flagsim_stream_default(device, &made) : flagsim_stream_create(&made),
                  "a new stream");
            slot.handle.store(made, std::memory_order_release);
        }
    }
    return slot;
}

} // namespace

int device_count() noexcept {
    static const int count = std::min(flagsim_device_count(), kDevicesMax);
    return count;
}

void check_device(int device) {
    TORCH_CHECK(device >= 0 && device < device_count(), "flagos: no device ", device, ", there are ",
                device_count());
}

CurrentDevice::~CurrentDevice() {
    if (the_current_device != before_ && flagsim_set_device(before_) == 0)
        the_current_device = before_;
}

int current_device() {
    return the_current_device;
}

void set_device(int device) {
    if (device == the_current_device)
        return;
    check(flagsim_set_device(device), "set device");
    the_current_device = device;
}

flagsim_stream *current_stream(int device) {
    check_device(device);
    return slot_of(device, chosen_streams[device]).handle.load(std::memory_order_acquire);
}

flagsim_stream *stream_handle(const c10::Stream &stream) {
    return slot_of(stream.device_index(), stream.id()).handle.load(std::memory_order_acquire);
}

std::mutex &enqueue_lock(flagsim_stream *stream) {
    auto &state = devices()[flagsim_stream_device(stream)];
    for (auto &slot : state.streams)
        if (slot.handle.load(std::memory_order_acquire) == stream)
            return slot.enqueue;
    TORCH_CHECK(false, "flagos: a stream that torch did not make");
}

void keep_kernel_error(int device, std::exception_ptr error) noexcept {
    auto &state = devices()[device];
    std::lock_guard<std::mutex> hold(state.error_lock);
    if (!state.error)
        state.error = std::move(error);
    state.has_error.store(true, std::memory_order_release);
}

void throw_kernel_error(int device) {
    auto &state = state_of(device);
    if (!state.has_error.load(std::memory_order_acquire))
        return;
    std::exception_ptr error;
    {
        std::lock_guard<std::mutex> hold(state.error_lock);
        error = std::exchange(state.error, nullptr);
        state.has_error.store(false, std::memory_order_release);
    }
    if (error)
        std::rethrow_exception(error);
}

namespace {

// ---- what torch's guards call

c10::Device torch_device(int index) {
    return c10::Device(kDevice, static_cast<c10::DeviceIndex>(index));
}

int index_or_current(c10::Device device) {
    return device.has_index() ? device.index() : current_device();
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override {
        return kDevice;
    }
    c10::Device exchangeDevice(c10::Device device) const override {
        const auto before = torch_device(current_device());
        set_device(index_or_current(device));
        return before;
    }
    c10::Device getDevice() const override {
        return torch_device(current_device());
    }
    void setDevice(c10::Device device) const override {
        set_device(index_or_current(device));
    }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        const int index = index_or_current(device);
        if (index != the_current_device && flagsim_set_device(index) == 0)
            the_current_device = index;
    }
    c10::DeviceIndex deviceCount() const noexcept override {
        return static_cast<c10::DeviceIndex>(device_count());
    }

    c10::Stream getStream(c10::Device device) const override {
        const int index = index_or_current(device);
        check_device(index);
        return c10::Stream(c10::Stream::UNSAFE, torch_device(index), chosen_streams[index]);
    }
    c10::Stream getDefaultStream(c10::Device device) const override {
        return c10::Stream(c10::Stream::DEFAULT, torch_device(index_or_current(device)));
    }
    c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
        const int index = index_or_current(device);
        const c10::StreamId id = 1 + state_of(index).next_stream.fetch_add(1) % (kStreamsMax - 1);
        (void)slot_of(index, id);
        return c10::Stream(c10::Stream::UNSAFE, torch_device(index), id);
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high_priority*/) const override {
        return getNewStream(device, 0);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override {
        const auto before = getStream(stream.device());
        chosen_streams[stream.device_index()] = stream.id();
        return before;
    }
    bool queryStream(const c10::Stream &stream) const override {
        return flagsim_stream_query(stream_handle(stream)) == 0;
    }
    void synchronizeStream(const c10::Stream &stream) const override {
        check(flagsim_stream_synchronize(stream_handle(stream)), "stream synchronize");
        throw_kernel_error(stream.device_index());
    }
    void synchronizeDevice(const c10::DeviceIndex device) const override {
        CurrentDevice scope(device < 0 ? current_device() : device);
        check(flagsim_device_synchronize(), "device synchronize");
        throw_kernel_error(current_device());
    }
    void recordDataPtrOnStream(const c10::DataPtr &memory, const c10::Stream &stream) const override {
        memory_used_on(memory.get(), stream_handle(stream));
    }

    void record(void **event, const c10::Stream &stream, const c10::DeviceIndex /*device*/,
                const c10::EventFlag /*flag*/) const override {
        if (*event == nullptr) {
            flagsim_event *made = nullptr;
            check(flagsim_event_create(&made), "event create");
            *event = made;
        }
        check(flagsim_event_record(static_cast<flagsim_event *>(*event), stream_handle(stream)),
              "event record");
    }
    void block(void *event, const c10::Stream &stream) const override {
        if (event != nullptr)
            check(flagsim_stream_wait_event(stream_handle(stream), static_cast<flagsim_event *>(event)),
                  "stream wait event");
    }
    bool queryEvent(void *event) const override {
        return event == nullptr || flagsim_event_query(static_cast<flagsim_event *>(event)) == 0;
    }
    void synchronizeEvent(void *event) const override {
        if (event != nullptr)
            check(flagsim_event_synchronize(static_cast<flagsim_event *>(event)), "event synchronize");
    }
    double elapsedTime(void *begin, void *end, const c10::DeviceIndex /*device*/) const override {
        int64_t elapsed_ns = 0;
        check(flagsim_event_elapsed_ns(static_cast<flagsim_event *>(begin), static_cast<flagsim_event *>(end),
                                       &elapsed_ns),
              "event elapsed time");
        return static_cast<double>(elapsed_ns) / 1e6;
    }
    void destroyEvent(void *event, const c10::DeviceIndex /*device*/) const noexcept override {
        if (event != nullptr)
            (void)flagsim_event_destroy(static_cast<flagsim_event *>(event));
    }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

// ---- random numbers: torch's CPU generator, under the device's name

class DeviceGenerator final : public c10::GeneratorImpl {
  public:
    DeviceGenerator(int device, at::Generator host)
        : c10::GeneratorImpl(torch_device(device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
          host_(std::move(host)) {}
    const at::Generator &host() const {
        return host_;
    }
    void set_current_seed(uint64_t seed) override {
        host_.set_current_seed(seed);
    }
    void set_offset(uint64_t offset) override {
        host_.set_offset(offset);
    }
    uint64_t get_offset() const override {
        return host_.get_offset();
    }
    uint64_t current_seed() const override {
        return host_.current_seed();
    }
    uint64_t seed() override {
        return host_.seed();
    }
    void set_state(const c10::TensorImpl &state) override {
        host_.unsafeGetGeneratorImpl()->set_state(state);
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        return host_.unsafeGetGeneratorImpl()->get_state();
    }

  private:
    DeviceGenerator *clone_impl() const override {
        return new DeviceGenerator(device_.index(), host_.clone());
    }
    at::Generator host_;
};

const at::Generator &default_generator(int device) {
    check_device(device);
    static auto *all = [] {
        auto *made = new std::vector<at::Generator>();
        for (int i = 0; i < device_count(); i++)
            made->push_back(at::make_generator<DeviceGenerator>(i, at::detail::createCPUGenerator()));
        return made;
    }();
    return (*all)[device];
}

// ---- what torch's generic code asks of an accelerator

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override {
        return true;
    }
    bool isAvailable() const override {
        return device_count() > 0;
    }
    bool hasPrimaryContext(c10::DeviceIndex device) const override {
        return flagsim_context_id(device) != 0;
    }
    void init() const override {
        check(flagsim_init(), "init");
    }
    c10::DeviceIndex deviceCount() const override {
        return static_cast<c10::DeviceIndex>(device_count());
    }
    void setCurrentDevice(c10::DeviceIndex device) const override {
        set_device(device);
    }
    c10::DeviceIndex getCurrentDevice() const override {
        return static_cast<c10::DeviceIndex>(current_device());
    }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
        const int before = current_device();
        set_device(device);
        return static_cast<c10::DeviceIndex>(before);
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
        return exchangeDevice(device);
    }
    c10::Allocator *getPinnedMemoryAllocator() const override {
        return pinned_allocator();
    }
    bool isPinnedPtr(const void *pointer) const override {
        return is_pinned(pointer);
    }
    c10::Device getDeviceFromPtr(void *pointer) const override {
        int device = -1;
        (void)flagsim_pointer_kind(pointer, &device, nullptr, nullptr);
        TORCH_CHECK(device >= 0, "flagos: not an address of device memory");
        return torch_device(device);
    }
    const at::Generator &getDefaultGenerator(c10::DeviceIndex device) const override {
        return default_generator(device < 0 ? current_device() : device);
    }
    at::Generator getNewGenerator(c10::DeviceIndex device) const override {
        return at::make_generator<DeviceGenerator>(device < 0 ? current_device() : device,
                                                   at::detail::createCPUGenerator());
    }
    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override {
        resize_storage(storage, bytes);
    }
};

const bool device_registered = [] {
    at::RegisterPrivateUse1HooksInterface(new Hooks());
    c10::SetAllocator(kDevice, device_allocator());
    return true;
}();

} // namespace

at::Generator host_generator(const at::Generator &given, int device) {
    const at::Generator &chosen = given.defined() ? given : default_generator(device);
    auto *own = dynamic_cast<DeviceGenerator *>(chosen.unsafeGetGeneratorImpl());
    return own ? own->host() : chosen;
}

} // namespace flagos
