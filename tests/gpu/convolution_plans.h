// All ways that cuDNN offers to compute a convolution.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/dnn.h"
#include "tests/gpu/shapes.h"

namespace longshore::gpu {

enum class Layout { kNhwc, kNchw };

// What is computed after the convolution, in the same plan.
enum class Fusion { kNone, kBiasRelu, kBiasResidualRelu };

// One computation that cuDNN is asked to plan: y = conv(x, w), y = relu(conv(x, w) + bias), or
// y = relu(conv(x, w) + bias + residual), where the residual has the shape of y.
struct Request {
  Convolution shape;
  int64_t batch = 1;
  Layout layout = Layout::kNhwc;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Fusion fusion = Fusion::kNone;
};

// The strides of [batch, channels, height, width], with `dimensions` in this order.
std::vector<int64_t> Strides(const std::vector<int64_t>& dimensions, Layout layout);

struct Knob {
  int64_t type = 0;
  int64_t value = 0;
};

// An engine of cuDNN with a choice for each of its knobs.
struct Plan {
  int64_t engine = 0;
  std::vector<Knob> knobs;
  std::vector<int> numerical_notes;
  std::vector<int> behavior_notes;
  std::unique_ptr<Descriptor> config;
  std::unique_ptr<Descriptor> executable;  // nullptr until it is built.
  int64_t workspace_bytes = 0;
  std::string why_not;  // Why it could not be built.

  bool Has(cudnnBackendNumericalNote_t note) const;
  bool Has(cudnnBackendBehaviorNote_t note) const;
  bool IsFloat32() const;    // Computes in float32, without tensor cores and without narrower numbers.
  std::string Name() const;  // "1 k2=5 k14=3": engine 1 with knob 2 set to 5 and knob 14 to 3.
};

// The descriptors of one request. They live as long as its plans.
class ConvolutionGraph {
 public:
  ConvolutionGraph(const Request& request, const Target& target);

  // What the heuristics of cuDNN offer, best first, then what works for any shape. Without duplicates.
  std::vector<Plan> Plans(const Target& target) const;

  // Makes the plan executable, or says in `why_not` why this failed.
  static void Build(Plan& plan, const Target& target);

 private:
  void AddConvolution(const Request& request, const Descriptor& output);
  void AddPointwise(cudnnPointwiseMode_t mode, const Descriptor& input, const Descriptor* second,
                    const Descriptor& output);
  Descriptor& AddTensor(int64_t id, const std::vector<int64_t>& dimensions, const Request& request,
                        bool is_virtual = false);

  std::vector<std::unique_ptr<Descriptor>> parts_;
  std::vector<const Descriptor*> operations_;
  std::unique_ptr<Descriptor> graph_;
};

// The memory that a plan works on.
struct Arguments {
  const void* input = nullptr;
  const void* filter = nullptr;
  const void* bias = nullptr;      // nullptr if the request has none.
  const void* residual = nullptr;  // The same.
  void* output = nullptr;
  void* workspace = nullptr;
};

// Binds memory to the tensors; the result is used with cudnnBackendExecute.
Descriptor Bind(const Arguments& arguments);

}  // namespace longshore::gpu
