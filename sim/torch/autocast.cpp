// autocast.cpp - torch.autocast on the device: which operators compute in the chosen small type, which in
// float32.
//
// In:  an operator's arguments while autocast is on.
// Out: the operator called with its floating tensors converted.
//
// The lists are the common part of torch's own for CUDA. A converted weight is not kept, so it is converted
// again.
#include "backend.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace at::autocast {
TORCH_API at::ScalarType
get_autocast_dtype(at::DeviceType device_type); // <ATen/autocast_mode.h> takes 15 s to read
}

namespace flagos {

namespace {

at::Tensor converted(const at::Tensor &tensor, c10::ScalarType type) {
    const bool eligible = tensor.defined() && tensor.device().type() == kDevice &&
                          tensor.is_floating_point() && tensor.scalar_type() != c10::kDouble;
    return eligible && tensor.scalar_type() != type ? tensor.to(type) : tensor;
}

void call_in(c10::ScalarType type, const c10::OperatorHandle &op, torch::jit::Stack *stack) {
    c10::impl::ExcludeDispatchKeyGuard plain(c10::DispatchKeySet{ c10::DispatchKey::AutocastPrivateUse1 });
    const size_t first = stack->size() - op.schema().arguments().size();
    for (size_t i = first; i < stack->size(); i++) {
        auto &value = (*stack)[i];
        if (value.isTensor()) {
            value = converted(value.toTensor(), type);
        } else if (value.isTensorList()) {
            c10::List<at::Tensor> list;
            for (const at::Tensor &tensor : value.toTensorVector())
                list.push_back(converted(tensor, type));
            value = list;
        }
    }
    op.callBoxed(stack);
}

void in_small_type(const c10::OperatorHandle &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
    call_in(at::autocast::get_autocast_dtype(kDevice), op, stack);
}

void in_float32(const c10::OperatorHandle &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
    call_in(c10::kFloat, op, stack);
}

const char *const small_type[] = {
    "matmul", "mm",     "bmm",    "addmm",  "addbmm", "baddbmm", "addmv",
    "mv",     "linear", "conv1d", "conv2d", "conv3d", "prelu",   "scaled_dot_product_attention",
};

const char *const float32[] = {
    "softmax.int",
    "log_softmax.int",
    "layer_norm",
    "group_norm",
    "cross_entropy_loss",
    "nll_loss",
    "mse_loss",
    "binary_cross_entropy_with_logits",
    "exp",
    "log",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "prod",
    "sum",
    "sum.dim_IntList",
    "cumsum",
};

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, library) {
    for (const char *name : small_type)
        library.impl(name, torch::CppFunction::makeFromBoxedFunction<&in_small_type>());
    for (const char *name : float32)
        library.impl(name, torch::CppFunction::makeFromBoxedFunction<&in_float32>());
}

} // namespace

} // namespace flagos
