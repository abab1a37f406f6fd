// fields.cc - a table of argument keys: which kinds have them, which bit says so, how each is written.
//
// The keys and their order are torch-cuda's (CuptiActivity's metadata as the trace of an H200 shows it), so
// that a tool finds what it looks for. A field that the vendor does not have is left out. "External id" is
// not here: Kineto writes it by itself from `linked`, and a second one would be a duplicate key.

#include "kineto/fields.h"

#include "kineto/text.h"

#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <string_view>

namespace flagprof {
namespace {

struct Subject {
    const Handover &handover;
    const fp_record &record;
};

template <typename Number> void append(std::string &out, Number number) {
    fmt::format_to(std::back_inserter(out), "{}", number);
}

void append_triple(std::string &out, uint32_t x, uint32_t y, uint32_t z) {
    fmt::format_to(std::back_inserter(out), "[{}, {}, {}]", x, y, z);
}

// Each writer appends one value, or returns false where the value cannot be known.
using Writer = bool (*)(std::string &out, const Subject &subject);

// A value other than 0 comes as an extra of the same key, which takes this one's place.
bool queued(std::string &out, const Subject &) {
    out += '0';
    return true;
}

bool device(std::string &out, const Subject &subject) {
    append(out, subject.record.device);
    return true;
}

bool stream(std::string &out, const Subject &subject) {
    append(out, subject.record.stream);
    return true;
}

bool kernel_context(std::string &out, const Subject &subject) {
    append(out, subject.record.u.kernel.context);
    return true;
}

bool transfer_context(std::string &out, const Subject &subject) {
    append(out, subject.record.u.transfer.context);
    return true;
}

bool correlation(std::string &out, const Subject &subject) {
    append(out, subject.record.vendor_id);
    return subject.record.vendor_id != 0;
}

bool registers(std::string &out, const Subject &subject) {
    append(out, subject.record.u.kernel.registers_per_thread);
    return true;
}

bool shared_memory(std::string &out, const Subject &subject) {
    append(out, subject.record.u.kernel.shared_bytes);
    return true;
}

// Kineto computes both in single precision, in this order.
float blocks_a_multiprocessor(const Subject &subject, int multiprocessors) {
    const auto &kernel = subject.record.u.kernel;
    auto blocks = static_cast<float>(static_cast<uint64_t>(kernel.grid_x) * kernel.grid_y * kernel.grid_z);
    return blocks / static_cast<float>(multiprocessors);
}

// torch-cuda writes these two with six decimals: 0.007576 [MEASURED, torch 2.11].
void append_fixed(std::string &out, float value) {
    char text[64];
    int length = std::snprintf(text, sizeof(text), "%.6f", static_cast<double>(value));
    out.append(text, length > 0 ? static_cast<size_t>(length) : 0);
}

bool blocks_per_sm(std::string &out, const Subject &subject) {
    int multiprocessors = subject.handover.multiprocessors(subject.record.device);
    if (!multiprocessors)
        return false;
    append_fixed(out, blocks_a_multiprocessor(subject, multiprocessors));
    return true;
}

bool warps_per_sm(std::string &out, const Subject &subject) {
    int multiprocessors = subject.handover.multiprocessors(subject.record.device);
    int warp = subject.handover.warp_size(subject.record.device);
    if (!multiprocessors || !warp)
        return false;
    const auto &kernel = subject.record.u.kernel;
    auto threads =
        static_cast<float>(static_cast<uint32_t>(kernel.block_x) * kernel.block_y * kernel.block_z);
    append_fixed(out, blocks_a_multiprocessor(subject, multiprocessors) * threads / static_cast<float>(warp));
    return true;
}

bool grid(std::string &out, const Subject &subject) {
    const auto &kernel = subject.record.u.kernel;
    append_triple(out, kernel.grid_x, kernel.grid_y, kernel.grid_z);
    return true;
}

bool block(std::string &out, const Subject &subject) {
    const auto &kernel = subject.record.u.kernel;
    append_triple(out, kernel.block_x, kernel.block_y, kernel.block_z);
    return true;
}

bool occupancy(std::string &out, const Subject &subject) {
    append(out, static_cast<unsigned>(subject.record.u.kernel.occupancy_percent));
    return true;
}

bool bytes(std::string &out, const Subject &subject) {
    append(out, subject.record.u.transfer.bytes);
    return true;
}

// Bytes a nanosecond are gigabytes a second. Shortest decimal that reads back equal, as Kineto writes it.
bool bandwidth(std::string &out, const Subject &subject) {
    int64_t duration_ns = subject.record.end_ns - subject.record.start_ns;
    if (duration_ns <= 0)
        out += "\"N/A\"";
    else
        append(out, static_cast<double>(subject.record.u.transfer.bytes) / static_cast<double>(duration_ns));
    return true;
}

bool cbid(std::string &out, const Subject &subject) {
    append(out, subject.record.u.call.cbid);
    return true;
}

constexpr uint32_t bit(fp_kind kind) {
    return 1u << kind;
}

constexpr uint32_t KERNEL = bit(FP_KIND_KERNEL), TRANSFER = bit(FP_KIND_MEMCPY) | bit(FP_KIND_MEMSET),
                   CALL = bit(FP_KIND_RUNTIME) | bit(FP_KIND_DRIVER), DEVICE_WORK = KERNEL | TRANSFER;

struct Field {
    uint32_t kinds;
    uint32_t has; // fp_field_bit, 0: always there
    std::string_view key;
    Writer write;
};

const Field FIELDS[] = {
    { KERNEL, FP_HAS_QUEUED, "queued", queued },
    { DEVICE_WORK, 0, "device", device },
    { KERNEL, FP_HAS_CONTEXT, "context", kernel_context },
    { TRANSFER, FP_HAS_CONTEXT, "context", transfer_context },
    { DEVICE_WORK, FP_HAS_STREAM, "stream", stream },
    { CALL, FP_HAS_CBID, "cbid", cbid },
    { DEVICE_WORK | CALL, 0, "correlation", correlation },
    { KERNEL, FP_HAS_REGISTERS, "registers per thread", registers },
    { KERNEL, FP_HAS_SHARED, "shared memory", shared_memory },
    { KERNEL, FP_HAS_GEOMETRY, "blocks per SM", blocks_per_sm },
    { KERNEL, FP_HAS_GEOMETRY, "warps per SM", warps_per_sm },
    { KERNEL, FP_HAS_GEOMETRY, "grid", grid },
    { KERNEL, FP_HAS_GEOMETRY, "block", block },
    { KERNEL, FP_HAS_OCCUPANCY, "est. achieved occupancy %", occupancy },
    { TRANSFER, FP_HAS_BYTES, "bytes", bytes },
    { TRANSFER, FP_HAS_BYTES, "memory bandwidth (GB/s)", bandwidth },
};

struct Extras {
    const fp_extra *first = nullptr;
    size_t count = 0;
};

Extras extras_of(const Handover &handover, const fp_record &record, uint32_t index) {
    Extras extras;
    if (fp_record_has(&record, FP_HAS_EXTRAS))
        extras.count = fp_recording_extras(handover.recording(), index, &extras.first);
    return extras;
}

bool extras_have(const Handover &handover, const Extras &extras, std::string_view key) {
    for (size_t at = 0; at < extras.count; at++)
        if (key == fp_recording_name(handover.recording(), extras.first[at].key.value))
            return true;
    return false;
}

void append_extra(std::string &out, const Handover &handover, const fp_extra &extra) {
    switch (extra.type) {
    case FP_EXTRA_INTEGER:
        append(out, extra.value.integer);
        return;
    case FP_EXTRA_REAL:
        if (std::isfinite(extra.value.real))
            append(out, extra.value.real);
        else
            append_quoted(out, fmt::format("{}", extra.value.real));
        return;
    case FP_EXTRA_TEXT:
        append_quoted(out, fp_recording_name(handover.recording(), extra.value.text.value));
        return;
    case FP_EXTRA_JSON:
        append_value(out, fp_recording_name(handover.recording(), extra.value.text.value));
        return;
    }
    out += "\"\"";
}

// torch takes an event for its own when it finds this key.
constexpr std::string_view FORBIDDEN_KEY = "Ev Idx";

void append_key(std::string &out, std::string_view key) {
    if (!out.empty())
        out += ", ";
    append_quoted(out, key);
    out += ": ";
}

} // namespace

std::string render_fields(const Handover &handover, const fp_record &record, uint32_t index) {
    std::string out;
    Subject subject{ handover, record };
    Extras extras = extras_of(handover, record, index);
    uint32_t kind = bit(fp_record_kind(&record));
    for (const Field &field : FIELDS) {
        if (!(field.kinds & kind) ||
            (field.has && !fp_record_has(&record, static_cast<fp_field_bit>(field.has))))
            continue;
        if (extras.count && extras_have(handover, extras, field.key))
            continue;
        size_t before = out.size();
        append_key(out, field.key);
        if (!field.write(out, subject))
            out.resize(before);
    }
    for (size_t at = 0; at < extras.count; at++) {
        std::string_view key = fp_recording_name(handover.recording(), extras.first[at].key.value);
        if (key == FORBIDDEN_KEY)
            continue;
        append_key(out, key);
        append_extra(out, handover, extras.first[at]);
    }
    return out;
}

} // namespace flagprof
