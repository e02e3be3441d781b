// For tests: reads the cases of tests/golden/engine/ops and makes a graph of one op for each.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "common/json/json.h"
#include "common/os/file.h"
#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/graph/build.h"
#include "serving-node/tensor/half.h"
#include "serving-node/tensor/proto.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::engine::interpreter {

// Adds the cases of a file. Sets "at" of each case to its file and line, such as "basics.json:12".
inline void AddOpCases(const Path& file, Json* all) {
  const auto text = ReadFile(file);
  if (!text) ADD_FAILURE() << ToString(text.error());
  auto cases = ParseJson(text.value_or("[]"));
  if (!cases) ADD_FAILURE() << file << ": " << ToString(cases.error());
  size_t line = 2;
  for (auto& json : cases.value_or(Json::array())) {
    json["at"] = fmt::format("{}:{}", file.filename().string(), line++);
    all->push_back(std::move(json));
  }
}

inline Json OpCases() {
  Json all = Json::array();
  for (const auto& entry :
       std::filesystem::directory_iterator(source_tree::Root() / "tests" / "golden" / "engine" / "ops")) {
    AddOpCases(entry.path(), &all);
  }
  return all;
}

// A number, or one of the strings "nan", "inf" and "-inf", which JSON has no numbers for.
inline double NumberOf(const Json& json) {
  return json.is_string() ? std::stod(json.get<std::string>()) : json.get<double>();
}

// A string, or bytes that are not valid UTF-8 as {"hex": "00ff"}.
inline std::string BytesOf(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const std::string hex = json.at("hex").get<std::string>();
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

inline void AddValue(const Json& json, tensorflow::TensorProto* proto) {
  using tensor::DType;
  switch (tensor::FromProto(proto->dtype())) {
    case DType::kFloat: return proto->add_float_val(static_cast<float>(NumberOf(json)));
    case DType::kDouble: return proto->add_double_val(NumberOf(json));
    case DType::kHalf: return proto->add_half_val(tensor::FloatToHalf(static_cast<float>(NumberOf(json))));
    case DType::kBfloat16: return proto->add_half_val(tensor::FloatToBfloat16(static_cast<float>(NumberOf(json))));
    case DType::kInt64: return proto->add_int64_val(json.get<int64_t>());
    case DType::kUint32: return proto->add_uint32_val(json.get<uint32_t>());
    case DType::kUint64: return proto->add_uint64_val(json.get<uint64_t>());
    case DType::kBool: return proto->add_bool_val(json.get<bool>());
    case DType::kString: return proto->add_string_val(BytesOf(json));
    default: return proto->add_int_val(json.get<int32_t>());
  }
}

inline tensor::Tensor TensorOf(const Json& json) {
  tensorflow::TensorProto proto;
  proto.set_dtype(static_cast<tensorflow::DataType>(json.at("type").get<int>()));
  tensor::ShapeToProto(json.at("shape").get<tensor::Shape>(), proto.mutable_tensor_shape());
  for (const auto& value : json.at("values")) AddValue(value, &proto);
  auto made = tensor::FromProto(proto);
  if (!made) ADD_FAILURE() << ToString(made.error());
  return made.value_or(tensor::Tensor());
}

// A graph with the node "op" and a placeholder for each of its inputs. A case with state between ops has its own graph.
struct OneOp {
  // Which inputs of the node are fed. Other inputs are constants.
  enum class Fed { kAll, kFirst, kSecond, kAllButLast };

  explicit OneOp(const Json& json, Fed fed_inputs = Fed::kAll) {
    if (json.contains("graph"))
      TakeGraph(json);
    else
      MakeGraph(json, fed_inputs);
  }

  void MakeGraph(const Json& json, Fed fed_inputs) {
    tensorflow::NodeDef node;
    node.set_name("op");
    node.set_op(json.at("op").get<std::string>());
    for (const auto& [name, text] : json.at("attributes").items()) {
      EXPECT_TRUE(
          google::protobuf::TextFormat::ParseFromString(text.get<std::string>(), &(*node.mutable_attr())[name]));
    }
    for (const auto& input : json.at("inputs")) {
      const std::string name = fmt::format("in{}", node.input_size());
      node.add_input(name);
      if (IsFed(fed_inputs, static_cast<size_t>(node.input_size()) - 1, json.at("inputs").size())) {
        AddPlaceholder(name, TensorOf(input));
      } else {
        AddConstant(name, TensorOf(input));
      }
    }
    *def.add_node() = node;
    const size_t outputs = json.contains("outputs") ? json.at("outputs").size() : 1;
    for (size_t i = 0; i < outputs; ++i) wanted.outputs.push_back(fmt::format("op:{}", i));
  }

  static bool IsFed(Fed fed_inputs, size_t input, size_t inputs) {
    switch (fed_inputs) {
      case Fed::kFirst: return input == 0;
      case Fed::kSecond: return input == 1;
      case Fed::kAllButLast: return input + 1 < inputs;
      default: return true;
    }
  }

  void AddPlaceholder(const std::string& name, tensor::Tensor value) {
    auto* placeholder = def.add_node();
    placeholder->set_name(name);
    placeholder->set_op("Placeholder");
    wanted.feeds.push_back(name);
    fed[name] = std::move(value);
  }

  void AddConstant(const std::string& name, const tensor::Tensor& value) {
    auto* constant = def.add_node();
    constant->set_name(name);
    constant->set_op("Const");
    (*constant->mutable_attr())["dtype"].set_type(static_cast<tensorflow::DataType>(value.type()));
    tensor::ToProto(value, (*constant->mutable_attr())["value"].mutable_tensor());
  }

  // Takes the case's own graph. Its placeholders are "in0", "in1" and so on.
  void TakeGraph(const Json& json) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(json.at("graph").get<std::string>(), &def));
    for (const auto& input : json.at("inputs")) {
      wanted.feeds.push_back(fmt::format("in{}", wanted.feeds.size()));
      fed[wanted.feeds.back()] = TensorOf(input);
    }
    wanted.outputs = json.at("fetches").get<std::vector<std::string>>();
  }

  // Returns Unimplemented if the op or one of its attributes is not supported.
  Result<Plan> MakePlan(Plan::Folding folding = {}) const {
    ASSIGN_OR_RETURN(graph::Graph graph, graph::Build(def, wanted));
    Unsupported unsupported;
    unsupported.Check(graph);
    RETURN_IF_ERROR(unsupported.ToStatus());
    kernels::Resources resources;
    return Plan::Make(std::move(graph), folding, resources);
  }

  tensorflow::GraphDef def;
  graph::Wanted wanted;
  std::map<std::string, tensor::Tensor> fed;
};

}  // namespace longshore::engine::interpreter
