// Finds the node that made the first NaN or Inf of a run.
#pragma once

#include <string>
#include <unordered_map>

#include "serving-node/tensor/tensor.h"

namespace longshore::engine::interpreter {

// The node that made a value.
struct Maker {
  std::string node;
  std::string op;
};

// The origin of a non-finite output.
struct Origin {
  size_t output = 0;  // The position of the output in the graph's outputs.
  Maker maker;
};

// Whether the tensor, or a tensor in it if it is a list of tensors, has a non-finite number.
bool ContainsNonFinite(const tensor::Tensor& value);

// The makers of the non-finite values of a run. Key identifies a value; a new Note for a key replaces the old one.
template <typename Key>
class Origins {
 public:
  void Note(const Key& key, const tensor::Tensor& value, const Maker& maker) {
    if (ContainsNonFinite(value))
      made_[key] = maker;
    else
      made_.erase(key);
  }
  // Returns the maker of a value; nullptr if the value is finite or was computed at load.
  const Maker* Of(const Key& key) const {
    const auto found = made_.find(key);
    return found == made_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<Key, Maker> made_;
};

}  // namespace longshore::engine::interpreter
