// session.cc - one profile of torch (session.h).

#include "kineto/session.h"

#include "kineto/ablation.h"
#include "kineto/rows.h"
#include "kineto/text.h"

#include "flagprof/log.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <fmt/format.h>
#include <mutex>

namespace flagprof {
namespace {

// Runs `body`; whatever it throws is said and goes no further.
template <typename Body> void guarded(const char *what, Body body) noexcept {
    try {
        body();
    } catch (const std::exception &error) {
        fp_warn("%s failed: %s. The device's rows of this trace are incomplete; the program goes on", what,
                error.what());
    } catch (...) {
        fp_warn("%s failed. The device's rows of this trace are incomplete; the program goes on", what);
    }
}

int64_t now_ns() {
    auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

template <typename Length> std::string text_of(Length write) {
    int length = write(nullptr, 0);
    if (length <= 0)
        return "";
    std::string text(static_cast<size_t>(length) + 1, '\0');
    write(text.data(), text.size());
    text.resize(static_cast<size_t>(length));
    return text;
}

// The window of a caller that does not say it.
constexpr int64_t UNKNOWN_START_NS = INT64_MIN, UNKNOWN_END_NS = INT64_MAX;

std::mutex findings_lock;

// Never destroyed: the trace may be asked for while the process ends.
std::string &findings() {
    static std::string *text = new std::string;
    return *text;
}

void keep_findings(const fp_recording *recording, int64_t start_ns, int64_t end_ns) {
    fp_ledger ledger{};
    ledger.size = sizeof(ledger);
    fp_recording_ledger(recording, &ledger);
    std::string json = text_of([&](char *text, size_t size) { return fp_ledger_json(&ledger, text, size); });
    std::string out = fmt::format("\"flagprof_ledger\": {}", json.empty() ? "{}" : json);
    if (start_ns != UNKNOWN_START_NS)
        out += fmt::format(", \"flagprof_window\": {{\"start_ns\": {}, \"end_ns\": {}}}", start_ns, end_ns);
    std::string notes = fp_recording_notes(recording);
    if (!notes.empty()) {
        out += ", \"flagprof_notes\": ";
        append_quoted(out, notes);
    }
    std::lock_guard<std::mutex> hold(findings_lock);
    findings() = std::move(out);
}

// Where nothing was recorded, the ledger is the reason.
void keep_reason(const std::string &reason) {
    std::string out = "\"flagprof_ledger\": {\"not_recorded\": ";
    append_quoted(out, reason);
    out += "}";
    std::lock_guard<std::mutex> hold(findings_lock);
    findings() = std::move(out);
}

void say_findings(const fp_recording *recording) {
    fp_ledger ledger{};
    ledger.size = sizeof(ledger);
    fp_recording_ledger(recording, &ledger);
    if (!ledger.complete)
        fp_warn("%s", text_of([&](char *text, size_t size) {
                          return fp_ledger_sentence(&ledger, text, size);
                      }).c_str());
}

} // namespace

std::string last_findings() {
    std::lock_guard<std::mutex> hold(findings_lock);
    return findings();
}

Session::Session(fp_accelerator *accelerator, std::string reason, bool as_cuda)
    : accelerator_(accelerator), reason_(std::move(reason)), as_cuda_(as_cuda) {
    {
        // What an earlier recording found is not this one's.
        std::lock_guard<std::mutex> hold(findings_lock);
        findings().clear();
    }
    if (ablated("early_start"))
        start_recording();
}

Session::~Session() {
    if (!recording_)
        return;
    // Kineto threw the session away without stopping it, as it does when another profile begins inside this
    // one.
    fp_recording_stop(recording_, 0, nullptr);
    fp_recording_free(recording_);
}

void Session::start() {
    if (!recording_)
        start_recording();
}

void Session::start_recording() {
    if (!accelerator_)
        return;
    fp_recording_options options{};
    options.size = sizeof(options);
    fp_error error{};
    int result = fp_recording_start(accelerator_, &options, &recording_, &error);
    if (result != 0) {
        recording_ = nullptr;
        reason_ = error.text[0] ? error.text : fmt::format("the recording did not start (error {})", -result);
        fp_warn("the device is not recorded: %s", reason_.c_str());
    }
    fp_log("kineto", "start: %s", result == 0 ? "recording" : reason_.c_str());
}

void Session::stop() {
    if (!recording_)
        return;
    fp_error error{};
    int result = fp_recording_stop(recording_, 0, &error);
    fp_log("kineto", "stop: %s", result == 0 ? "done" : error.text);
}

std::vector<std::string> Session::errors() {
    return {};
}

void Session::processTrace(libkineto::ActivityLogger &logger) {
    guarded("handing the recording to torch",
            [&] { finish(logger, nullptr, UNKNOWN_START_NS, UNKNOWN_END_NS); });
}

void Session::processTrace(libkineto::ActivityLogger &logger,
                           libkineto::getLinkedActivityCallback linked_activity, int64_t start_ns,
                           int64_t end_ns) {
    if (ablated("one_argument")) {
        processTrace(logger);
        return;
    }
    guarded("handing the recording to torch", [&] { finish(logger, linked_activity, start_ns, end_ns); });
}

void Session::finish(libkineto::ActivityLogger &logger,
                     const libkineto::getLinkedActivityCallback &linked_activity, int64_t start_ns,
                     int64_t end_ns) {
    if (!recording_ && !reason_.empty())
        keep_reason(reason_);
    if (!recording_)
        return;
    if (!linked_activity)
        fp_warn(
            "torch gave no way to find operators by their id: the device's time will belong to no operator");
    start_ns_ = start_ns;
    end_ns_ = end_ns;
    bool unfiltered = ablated("no_window");
    fp_error error{};
    int result = fp_recording_finish(recording_, unfiltered ? UNKNOWN_START_NS : start_ns,
                                     unfiltered ? UNKNOWN_END_NS : end_ns, &error);
    if (result != 0)
        fp_log("kineto", "the recording is incomplete: %s", error.text);
    handover_ = std::make_unique<Handover>(std::exchange(recording_, nullptr), as_cuda_);
    keep_findings(handover_->recording(), start_ns, end_ns);
    say_findings(handover_->recording());
    int64_t rows_at_ns = start_ns != UNKNOWN_START_NS ? start_ns : now_ns();
    name_devices(logger, accelerator_, rows_at_ns);
    auto before = std::chrono::steady_clock::now();
    HandoverCount count = handover_->give(logger, linked_activity, rows_at_ns);
    std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - before;
    fp_log("kineto",
           "window [%lld, %lld]: %zu activities handed over in %lld ns, %zu of them linked, %zu ranges",
           static_cast<long long>(start_ns), static_cast<long long>(end_ns), count.activities,
           static_cast<long long>(spent.count()), count.linked, count.ranges);
}

std::unique_ptr<libkineto::DeviceInfo> Session::getDeviceInfo() {
    return first_device_row();
}

std::vector<libkineto::ResourceInfo> Session::getResourceInfos() {
    return {};
}

// Kineto shows the buffer's span as a row of its own: it is the window that FlagProf was given.
std::unique_ptr<libkineto::CpuTraceBuffer> Session::getTraceBuffer() {
    std::unique_ptr<libkineto::CpuTraceBuffer> buffer;
    if (!handover_)
        return buffer;
    guarded("handing the recording's memory to torch", [&] {
        buffer = std::make_unique<libkineto::CpuTraceBuffer>();
        // Start 0 lets Kineto put in its own; the end must not lie before it.
        bool known = start_ns_ != UNKNOWN_START_NS;
        buffer->span =
            libkineto::TraceSpan(known ? start_ns_ : 0, known ? end_ns_ : now_ns(), "FlagProf window");
        buffer->span.iteration = 0;
        buffer->gpuOpCount = 0;
        buffer->activities.push_back(std::make_unique<Keeper>(std::move(handover_)));
    });
    return buffer;
}

void Session::pushCorrelationId(uint64_t id) {
    fp_push(FP_ID_OPERATOR, id);
}

void Session::popCorrelationId() {
    fp_pop(FP_ID_OPERATOR);
}

void Session::pushUserCorrelationId(uint64_t id) {
    fp_push(FP_ID_RANGE, id);
}

void Session::popUserCorrelationId() {
    fp_pop(FP_ID_RANGE);
}

// A Kineto that knows CUDA lists CUDA's devices by itself, kept from its CUPTI or not [MEASURED, torch 2.11]: ours
// would stand there a second time.
std::string Session::getDeviceProperties() {
    std::string properties;
    if (accelerator_ && !as_cuda_)
        guarded("describing the devices", [&] { properties = device_properties(accelerator_); });
    return properties;
}

namespace {

void put_version(std::unordered_map<std::string, std::string> &metadata, std::string_view key,
                 uint64_t version) {
    if (version)
        metadata[std::string(key) + "_version"] = fmt::format("{}", version);
}

void put_text(std::string &object, const char *key, const char *text) {
    if (!text)
        return;
    object += fmt::format(", \"{}\": ", key);
    append_quoted(object, text);
}

// "cuda" of "cuda_runtime": the vendor's API as torch-cuda's header names it.
std::string_view api_of(std::string_view runtime_kind) {
    constexpr std::string_view TAIL = "_runtime";
    return runtime_kind.ends_with(TAIL) ? runtime_kind.substr(0, runtime_kind.size() - TAIL.size())
                                        : runtime_kind;
}

} // namespace

// What is known before the window is: the ledger and the window follow (last_findings).
std::unordered_map<std::string, std::string> Session::getMetadata() {
    std::unordered_map<std::string, std::string> metadata;
    guarded("describing the recording", [&] {
        std::string object = "{\"version\": ";
        append_quoted(object, fp_version());
        if (accelerator_) {
            fp_tracer_description description{};
            description.size = sizeof(description);
            fp_accelerator_describe(accelerator_, &description);
            put_text(object, "accelerator", fp_accelerator_name(accelerator_));
            put_text(object, "tracer", fp_accelerator_tracer(accelerator_));
            put_text(object, "library", description.library_path);
            put_text(object, "library_version", description.version);
            put_text(object, "simulated", description.simulated);
            std::string_view runtime = description.runtime_kind ? description.runtime_kind : "";
            put_version(metadata, fp_accelerator_tracer(accelerator_), description.library_version);
            if (!runtime.empty()) {
                put_version(metadata, runtime, description.runtime_version);
                put_version(metadata, std::string(api_of(runtime)) + "_driver", description.driver_version);
            }
        }
        if (!reason_.empty())
            put_text(object, "not_recorded", reason_.c_str());
        metadata["flagprof"] = object + "}";
    });
    return metadata;
}

} // namespace flagprof
