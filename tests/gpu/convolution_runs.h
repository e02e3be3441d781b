// Executes and times plans of convolutions on the device.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/convolution_plans.h"
#include "tests/gpu/device.h"

namespace longshore::gpu {

// A request with those of its plans that are to be timed.
struct Prepared {
  Request request;
  std::unique_ptr<ConvolutionGraph> graph;
  std::vector<Plan> plans;
  std::string error;  // Why there are no plans.
};

// The best of the plans of a request, by time.
struct Best {
  const Plan* plan = nullptr;  // nullptr if none of them runs.
  double us = 0;
  double first_us = 0;  // The time of the first plan that runs: the choice of cuDNN's heuristics.
  bool is_bit_equal = false;
  double error = 0;  // Only for float32.
};

// What was seen of an engine in all plans of one kind of request.
struct EngineRecord {
  int plans = 0;
  int built = 0;
  int ran = 0;
  int refused_in_capture = 0;
  int best = 0;
  int64_t workspace_bytes_max = 0;
  std::string notes;
  std::string error;  // One of those of plans that did not run.
};

class ConvolutionBench {
 public:
  // Allocates memory that is large enough for all shapes at this batch.
  ConvolutionBench(const Shapes& shapes, int64_t batch);

  // Times all plans, and adds what it saw to `engines`.
  Best Measure(const Prepared& prepared, std::map<int64_t, EngineRecord>& engines);

 private:
  // The time of one execution; 0 if the plan does not run.
  double RoughUs(const Plan& plan, const Descriptor& pack, double best_us, EngineRecord& record);
  void Execute(const Plan& plan, const Descriptor& pack) const;
  Arguments ArgumentsFor(const Prepared& prepared, bool second_output) const;
  void CheckResults(const Prepared& prepared, Best& best);

  Target target_;
  Stream stream_;
  size_t output_bytes_ = 0;
  DeviceMemory input_, filter_, bias_, residual_, bfloat16_input_, bfloat16_filter_, output_, second_output_,
      workspace_;
};

}  // namespace longshore::gpu
