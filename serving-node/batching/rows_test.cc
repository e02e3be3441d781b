#include "serving-node/batching/rows.h"

#include <gmock/gmock.h>

#include "serving-node/batching/padding.h"

namespace longshore::batching {
namespace {

using tensor::Shape;
using tensor::Tensor;
using testing::ElementsAre;

// A signature with an input "x" of this shape pattern and an output "y" with any number of rows.
tensorflow::SignatureDef SignatureWith(const Shape& pattern) {
  tensorflow::SignatureDef signature;
  auto& x = (*signature.mutable_inputs())["x"];
  for (const int64_t size : pattern) x.mutable_tensor_shape()->add_dim()->set_size(size);
  (*signature.mutable_outputs())["y"].mutable_tensor_shape()->add_dim()->set_size(-1);
  return signature;
}

std::optional<Batchable> Find(const tensorflow::SignatureDef& signature, const engine::RunRequest& request, bool pad) {
  engine::Signatures signatures;
  signatures[request.signature] = signature;
  return FindBatchable(signatures, request, pad);
}

template <typename T>
Task TaskOf(Shape shape, const std::vector<T>& values) {
  Task task;
  task.rows = shape[0];
  task.request = {"serving_default", {{"x", Tensor::Of<T>(std::move(shape), values)}}, {}};
  return task;
}

std::string KeyOf(const Shape& pattern, Shape shape, bool pad) {
  const auto elements = static_cast<size_t>(*tensor::ElementCount(shape));
  const Task task = TaskOf<float>(std::move(shape), std::vector<float>(elements));
  return Find(SignatureWith(pattern), task.request, pad)->key;
}

TEST(Rows, RunTogetherDespiteDifferentSizesOnlyWithPaddingInFreeDimensions) {
  EXPECT_NE(KeyOf({-1, -1}, {1, 2}, false), KeyOf({-1, -1}, {1, 3}, false));
  EXPECT_EQ(KeyOf({-1, -1}, {1, 2}, true), KeyOf({-1, -1}, {4, 3}, true));
  EXPECT_FALSE(Find(SignatureWith({-1, 2}), TaskOf<float>({1, 3}, {0, 0, 0}).request, true));
  EXPECT_NE(KeyOf({-1, -1, -1}, {1, 2, 2}, true), KeyOf({-1, -1}, {1, 2}, true));
  EXPECT_NE(KeyOf({-1, -1}, {1, 0}, true), KeyOf({-1, -1}, {1, 2}, true)) << "an empty row has no element to pad with";
}

// In such shapes the first dimension need not be the batch: Softmax of [2] and of [3] must not become that of [5].
TEST(Rows, OfAnotherShapeThanTheSignaturesRunAlone) {
  const auto found = [](const tensorflow::SignatureDef& signature, Shape shape) {
    const auto elements = static_cast<size_t>(*tensor::ElementCount(shape));
    const engine::RunRequest request{
        "serving_default", {{"x", Tensor::Of<float>(std::move(shape), std::vector<float>(elements))}}, {}};
    return Find(signature, request, false).has_value();
  };
  EXPECT_TRUE(found(SignatureWith({-1, 2}), {3, 2}));
  EXPECT_FALSE(found(SignatureWith({-1, 2}), {3}));
  EXPECT_FALSE(found(SignatureWith({-1, 2}), {3, 1}));
  EXPECT_FALSE(found(SignatureWith({-1, 2}), {3, 2, 1}));
  EXPECT_FALSE(found(SignatureWith({-1, 2}), {}));
  auto without_shape = SignatureWith({});
  without_shape.mutable_inputs()->at("x").clear_tensor_shape();
  EXPECT_TRUE(found(without_shape, {3})) << "its rank is unknown";
  EXPECT_FALSE(found(without_shape, {})) << "it has no rows";
}

tensorflow::SignatureDef OfExamples(int64_t rows, const std::string& output, int64_t output_rows) {
  tensorflow::SignatureDef signature;
  auto& input = (*signature.mutable_inputs())["inputs"];
  input.set_name("examples:0");
  input.set_dtype(tensorflow::DT_STRING);
  input.mutable_tensor_shape()->add_dim()->set_size(rows);
  (*signature.mutable_outputs())[output].mutable_tensor_shape()->add_dim()->set_size(output_rows);
  return signature;
}

// Split would give each request one slice of the constant.
TEST(Rows, RunAloneIfAnotherSignatureThatTheyAskForHasAFixedNumberOfRows) {
  engine::Signatures all;
  all["regress"] = OfExamples(-1, "outputs", -1);
  all["classify"] = OfExamples(-1, "scores", -1);
  all["vocabulary"] = OfExamples(-1, "words", 4);
  all["quartet"] = OfExamples(4, "outputs", -1);
  const auto found = [&](const std::vector<std::string>& outputs) {
    return FindBatchable(all, {"regress", {{"inputs", Tensor::Of<std::string>({4}, {"", "", "", ""})}}, outputs}, false)
        .has_value();
  };
  EXPECT_TRUE(found({"regress/outputs", "classify/scores"}));
  EXPECT_FALSE(found({"regress/outputs", "vocabulary/words"}));
  EXPECT_FALSE(found({"regress/outputs", "quartet/outputs"}));
  EXPECT_FALSE(found({"regress/outputs", "none/outputs"}));
}

TEST(Rows, ArePaddedWithTheFirstElementOfTheirRequest) {
  Batch batch;
  batch.push_back(TaskOf<float>({1, 2, 1}, {1, 2}));
  batch.push_back(TaskOf<float>({2, 1, 2}, {3, 4, 5, 6}));
  const auto joined = Join(batch, 4);
  ASSERT_TRUE(joined);
  const Tensor& x = joined->inputs.at("x");
  EXPECT_EQ(x.shape(), (Shape{4, 2, 2}));
  EXPECT_THAT(x.values<float>(), ElementsAre(1, 1, 2, 1, /**/ 3, 4, 3, 3, /**/ 5, 6, 3, 3, /**/ 1, 1, 2, 1));
}

TEST(Rows, ArePaddedAlsoIfTheyAreStrings) {
  Batch batch;
  batch.push_back(TaskOf<std::string>({1, 1}, {"a"}));
  batch.push_back(TaskOf<std::string>({1, 3}, {"b", "c", "d"}));
  EXPECT_THAT(Join(batch, 2)->inputs.at("x").values<std::string>(), ElementsAre("a", "a", "a", "b", "c", "d"));
}

TEST(Rows, AreNotPaddedIfNearlyAllWouldBePadding) {
  Batch batch;
  batch.push_back(TaskOf<float>({1, 1 << 20}, std::vector<float>(1 << 20)));
  for (int i = 0; i < 100; ++i) batch.push_back(TaskOf<float>({1, 1}, {1}));
  EXPECT_EQ(Join(batch, 101).error().code, Code::kResourceExhausted);
  batch.resize(8);
  EXPECT_TRUE(Join(batch, 8)) << "32 MiB are below the limit";
}

TEST(WithRows, RepeatsRowsInOrderOrTakesTheFirst) {
  const auto rows_of = [](int64_t rows) {
    engine::RunRequest request{
        "s", {{"x", Tensor::Of<float>({2, 1}, {1, 2})}, {"t", Tensor::Of<std::string>({2}, {"a", "b"})}}, {}};
    const auto changed = WithRows(std::move(request), rows);
    EXPECT_TRUE(changed);
    const auto x = changed->inputs.at("x").values<float>();
    const auto t = changed->inputs.at("t").values<std::string>();
    std::string text;
    for (size_t i = 0; i < x.size(); ++i) text += fmt::format("{}{} ", x[i], t[i]);
    return text;
  };
  EXPECT_EQ(rows_of(1), "1a ");
  EXPECT_EQ(rows_of(2), "1a 2b ");
  EXPECT_EQ(rows_of(5), "1a 2b 1a 2b 1a ");
}

TEST(WithRows, RefusesTooMuchMemory) {
  engine::RunRequest request{"s", {{"x", *Tensor::Make(tensor::DType::kFloat, {1, 1 << 20})}}, {}};
  EXPECT_TRUE(WithRows(request, 16));
  EXPECT_EQ(WithRows(request, 17).error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace longshore::batching
