// copies.cpp - tensors of the device made, viewed, resized, copied and filled.
//
// In:  torch's requests that move or lay out memory and compute nothing.
// Out: copies and sets of the simulator on the current stream. What cannot be one copy (another type,
//      another layout) becomes a kernel on the device first, as on other devices.
#include "backend.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <cerrno>
#include <dlfcn.h>

namespace flagos {

namespace {

using at::Tensor;
using c10::IntArrayRef;
using std::optional;

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// ---- making

int index_of(optional<c10::Device> device) {
    return device && device->has_index() ? device->index() : current_device();
}

Tensor empty(IntArrayRef size, optional<c10::ScalarType> type, optional<c10::Layout> layout,
             optional<c10::Device> device, optional<bool> pin_memory, optional<c10::MemoryFormat> format) {
    TORCH_CHECK(!layout || *layout == c10::kStrided, "flagos: only strided tensors are supported");
    TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
    CurrentDevice scope(index_of(device));
    return at::detail::empty_generic(size, device_allocator(), kKeys, c10::dtype_or_default(type), format);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, optional<c10::ScalarType> type,
                     optional<c10::Layout> layout, optional<c10::Device> device, optional<bool> pin_memory) {
    TORCH_CHECK(!layout || *layout == c10::kStrided, "flagos: only strided tensors are supported");
    TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
    CurrentDevice scope(index_of(device));
    return at::detail::empty_strided_generic(size, stride, device_allocator(), kKeys,
                                             c10::dtype_or_default(type));
}

// Memory of a tensor that torch knows to be all zero: there is none.
class NoMemory final : public c10::Allocator {
  public:
    c10::DataPtr allocate(size_t) override {
        return c10::DataPtr(nullptr, c10::Device(kDevice, static_cast<c10::DeviceIndex>(current_device())));
    }
    void copy_data(void *, const void *, size_t) const override {}
};

Tensor efficient_zero_tensor(IntArrayRef size, optional<c10::ScalarType> type, optional<c10::Layout>,
                             optional<c10::Device> device, optional<bool>) {
    static auto *no_memory = new NoMemory();
    CurrentDevice scope(index_of(device));
    auto made =
        at::detail::empty_generic(size, no_memory, kKeys | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor),
                                  c10::dtype_or_default(type), std::nullopt);
    return made;
}

Tensor empty_as(const Tensor &model, c10::ScalarType type, int device) {
    CurrentDevice scope(device);
    return model.is_non_overlapping_and_dense()
               ? at::detail::empty_strided_generic(model.sizes(), model.strides(), device_allocator(), kKeys,
                                                   type)
               : at::detail::empty_generic(model.sizes(), device_allocator(), kKeys, type, std::nullopt);
}

// ---- laying out

void fit_storage(const Tensor &self) {
    if (self.numel() == 0)
        return;
    const size_t needed = at::detail::computeStorageNbytes(self.sizes(), self.strides(), self.element_size(),
                                                           self.storage_offset());
    if (needed > self.storage().nbytes())
        resize_storage(self.storage(), needed);
}

const Tensor &resize_(const Tensor &self, IntArrayRef size, optional<c10::MemoryFormat> format) {
    auto *impl = self.unsafeGetTensorImpl();
    if (self.sizes() != size)
        impl->set_sizes_contiguous(size);
    if (format)
        impl->empty_tensor_restride(*format);
    fit_storage(self);
    return self;
}

Tensor &set_source_storage_offset(Tensor &self, c10::Storage source, int64_t offset, IntArrayRef size,
                                  IntArrayRef stride) {
    TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
    TORCH_CHECK(stride.data() == nullptr || stride.size() == size.size(),
                "mismatch in length of strides and shape");
    TORCH_CHECK(source.device().type() == kDevice, "flagos: cannot set a tensor of the device to storage of ",
                source.device());
    self.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(source));
    self.unsafeGetTensorImpl()->set_storage_offset(offset);
    if (stride.data() != nullptr)
        self.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
    else
        self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
    fit_storage(self);
    return self;
}

Tensor &set_source_storage(Tensor &self, c10::Storage source) {
    const int64_t count = static_cast<int64_t>(source.nbytes() / self.element_size());
    return set_source_storage_offset(self, std::move(source), 0, { count }, {});
}

Tensor &set_source_tensor(Tensor &self, const Tensor &source) {
    if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl())
        return self;
    return set_source_storage_offset(self, source.storage(), source.storage_offset(), source.sizes(),
                                     source.strides());
}

Tensor &set_empty(Tensor &self) {
    c10::Storage source(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 0,
                                                              device_allocator(), true));
    return set_source_storage_offset(self, source, 0, { 0 }, {});
}

// ---- copying

// Ascend's MSPTI knows of a copy only by standing before AscendCL's function in the process's global scope. So there a copy is
// a call of that function, found as the linker would find it; kinds are numbered as the simulator's.
using AclCopy = int (*)(void *to, size_t room, const void *from, size_t bytes, int kind, void *stream);
AclCopy acl_copy = nullptr;

int copy_async(void *to, const void *from, size_t bytes, flagsim_copy_kind kind, flagsim_stream *stream) {
    if (acl_copy != nullptr)
        return acl_copy(to, bytes, from, bytes, kind, stream) == 0 ? 0 : -EIO;
    return flagsim_memcpy_async(to, from, bytes, kind, stream);
}

bool same_layout(const Tensor &a, const Tensor &b) {
    return a.scalar_type() == b.scalar_type() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg() &&
           a.sizes() == b.sizes() && a.strides() == b.strides() && a.is_non_overlapping_and_dense();
}

void copy_bytes(const Tensor &from, const Tensor &to, flagsim_copy_kind kind, flagsim_stream *stream) {
    std::lock_guard<std::mutex> hold(enqueue_lock(stream));
    check(copy_async(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes(), kind, stream), "a copy");
}

void copy_by_kernel(const Tensor &from, const Tensor &to) {
    StorageAliases *alone = nullptr;
    launch("copy", to, [from = host_alias(from, alone), to = host_alias(to, alone)] { to.copy_(from); });
}

// `waiter` goes on once `other` has done what it was given so far.
void wait_for(flagsim_stream *waiter, flagsim_stream *other) {
    flagsim_event *event = nullptr;
    check(flagsim_event_create(&event), "event create");
    check(flagsim_event_record(event, other), "event record");
    check(flagsim_stream_wait_event(waiter, event), "stream wait event");
    check(flagsim_event_destroy(event), "event destroy");
}

void copy_between_devices(const Tensor &from, const Tensor &to) {
    Tensor sent = from, received = to;
    if (!same_layout(from, to)) {
        sent = empty_as(to, to.scalar_type(), from.device().index());
        copy_by_kernel(from, sent);
        if (!same_layout(sent, to))
            received = empty_as(to, to.scalar_type(), to.device().index());
    }
    auto *source = current_stream(from.device().index());
    auto *target = current_stream(to.device().index());
    wait_for(source, target);
    {
        CurrentDevice scope(from.device().index());
        std::lock_guard<std::mutex> hold(enqueue_lock(source));
        check(flagsim_memcpy_peer_async(received.mutable_data_ptr(), to.device().index(),
                                        sent.const_data_ptr(), from.device().index(), received.nbytes(),
                                        source),
              "a copy between devices");
    }
    wait_for(target, source);
    if (!received.is_same(to))
        copy_by_kernel(received, to);
}

void copy_on_device(const Tensor &from, const Tensor &to) {
    auto *stream = current_stream(to.device().index());
    if (same_layout(from, to))
        copy_bytes(from, to, FLAGSIM_COPY_DTOD, stream);
    else
        copy_by_kernel(from, to);
}

// Waits unless the caller wants none and the host's memory can be read or written by the device on its own.
void finish_host_copy(const Tensor &host, int device, bool non_blocking, flagsim_stream *stream) {
    if (non_blocking && is_pinned(host.const_data_ptr())) {
        memory_used_on(host.const_data_ptr(), stream);
        return;
    }
    check(flagsim_stream_synchronize(stream), "stream synchronize");
    throw_kernel_error(device);
}

void copy_from_host(const Tensor &from, const Tensor &to, bool non_blocking) {
    const int device = to.device().index();
    auto *stream = current_stream(device);
    if (same_layout(from, to)) {
        copy_bytes(from, to, FLAGSIM_COPY_HTOD, stream);
        finish_host_copy(from, device, non_blocking, stream);
        return;
    }
    // The host brings type and order into shape, since it has the wider choice; the device spreads the result
    // where the target is not dense.
    const bool direct = to.is_non_overlapping_and_dense() && !to.is_conj() && !to.is_neg();
    Tensor landing = direct ? to : empty_as(to, to.scalar_type(), device);
    Tensor shaped = at::detail::empty_strided_cpu(landing.sizes(), landing.strides(), landing.scalar_type());
    shaped.copy_(from);
    copy_bytes(shaped, landing, FLAGSIM_COPY_HTOD, stream);
    finish_host_copy(shaped, device, false, stream);
    if (!direct)
        copy_by_kernel(landing, to);
}

void copy_to_host(const Tensor &from, const Tensor &to, bool non_blocking) {
    const int device = from.device().index();
    auto *stream = current_stream(device);
    if (same_layout(from, to)) {
        copy_bytes(from, to, FLAGSIM_COPY_DTOH, stream);
        finish_host_copy(to, device, non_blocking, stream);
        return;
    }
    Tensor dense = from;
    if (!from.is_non_overlapping_and_dense() || from.is_conj() || from.is_neg()) {
        dense = empty_as(from, from.scalar_type(), device);
        copy_by_kernel(from, dense);
    }
    Tensor landing = at::detail::empty_strided_cpu(dense.sizes(), dense.strides(), dense.scalar_type());
    copy_bytes(dense, landing, FLAGSIM_COPY_DTOH, stream);
    finish_host_copy(landing, device, false, stream);
    const_cast<Tensor &>(to).copy_(landing);
}

Tensor copy_from(const Tensor &self, const Tensor &to, bool non_blocking) {
    if (to.numel() == 0 || self.is_same(to))
        return to;
    const Tensor from = self.sizes() == to.sizes() ? self : self.expand(to.sizes());
    const bool from_device = from.device().type() == kDevice, to_device = to.device().type() == kDevice;
    const int device = (to_device ? to : from).device().index();
    CurrentDevice scope(device);
    throw_kernel_error(device);
    if (from_device && to_device && from.device() != to.device())
        copy_between_devices(from, to);
    else if (from_device && to_device)
        copy_on_device(from, to);
    else if (to_device)
        copy_from_host(from, to, non_blocking);
    else
        copy_to_host(from, to, non_blocking);
    return to;
}

Tensor copy_from_and_resize(const Tensor &self, const Tensor &to) {
    if (self.sizes() != to.sizes())
        to.resize_(self.sizes());
    return copy_from(self, to, false);
}

// copy_ itself, so that the operator a profiler shows as the copy's owner is the one that the program called.
Tensor &copy_(Tensor &self, const Tensor &from, bool non_blocking) {
    if (from._is_zerotensor())
        return self.zero_();
    copy_from(from, self, non_blocking);
    return self;
}

c10::Scalar local_scalar_dense(const Tensor &self) {
    const int device = self.device().index();
    CurrentDevice scope(device);
    throw_kernel_error(device);
    auto landing = pinned_allocator()->allocate(self.element_size());
    auto *stream = current_stream(device);
    {
        std::lock_guard<std::mutex> hold(enqueue_lock(stream));
        check(
            copy_async(landing.get(), self.const_data_ptr(), self.element_size(), FLAGSIM_COPY_DTOH, stream),
            "a copy");
    }
    check(flagsim_stream_synchronize(stream), "stream synchronize");
    throw_kernel_error(device);
    Tensor number = at::detail::empty_cpu({}, self.scalar_type());
    std::memcpy(number.mutable_data_ptr(), landing.get(), self.element_size());
    number._set_conj(self.is_conj());
    number._set_neg(self.is_neg());
    return at::native::_local_scalar_dense_cpu(number.resolve_conj().resolve_neg());
}

// ---- filling

Tensor &zero_(Tensor &self) {
    if (self.numel() == 0)
        return self;
    const int device = self.device().index();
    CurrentDevice scope(device);
    throw_kernel_error(device);
    if (self.is_non_overlapping_and_dense() && acl_copy == nullptr) { // Ascend's backend zeroes by a kernel
        auto *stream = current_stream(device);
        std::lock_guard<std::mutex> hold(enqueue_lock(stream));
        check(flagsim_memset_async(self.mutable_data_ptr(), 0, self.nbytes(), stream), "a set");
    } else {
        launch("fill", self, [to = host_alias(self, nullptr)] { to.zero_(); });
    }
    return self;
}

void record_stream(Tensor &self, c10::Stream stream) {
    memory_used_on(self.storage().data(), stream_handle(stream));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("empty.memory_format", &empty);
    library.impl("empty_strided", &empty_strided);
    library.impl("_efficientzerotensor", &efficient_zero_tensor);
    library.impl("as_strided", &at::native::as_strided_tensorimpl);
    library.impl("view", &at::native::view);
    library.impl("_reshape_alias", &at::native::_reshape_alias);
    library.impl("unfold", &at::native::unfold);
    library.impl("view_as_real", &at::native::view_as_real);
    library.impl("view_as_complex", &at::native::view_as_complex);
    library.impl("resize_", &resize_);
    library.impl("set_", &set_empty);
    library.impl("set_.source_Storage", &set_source_storage);
    library.impl("set_.source_Storage_storage_offset", &set_source_storage_offset);
    library.impl("set_.source_Tensor", &set_source_tensor);
    library.impl("copy_", &copy_);
    library.impl("_copy_from", &copy_from);
    library.impl("_copy_from_and_resize", &copy_from_and_resize);
    library.impl("_local_scalar_dense", &local_scalar_dense);
    library.impl("zero_", &zero_);
    library.impl("record_stream", &record_stream);
}

} // namespace

void use_ascendcl() {
    void *found = dlsym(RTLD_DEFAULT, "aclrtMemcpyAsync");
    TORCH_CHECK(found != nullptr, "flagos: the process has no aclrtMemcpyAsync");
    acl_copy = reinterpret_cast<AclCopy>(found);
}

} // namespace flagos
