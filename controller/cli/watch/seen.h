// get --watch: prints objects whenever they change.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/store/store.h"

namespace longshore::cli::watch {

// The objects of two successive prints.
class Seen {
 public:
  // `look`: how an object is shown. An object that looks as before has not changed.
  explicit Seen(std::function<std::string(const store::Object&)> look) : look_(std::move(look)) {}

  struct Difference {
    std::vector<store::Object> changed;  // New ones too, in the order of the listing.
    std::vector<api::Key> deleted;
  };
  // Returns what differs from the listing of the last call. All objects of the first listing are new.
  Difference Update(const std::vector<store::Object>& objects);

 private:
  std::function<std::string(const store::Object&)> look_;
  std::map<api::Key, std::string> looks_;
};

}  // namespace longshore::cli::watch
