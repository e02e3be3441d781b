// Softmax and LogSoftmax of floats over the last axis. Our own, for oneDNN's makes zeros where there is a NaN.
#include <cmath>

#include "serving-node/engine/cpu/steps/loops.h"
#include "serving-node/engine/cpu/steps/parallel.h"
#include "serving-node/engine/cpu/steps/step.h"

namespace longshore::engine::cpu {
namespace {

void Softmax(const float* in, float* out, int64_t classes) {
  ExpOf(in, MaxOf(in, classes), out, classes);
  FindBinaryLoops("Div")->with_number(out, SumOf(out, classes), out, classes);
}

void LogSoftmax(const float* in, float* out, int64_t classes) {
  const float largest = MaxOf(in, classes);
  ExpOf(in, largest, out, classes);
  const float log_sum = std::log(SumOf(out, classes));
  for (int64_t i = 0; i < classes; ++i) out[i] = (in[i] - largest) - log_sum;
}

class SoftmaxStep final : public Step {
 public:
  SoftmaxStep(bool of_logarithm, const Shape& shape, int64_t elements, ValueId in, ValueId out)
      : of_row_(of_logarithm ? LogSoftmax : Softmax),
        classes_(shape.back()),
        rows_(elements / shape.back()),
        in_(in),
        out_(out) {}

  // The input is read again after the output was written: they never share memory.
  Status Run(Frame& frame) const override {
    const float* in = frame.As<const float>(in_);
    float* out = frame.As<float>(out_);
    ForParts(rows_, classes_ * kWorkOfExp, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) of_row_(in + row * classes_, out + row * classes_, classes_);
    });
    return {};
  }
  std::string how() const override { return "loops"; }

 private:
  static constexpr int64_t kWorkOfExp = 8;
  void (*of_row_)(const float* in, float* out, int64_t classes);
  int64_t classes_, rows_;
  ValueId in_, out_;
};

}  // namespace

StepPtr MakeSoftmax(const StepContext& context) {
  const Value& in = context.inputs[0];
  if (!in.is_static() || in.type.type != DType::kFloat || in.shape().empty() || in.elements() == 0) return nullptr;
  if (!context.node.then.empty()) return nullptr;
  return std::make_unique<SoftmaxStep>(context.node.op == "LogSoftmax", in.shape(), in.elements(), in.id,
                                       context.outputs[0].id);
}

}  // namespace longshore::engine::cpu
