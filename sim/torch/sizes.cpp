// sizes.cpp - results whose size follows from the arguments, for operators that have no out= form of torch's
// own.
//
// In:  an operator's name and its arguments.
// Out: what the results will look like, contiguous; or false, and then the host waits for the kernel and
//      looks.
//
// Only what training asks for often is here. A row that is wrong is found: the kernel's result is compared
// with it.
#include "backend.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

namespace flagos {

namespace {

using Arguments = c10::ArrayRef<c10::IValue>;

bool is_plain(const at::Tensor &tensor) {
    return tensor.defined() && tensor.is_contiguous() &&
           (tensor.scalar_type() == c10::kFloat || tensor.scalar_type() == c10::kDouble);
}

Result like(const at::Tensor &tensor) {
    return { c10::DimVector(tensor.sizes()), tensor.scalar_type(), true };
}

Result nothing() {
    return { {}, c10::kFloat, false };
}

bool like_first(Arguments given, std::vector<Result> &results) {
    const at::Tensor first = given[0].toTensor();
    if (!is_plain(first))
        return false;
    results.push_back(like(first));
    return true;
}

bool like_first_list(Arguments given, std::vector<Result> &results) {
    for (const at::Tensor &tensor : given[0].toTensorVector()) {
        if (!is_plain(tensor))
            return false;
        results.push_back(like(tensor));
    }
    return true;
}

// (input, normalized_shape, weight?, bias?, eps) -> out, mean, rstd
bool layer_norm(Arguments given, std::vector<Result> &results) {
    const at::Tensor input = given[0].toTensor();
    const size_t normalized = given[1].toDimVector().size();
    if (!is_plain(input) || normalized > static_cast<size_t>(input.dim()))
        return false;
    Result row = like(input);
    for (size_t i = row.sizes.size() - normalized; i < row.sizes.size(); i++)
        row.sizes[i] = 1;
    results = { like(input), row, row };
    return true;
}

// (grad, input, normalized_shape, mean, rstd, weight?, bias?, mask) -> of input, weight, bias
bool layer_norm_backward(Arguments given, std::vector<Result> &results) {
    const auto mask = given[7].toBoolList();
    const size_t sources[] = { 1, 5, 6 };
    for (size_t i = 0; i < 3; i++) {
        const bool wanted = mask[i] && given[sources[i]].isTensor() && given[sources[i]].toTensor().defined();
        if (wanted && !is_plain(given[sources[i]].toTensor()))
            return false;
        results.push_back(wanted ? like(given[sources[i]].toTensor()) : nothing());
    }
    return true;
}

// (grad, indices, num_weights, ...) -> weight
bool embedding_backward(Arguments given, std::vector<Result> &results) {
    const at::Tensor grad = given[0].toTensor();
    if (!is_plain(grad) || grad.dim() < 1)
        return false;
    results.push_back({ { given[2].toInt(), grad.sizes().back() }, grad.scalar_type(), true });
    return true;
}

// (self, dim, index) -> rows of self
bool index_select(Arguments given, std::vector<Result> &results) {
    const at::Tensor self = given[0].toTensor(), index = given[2].toTensor();
    const int64_t dim = given[1].toInt() < 0 ? given[1].toInt() + self.dim() : given[1].toInt();
    if (!is_plain(self) || dim < 0 || dim >= self.dim() || index.dim() > 1)
        return false;
    Result rows = like(self);
    rows.sizes[dim] = index.numel();
    results.push_back(rows);
    return true;
}

struct Row {
    const char *operation;
    size_t arguments; // of the overloads meant; others are waited for
    bool (*sizes)(Arguments, std::vector<Result> &);
};

const Row rows[] = {
    { "relu", 1, like_first },
    { "native_layer_norm", 5, layer_norm },
    { "native_layer_norm_backward", 8, layer_norm_backward },
    { "embedding_dense_backward", 5, embedding_backward },
    { "index_select", 3, index_select },
    { "_foreach_sqrt", 1, like_first_list },
    { "_foreach_neg", 1, like_first_list },
    { "_foreach_reciprocal", 1, like_first_list },
    { "_foreach_add", 2, like_first_list },
    { "_foreach_sub", 2, like_first_list },
    { "_foreach_mul", 2, like_first_list },
    { "_foreach_div", 2, like_first_list },
};

} // namespace

bool known_results(const std::string &operation, c10::ArrayRef<c10::IValue> given,
                   std::vector<Result> &results) {
    for (const Row &row : rows)
        if (operation == row.operation && given.size() == row.arguments)
            return row.sizes(given, results);
    return false;
}

} // namespace flagos
