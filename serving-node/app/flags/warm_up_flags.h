// The flags of warm-up; all are TensorFlow Serving's.
#pragma once

#include <algorithm>

namespace CLI {
class App;
}

namespace longshore::app::flags {

struct WarmUpFlags {
  bool enable_model_warmup = true;
  int num_request_iterations_for_warmup = 0;

  void AddTo(CLI::App& app);
  int iterations() const { return std::max(1, num_request_iterations_for_warmup); }
};

}  // namespace longshore::app::flags
