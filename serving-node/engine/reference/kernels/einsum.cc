// Einsum of one or two tensors, by its definition: a sum over every label that the result does not have.
#include <algorithm>
#include <map>

#include "serving-node/engine/reference/kernels/broadcast.h"
#include "serving-node/engine/reference/kernels/types.h"

namespace longshore::engine::reference::kernels {
namespace {

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

// "abc,cd->abd" in its parts; nullopt for what is not of this form (an ellipsis).
std::optional<Equation> Parse(const std::string& text) {
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find('.') != std::string::npos) return std::nullopt;
  const std::string left = text.substr(0, arrow);
  const size_t comma = left.find(',');
  Equation equation{{left.substr(0, comma)}, text.substr(arrow + 2)};
  if (comma != std::string::npos) equation.inputs.push_back(left.substr(comma + 1));
  return equation;
}

struct Loop {
  Shape sizes;                                  // Of the result's labels, then of those that are summed over.
  std::array<std::vector<int64_t>, 2> strides;  // Of each input along each label.
};

Result<Loop> LoopOf(const Equation& equation, std::span<const Tensor> inputs) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (equation.inputs[i].size() != inputs[i].shape().size())
      return InvalidArgument("\"{}\" does not fit the shape {}", equation.inputs[i], ToString(inputs[i].shape()));
    for (size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
      const auto [at, is_new] = sizes.emplace(equation.inputs[i][axis], inputs[i].shape()[axis]);
      if (at->second != inputs[i].shape()[axis])
        return InvalidArgument("label '{}' has the sizes {} and {}", at->first, at->second, inputs[i].shape()[axis]);
    }
  }
  std::string labels = equation.output;
  for (const auto& [label, size] : sizes) {
    if (labels.find(label) == std::string::npos) labels += label;
  }
  Loop loop;
  for (const char label : labels) {
    if (!sizes.contains(label)) return InvalidArgument("label '{}' is in no input", label);
    loop.sizes.push_back(sizes[label]);
  }
  for (size_t i = 0; i < 2; ++i) {
    loop.strides[i].assign(labels.size(), 0);
    if (i >= inputs.size()) continue;
    for (size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
      loop.strides[i][labels.find(equation.inputs[i][axis])] +=
          kernels::Product(inputs[i].shape(), axis + 1, inputs[i].shape().size());
    }
  }
  return loop;
}

// The sums of one element of the result, in double.
template <typename T>
double SumAt(const Loop& loop, size_t summed_from, std::array<int64_t, 2> offsets, const T* a, const T* b) {
  const Shape sizes(loop.sizes.begin() + static_cast<std::ptrdiff_t>(summed_from), loop.sizes.end());
  std::array<std::vector<int64_t>, 2> strides;
  for (size_t i = 0; i < 2; ++i)
    strides[i].assign(loop.strides[i].begin() + static_cast<std::ptrdiff_t>(summed_from), loop.strides[i].end());
  const auto inner = [&](size_t k) { return sizes.empty() ? 0 : strides[k].back(); };
  double sum = 0;
  ForEachRow(sizes, strides, [&](int64_t, const std::array<int64_t, 2>& from, int64_t count) {
    const T* x = a + offsets[0] + from[0];
    const T* y = b == nullptr ? nullptr : b + offsets[1] + from[1];
    for (int64_t i = 0; i < count; ++i)
      sum += static_cast<double>(x[i * inner(0)]) * (y == nullptr ? 1.0 : static_cast<double>(y[i * inner(1)]));
  });
  return sum;
}

Outputs Einsum(const Call& call) {
  const auto equation = Parse(call.attributes().Text("equation", ""));
  if (!equation || equation->inputs.size() != call.inputs.size())
    return InvalidArgument("the equation does not fit {} inputs", call.inputs.size());
  if (call.inputs.back().type() != call.in(0).type()) return WrongType(call.inputs.back().type());
  ASSIGN_OR_RETURN(const Loop loop, LoopOf(*equation, call.inputs));
  const size_t rank = equation->output.size();
  const Shape shape(loop.sizes.begin(), loop.sizes.begin() + static_cast<std::ptrdiff_t>(rank));
  std::array<std::vector<int64_t>, 2> strides;
  for (size_t i = 0; i < 2; ++i)
    strides[i].assign(loop.strides[i].begin(), loop.strides[i].begin() + static_cast<std::ptrdiff_t>(rank));
  RETURN_IF_ERROR(call.HasRoomFor(call.in(0).type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(call.in(0), shape));
  return ForFloats(out.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* b = call.inputs.size() > 1 ? Raw<T>(call.in(1)) : nullptr;
    ForEachRow(shape, strides, [&](int64_t to, std::array<int64_t, 2> from, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        Raw<T>(out)[to + i] = static_cast<T>(SumAt(loop, rank, from, Raw<T>(call.in(0)), b));
        for (size_t k = 0; k < 2; ++k) from[k] += rank == 0 ? 0 : strides[k].back();
      }
    });
    return One(out);
  });
}

Status CheckEquation(const graph::Node& node) {
  const std::string text = node.attributes.Text("equation", "");
  const auto equation = Parse(text);
  if (!equation || equation->inputs.size() != node.inputs.size()) return Unimplemented("Einsum \"{}\"", text);
  return {};
}

constexpr Kernel kKernels[] = {{"Einsum", Einsum, 1, kFloats, CheckEquation}};

}  // namespace

std::span<const Kernel> EinsumKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels
