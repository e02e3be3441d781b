// Einsum of one or two tensors, computed as it is defined: the sum over every label that the result does not have.
#include <algorithm>
#include <cctype>
#include <map>

#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/strided.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

// Splits "abc,cd->abd" into its parts. Returns nullopt if the text does not have this form.
std::optional<Equation> Parse(const std::string& text) {
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos) return std::nullopt;
  const std::string left = text.substr(0, arrow);
  const size_t comma = left.find(',');
  Equation equation{{left.substr(0, comma)}, text.substr(arrow + 2)};
  if (comma != std::string::npos) equation.inputs.push_back(left.substr(comma + 1));
  std::vector<std::string> parts = equation.inputs;
  parts.push_back(equation.output);
  const auto is_label = [](unsigned char c) { return std::isalpha(c) != 0; };
  for (std::string& part : parts) {
    if (const size_t dots = part.find("..."); dots != part.npos) part.erase(dots, 3);
    if (!std::ranges::all_of(part, is_label)) return std::nullopt;
  }
  return equation;
}

// Returns one label for each of the `count` axes that "..." stands for. The last axis has the same label for every
// `count`, and so has the one before it, and so on. No label is a letter.
std::string DotLabels(size_t count) {
  std::string labels;
  for (size_t i = count; i-- > 0;) labels += static_cast<char>(i - 128);
  return labels;
}
constexpr size_t kDotsMax = 64;

// Replaces each "..." by labels, one for each axis that it stands for.
Result<Equation> WithoutDots(Equation equation, std::span<const Tensor> inputs) {
  size_t most = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string& labels = equation.inputs[i];
    const size_t dots = labels.find("...");
    if (dots == labels.npos) continue;
    const size_t named = labels.size() - 3, rank = inputs[i].shape().size();
    if (rank < named)
      return InvalidArgument("\"{}\" has more axes than the shape {}", labels, ToString(inputs[i].shape()));
    if (rank - named > kDotsMax)
      return InvalidArgument(
          "the ellipsis of \"{}\" would stand for {} axes of the shape {}, but at most {} are allowed", labels,
          rank - named, ToString(inputs[i].shape()), kDotsMax);
    labels.replace(dots, 3, DotLabels(rank - named));
    most = std::max(most, rank - named);
  }
  const size_t dots = equation.output.find("...");
  if (dots != std::string::npos) equation.output.replace(dots, 3, DotLabels(most));
  if (dots == std::string::npos && most > 0)
    return InvalidArgument("the inputs have an ellipsis (...), but the output does not");
  return equation;
}

bool IsDotLabel(char label) { return static_cast<unsigned char>(label) >= 128; }

struct Loop {
  size_t kept = 0;                              // How many different labels the result has.
  Shape sizes;                                  // The sizes of the result's labels, then of the summed labels.
  std::array<std::vector<int64_t>, 2> strides;  // For each input, the stride along each label.
};

// The size of each label. The axes that "..." stands for are broadcast: an axis of size 1 takes the size that the other
// input has.
Result<std::map<char, int64_t>> SizesOf(const Equation& equation, std::span<const Tensor> inputs) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (equation.inputs[i].size() != inputs[i].shape().size())
      return InvalidArgument("\"{}\" does not have the rank of the shape {}", equation.inputs[i],
                             ToString(inputs[i].shape()));
    for (size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
      const int64_t size = inputs[i].shape()[axis];
      const auto [at, is_new] = sizes.emplace(equation.inputs[i][axis], size);
      if (IsDotLabel(at->first) && (at->second == 1 || size == 1))
        at->second = at->second == 1 ? size : at->second;
      else if (at->second != size)
        return InvalidArgument("label '{}' stands for dimensions of different sizes: {} and {}", at->first, at->second,
                               size);
    }
  }
  return sizes;
}

// Removes repeated labels and keeps the order.
std::string Distinct(const std::string& labels) {
  std::string distinct;
  for (const char label : labels) distinct += distinct.find(label) == distinct.npos ? std::string(1, label) : "";
  return distinct;
}

// The stride of an input along each of `labels`. If the input has a label twice, the stride is the sum of the two axes'
// strides.
std::vector<int64_t> StepsAlong(const std::string& labels, const std::string& own, const Shape& shape) {
  std::vector<int64_t> steps(labels.size(), 0);
  for (size_t axis = 0; axis < own.size(); ++axis) {
    const bool stretches = IsDotLabel(own[axis]) && shape[axis] == 1;
    steps[labels.find(own[axis])] += stretches ? 0 : kernels::Product(shape, axis + 1, shape.size());
  }
  return steps;
}

Result<Loop> LoopOf(const Equation& equation, std::span<const Tensor> inputs) {
  ASSIGN_OR_RETURN(const auto sizes, SizesOf(equation, inputs));
  std::string labels = Distinct(equation.output);
  Loop loop;
  loop.kept = labels.size();
  for (const auto& [label, size] : sizes) {
    if (labels.find(label) == std::string::npos) labels += label;
  }
  for (const char label : labels) {
    const auto size = sizes.find(label);
    if (size == sizes.end()) return InvalidArgument("label '{}' is missing in the inputs", label);
    loop.sizes.push_back(size->second);
  }
  for (size_t i = 0; i < 2; ++i) {
    const bool is_there = i < inputs.size();
    loop.strides[i] = StepsAlong(labels, is_there ? equation.inputs[i] : "", is_there ? inputs[i].shape() : Shape());
  }
  return loop;
}

// The sum for one element of the result, computed in double.
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

// `compact` has one dimension for each distinct label of the result. If the result repeats a label ("ii"), returns a
// tensor with the values of `compact` on the diagonal and zeros elsewhere; otherwise returns `compact`.
Outputs Inflate(const Call& call, const Tensor& compact, const std::string& output) {
  const std::string labels = Distinct(output);
  if (labels.size() == output.size()) return One(compact);
  Shape shape;
  for (const char label : output) shape.push_back(compact.shape()[labels.find(label)]);
  RETURN_IF_ERROR(call.HasRoomFor(compact.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(compact, shape));
  std::fill_n(out.mutable_data(), out.bytes(), std::byte{0});
  const auto strides = Strides(shape);
  std::vector<int64_t> along(labels.size(), 0);
  for (size_t axis = 0; axis < output.size(); ++axis) along[labels.find(output[axis])] += strides[axis];
  RETURN_IF_ERROR(CopyInto(compact, 0, along, &out));
  return One(out);
}

Outputs Einsum(const Call& call) {
  const auto parsed = Parse(call.attributes().Text("equation", ""));
  if (!parsed || parsed->inputs.size() != call.inputs.size())
    return InvalidArgument("the equation does not fit {} inputs", call.inputs.size());
  if (call.inputs.back().type() != call.in(0).type()) return WrongType(call.inputs.back().type());
  ASSIGN_OR_RETURN(const Equation equation, WithoutDots(*parsed, call.inputs));
  ASSIGN_OR_RETURN(const Loop loop, LoopOf(equation, call.inputs));
  const size_t rank = loop.kept;
  const Shape shape(loop.sizes.begin(), loop.sizes.begin() + static_cast<std::ptrdiff_t>(rank));
  std::array<std::vector<int64_t>, 2> strides;
  for (size_t i = 0; i < 2; ++i)
    strides[i].assign(loop.strides[i].begin(), loop.strides[i].begin() + static_cast<std::ptrdiff_t>(rank));
  RETURN_IF_ERROR(call.HasRoomFor(call.in(0).type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(call.in(0), shape));
  RETURN_IF_ERROR(ForFloats(out.type(), [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    const T* b = call.inputs.size() > 1 ? Raw<T>(call.in(1)) : nullptr;
                    ForEachRow(shape, strides, [&](int64_t to, std::array<int64_t, 2> from, int64_t count) {
                      for (int64_t i = 0; i < count; ++i) {
                        Raw<T>(out)[to + i] = static_cast<T>(SumAt(loop, rank, from, Raw<T>(call.in(0)), b));
                        for (size_t k = 0; k < 2; ++k) from[k] += rank == 0 ? 0 : strides[k].back();
                      }
                    });
                    return Outputs{};
                  }).map([](const auto&) {}));
  return Inflate(call, out, equation.output);
}

Status CheckEquation(const graph::Node& node) {
  const std::string text = node.attributes.Text("equation", "");
  const auto equation = Parse(text);
  if (!equation || equation->inputs.size() != node.inputs.size()) return Unimplemented("Einsum \"{}\"", text);
  return {};
}

constexpr Kernel kKernels[] = {{"Einsum", AlsoShort<Einsum>, 1, kFloats | kShortFloats, CheckEquation}};

}  // namespace

std::span<const Kernel> EinsumKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
