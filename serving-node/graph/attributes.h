// The typed attributes of a node. A SavedModel leaves out attributes that have the op's default value, so every getter
// takes the default from its caller.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "serving-node/tensor/tensor.h"
#include "tensorflow/graph.pb.h"

namespace longshore::graph {

// Copies share the values, which never change. So the constants of a function that is inlined many times are in memory
// only once.
class Attributes {
 public:
  Attributes() = default;
  explicit Attributes(const google::protobuf::Map<std::string, tensorflow::AttrValue>& values);

  bool Has(const std::string& name) const { return values_.contains(name); }
  void Set(const std::string& name, tensorflow::AttrValue value);
  const tensorflow::AttrValue* Find(const std::string& name) const;
  size_t bytes() const;  // The size of all names and values, in which shared values count in full.

  // Each getter returns `absent`, or an empty list, if the attribute is missing or has another type.
  int64_t Int(const std::string& name, int64_t absent) const;
  float Float(const std::string& name, float absent) const;
  bool Bool(const std::string& name, bool absent) const;
  std::string Text(const std::string& name, const std::string& absent) const;
  std::vector<int64_t> Ints(const std::string& name) const;
  tensor::DType Type(const std::string& name, tensor::DType absent = tensor::DType::kInvalid) const;

  bool operator==(const Attributes& other) const;

 private:
  std::map<std::string, std::shared_ptr<const tensorflow::AttrValue>> values_;
};

}  // namespace longshore::graph
