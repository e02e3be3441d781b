// The names by which clients ask for Models: on a fleet, each may belong to one Model only.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "controller/api/types.h"

namespace longshore::cli::input {

using Models = std::map<api::Key, api::ModelSpec>;

// The fleet that the Model names.
api::Key FleetOfModel(const api::Key& model, const api::ModelSpec& spec);

class ServedNames {
 public:
  // Keeps the name of the Model. Returns "" or, if another Model of the fleet has this name, which: `the name "digits"
  // is also that of Model default/a, which is applied; ...`. `place`: where the Model is, for messages: ", which is
  // applied" or " at a.yaml:1".
  std::string Add(const api::Key& model, const api::ModelSpec& spec, const std::string& place);

 private:
  struct Owner {
    api::Key model;
    std::string place;
  };
  std::map<std::pair<api::Key, std::string>, Owner> first_;  // Of a fleet and a name.
};

}  // namespace longshore::cli::input
