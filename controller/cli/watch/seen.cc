#include "controller/cli/watch/seen.h"

#include <utility>

#include "controller/store/document.h"

namespace longshore::cli::watch {

Seen::Difference Seen::Update(const std::vector<store::Object>& objects) {
  Difference difference;
  std::map<api::Key, std::string> looks;
  for (const store::Object& object : objects) {
    const api::Key key = store::KeyOf(object);
    std::string look = look_(object);
    const auto before = looks_.find(key);
    if (before == looks_.end() || before->second != look) difference.changed.push_back(object);
    looks.emplace(key, std::move(look));
  }
  for (const auto& [key, _] : looks_) {
    if (!looks.contains(key)) difference.deleted.push_back(key);
  }
  looks_ = std::move(looks);
  return difference;
}

}  // namespace longshore::cli::watch
