// fallback.cpp - every operator that the backend has no code for: torch's CPU kernel as one launch.
//
// In:  an operator and its arguments, boxed, with tensors on the device.
// Out: one kernel on the current stream that runs torch's CPU kernel on the very same memory; no copy.
//
// Operators that only write to arguments of known size do not wait. Others must tell the host the sizes of
// what they made, so the host waits; what they allocate is served from device memory by the waiting thread,
// and becomes the result's storage as it is. Most functional operators are of the first sort: torch's
// structured wrapper computes the sizes, allocates, and calls the out= form.
#include "backend.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <atomic>
#include <cstring>
#include <shared_mutex>
#include <unordered_map>

namespace flagos {

using torch::jit::Stack;

namespace {

// Memory that was allocated at the launch for results of known size. It is handed to the first allocation of
// that size; when that was something else and is freed, to the next.
class Prepared final : public Server {
  public:
    explicit Prepared(const std::vector<at::Tensor> &results) {
        for (auto &result : results)
            if (result.defined() && result.nbytes() > 0)
                places_.push_back({ result.mutable_data_ptr(), result.nbytes(), false });
    }
    c10::DataPtr allocate(size_t bytes) override {
        for (auto &place : places_)
            if (!place.taken && place.bytes == bytes) {
                place.taken = true;
                return c10::DataPtr(place.memory, place.memory, &leave, c10::Device(c10::DeviceType::CPU));
            }
        return c10::DataPtr();
    }
    bool take_back(void *pointer) override {
        for (auto &place : places_)
            if (place.memory == pointer) {
                place.taken = false;
                return true;
            }
        return false;
    }

  private:
    struct Place {
        void *memory;
        size_t bytes;
        bool taken;
    };
    static void leave(void *memory) {
        if (Server *server = served_by())
            (void)server->take_back(memory);
    }
    std::vector<Place> places_;
};

std::atomic<int64_t> copied_results{ 0 };

// What an operator's schema says of how to run it; worked out once.
struct Plan {
    std::string operation;           // aten::add_.Tensor is "add"
    std::vector<int> result_of;      // for each result the argument that it is, or -1: something new
    std::vector<bool> written;       // for each argument
    std::vector<bool> resizable;     // for each argument: written and keyword only, an out= argument
    int generator = -1;              // argument of this type
    bool only_writes_arguments;      // nothing new comes out
    bool takes_host_tensors = false; // by torch's own rules
};

bool takes_host_tensors(const std::string &name) {
    static const char *const prefixes[] = { "aten::index", "aten::_index_put_impl", "aten::_unsafe_index" };
    for (const char *prefix : prefixes)
        if (name.rfind(prefix, 0) == 0)
            return true;
    return false;
}

Plan make_plan(const c10::FunctionSchema &schema) {
    Plan plan;
    std::string name = schema.name();
    plan.takes_host_tensors = takes_host_tensors(name);
    name = name.substr(name.rfind(':') + 1);
    while (name.size() > 1 && name.back() == '_')
        name.pop_back();
    plan.operation = name;

    const auto &arguments = schema.arguments();
    bool writes = false;
    for (size_t i = 0; i < arguments.size(); i++) {
        const bool written = arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
        writes |= written;
        plan.written.push_back(written);
        plan.resizable.push_back(written && arguments[i].kwarg_only());
        const auto type = arguments[i].real_type();
        if (type->str().find("Generator") != std::string::npos)
            plan.generator = static_cast<int>(i);
    }
    plan.only_writes_arguments = writes;
    for (const auto &result : schema.returns()) {
        int source = -1;
        for (size_t i = 0; i < arguments.size() && result.alias_info(); i++)
            if (plan.written[i] && *arguments[i].alias_info() == *result.alias_info())
                source = static_cast<int>(i);
        plan.result_of.push_back(source);
        plan.only_writes_arguments &= source >= 0;
    }
    return plan;
}

const Plan &plan_of(const c10::OperatorHandle &op) {
    static std::shared_mutex lock;
    static auto *plans = new std::unordered_map<const void *, std::unique_ptr<Plan>>();
    const auto *schema = &op.schema();
    {
        std::shared_lock<std::shared_mutex> hold(lock);
        auto found = plans->find(schema);
        if (found != plans->end())
            return *found->second;
    }
    auto plan = std::make_unique<Plan>(make_plan(*schema));
    std::unique_lock<std::shared_mutex> hold(lock);
    return *plans->emplace(schema, std::move(plan)).first->second;
}

// One call: its arguments as the CPU kernel will see them, and the way back.
class Call {
  public:
    Call(const c10::OperatorHandle &op, const Plan &plan, const Stack &stack) : op_(op), plan_(plan) {
        const size_t count = op.schema().arguments().size();
        for (size_t i = 0; i < count; i++) {
            argument_ = i;
            host_.push_back(to_host(stack[stack.size() - count + i]));
        }
        TORCH_CHECK(device_ >= 0, "flagos: ", op.operator_name(), " has no argument on the device");
        if (plan.generator >= 0)
            choose_generator(stack[stack.size() - count + plan.generator]);
    }

    void run(Stack *stack) {
        CurrentDevice scope(device_);
        throw_kernel_error(device_);
        const auto info = describe(plan_.operation, type_, elements_);
        const size_t count = host_.size();
        const bool known = plan_.only_writes_arguments && !must_wait_ && !launches_block();
        if (known && elements_ > 0)
            launch_and_forget(device_, body_alone(), info);
        if (known) {
            Stack results;
            for (int source : plan_.result_of)
                results.push_back((*stack)[stack->size() - count + source]);
            replace(stack, std::move(results));
            return;
        }
        std::vector<Result> expected;
        if (!must_wait_ && !launches_block() && elements_ > 0 &&
            known_results(plan_.operation, torch::jit::last(*stack, count), expected)) {
            auto made = make_results(expected);
            launch_and_forget(device_, body_into(made), info);
            replace(stack, as_returned(std::move(made)));
            return;
        }
        Stack results;
        const bool grad = c10::GradMode::is_enabled();
        launch_and_wait(
            device_,
            [&] {
                c10::AutoGradMode mode(grad);
                results = host_;
                op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &results);
            },
            info);
        for (auto &pair : written_)
            write_back(pair);
        for (auto &result : results)
            result = to_device(result);
        replace(stack, std::move(results));
    }

  private:
    struct Written {
        at::Tensor device, host;
    };

    void replace(Stack *stack, Stack results) {
        torch::jit::drop(*stack, host_.size());
        for (auto &result : results)
            stack->push_back(std::move(result));
    }

    // ---- results of known size

    std::vector<at::Tensor> make_results(const std::vector<Result> &expected) {
        std::vector<at::Tensor> made;
        made.reserve(expected.size());
        for (auto &result : expected)
            made.push_back(result.defined
                               ? at::detail::empty_generic(result.sizes, device_allocator(),
                                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                                           result.type, std::nullopt)
                               : at::Tensor());
        return made;
    }

    bool returns_a_list() const {
        const auto &returns = op_.schema().returns();
        return returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::ListType;
    }

    Stack as_returned(std::vector<at::Tensor> made) const {
        if (returns_a_list())
            return { c10::IValue(std::move(made)) };
        return Stack(made.begin(), made.end());
    }

    std::function<void()> body_into(const std::vector<at::Tensor> &made) {
        std::vector<at::Tensor> places;
        places.reserve(made.size());
        for (auto &tensor : made)
            places.push_back(tensor.defined() ? host_alias(tensor, nullptr) : at::Tensor());
        const bool grad = c10::GradMode::is_enabled(), list = returns_a_list();
        return [op = op_, host = host_, places, grad, list] {
            c10::AutoGradMode mode(grad);
            Prepared prepared(places);
            ServedBy scope(&prepared);
            Stack work = host;
            op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &work);
            std::vector<at::Tensor> results;
            if (list)
                results = work[0].toTensorVector();
            else
                for (auto &value : work)
                    results.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
            for (size_t i = 0; i < places.size(); i++)
                settle(op, results.at(i), places[i]);
        };
    }

    // A result that does not lie in its place is moved there, inside the kernel; counted, since it should not
    // be.
    static void settle(const c10::OperatorHandle &op, const at::Tensor &result, const at::Tensor &place) {
        TORCH_CHECK(result.defined() == place.defined() &&
                        (!place.defined() ||
                         (result.sizes() == place.sizes() && result.scalar_type() == place.scalar_type())),
                    "flagos: ", op.operator_name(), " made a result of another kind than expected");
        if (!place.defined() ||
            (result.const_data_ptr() == place.const_data_ptr() && result.strides() == place.strides()))
            return;
        copied_results++;
        place.copy_(result);
    }

    // For a launch that nobody waits for: keeps what it needs, and holds out= arguments to their size.
    std::function<void()> body_alone() {
        const bool grad = c10::GradMode::is_enabled();
        return [op = op_, host = host_, written = hosts_of_written(), grad] {
            c10::AutoGradMode mode(grad);
            c10::SmallVector<c10::DimVector, 4> sizes;
            for (auto &tensor : written)
                sizes.emplace_back(tensor.sizes());
            Stack work = host;
            op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &work);
            for (size_t i = 0; i < sizes.size(); i++)
                TORCH_CHECK(written[i].sizes() == c10::IntArrayRef(sizes[i]), "flagos: ", op.operator_name(),
                            " needs an out= argument of size ", written[i].sizes(), ", got ",
                            c10::IntArrayRef(sizes[i]), "; give one of the right size, or an empty one");
        };
    }

    std::vector<at::Tensor> hosts_of_written() {
        std::vector<at::Tensor> hosts;
        for (auto &pair : written_)
            hosts.push_back(pair.host);
        return hosts;
    }

    at::Tensor to_host(const at::Tensor &tensor) {
        if (!tensor.defined())
            return tensor;
        if (tensor.device().type() != kDevice)
            return host_argument(tensor);
        const int device = tensor.device().index();
        TORCH_CHECK(device_ < 0 || device == device_,
                    "Expected all tensors to be on the same device, but found "
                    "at least two devices, flagos:",
                    device_, " and flagos:", device, " (in ", op_.operator_name(), ")");
        TORCH_CHECK(tensor.layout() == c10::kStrided, "flagos: ", op_.operator_name(),
                    " got a tensor of layout ", tensor.layout(), "; only strided ones are supported");
        if (device_ < 0)
            type_ = tensor.scalar_type();
        device_ = device;
        elements_ = std::max<int64_t>(elements_, tensor.numel());
        auto host = host_alias(tensor, &aliases_);
        if (plan_.written[argument_]) {
            written_.push_back({ tensor, host });
            must_wait_ |= plan_.resizable[argument_] && tensor.numel() == 0;
        }
        return host;
    }

    // A number in a tensor is read now, as on other devices, since the program may change it before the
    // kernel runs. Other host tensors must not change until the kernel has run, so the host waits.
    at::Tensor host_argument(const at::Tensor &tensor) {
        if (tensor.dim() == 0 && !plan_.written[argument_] && tensor.device().is_cpu()) {
            at::Tensor copy = at::detail::empty_cpu({}, tensor.scalar_type());
            std::memcpy(copy.mutable_data_ptr(), tensor.const_data_ptr(), tensor.element_size());
            copy_bits(tensor, copy);
            return copy;
        }
        TORCH_CHECK(
            plan_.takes_host_tensors && tensor.device().is_cpu(),
            "Expected all tensors to be on the same device, but found at least two devices, flagos and ",
            tensor.device(), " (in ", op_.operator_name(), ")");
        must_wait_ = true;
        return tensor;
    }

    c10::IValue to_host(const c10::IValue &value) {
        if (value.isTensor())
            return to_host(value.toTensor());
        if (value.isTensorList()) {
            c10::List<at::Tensor> list;
            for (const at::Tensor &tensor : value.toTensorVector())
                list.push_back(to_host(tensor));
            return list;
        }
        if (value.isOptionalTensorList()) {
            c10::List<std::optional<at::Tensor>> list;
            for (const auto &tensor : value.toOptionalTensorVector())
                list.push_back(tensor ? std::optional<at::Tensor>(to_host(*tensor)) : std::nullopt);
            return list;
        }
        if (value.isDevice() && value.toDevice().type() == kDevice) {
            const auto device = value.toDevice();
            if (device_ < 0)
                device_ = device.has_index() ? device.index() : current_device();
            return c10::Device(c10::DeviceType::CPU);
        }
        return value;
    }

    void choose_generator(const c10::IValue &given) {
        host_[plan_.generator] =
            host_generator(given.isGenerator() ? given.toGenerator() : at::Generator(), device_);
    }

    // ---- the way back, after a launch that was waited for

    c10::Storage to_device(const c10::Storage &host) {
        for (auto &pair : aliases_.pairs)
            if (pair.host.unsafeGetStorageImpl() == host.unsafeGetStorageImpl())
                return pair.device;
        c10::Storage device(c10::make_intrusive<c10::StorageImpl>(
            c10::StorageImpl::use_byte_size_t(), host.nbytes(), adopt(host), device_allocator(), true));
        aliases_.pairs.push_back({ device, host });
        return device;
    }

    // The memory that a CPU kernel got while it ran is device memory already and only changes its owner.
    c10::DataPtr adopt(const c10::Storage &host) {
        const c10::Device device(kDevice, static_cast<c10::DeviceIndex>(device_));
        auto *impl = host.unsafeGetStorageImpl();
        if (owns(impl->data_ptr())) {
            auto memory = impl->set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU)));
            void *const pointer = memory.get();
            auto deleter = memory.get_deleter();
            c10::DataPtr own(pointer, memory.release_context(), deleter, device);
            announce(own);
            return own;
        }
        auto own = device_allocator()->allocate(host.nbytes()); // a kernel that keeps its result elsewhere
        if (host.nbytes() > 0 && host.data() != nullptr) {
            copied_results++;
            check(flagsim_memcpy(own.get(), host.data(), host.nbytes(), FLAGSIM_COPY_HTOD), "a copy");
        }
        return own;
    }

    void write_back(Written &pair) {
        auto *device = pair.device.unsafeGetTensorImpl();
        for (auto &storages : aliases_.pairs)
            if (storages.device.unsafeGetStorageImpl() == pair.device.storage().unsafeGetStorageImpl() &&
                storages.host.data() != storages.device.data()) {
                const size_t bytes = storages.host.nbytes();
                storages.device.set_data_ptr_noswap(adopt(storages.host));
                storages.device.set_nbytes(bytes);
            }
        if (pair.device.sizes() != pair.host.sizes() || pair.device.strides() != pair.host.strides() ||
            pair.device.storage_offset() != pair.host.storage_offset())
            device->set_sizes_and_strides(pair.host.sizes(), pair.host.strides(), pair.host.storage_offset());
    }

    at::Tensor to_device(const at::Tensor &host) {
        if (!host.defined() || !host.device().is_cpu())
            return host;
        for (auto &pair : written_)
            if (pair.host.unsafeGetTensorImpl() == host.unsafeGetTensorImpl())
                return pair.device;
        TORCH_CHECK(host.layout() == c10::kStrided, "flagos: ", op_.operator_name(),
                    " made a tensor of layout ", host.layout(), "; only strided ones are supported");
        auto device = at::detail::make_tensor<c10::TensorImpl>(
            to_device(host.storage()), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), host.dtype());
        device.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(),
                                                            host.storage_offset());
        copy_bits(host, device);
        return device;
    }

    c10::IValue to_device(const c10::IValue &value) {
        if (value.isTensor())
            return to_device(value.toTensor());
        if (value.isTensorList()) {
            c10::List<at::Tensor> list;
            for (const at::Tensor &tensor : value.toTensorVector())
                list.push_back(to_device(tensor));
            return list;
        }
        return value;
    }

    c10::OperatorHandle op_;
    const Plan &plan_;
    Stack host_;
    StorageAliases aliases_;
    c10::SmallVector<Written, 2> written_;
    size_t argument_ = 0;
    int device_ = -1;
    int64_t elements_ = 0;
    c10::ScalarType type_ = c10::ScalarType::Float;
    bool must_wait_ = false;
};

void fallback(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *stack) {
    TORCH_CHECK_NOT_IMPLEMENTED(op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU),
                                "flagos: ", op.operator_name(),
                                " has no CPU kernel that the device could run");
    Call(op, plan_of(op), *stack).run(stack);
}

// Torch's own wrapper of a structured operator, asked for under a key that nobody overrides. What it calls
// inside (empty, the out= form) is not shown to profilers, as on devices whose wrappers are generated.
void structured(const c10::OperatorHandle &op, c10::DispatchKeySet, Stack *stack) {
    at::DisableRecordFunctionGuard unseen;
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse2), stack);
}

// Operators that torch would take apart for a device it does not know, and that are one kernel on others.
bool is_one_kernel(const std::string &name) {
    static const char *const names[] = { "aten::native_layer_norm", "aten::convolution",
                                         "aten::convolution_backward", "aten::native_group_norm" };
    if (name.rfind("aten::_foreach_", 0) == 0)
        return name != "aten::_foreach_copy_";
    for (const char *one : names)
        if (name == one)
            return true;
    return false;
}

void register_operators() {
    auto *library =
        new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    auto &dispatcher = c10::Dispatcher::singleton();
    for (const auto &name : dispatcher.getAllOpNames()) {
        if (name.name.rfind("aten::", 0) != 0)
            continue;
        const auto op = dispatcher.findOp(name);
        if (!op || op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1))
            continue;
        const std::string text = c10::toString(name);
        if (is_one_kernel(name.name))
            library->impl(text.c_str(), torch::CppFunction::makeFromBoxedFunction<&fallback>());
        else if (op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional))
            library->impl(text.c_str(), torch::CppFunction::makeFromBoxedFunction<&structured>());
    }
}

const bool operators_registered = [] {
    register_operators();
    return true;
}();

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

} // namespace

int64_t results_copied() {
    return copied_results;
}

} // namespace flagos
