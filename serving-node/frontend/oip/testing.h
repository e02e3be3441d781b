// For tests of the Open Inference Protocol: its methods on top of fakes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "serving-node/frontend/oip/methods.h"
#include "serving-node/frontend/testing.h"
#include "serving-node/routing/run_statistics.h"

namespace longshore::frontend::oip {

// Has the models "digits" and "gone", and remembers the changes.
class FakeRepository final : public Repository {
 public:
  std::vector<std::string> Names() const override { return {"digits", "gone"}; }
  void Load(const std::string& model, std::chrono::steady_clock::time_point, Done done) override {
    changes_.push_back("load " + model);
    done({});
  }
  void Unload(const std::string& model, Done done) override {
    changes_.push_back("unload " + model);
    done({});
  }
  std::vector<std::string> changes_;
};

// The methods, and all that they depend on. The predictor doubles "x".
struct FakeMethods {
  FakePredictor predictor_;
  FakeCatalog catalog_;
  FakeRepository repository_;
  routing::RunStatistics statistics_;
  const Methods methods_{{.predictor = predictor_,
                          .catalog = catalog_,
                          .repository = repository_,
                          .statistics = statistics_,
                          .ready = [] { return true; },
                          .software_version = "1.2.3",
                          .elements_max = 100}};
};

}  // namespace longshore::frontend::oip
