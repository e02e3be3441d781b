#include "serving-node/inspect/program.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "common/json/json.h"
#include "common/os/file.h"
#include "serving-node/inspect/check.h"
#include "serving-node/inspect/ops.h"
#include "serving-node/inspect/text.h"
#include "serving-node/inspect/version.h"
#include "serving-node/tensor/npy.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::inspect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Path kModels = source_tree::Root() / "tests" / "models";

// The result of a command line: exit code, results and notes. `notes` has the error message, too.
struct Outcome {
  int code = 0;
  std::string out;
  std::string notes;
};

Outcome RunProgram(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"longshore-model"};
  for (const auto& word : words) argv.push_back(word.c_str());
  const auto options = ParseOptions(static_cast<int>(argv.size()), argv.data());
  if (!options) return {kExitUsage, "", options.error().message};
  std::ostringstream out, notes;
  const auto code = Run(*options, out, notes);
  return {code.value_or(kExitFailed), out.str(), notes.str() + (code ? "" : code.error().message)};
}

class InspectTest : public testing::Test {
 protected:
  InspectTest() { std::filesystem::create_directories(dir_); }
  ~InspectTest() override { std::filesystem::remove_all(dir_); }

  std::string File(const std::string& name, std::string_view bytes) {
    EXPECT_TRUE(WriteFileAtomically(dir_ / name, bytes));
    return (dir_ / name).string();
  }

  // Makes a changed copy of a test model and returns the directory of the copy.
  std::string Changed(const Path& model, const std::function<void(tensorflow::MetaGraphDef&)>& change) {
    std::filesystem::copy(kModels / model, dir_ / "changed", std::filesystem::copy_options::recursive);
    const Path file = dir_ / "changed" / "saved_model.pb";
    tensorflow::SavedModel saved;
    EXPECT_TRUE(saved.ParseFromString(*ReadFile(file)));
    change(*saved.mutable_meta_graphs(0));
    EXPECT_TRUE(WriteFileAtomically(file, saved.SerializeAsString()));
    return file.parent_path().string();
  }

  const Path dir_ = Path(testing::TempDir()) / fmt::format("inspect_{}", getpid());
};

TEST_F(InspectTest, ShowNamesTheSignaturesOfTheNewestVersion) {
  const Outcome outcome = RunProgram({"show", (kModels / "digits").string()});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.notes, HasSubstr("digits/5"));
  EXPECT_THAT(outcome.out, HasSubstr("signature serving_default  tensorflow/serving/predict"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("input +image +DT_FLOAT +\\[-1,8,8,1\\] +serving_default_image:0"));
}

TEST_F(InspectTest, ShowAsJsonHasAssetsSignaturesAndFingerprint) {
  const Outcome outcome = RunProgram({"show", (kModels / "strings/1").string(), "--json", "--tags", "serve"});
  const auto json = ParseJson(outcome.out);
  ASSERT_TRUE(json) << outcome.out;
  const Json& graph = json->at("graphs")[0];
  EXPECT_THAT(graph.at("assets").get<std::vector<std::string>>(), ElementsAre("words.txt"));
  EXPECT_EQ(graph.at("signatures").at("serving_default").at("outputs").at("number").at("dtype"), "DT_INT64");
  EXPECT_EQ(json->at("fingerprint").at("uuid").get<std::string>().empty(), false);
}

TEST_F(InspectTest, CheckPrintsTimeFlopsAndMemoryOfARow) {
  const Outcome outcome = RunProgram({"check", (kModels / "digits/2").string(), "--ops"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out, HasSubstr(": supported\n"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("one row +serving_default: .*MFLOP, .*KB of memory"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex(" [0-9]+  Conv2D\n"));
}

TEST_F(InspectTest, CheckWarnsIfARowOfZerosIsAnsweredWithNaN) {
  const Outcome outcome = RunProgram({"check", (kModels / "digits/4").string()});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("\n  warning    serving_default: with zeros as inputs there is a NaN or "
                                     "Inf in output \"probabilities\", made by node \"[^\"]+\" "
                                     "\\(op RealDiv\\); real inputs may give finite values\n"));
  EXPECT_THAT(RunProgram({"check", (kModels / "digits/2").string()}).out, Not(HasSubstr("warning")));
}

TEST_F(InspectTest, CheckNamesUnsupportedOpsAndOtherErrors) {
  const std::string model = Changed("half_plus_two_tf1/1", [](tensorflow::MetaGraphDef& meta) {
    for (auto& node : *meta.mutable_graph_def()->mutable_node())
      if (node.op() == "RestoreV2") node.set_op("NoSuchOp");
    auto& inputs = *meta.mutable_signature_def()->at("serving_default").mutable_inputs();
    inputs.at("x").mutable_coo_sparse()->set_values_tensor_name("x:0");
  });
  const Outcome outcome = RunProgram({"check", model});
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_THAT(outcome.out, HasSubstr("NoSuchOp: this op is not supported"));
  EXPECT_THAT(outcome.out, HasSubstr("input \"x\" is a sparse"));
}

TEST_F(InspectTest, CheckNamesUnsupportedOpsOnce) {
  const std::string model = Changed("half_plus_two_tf1/1", [](tensorflow::MetaGraphDef& meta) {
    for (auto& node : *meta.mutable_graph_def()->mutable_node())
      if (node.op() == "Mul") node.set_op("NoSuchOp");
  });
  const Outcome outcome = RunProgram({"check", model});
  EXPECT_THAT(outcome.out, HasSubstr("NoSuchOp: this op is not supported"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("unsupported ops")));
}

TEST_F(InspectTest, ExplainPrintsPassesAndImplementations) {
  const std::string model = (kModels / "digits/2").string();
  const Outcome outcome = RunProgram({"explain", model, "--batch", "3"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.notes;
  EXPECT_THAT(outcome.out, testing::StartsWith("serving_default of " + model + ", for image DT_FLOAT [3,8,8,1]\n"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("identities +[0-9]+ nodes"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("Conv2D \\+ BiasAdd, Relu +\\[3,.*FLOP +onednn "));
  const Outcome json = RunProgram({"explain", model, "--json", "--output", "probabilities"});
  const auto view = ParseJson(json.out);
  ASSERT_TRUE(view) << json.out;
  EXPECT_LT(view->at("steps").size(), view->at("nodes").get<size_t>());
  EXPECT_THAT(json.out, Not(HasSubstr("ArgMax"))) << "an output that was not requested";
  EXPECT_THAT(RunProgram({"explain", model, "--signature", "x"}).notes,
              HasSubstr("the model has no signature \"x\"; its signatures are: serve, serving_default"));
  EXPECT_EQ(RunProgram({"explain", model, "--batch", "0"}).code, kExitUsage);
  EXPECT_THAT(RunProgram({"explain", model, "--without", "elementwise"}).out, Not(HasSubstr("Conv2D +")));
  EXPECT_THAT(RunProgram({"explain", model, "--without", "x"}).notes, HasSubstr("identities"));
}

TEST_F(InspectTest, NamesTheProblemIfTheDirectoryIsNotAModel) {
  EXPECT_EQ(RunProgram({"check", (dir_ / "nothing").string()}).code, kExitFailed);
  EXPECT_THAT(RunProgram({"show", dir_.string()}).notes,
              HasSubstr("neither saved_model.pb nor a folder named by a number"));
  File("saved_model.pb", "not a model");
  EXPECT_THAT(RunProgram({"check", dir_.string()}).notes, HasSubstr("saved_model.pb is damaged"));
  EXPECT_THAT(RunProgram({"show", (kModels / "digits/1").string(), "--tags", "serve,gpu"}).notes,
              HasSubstr("it has [serve]"));
}

TEST_F(InspectTest, RunReadsNpyFilesAndWritesThem) {
  const std::string x = File("x.npy", *tensor::ToNpy(tensor::Tensor::Of<float>({2}, {1, 2})));
  const std::string model = (kModels / "half_plus_two_tf2").string();
  const Outcome outcome =
      RunProgram({"run", model, "--input", "x=" + x, "--out", (dir_ / "answers").string(), "--repeat", "3"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.notes;
  EXPECT_THAT(outcome.notes, HasSubstr("ran 3 times"));
  EXPECT_THAT(outcome.out, HasSubstr("y.npy  DT_FLOAT [2]"));
  EXPECT_THAT(tensor::ParseNpy(*ReadFile(dir_ / "answers" / "y.npy"))->values<float>(), ElementsAre(2.5F, 3.0F));
}

TEST_F(InspectTest, RunWritesEachOutputToASeparateFile) {
  const std::string model = Changed("half_plus_two_tf2/1", [](tensorflow::MetaGraphDef& meta) {
    auto& outputs = *meta.mutable_signature_def()->at("serving_default").mutable_outputs();
    for (const char* name : {"a/b", "a_b", "a%2Fb"}) outputs[name] = outputs["y"];
  });
  const std::string x = File("x.npy", *tensor::ToNpy(tensor::Tensor::Of<float>({1}, {1})));
  const Outcome outcome = RunProgram({"run", model, "--input", "x=" + x, "--out", (dir_ / "answers").string()});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.notes;
  for (const char* file : {"y.npy", "a%2Fb.npy", "a_b.npy", "a%252Fb.npy"})
    EXPECT_TRUE(std::filesystem::exists(dir_ / "answers" / file)) << file;
}

TEST_F(InspectTest, RunReadsJsonAndProfiles) {
  const std::string json = File("in.json", R"({"inputs": {"word": ["Two", "x"]}})");
  const Outcome outcome =
      RunProgram({"run", (kModels / "strings/1").string(), "--inputs", json, "--output", "number", "--profile"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.notes;
  EXPECT_EQ(*ParseJson(outcome.out), *ParseJson(R"({"outputs": [2, -1]})"));
  EXPECT_THAT(outcome.notes, HasSubstr("LookupTableFindV2"));
}

TEST_F(InspectTest, RunPrintsBytesThatAreNotUtf8AsBase64) {
  const std::string json = File("in.json", R"({"inputs": {"x": [{"b64": "/w=="}, "text"]}})");
  const Outcome outcome =
      RunProgram({"run", (kModels / "types/1").string(), "--signature", "string", "--inputs", json});
  EXPECT_EQ(*ParseJson(outcome.out), *ParseJson(R"({"outputs": [{"b64": "/w=="}, "text"]})")) << outcome.notes;
}

TEST_F(InspectTest, NamesAWrongInputWithTheExpectedAndTheGivenType) {
  const std::string model = (kModels / "digits/1").string();
  const std::string wrong = File("wrong.npy", *tensor::ToNpy(tensor::Tensor::Of<double>({1, 2}, {1, 2})));
  const std::string notes = RunProgram({"run", model, "--input", "image=" + wrong}).notes;
  EXPECT_THAT(notes, HasSubstr("input \"image\""));
  EXPECT_THAT(notes, HasSubstr("wrong.npy: expected DT_FLOAT [-1,8,8,1], got DT_DOUBLE [1,2]"));
  EXPECT_THAT(notes, HasSubstr("x.astype(\"float32\")"));
  EXPECT_THAT(RunProgram({"run", model, "--input", "picture=" + wrong}).notes, HasSubstr("the inputs are: image"));
  EXPECT_THAT(RunProgram({"run", model}).notes, HasSubstr("input \"image\" is missing"));
  EXPECT_THAT(RunProgram({"run", model, "--signature", "none"}).notes,
              HasSubstr("its signatures are: serve, serving_default"));
  const std::string json = File("in.json", R"({"inputs": {"image": "text"}})");
  EXPECT_THAT(RunProgram({"run", model, "--inputs", json}).notes, HasSubstr("in.json"));
}

TEST_F(InspectTest, AnInvalidCommandLineHasItsOwnExitCode) {
  EXPECT_EQ(RunProgram({}).code, kExitUsage);
  EXPECT_EQ(RunProgram({"show"}).code, kExitUsage);
  EXPECT_EQ(RunProgram({"run", "x", "--input", "image"}).code, kExitUsage);
  EXPECT_EQ(RunProgram({"run", "x", "--input", "a=b", "--input", "a=c"}).code, kExitUsage);
  EXPECT_EQ(RunProgram({"run", "x", "--input", "a=b", "--inputs", "-"}).code, kExitUsage);
  EXPECT_EQ(RunProgram({"run", "x", "--repeat", "0"}).code, kExitUsage);
}

TEST_F(InspectTest, AMisspeltVerbGetsASuggestion) {
  const char* argv[] = {"model", "chekc", "x"};
  const auto options = ParseOptions(3, argv);
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().message,
            "\"model chekc\" is not a command; did you mean model check? (see longshore model --help)");
}

TEST_F(InspectTest, FailsIfTheOutputCannotBeWritten) {
  const char* argv[] = {"longshore-model", "ops"};
  const auto options = ParseOptions(2, argv);
  std::ofstream full("/dev/full");
  std::ostringstream notes;
  const auto code = inspect::Run(*options, full, notes);
  ASSERT_FALSE(code);
  EXPECT_THAT(code.error().message, HasSubstr("standard output could not be written"));
  EXPECT_FALSE(inspect::Run(std::nullopt, full, notes)) << "the help";
}

TEST_F(InspectTest, AcceptsAFlagBeforeTheDirectory) {
  EXPECT_EQ(RunProgram({"show", "--tags", "serve", (kModels / "digits/1").string()}).code, kExitOk);
}

TEST_F(InspectTest, TheNewestVersionIsTheHighestNumber) {
  for (const char* version : {"2", "0010", "9", "tmp"}) std::filesystem::create_directories(dir_ / version);
  EXPECT_EQ(FindVersion(dir_).value_or("none"), dir_ / "0010");
}

TEST(Check, AdvisesIfADimensionOtherThanTheBatchIsOpen) {
  google::protobuf::Map<std::string, tensorflow::SignatureDef> signatures;
  auto& inputs = *signatures["s"].mutable_inputs();
  for (const int64_t size : {-1, 3, -1}) inputs["open"].mutable_tensor_shape()->add_dim()->set_size(size);
  inputs["fixed"].mutable_tensor_shape()->add_dim()->set_size(-1);
  inputs["any"].mutable_tensor_shape()->set_unknown_rank(true);
  EXPECT_THAT(Advice(signatures), testing::UnorderedElementsAre(HasSubstr("input open [-1,3,-1]: dimension 2"),
                                                                HasSubstr("input any may have any rank")));
}

TEST(Text, FormatsNumbersWithThreeDigitsAndAUnit) {
  EXPECT_EQ(BytesText(999), "999 bytes");
  EXPECT_EQ(BytesText(97'800'000), "97.8 MB");
  EXPECT_EQ(BytesText(999'999'999), "1.00 GB");
  EXPECT_EQ(TimeText(std::chrono::microseconds(1240)), "1.24 ms");
  EXPECT_EQ(FlopsText(7.76e9), "7.76 GFLOP");
  EXPECT_EQ(CountText(1, "node"), "1 node");
}

TEST(Ops, AreListedInTheDocumentation) {
  const auto page = ReadFile(source_tree::Root() / "docs" / "ops.md");
  ASSERT_TRUE(page) << ToString(page.error());
  EXPECT_TRUE(OpsAsMarkdown() == *page) << "update it: longshore model ops --markdown > docs/ops.md";
}

}  // namespace
}  // namespace longshore::inspect
