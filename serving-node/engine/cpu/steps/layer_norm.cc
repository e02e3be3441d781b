// LayerNorm: scales each row of floats to mean 0 and variance 1, multiplies by gamma and adds beta.
#include <cmath>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/step.h"

namespace longshore::engine::cpu {
namespace {

class LayerNormStep final : public Step {
 public:
  explicit LayerNormStep(const StepContext& context)
      : width_(context.inputs[0].shape().back()),
        rows_(context.inputs[0].elements() / width_),
        epsilon_(context.node.attributes.Float("epsilon", 0)),
        in_(context.inputs[0].id),
        gamma_(context.inputs[1].id),
        beta_(context.inputs[2].id),
        out_(context.outputs[0].id) {}

  // Reads the input again after writing to the output, so the two must not share memory; the arena ensures that.
  Status Run(Frame& frame) const override {
    const float* in = frame.As<const float>(in_);
    const float* gamma = frame.As<const float>(gamma_);
    const float* beta = frame.As<const float>(beta_);
    float* out = frame.As<float>(out_);
    ForParts(rows_, width_ * kWorkOfEach, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) DoRow(in + row * width_, gamma, beta, out + row * width_);
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  static constexpr int64_t kWorkOfEach = 4;

  void DoRow(const float* in, const float* gamma, const float* beta, float* out) const {
    const float share = 1.0F / static_cast<float>(width_);
    const float mean = SumOf(in, width_) * share;
    FindBinaryLoops("SquaredDifference")->with_number(in, mean, out, width_);
    const float variance = SumOf(out, width_) * share;
    NormalizedOf(in, {.mean = mean, .factor = 1.0F / std::sqrt(variance + epsilon_)}, gamma, beta, out, width_);
  }

  int64_t width_, rows_;
  float epsilon_;
  ValueId in_, gamma_, beta_, out_;
};

}  // namespace

// Never returns nullptr: the pass that makes LayerNorm, and HaveShapes, ensure that the shapes are known.
StepPtr MakeLayerNorm(const StepContext& context) { return std::make_unique<LayerNormStep>(context); }

}  // namespace longshore::engine::cpu
