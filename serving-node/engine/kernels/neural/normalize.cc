// Kernels for biases, batch normalisation at inference, and softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/neural/families.h"

namespace longshore::engine::kernels::neural {
namespace {

// The bias has one value per channel. Channels are the last axis, or the second one if data_format is NCHW.
Outputs BiasAdd(const Call& call) {
  const Tensor& in = call.in(0);
  const Tensor& bias = call.in(1);
  const size_t axis = call.attributes().Text("data_format", "NHWC") == "NCHW" ? 1 : in.shape().size() - 1;
  if (in.rank() < 2 || bias.rank() != 1 || bias.dim(0) != in.shape()[axis] || bias.type() != in.type()) {
    return InvalidArgument("a bias of shape {} does not fit values of shape {}", ToString(bias.shape()),
                           ToString(in.shape()));
  }
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  const int64_t inner = Product(in.shape(), axis + 1, in.shape().size());
  return ForFloats(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t at = 0; at < in.elements(); ++at) {
      Raw<T>(out)[at] = Raw<T>(in)[at] + Raw<T>(bias)[at / inner % bias.dim(0)];
    }
    return One(out);
  });
}

// The first output is (x - mean) * scale / sqrt(variance + epsilon) + offset. The other outputs repeat the mean and
// variance inputs, as in TensorFlow at inference.
Outputs FusedBatchNorm(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.type() != DType::kFloat || in.rank() != 4)
    return InvalidArgument("x must be DT_FLOAT of rank 4, not {}{}", DTypeName(in.type()), ToString(in.shape()));
  constexpr std::string_view kNames[] = {"x", "scale", "offset", "mean", "variance"};
  for (size_t i = 1; i < 5; ++i) {
    if (call.in(i).shape() != Shape{in.dim(3)} || call.in(i).type() != DType::kFloat)
      return InvalidArgument("{} must be DT_FLOAT with one value for each channel of x, not {}{} for x of shape {}",
                             kNames[i], DTypeName(call.in(i).type()), ToString(call.in(i).shape()),
                             ToString(in.shape()));
  }
  const float* scale = Raw<float>(call.in(1));
  const float* offset = Raw<float>(call.in(2));
  const float* mean = Raw<float>(call.in(3));
  const float* variance = Raw<float>(call.in(4));
  const float epsilon = call.attributes().Float("epsilon", 0.0001F);
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  const int64_t channels = in.dim(3);
  std::vector<float> factors(static_cast<size_t>(channels));
  for (int64_t c = 0; c < channels; ++c) factors[static_cast<size_t>(c)] = scale[c] / std::sqrt(variance[c] + epsilon);
  for (int64_t at = 0; at < in.elements(); at += channels) {
    for (int64_t c = 0; c < channels; ++c)
      Raw<float>(out)[at + c] = (Raw<float>(in)[at + c] - mean[c]) * factors[static_cast<size_t>(c)] + offset[c];
  }
  return std::vector<Tensor>{out, call.in(3), call.in(4), call.in(3), call.in(4), call.in(4)};
}

// The image may be DT_HALF or DT_BFLOAT16; scale, offset, mean and variance are always DT_FLOAT.
Outputs FusedBatchNormOfAnyFloat(const Call& call) {
  if (!HasShortFloats(call.inputs.first(1))) return FusedBatchNorm(call);
  std::vector<Tensor> wide(call.inputs.begin(), call.inputs.end());
  ASSIGN_OR_RETURN(wide[0], FromShortFloat(call.in(0)));
  ASSIGN_OR_RETURN(auto outputs, FusedBatchNorm(call.With(wide)));
  ASSIGN_OR_RETURN(outputs[0], ToShortFloat(outputs[0], call.in(0).type()));
  return outputs;
}

template <typename T>
void SoftmaxRow(const T* in, int64_t count, bool log, T* out) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, in[i]);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = log ? in[i] - largest : std::exp(in[i] - largest);
    sum += log ? std::exp(static_cast<double>(out[i])) : static_cast<double>(out[i]);
  }
  const T log_sum = static_cast<T>(std::log(sum));
  for (int64_t i = 0; i < count; ++i)
    out[i] = log ? out[i] - log_sum : static_cast<T>(static_cast<double>(out[i]) / sum);
}

template <bool kIsLog>
Outputs Softmax(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.rank() < 1) return InvalidArgument("logits must have a dimension");
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  const int64_t count = in.shape().back();
  return ForFloats(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t at = 0; at < in.elements(); at += count) SoftmaxRow(Raw<T>(in) + at, count, kIsLog, Raw<T>(out) + at);
    return One(out);
  });
}

Status CheckInference(const graph::Node& node) {
  if (node.attributes.Bool("is_training", true)) return Unimplemented("{} with is_training", node.op);
  if (node.inputs.size() < 5) return Unimplemented("{} with {} inputs", node.op, node.inputs.size());
  const std::string format = node.attributes.Text("data_format", "NHWC");
  if (format != "NHWC") return Unimplemented("{} with data_format {}", node.op, format);
  return {};
}

constexpr Kernel kKernels[] = {
    {"BiasAdd", AlsoShort<BiasAdd>, 2, kFloats | kShortFloats},
    {"FusedBatchNorm", FusedBatchNorm, 5, Only(DType::kFloat), CheckInference},
    {"FusedBatchNormV2", FusedBatchNormOfAnyFloat, 5, Only(DType::kFloat) | kShortFloats, CheckInference},
    {"FusedBatchNormV3", FusedBatchNormOfAnyFloat, 5, Only(DType::kFloat) | kShortFloats, CheckInference},
    {"LogSoftmax", AlsoShort<Softmax<true>>, 1, kFloats | kShortFloats},
    {"Softmax", AlsoShort<Softmax<false>>, 1, kFloats | kShortFloats},
};

}  // namespace

std::span<const Kernel> NormalizeKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::neural
