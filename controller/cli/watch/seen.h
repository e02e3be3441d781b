// get --watch: prints objects whenever they change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/store/store.h"

namespace longshore::cli::watch {

// The objects of two successive prints.
class Seen {
 public:
  struct Difference {
    std::vector<store::Object> changed;  // New ones too, in the order of the listing.
    std::vector<api::Key> deleted;
  };
  // Returns what differs from the listing of the last call. All objects of the first listing are new.
  Difference Update(const std::vector<store::Object>& objects);

 private:
  std::map<api::Key, std::string> versions_;
};

}  // namespace longshore::cli::watch
