// Einsum of two tensors as one matrix product by oneDNN. Strides describe the order of the axes in memory, so no tensor
// is transposed.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "serving-node/engine/cpu/steps/onednn.h"
#include "serving-node/graph/einsum_equation.h"

namespace longshore::engine::cpu {
namespace {

using dnnl::memory;

// A tensor with a label for each axis.
struct Labelled {
  std::string labels;
  std::map<char, memory::dim> sizes;
  std::map<char, memory::dim> strides;  // In elements.

  bool Has(char label) const { return sizes.contains(label); }
};

std::optional<Labelled> Label(const std::string& labels, const Shape& shape) {
  if (labels.size() != shape.size()) return std::nullopt;
  Labelled labelled{labels, {}, {}};
  memory::dim step = 1;
  for (size_t i = labels.size(); i-- > 0;) {
    if (!labelled.sizes.emplace(labels[i], shape[i]).second) return std::nullopt;
    labelled.strides[labels[i]] = step;
    step *= shape[i];
  }
  return labelled;
}

struct Equation {
  Labelled a, b, out;
};

// Returns nullopt if the equation has an ellipsis, uses a label twice in one tensor, or does not have two operands.
std::optional<Equation> Parse(const std::string& text, const StepContext& context) {
  const auto labels = graph::ParseEinsum(text);
  if (!labels || labels->operands.size() != 2) return std::nullopt;
  auto a = Label(labels->operands[0], context.inputs[0].shape());
  auto b = Label(labels->operands[1], context.inputs[1].shape());
  auto out = Label(labels->result, context.outputs[0].shape());
  if (!a || !b || !out) return std::nullopt;
  return Equation{std::move(*a), std::move(*b), std::move(*out)};
}

// One axis, merged from several labels that two tensors have in common: its size, and its stride in each tensor.
struct Axis {
  memory::dim size = 1;
  memory::dim first_stride = 1;
  memory::dim second_stride = 1;
};

// Merges the labels into one axis. Returns nullopt if they are not adjacent, in this order, in both tensors.
std::optional<Axis> Merge(const std::string& labels, const Labelled& first, const Labelled& second) {
  Axis axis;
  for (size_t i = labels.size(); i-- > 0;) {
    const memory::dim a = first.strides.at(labels[i]), b = second.strides.at(labels[i]);
    if (i + 1 == labels.size()) axis = {1, a, b};
    if (a != axis.first_stride * axis.size || b != axis.second_stride * axis.size) return std::nullopt;
    axis.size *= first.sizes.at(labels[i]);
  }
  return axis;
}

// The labels by role: batch (in all three tensors), summed (in a and b), rows (in a and the result), columns (in b and
// the result).
struct Roles {
  std::string batch, summed, rows, columns;
};

std::optional<Roles> RolesOf(const Equation& e) {
  Roles roles;
  for (const char label : e.out.labels) {
    const bool in_a = e.a.Has(label), in_b = e.b.Has(label);
    if (!in_a && !in_b) return std::nullopt;
    (in_a && in_b ? roles.batch : in_a ? roles.rows : roles.columns) += label;
  }
  for (const char label : e.a.labels) {
    if (e.out.Has(label)) continue;
    if (!e.b.Has(label)) return std::nullopt;
    roles.summed += label;
  }
  const bool lone = std::ranges::any_of(e.b.labels, [&](char l) { return !e.out.Has(l) && !e.a.Has(l); });
  if (lone || roles.rows.empty() || roles.columns.empty() || roles.summed.empty()) return std::nullopt;
  return roles;
}

bool SizesAgree(const Equation& e) {
  for (const auto& [label, size] : e.a.sizes) {
    if (e.b.Has(label) && e.b.sizes.at(label) != size) return false;
  }
  return true;
}

struct Matrices {
  memory::desc a, b, out;
};

memory::desc Matrix(const Labelled& tensor, const std::string& batch, memory::dims sizes, memory::dims strides) {
  memory::dims all_sizes, all_strides;
  for (const char label : batch) {
    all_sizes.push_back(tensor.sizes.at(label));
    all_strides.push_back(tensor.strides.at(label));
  }
  all_sizes.insert(all_sizes.end(), sizes.begin(), sizes.end());
  all_strides.insert(all_strides.end(), strides.begin(), strides.end());
  return {all_sizes, memory::data_type::f32, all_strides};
}

std::optional<Matrices> MatricesOf(const Equation& e) {
  const auto roles = RolesOf(e);
  if (!roles || !SizesAgree(e)) return std::nullopt;
  const auto rows = Merge(roles->rows, e.a, e.out), columns = Merge(roles->columns, e.b, e.out);
  const auto summed = Merge(roles->summed, e.a, e.b);
  if (!rows || !columns || !summed || columns->second_stride != 1) return std::nullopt;
  return Matrices{
      Matrix(e.a, roles->batch, {rows->size, summed->size}, {rows->first_stride, summed->first_stride}),
      Matrix(e.b, roles->batch, {summed->size, columns->size}, {summed->second_stride, columns->first_stride}),
      Matrix(e.out, roles->batch, {rows->size, columns->size}, {rows->second_stride, columns->second_stride})};
}

bool IsFloats(const Value& value) {
  return value.is_static() && value.type.type == DType::kFloat && value.elements() > 0;
}

StepPtr Make(const StepContext& context, const Matrices& matrices, const Value& a, const Value& b) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const memory::desc any(matrices.b.get_dims(), memory::data_type::f32, memory::format_tag::any);
  const dnnl::matmul::primitive_desc descriptor(OneDnnEngine(), matrices.a, b.is_const() ? any : matrices.b,
                                                matrices.out, attributes);
  return MakeOneDnnStep(descriptor, {Bind(context, DNNL_ARG_SRC, a, matrices.a, matrices.a),
                                     Bind(context, DNNL_ARG_WEIGHTS, b, matrices.b, descriptor.weights_desc()),
                                     {DNNL_ARG_DST, matrices.out, context.outputs[0].id}});
}

}  // namespace

// oneDNN needs the columns as the last axis of the result, so MakeEinsum tries a * b and then b * a.
StepPtr MakeEinsum(const StepContext& context) {
  if (context.inputs.size() != 2 || !context.node.then.empty()) return nullptr;
  const Value& a = context.inputs[0];
  const Value& b = context.inputs[1];
  const Value& out = context.outputs[0];
  if (!IsFloats(a) || !IsFloats(b) || !IsFloats(out)) return nullptr;
  auto equation = Parse(context.node.attributes.Text("equation", ""), context);
  if (!equation) return nullptr;
  if (const auto matrices = MatricesOf(*equation)) return Make(context, *matrices, a, b);
  std::swap(equation->a, equation->b);
  const auto turned = MatricesOf(*equation);
  return turned ? Make(context, *turned, b, a) : nullptr;
}

}  // namespace longshore::engine::cpu
