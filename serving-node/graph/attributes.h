// The attributes of a node with their types: what a SavedModel leaves out is the op's default, given by who asks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "serving-node/tensor/tensor.h"
#include "tensorflow/graph.pb.h"

namespace longshore::graph {

// Copies share the values, which never change: a function's constants lie in memory once however often it is called.
class Attributes {
 public:
  Attributes() = default;
  explicit Attributes(const google::protobuf::Map<std::string, tensorflow::AttrValue>& values);

  bool Has(const std::string& name) const { return values_.contains(name); }
  void Set(const std::string& name, tensorflow::AttrValue value);
  const tensorflow::AttrValue* Find(const std::string& name) const;
  size_t bytes() const;  // Of names and values, as if nobody shared them.

  // An attribute of another kind counts as absent.
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
