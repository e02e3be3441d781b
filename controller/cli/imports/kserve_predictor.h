// Splits the predictor of an InferenceService into the fields of a fleet and those of a Model. Internal to imports/.
#pragma once

#include <string>
#include <vector>

#include "controller/api/fields.h"
#include "controller/cli/imports/imported.h"

namespace longshore::cli::imports {

// Makes notes that name the file and line of a setting.
class Notes {
 public:
  explicit Notes(const api::Origin& origin) : origin_(origin) {}

  // Appends, for example, "isvc.yaml:7: spec.predictor.timeout: is not imported".
  void Add(const std::string& path, const std::string& text, std::vector<std::string>& notes) const {
    notes.push_back(origin_.At(path) + text);
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

// `name`: the name of the InferenceService. Errors are added to the Reader of `predictor`.
Predictor ReadPredictor(api::Fields& predictor, const std::string& name, const Notes& notes);

}  // namespace longshore::cli::imports
