// rows.cc - lanes and devices by name (rows.h).

#include "kineto/rows.h"

#include "kineto/text.h"

#include <fmt/format.h>
#include <fstream>

namespace flagprof {
namespace {

// The name that a thread has now; "" when it has ended.
std::string thread_name(uint32_t thread) {
    std::ifstream file(fmt::format("/proc/self/task/{}/comm", thread));
    std::string name;
    std::getline(file, name);
    return safe(name);
}

libkineto::DeviceInfo device_row(int64_t ordinal) {
    std::string process = safe(libkineto::processName(libkineto::processId()));
    return device_info<libkineto::DeviceInfo>(ordinal, libkineto::kExceedMaxPid + ordinal, process,
                                              fmt::format("GPU {}", ordinal));
}

// One number of a device; 0 or less means that the vendor does not say it, and it is left out.
struct Property {
    const char *key;
    int64_t (*value)(const fp_device &device);
};

const Property PROPERTIES[] = {
    { "totalGlobalMem", [](const fp_device &d) { return static_cast<int64_t>(d.total_memory_bytes); } },
    { "computeMajor", [](const fp_device &d) -> int64_t { return d.compute_major; } },
    // The minor version may be 0 where the major is known.
    { "computeMinor", [](const fp_device &d) -> int64_t { return d.compute_minor; } },
    { "maxThreadsPerBlock", [](const fp_device &d) -> int64_t { return d.max_threads_per_block; } },
    { "maxThreadsPerMultiprocessor",
      [](const fp_device &d) -> int64_t { return d.max_threads_per_multiprocessor; } },
    { "regsPerBlock", [](const fp_device &d) -> int64_t { return d.registers_per_block; } },
    { "warpSize", [](const fp_device &d) -> int64_t { return d.warp_size; } },
    { "sharedMemPerBlock", [](const fp_device &d) { return d.shared_per_block_bytes; } },
    { "numSms", [](const fp_device &d) -> int64_t { return d.multiprocessors; } },
    { "regsPerMultiprocessor", [](const fp_device &d) -> int64_t { return d.registers_per_multiprocessor; } },
    { "sharedMemPerBlockOptin", [](const fp_device &d) { return d.shared_per_block_optin_bytes; } },
    { "sharedMemPerMultiprocessor", [](const fp_device &d) { return d.shared_per_multiprocessor_bytes; } },
};

std::string one_device(uint32_t ordinal, const fp_device &device) {
    std::string out = fmt::format("{{\"id\": {}, \"name\": ", ordinal);
    append_quoted(out, device.name);
    for (const Property &property : PROPERTIES) {
        int64_t value = property.value(device);
        bool minor_of_known = property.key == std::string_view("computeMinor") && device.compute_major > 0;
        if (value > 0 || (minor_of_known && value == 0))
            out += fmt::format(", \"{}\": {}", property.key, value);
    }
    return out + "}";
}

} // namespace

void Lanes::name(libkineto::ActivityLogger &logger, int64_t process, int64_t time_ns) const {
    for (const Lane &lane : seen_) {
        bool host = lane.sort == 1;
        if (host && named_by_torch_.count(lane.resource))
            continue;
        int64_t device = host ? process : static_cast<int64_t>(lane.device);
        std::string name = host ? fmt::format("thread {} ({})", lane.resource, thread_name(lane.resource))
                                : fmt::format("stream {} ", lane.resource);
        logger.handleResourceInfo(
            resource_info<libkineto::ResourceInfo>(device, lane.resource, lane.resource, std::move(name)),
            time_ns);
    }
}

std::unique_ptr<libkineto::DeviceInfo> first_device_row() {
    return std::make_unique<libkineto::DeviceInfo>(device_row(0));
}

void name_devices(libkineto::ActivityLogger &logger, fp_accelerator *accelerator, int64_t time_ns) {
    int count = fp_accelerator_device_count(accelerator);
    for (int ordinal = 1; ordinal < count; ordinal++)
        logger.handleDeviceInfo(device_row(ordinal), time_ns);
}

std::string device_properties(fp_accelerator *accelerator) {
    std::string out;
    int count = fp_accelerator_device_count(accelerator);
    for (int ordinal = 0; ordinal < count; ordinal++) {
        fp_device device{};
        device.size = sizeof(device);
        if (fp_accelerator_device(accelerator, static_cast<uint32_t>(ordinal), &device) != 0)
            continue;
        if (!out.empty())
            out += ", ";
        out += one_device(static_cast<uint32_t>(ordinal), device);
    }
    return out;
}

} // namespace flagprof
