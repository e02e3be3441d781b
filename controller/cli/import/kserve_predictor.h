// The predictor of an InferenceService: what of it belongs to the fleet, what to the Model. Internal to import/.
#pragma once

#include <string>
#include <vector>

#include "controller/api/fields.h"
#include "controller/cli/import/imported.h"

namespace longshore::cli {

// A place in a file, and what is said of the setting there.
class Notes {
 public:
  explicit Notes(const api::Origin& origin) : origin_(origin) {}

  // "isvc.yaml:7: spec.predictor.timeout: has no counterpart".
  void Add(const std::string& path, const std::string& what, std::vector<std::string>& notes) const {
    notes.push_back(origin_.At(path) + what);
  }

 private:
  const api::Origin& origin_;
};

struct Predictor {
  Json fleet = Json::object();  // Fields of a ServingFleet's spec.
  Json model = Json::object();  // Fields of a Model's spec, without the fleet.
  std::vector<std::string> fleet_notes;
  std::vector<std::string> model_notes;
};

// `name`: of the InferenceService. What is wrong is told to the reader of the fields.
Predictor ReadPredictor(api::Fields& predictor, const std::string& name, const Notes& notes);

}  // namespace longshore::cli
