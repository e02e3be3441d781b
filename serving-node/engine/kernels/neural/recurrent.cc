// Recurrent cells as single ops: LSTM, for one step or a whole sequence, and GRU.
#include <algorithm>
#include <array>
#include <cmath>

#include "serving-node/engine/kernels/base/gemm.h"
#include "serving-node/engine/kernels/base/room.h"
#include "serving-node/engine/kernels/base/sigmoid.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/neural/families.h"

namespace longshore::engine::kernels::neural {
namespace {

struct Sizes {
  int64_t batch = 0, inputs = 0, cells = 0;
  int64_t states() const { return batch * cells; }
};

Status CheckInput(const Tensor& in, std::string_view name, const Shape& wanted) {
  if (in.type() == DType::kFloat && in.shape() == wanted) return {};
  return InvalidArgument("{} is {}{} instead of DT_FLOAT{}", name, DTypeName(in.type()), ToString(in.shape()),
                         ToString(wanted));
}

// The weights of the gates and their bias, and the names of these two inputs for error messages.
struct GateInputs {
  const Tensor& weights;
  std::string_view weights_name;
  const Tensor& bias;
  std::string_view bias_name;
};

// InvalidArgument unless the weights are [inputs + cells, times * cells] and the bias is a vector with as many elements
// as the weights have columns. Compares by division, because products might overflow.
Status CheckWeights(const GateInputs& gates, const Sizes& sizes, int64_t times) {
  const Tensor& weights = gates.weights;
  const bool is_matrix = weights.type() == DType::kFloat && weights.rank() == 2;
  if (!is_matrix || weights.dim(0) - sizes.cells != sizes.inputs || weights.dim(1) % times != 0 ||
      weights.dim(1) / times != sizes.cells) {
    return InvalidArgument("the weights {} {}{} do not fit {} inputs and {} cells", gates.weights_name,
                           DTypeName(weights.type()), ToString(weights.shape()), sizes.inputs, sizes.cells);
  }
  return CheckInput(gates.bias, gates.bias_name, {weights.dim(1)});
}

// ResourceExhausted unless the outputs, for `steps` steps, and the buffers of one step fit into memory. The buffers are
// the joined rows of x and h, and at most 4 further values for each cell: 4 products with the weights in an LSTM, or 2
// products and the reset state in a GRU.
Status HasRoomForSteps(const Call& call, const Sizes& sizes, int64_t steps, int64_t outputs) {
  ASSIGN_OR_RETURN(const Call rest, ReserveRoom(call, DType::kFloat, {outputs, steps, sizes.batch, sizes.cells}));
  return rest.HasRoomFor(DType::kFloat, {sizes.batch, sizes.inputs + 5 * sizes.cells});
}

// Each row of the result is a row of x followed by a row of h.
void Concatenate(const float* x, const float* h, const Sizes& sizes, float* out) {
  for (int64_t i = 0; i < sizes.batch; ++i) {
    out = std::copy_n(x + i * sizes.inputs, sizes.inputs, out);
    out = std::copy_n(h + i * sizes.cells, sizes.cells, out);
  }
}

// The outputs of one step, in the order of the op's outputs.
enum LstmOutput : size_t { kInputGate, kState, kForgetGate, kOutputGate, kCandidate, kSquashed, kHidden, kLstmOutputs };
using LstmStep = std::array<float*, kLstmOutputs>;

// The differences between the LSTM ops. `candidate` and `forget` say which quarter of the columns of the weights
// belongs to the candidate and to the forget gate (the input gate has the first quarter and the output gate the last).
// The other two are defaults of attributes.
struct LstmKind {
  int64_t candidate = 1;
  int64_t forget = 2;
  float forget_bias = 1;
  float clip = 3;
};

// `in` has the op's inputs x, cs_prev, h_prev, w, wci, wcf, wco, b.
class Lstm {
 public:
  Lstm(const graph::Attributes& attributes, std::span<const Tensor> in, const Sizes& sizes, const LstmKind& kind)
      : in_(in),
        sizes_(sizes),
        kind_(kind),
        forget_bias_(attributes.Float("forget_bias", kind.forget_bias)),
        clip_(attributes.Float("cell_clip", kind.clip)),
        has_peepholes_(attributes.Bool("use_peephole", false)),
        joined_(static_cast<size_t>(sizes.batch * (sizes.inputs + sizes.cells))),
        gates_(static_cast<size_t>(4 * sizes.states())) {}

  void Step(const float* x, const float* state, const float* hidden, const LstmStep& out) {
    Concatenate(x, hidden, sizes_, joined_.data());
    Gemm(joined_.data(), Raw<float>(in_[3]), gates_.data(), sizes_.batch, sizes_.inputs + sizes_.cells,
         4 * sizes_.cells);
    for (int64_t at = 0; at < sizes_.states(); ++at) StepCell(at, state[at], out);
  }

 private:
  void StepCell(int64_t at, float before, const LstmStep& out) const {
    const int64_t cell = at % sizes_.cells;
    out[kInputGate][at] = Sigmoid{}(Gate(at, 0) + Peep(4, cell, before));
    out[kCandidate][at] = std::tanh(Gate(at, kind_.candidate));
    out[kForgetGate][at] = Sigmoid{}(Gate(at, kind_.forget) + forget_bias_ + Peep(5, cell, before));
    const float state = Clipped(out[kCandidate][at] * out[kInputGate][at] + out[kForgetGate][at] * before);
    out[kState][at] = state;
    out[kSquashed][at] = std::tanh(state);
    out[kOutputGate][at] = Sigmoid{}(Gate(at, 3) + Peep(6, cell, state));
    out[kHidden][at] = out[kOutputGate][at] * out[kSquashed][at];
  }

  float Gate(int64_t at, int64_t quarter) const {
    const int64_t column = quarter * sizes_.cells + at % sizes_.cells;
    return gates_[static_cast<size_t>(at / sizes_.cells * 4 * sizes_.cells + column)] + Raw<float>(in_[7])[column];
  }

  // The peephole term of a gate.
  float Peep(size_t weights, int64_t cell, float state) const {
    return has_peepholes_ ? state * Raw<float>(in_[weights])[cell] : 0;
  }

  // Clips the state to [-clip_, clip_] if clip_ is positive. NaN stays NaN.
  float Clipped(float state) const {
    if (!(clip_ > 0)) return state;
    return state > clip_ ? clip_ : state < -clip_ ? -clip_ : state;
  }

  const std::span<const Tensor> in_;
  const Sizes sizes_;
  const LstmKind kind_;
  const float forget_bias_;
  const float clip_;
  const bool has_peepholes_;
  std::vector<float> joined_;
  std::vector<float> gates_;
};

// `in` has the inputs of Lstm; x is [.., batch, inputs]. The peephole weights must have the right size only if they are
// used; otherwise they may be vectors of any size.
Status CheckLstm(std::span<const Tensor> in, const Sizes& sizes, bool has_peepholes) {
  RETURN_IF_ERROR(CheckInput(in[2], "h_prev", {sizes.batch, sizes.cells}));
  RETURN_IF_ERROR(CheckWeights({in[3], "w", in[7], "b"}, sizes, 4));
  constexpr std::string_view kNames[] = {"wci", "wcf", "wco"};
  for (const size_t i : {4U, 5U, 6U}) {
    const Shape wanted = has_peepholes || in[i].rank() != 1 ? Shape{sizes.cells} : in[i].shape();
    RETURN_IF_ERROR(CheckInput(in[i], kNames[i - 4], wanted));
  }
  return {};
}

// Reads the sizes from x, which must have the given rank, and from the input `state`. `name` is the name of this input.
Result<Sizes> SizesOf(const Tensor& x, int rank, const Tensor& state, std::string_view name) {
  if (x.type() != DType::kFloat || x.rank() != rank)
    return InvalidArgument("x must be DT_FLOAT of rank {}, not {}{}", rank, DTypeName(x.type()), ToString(x.shape()));
  if (state.rank() != 2) return InvalidArgument("{} must be of rank 2, not of shape {}", name, ToString(state.shape()));
  const Sizes sizes{x.dim(rank - 2), x.dim(rank - 1), state.dim(1)};
  RETURN_IF_ERROR(CheckInput(state, name, {sizes.batch, sizes.cells}));
  return sizes;
}

// Makes `count` tensors of zeros.
Result<std::vector<Tensor>> Zeros(size_t count, const Shape& shape) {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(outputs.emplace_back(), Tensor::Make(DType::kFloat, shape));
    std::fill_n(Raw<float>(outputs.back()), outputs.back().elements(), 0.0F);
  }
  return outputs;
}

LstmStep PlacesOf(std::vector<Tensor>& outputs, int64_t offset) {
  LstmStep places{};
  for (size_t i = 0; i < places.size(); ++i) places[i] = Raw<float>(outputs[i]) + offset;
  return places;
}

Outputs LstmCell(const Call& call) {
  ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(call.in(0), 2, call.in(1), "cs_prev"));
  const auto& attributes = call.attributes();
  RETURN_IF_ERROR(CheckLstm(call.inputs, sizes, attributes.Bool("use_peephole", false)));
  if (sizes.states() == 0) return InvalidArgument("cs_prev of shape {} is empty", ToString(call.in(1).shape()));
  RETURN_IF_ERROR(HasRoomForSteps(call, sizes, 1, kLstmOutputs));
  ASSIGN_OR_RETURN(auto outputs, Zeros(kLstmOutputs, {sizes.batch, sizes.cells}));
  Lstm lstm(attributes, call.inputs, sizes, LstmKind{});
  lstm.Step(Raw<float>(call.in(0)), Raw<float>(call.in(1)), Raw<float>(call.in(2)), PlacesOf(outputs, 0));
  return outputs;
}

// Outputs of steps beyond seq_len_max are zero. TensorFlow promises that only for the state and the hidden values; in
// its other outputs, these elements are uninitialised memory.
Outputs LstmSequence(const Call& call, const LstmKind& kind) {
  const auto in = call.inputs.subspan(1);
  const Tensor& x = in[0];
  if (call.in(0).rank() != 0 || call.in(0).type() != DType::kInt64)
    return InvalidArgument("seq_len_max must be one DT_INT64");
  ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(x, 3, in[1], "cs_prev"));
  RETURN_IF_ERROR(CheckLstm(in, sizes, true));
  const int64_t steps = *Raw<int64_t>(call.in(0));
  if (steps < 0 || steps > x.dim(0))
    return InvalidArgument("seq_len_max must be between 0 and {} but is {}", x.dim(0), steps);
  RETURN_IF_ERROR(HasRoomForSteps(call, sizes, x.dim(0), kLstmOutputs));
  ASSIGN_OR_RETURN(auto outputs, Zeros(kLstmOutputs, {x.dim(0), sizes.batch, sizes.cells}));
  if (sizes.states() == 0) return outputs;
  Lstm lstm(call.attributes(), in, sizes, kind);
  const float* state = Raw<float>(in[1]);
  const float* hidden = Raw<float>(in[2]);
  for (int64_t step = 0; step < steps; ++step) {
    const LstmStep out = PlacesOf(outputs, step * sizes.states());
    lstm.Step(Raw<float>(x) + step * sizes.batch * sizes.inputs, state, hidden, out);
    state = out[kState];
    hidden = out[kHidden];
  }
  return outputs;
}

Outputs BlockLstm(const Call& call) { return LstmSequence(call, {}); }
Outputs BlockLstmV2(const Call& call) {
  return LstmSequence(call, {.candidate = 2, .forget = 1, .forget_bias = 0, .clip = 0});
}

// The inputs are x, h_prev, w_ru, w_c, b_ru and b_c. The outputs are the reset gate (how much of h_prev the candidate
// sees), the update gate (how much of h_prev stays), the candidate, and h.
Outputs GruCell(const Call& call) {
  ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(call.in(0), 2, call.in(1), "h_prev"));
  RETURN_IF_ERROR(CheckWeights({call.in(2), "w_ru", call.in(4), "b_ru"}, sizes, 2));
  RETURN_IF_ERROR(CheckWeights({call.in(3), "w_c", call.in(5), "b_c"}, sizes, 1));
  RETURN_IF_ERROR(HasRoomForSteps(call, sizes, 1, 4));
  ASSIGN_OR_RETURN(auto outputs, Zeros(4, {sizes.batch, sizes.cells}));
  const int64_t states = sizes.states(), cells = sizes.cells;
  if (states == 0) return outputs;
  const float* before = Raw<float>(call.in(1));
  float *reset = Raw<float>(outputs[0]), *keep = Raw<float>(outputs[1]), *candidate = Raw<float>(outputs[2]);
  std::vector<float> joined(static_cast<size_t>(sizes.batch * (sizes.inputs + cells)));
  std::vector<float> gates(static_cast<size_t>(2 * states)), seen(static_cast<size_t>(states));
  Concatenate(Raw<float>(call.in(0)), before, sizes, joined.data());
  Gemm(joined.data(), Raw<float>(call.in(2)), gates.data(), sizes.batch, sizes.inputs + cells, 2 * cells);
  for (int64_t at = 0; at < states; ++at) {
    const float* row = gates.data() + at / cells * 2 * cells;
    const int64_t cell = at % cells;
    reset[at] = Sigmoid{}(row[cell] + Raw<float>(call.in(4))[cell]);
    keep[at] = Sigmoid{}(row[cells + cell] + Raw<float>(call.in(4))[cells + cell]);
    seen[static_cast<size_t>(at)] = before[at] * reset[at];
  }
  Concatenate(Raw<float>(call.in(0)), seen.data(), sizes, joined.data());
  Gemm(joined.data(), Raw<float>(call.in(3)), candidate, sizes.batch, sizes.inputs + cells, cells);
  for (int64_t at = 0; at < states; ++at) {
    candidate[at] = std::tanh(candidate[at] + Raw<float>(call.in(5))[at % cells]);
    Raw<float>(outputs[3])[at] = keep[at] * (before[at] - candidate[at]) + candidate[at];
  }
  return outputs;
}

constexpr TypeSet kFloatOnly = Only(DType::kFloat);
constexpr Kernel kKernels[] = {
    {"BlockLSTM", BlockLstm, 9, kFloatOnly},
    {"BlockLSTMV2", BlockLstmV2, 9, kFloatOnly},
    {"GRUBlockCell", GruCell, 6, kFloatOnly},
    {"LSTMBlockCell", LstmCell, 8, kFloatOnly},
};

}  // namespace

std::span<const Kernel> RecurrentKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::neural
