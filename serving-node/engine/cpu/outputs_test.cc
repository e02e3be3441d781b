// Compares the outputs of random graphs with those of the reference plan. Their ops make several outputs, share memory,
// and have a step of their own or only a reference kernel; any value may be an output, and more than once.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "serving-node/engine/cpu/compiled.h"
#include "serving-node/engine/interpreter/plan.h"
#include "serving-node/graph/build.h"
#include "tests/seeds/seeds.h"

namespace longshore::engine::cpu {
namespace {

using kernels::Resources;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

class KernelGraph {
 public:
  // A graph over x: [0 to 3 rows, 4 columns]. All values between the ops have the same rows.
  explicit KernelGraph(uint64_t seed) : random_(seed), rows_(static_cast<int64_t>(random_() % 4)) {
    auto* x = Add("Placeholder", {});
    (*x->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
    wanted.feeds = {x->name()};
    values_ = {{x->name(), 4}};
    for (int i = 0; i < 7; ++i) Grow();
    for (int i = 0; i < 4; ++i) wanted.outputs.push_back(outputs_[random_() % outputs_.size()]);
  }

  std::map<std::string, Tensor> Inputs(float factor) const {
    Tensor x = *Tensor::Make(DType::kFloat, {rows_, 4});
    float value = 0;
    for (float& each : x.mutable_values<float>()) each = factor * (value += 1);
    return {{wanted.feeds[0], x}};
  }

  tensorflow::GraphDef def;
  graph::Wanted wanted;

 private:
  struct Matrix {
    std::string name;
    int64_t columns;
  };

  void Grow() {
    const Matrix from = values_[values_.size() - 1 - random_() % std::min<size_t>(values_.size(), 3)];
    switch (random_() % 7) {
      case 0: return Found(Add("Tile", {from.name, Ints({1, 2})})->name(), 2 * from.columns);
      case 1: return Found(Add("Relu", {from.name})->name(), from.columns);
      case 2: return Found(Add("AddV2", {from.name, from.name})->name(), from.columns);
      case 3: return Found(Add("ReverseV2", {from.name, Ints({1})})->name(), from.columns);
      case 4: {  // Shares the memory of what it reads.
        const std::string flat = Add("Reshape", {from.name, Ints({rows_ * from.columns})})->name();
        outputs_.push_back(flat);
        return Found(Add("Reshape", {flat, Ints({rows_, from.columns})})->name(), from.columns);
      }
      case 5: {  // The values, and their columns.
        const auto* top = Add("TopKV2", {from.name, Ints({2}, Shape{})});
        outputs_.push_back(top->name() + ":1");
        return Found(top->name(), 2);
      }
      default: {  // One output for each column.
        auto* columns = Add("Unpack", {from.name});
        (*columns->mutable_attr())["num"].set_i(from.columns);
        (*columns->mutable_attr())["axis"].set_i(1);
        const std::string last = fmt::format("{}:{}", columns->name(), from.columns - 1);
        outputs_.push_back(last);
        outputs_.push_back(columns->name());
        auto* pair = Add("Pack", {last, columns->name()});
        (*pair->mutable_attr())["N"].set_i(2);
        (*pair->mutable_attr())["axis"].set_i(1);
        return Found(pair->name(), 2);
      }
    }
  }

  void Found(const std::string& name, int64_t columns) {
    values_.push_back({name, columns});
    outputs_.push_back(name);
  }

  tensorflow::NodeDef* Add(const std::string& op, const std::vector<std::string>& inputs) {
    auto* node = def.add_node();
    node->set_name(fmt::format("n{}", def.node_size()));
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    (*node->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
    return node;
  }

  std::string Ints(const std::vector<int64_t>& values, std::optional<Shape> shape = std::nullopt) {
    auto* node = Add("Const", {});
    (*node->mutable_attr())["dtype"].set_type(tensorflow::DT_INT32);
    auto* tensor = (*node->mutable_attr())["value"].mutable_tensor();
    tensor->set_dtype(tensorflow::DT_INT32);
    for (const int64_t size : shape.value_or(Shape{std::ssize(values)}))
      tensor->mutable_tensor_shape()->add_dim()->set_size(size);
    for (const int64_t value : values) tensor->add_int_val(static_cast<int32_t>(value));
    return node->name();
  }

  std::mt19937_64 random_;
  const int64_t rows_;
  std::vector<Matrix> values_;
  std::vector<std::string> outputs_;
};

void ExpectSame(const std::vector<Tensor>& given, const std::vector<Tensor>& wanted, const std::string& where) {
  ASSERT_EQ(given.size(), wanted.size()) << where;
  for (size_t i = 0; i < given.size(); ++i) {
    ASSERT_EQ(given[i].shape(), wanted[i].shape()) << where;
    ASSERT_EQ(given[i].type(), wanted[i].type()) << where;
    if (given[i].bytes() == 0) continue;
    ASSERT_EQ(std::memcmp(given[i].data(), wanted[i].data(), given[i].bytes()), 0) << "output " << i << where;
  }
}

TEST(Outputs, OfKernelsAndStepsAreThoseOfTheReferencePlanAndSurviveTheNextRun) {
  constexpr uint64_t kGraphs = 600;
  const uint64_t first = seeds::First(kGraphs);
  for (uint64_t seed = first; seed < first + kGraphs; ++seed) {
    const KernelGraph random(seed);
    const std::string where = fmt::format(", seed {}\n{}", seed, random.def.DebugString());
    auto graph = graph::Build(random.def, random.wanted);
    ASSERT_TRUE(graph) << ToString(graph.error()) << where;
    Resources resources;
    const auto plan = interpreter::Plan::Make(std::move(*graph), {}, resources);
    ASSERT_TRUE(plan) << where;
    const Compiled compiled(plan->ToGraph(), ExecutionOptions{.slice_bytes = static_cast<int64_t>(seed % 3) * 40},
                            std::make_shared<RunMemory>(), std::make_shared<Weights>());
    std::vector<Result<std::vector<Tensor>>> given, wanted;
    for (const float factor : {1.0F, -2.0F}) {
      wanted.push_back(plan->Run(random.Inputs(factor), {}, resources));
      given.push_back(compiled.Run(random.Inputs(factor), {}, resources, SIZE_MAX));
    }
    for (size_t run = 0; run < given.size(); ++run) {
      ASSERT_TRUE(wanted[run]) << ToString(wanted[run].error()) << where;
      ASSERT_TRUE(given[run]) << ToString(given[run].error()) << where;
      ASSERT_NO_FATAL_FAILURE(ExpectSame(*given[run], *wanted[run], where));
    }
  }
}

}  // namespace
}  // namespace longshore::engine::cpu
