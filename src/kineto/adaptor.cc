// adaptor.cc - what the Python package calls in this library, and the profiler that Kineto asks for sessions.
//
// In:  a loaded libtorch_cpu.so of exactly the build that this was compiled for, a loaded libflagprof.so.
// Out: from flagprof_adaptor_register on, a Session for each profile that passes the gate. Registered
//      once in a process: Kineto never forgets a factory, and a second one would double every event.

#include "kineto/session.h"
#include "kineto/text.h"

#include "flagprof/log.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

namespace flagprof {
namespace {

// What the profile that torch prepares is for. The set of activities cannot tell: a CUDA profile asks for the
// same types as one of PrivateUse1, and one of the CPU alone asks for PRIVATEUSE1_RUNTIME.
enum Gate { SHUT, PRIVATEUSE1, CUDA };
std::atomic<int> gate{ SHUT };

// torch takes a renamed PrivateUse1 for the accelerator of the process and asks its guard in every
// backward(); where no backend brought one, backward() would fail. Ours has no device, so torch asks it
// nothing more.
struct NoDeviceGuard : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1> {
    c10::DeviceIndex deviceCount() const noexcept override {
        return 0;
    }
};

// Once a process has profiled, Kineto has a thread that waits for configurations. A forked child has not that
// thread, and the destructor of what it waits for never returns: a child that exits hangs. So a child leaves
// before it comes to that, with its own status, after the handlers that it registered itself and with its
// output written.
std::atomic<bool> profiled{ false };

void leave(int status, void *) {
    fflush(nullptr);
    _exit(status);
}

void in_child() {
    if (profiled.load(std::memory_order_relaxed))
        on_exit(leave, nullptr);
}

class Profiler final : public libkineto::IActivityProfiler {
  public:
    const std::string &name() const override {
        return name_;
    }

    // Nobody reads it; it says what a session can bring.
    const std::set<libkineto::ActivityType> &availableActivities() const override {
        return activities_;
    }

    std::unique_ptr<libkineto::IActivityProfilerSession>
    configure(const std::set<libkineto::ActivityType> &types, const libkineto::Config &) override {
        try {
            return make_session(types);
        } catch (...) {
            fp_warn("no memory for a recording: the device's rows of this trace will be missing");
            return nullptr;
        }
    }

    std::unique_ptr<libkineto::IActivityProfilerSession>
    configure(int64_t, int64_t, const std::set<libkineto::ActivityType> &types,
              const libkineto::Config &config) override {
        return configure(types, config);
    }

  private:
    std::unique_ptr<libkineto::IActivityProfilerSession>
    make_session(const std::set<libkineto::ActivityType> &types) {
        profiled.store(true, std::memory_order_relaxed);
        int open = gate.load(std::memory_order_relaxed);
        bool device = types.count(libkineto::ActivityType::CONCURRENT_KERNEL) != 0;
        fp_log("kineto", "configure: %zu activity types, %s", types.size(),
               open == SHUT ? "not a profile of our device"
               : device     ? "for our device"
                            : "no device activity asked for");
        if (open == SHUT || !device)
            return nullptr;
        fp_accelerator *accelerator = nullptr;
        fp_error error{};
        if (fp_accelerator_choose(&accelerator, &error) != 0) {
            fp_warn_once("no accelerator", "no usable accelerator, the device is not recorded: %s",
                         error.text);
            return std::make_unique<Session>(nullptr, error.text, open == CUDA);
        }
        return std::make_unique<Session>(accelerator, "", open == CUDA);
    }

    const std::string name_ = "flagprof";
    const std::set<libkineto::ActivityType> activities_{
        libkineto::ActivityType::GPU_MEMCPY,
        libkineto::ActivityType::GPU_MEMSET,
        libkineto::ActivityType::CONCURRENT_KERNEL,
        libkineto::ActivityType::GPU_USER_ANNOTATION,
        libkineto::ActivityType::PRIVATEUSE1_RUNTIME,
        libkineto::ActivityType::PRIVATEUSE1_DRIVER,
        libkineto::ActivityType::OVERHEAD,
    };
};

int copy_out(const std::string &text, char *out, size_t capacity) {
    if (capacity) {
        size_t length = text.size() < capacity - 1 ? text.size() : capacity - 1;
        memcpy(out, text.data(), length);
        out[length] = '\0';
    }
    return static_cast<int>(text.size());
}

} // namespace
} // namespace flagprof

extern "C" {

// Kineto will ask us at each profile from the next one on. Does it once; later calls do nothing.
FP_API void flagprof_adaptor_register(void) {
    static std::atomic<bool> done{ false };
    if (done.exchange(true))
        return;
    pthread_atfork(nullptr, nullptr, flagprof::in_child);
    libkineto::api().registerProfilerFactory([] { return std::make_unique<flagprof::Profiler>(); });
    fp_log("kineto", "registered with torch %s", FLAGPROF_TORCH_VERSION);
}

// What the profile that torch prepares next is for: 0 not our device, 1 PrivateUse1, 2 CUDA.
FP_API void flagprof_adaptor_gate(int device) {
    flagprof::gate.store(device, std::memory_order_relaxed);
}

// To be called before PrivateUse1 is renamed by us: gives it a guard if no backend has. A backend that comes
// later puts its own in this one's place.
FP_API void flagprof_adaptor_guard(void) {
    static flagprof::NoDeviceGuard guard; // torch keeps the pointer for the life of the process
    if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::PrivateUse1))
        c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::PrivateUse1, &guard);
}

// Keeps Kineto's own CUPTI off for the life of the process. 0; -EALREADY when Kineto is up already and cannot
// be told any more.
FP_API int flagprof_adaptor_keep_cpu_only(void) {
    if (libkineto::api().isProfilerRegistered())
        return -EALREADY;
    libkineto::api().suppressLogMessages();
    libkineto_init(/*cpuOnly=*/true, /*logOnError=*/true);
    libkineto::api().suppressLogMessages();
    return 0;
}

// "2.13.0+cpu 0123456789ab...": the torch that this library was compiled for.
FP_API const char *flagprof_adaptor_torch(void) {
    return FLAGPROF_TORCH_VERSION " " FLAGPROF_TORCH_GIT;
}

// The last recording's ledger, window and notes as members of a JSON object. As snprintf: the length is
// returned.
FP_API int flagprof_adaptor_findings(char *out, size_t capacity) {
    return flagprof::copy_out(flagprof::last_findings(), out, capacity);
}

// For tests: text.h's functions on any bytes.
FP_API int flagprof_adaptor_safe(const char *text, size_t length, char *out, size_t capacity) {
    return flagprof::copy_out(flagprof::safe({ text, length }), out, capacity);
}

FP_API int flagprof_adaptor_value(const char *text, size_t length, char *out, size_t capacity) {
    std::string value;
    flagprof::append_value(value, { text, length });
    return flagprof::copy_out(value, out, capacity);
}

} // extern "C"
