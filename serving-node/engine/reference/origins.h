// Which node made the first NaN or Inf of a run.
#pragma once

#include <string>
#include <unordered_map>

#include "serving-node/tensor/tensor.h"

namespace longshore::engine::reference {

struct Maker {
  std::string node;
  std::string op;
};

// Of an output that is not finite.
struct Origin {
  size_t output = 0;  // Its position in the graph's outputs.
  Maker maker;
};

// Whether one of the numbers is not finite, those in a list of tensors included.
bool IsBad(const tensor::Tensor& value);

// The makers of values that are not finite, by what tells the values of the run apart. What a key stood for before is
// forgotten.
template <typename Key>
class Origins {
 public:
  void Note(const Key& key, const tensor::Tensor& value, const Maker& maker) {
    if (IsBad(value))
      made_[key] = maker;
    else
      made_.erase(key);
  }
  // nullptr for a value that is finite, or known since load.
  const Maker* Of(const Key& key) const {
    const auto found = made_.find(key);
    return found == made_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<Key, Maker> made_;
};

}  // namespace longshore::engine::reference
