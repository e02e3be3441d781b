#include "controller/cli/input/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "common/base/path.h"
#include "common/os/file.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::cli::input {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LintTest : public testing::Test {
 protected:
  LintTest() {
    std::string pattern = testing::TempDir() + "lint.XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    for (const char* version : {"2", "10"}) {
      std::filesystem::create_directories(dir_ / "m" / version);
      EXPECT_TRUE(WriteFileAtomically(dir_ / "m" / version / "saved_model.pb", ""));
    }
    std::filesystem::create_directories(dir_ / "none/3");
  }
  ~LintTest() override { std::filesystem::remove_all(dir_); }

  File Manifest(const Path& source, const std::string& more = "") {
    return {"m.yaml",
            "apiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {name: m}\nspec:\n  fleet: cpu\n  source: "
            "{uri: \"file://" +
                source.string() + "\"}\n" + more};
  }
  std::vector<std::string> Problems(const File& file, Sources sources = Sources::kCheck) {
    return Lint({file}, {.sources = sources}).problems;
  }

  Path dir_;
};

TEST_F(LintTest, AGoodManifestHasNoProblem) {
  const Checked checked = Lint({Manifest(dir_ / "m", "  version: 10\n")}, {.namespace_ = "vision"});
  EXPECT_THAT(checked.problems, IsEmpty());
  EXPECT_THAT(checked.objects, ElementsAre("Model vision/m"));
  EXPECT_THAT(Problems(Manifest(dir_ / "m")), IsEmpty()) << "the newest version";
}

TEST_F(LintTest, NamesWhatIsMissingOnThisHost) {
  EXPECT_THAT(Problems(Manifest(dir_ / "x")), ElementsAre("m.yaml:6: spec.source.uri: folder " + (dir_ / "x").string() +
                                                          " does not exist on this host"));
  EXPECT_THAT(Problems(Manifest(dir_ / "m/2")),
              ElementsAre(HasSubstr("is one version of a model; name its parent folder " + (dir_ / "m").string())));
  EXPECT_THAT(Problems(Manifest(dir_ / "none")), ElementsAre(HasSubstr("has no version: no file")));
  EXPECT_THAT(Problems(Manifest(dir_ / "m", "  version: 3\n")),
              ElementsAre(HasSubstr("m.yaml:7: spec.version: " + (dir_ / "m").string() +
                                    " has no version 3; the newest is 10")));
  EXPECT_THAT(Problems(Manifest(dir_ / "m", "  validation:\n    goldenSet:\n      path: g.tfrecord\n")),
              ElementsAre("m.yaml:9: spec.validation.goldenSet.path: " + (dir_ / "m/g.tfrecord").string() +
                          " does not exist on this host"));
  EXPECT_THAT(Problems(Manifest(dir_ / "x"), Sources::kSkip), IsEmpty());
}

// Returns a TFRecord file of one record, whose checksums nobody reads here.
std::string GoldenSet(tensorflow::DataType type, const std::vector<int64_t>& shape) {
  tensorflow::serving::PredictionLog log;
  auto& output = (*log.mutable_predict_log()->mutable_response()->mutable_outputs())["y"];
  output.set_dtype(type);
  for (const int64_t size : shape) output.mutable_tensor_shape()->add_dim()->set_size(size);
  const std::string bytes = log.SerializeAsString();
  std::string file(12, '\0');
  const uint64_t length = bytes.size();
  std::memcpy(file.data(), &length, sizeof(length));
  return file + bytes + std::string(4, '\0');
}

TEST_F(LintTest, FindsAGoldenSetThatTheMetricCannotJudge) {
  const auto problems = [&](const std::string& golden_set, const std::string& metric = "top1") {
    EXPECT_TRUE(WriteFileAtomically(dir_ / "m/g.tfrecord", golden_set));
    return Problems(
        Manifest(dir_ / "m", "  validation:\n    goldenSet:\n      path: g.tfrecord\n      metric: " + metric));
  };
  const std::string why =
      "m.yaml:10: spec.validation.goldenSet.metric: top1 compares a float output with more than one "
      "column, which the first known answer of " +
      (dir_ / "m/g.tfrecord").string() + " does not have, so no version could score with it: use `metric: tolerance`";
  EXPECT_THAT(problems(GoldenSet(tensorflow::DT_STRING, {1, 3})), ElementsAre(why));
  EXPECT_THAT(problems(GoldenSet(tensorflow::DT_FLOAT, {3, 1})), ElementsAre(why));
  EXPECT_THAT(problems(GoldenSet(tensorflow::DT_FLOAT, {1, 3})), IsEmpty());
  EXPECT_THAT(problems(GoldenSet(tensorflow::DT_STRING, {1}), "tolerance"), IsEmpty());
  for (const char* damaged : {"", "short", "\xff\xff\xff\xff\xff\xff\xff\xff----"})
    EXPECT_THAT(problems(damaged), IsEmpty());
}

TEST_F(LintTest, DoesNotCheckAFolderOfAnotherHost) {
  const Checked checked = Lint({Manifest("/none-of-this-host/digits", "  version: 3\n")}, {});
  EXPECT_THAT(checked.problems, IsEmpty());
  EXPECT_THAT(checked.notes,
              ElementsAre("m.yaml:6: spec.source.uri: not checked: file:///none-of-this-host/digits is not "
                          "on this host, and neither is its parent folder"));
}

File Fleet(const std::string& name, const std::string& more = "") {
  return {name + ".yaml", "apiVersion: longshore.dev/v1alpha1\nkind: ServingFleet\nmetadata: {name: " + name +
                              "}\nspec:\n  replicas: "
                              "{min: 1}\n" +
                              more};
}

TEST_F(LintTest, FindsFleetsWithTheSamePort) {
  const File here = Manifest(dir_ / "m");
  const auto lint = [](const std::vector<File>& files, Sources sources = Sources::kCheck) {
    return Lint(files, {.sources = sources});
  };
  const auto problems = [&](std::vector<File> files, Sources sources = Sources::kCheck) {
    files.push_back(here);
    return lint(files, sources).problems;
  };
  const File other = Fleet("b", "  ports:\n    grpc: 8600\n    rest: 8500\n");
  const auto shared = ElementsAre(
      "b.yaml:8: spec.ports.rest: port 8500 is also a port of ServingFleet default/a at a.yaml:1; on "
      "one host each fleet needs its own ports (--skip-sources: the files are for a cluster)");
  EXPECT_THAT(problems({Fleet("a"), other}), shared);
  EXPECT_THAT(problems({Fleet("a"), Fleet("b")}), testing::SizeIs(2));
  EXPECT_THAT(
      problems({Fleet("a"), Fleet("b", "  ports: {grpc: 0, rest: 0}\n"), Fleet("c", "  ports: {grpc: 0, rest: 0}\n")}),
      IsEmpty());
  EXPECT_THAT(problems({Fleet("a"), other}, Sources::kSkip), IsEmpty());
  EXPECT_THAT(problems({Fleet("a"), other, Fleet("c", "  ports: {grpc: 1, rest: 2}\n  logLevel: debug\n")}), IsEmpty())
      << "only a fleet in a cluster has logLevel";
  EXPECT_THAT(lint({Fleet("a"), other, Manifest("/none-of-this-host/digits")}).problems, IsEmpty());
  EXPECT_THAT(lint({Fleet("a"), other}).problems, IsEmpty())
      << "no file shows whether they are for a host or a cluster";
  EXPECT_THAT(lint({Fleet("a"), other}).notes, shared);
}

TEST_F(LintTest, ComparesThePortsWithTheFleetsOfTheHost) {
  const auto lint = [](const File& file) {
    api::ServingFleetSpec applied;
    applied.grpc_port = 8600;
    applied.rest_port = 8501;
    return Lint({file}, {.host = HostObjects{.fleets = {{{api::kServingFleetKind, "default", "main"}, applied}}}})
        .problems;
  };
  EXPECT_THAT(lint(Fleet("b", "  ports:\n    grpc: 8600\n    rest: 8700\n")),
              ElementsAre("b.yaml:7: spec.ports.grpc: port 8600 is also a port of ServingFleet default/main, which is "
                          "applied; on one host each fleet needs its own ports (--skip-sources: the files are for a "
                          "cluster)"));
  EXPECT_THAT(lint(Fleet("main", "  ports: {grpc: 8600, rest: 8501}\n")), IsEmpty()) << "the fleet itself";
  EXPECT_THAT(lint(Fleet("b", "  ports: {grpc: 0, rest: 0}\n")), IsEmpty());
}

TEST_F(LintTest, NamesALabelOnAVersionThatTheFolderDoesNotHave) {
  EXPECT_THAT(
      Problems(Manifest(dir_ / "m", "  labels:\n    live: 2\n    next: 77\n")),
      ElementsAre("m.yaml:9: spec.labels.next: " + (dir_ / "m").string() + " has no version 77; the newest is 10"));
}

TEST_F(LintTest, NamesTheOtherModelWithTheServedName) {
  File other = Manifest(dir_ / "m", "  servedName: m\n");
  other.name = "o.yaml";
  other.text.replace(other.text.find("{name: m}"), 9, "{name: o}");
  const std::string which = "o.yaml:7: spec.servedName: the name \"m\" is also that of Model default/m";
  const std::string cure = "; on one fleet each Model needs its own servedName";
  EXPECT_THAT(Lint({Manifest(dir_ / "m"), other}, {}).problems, ElementsAre(which + " at m.yaml:1" + cure));
  api::ModelSpec applied;
  applied.fleet = "cpu";
  applied.served_name = "m";
  HostObjects host{.fleets = {{{api::kServingFleetKind, "default", "cpu"}, {}}},
                   .models = {{{api::kModelKind, "default", "m"}, applied}}};
  EXPECT_THAT(Lint({other}, {.host = host}).problems, ElementsAre(which + ", which is applied" + cure));
  EXPECT_THAT(Lint({other}, {.sources = Sources::kSkip, .host = host}).problems, IsEmpty()) << "it is for a cluster";
  host.models.begin()->second.fleet = "gpu";
  EXPECT_THAT(Lint({other}, {.host = host}).problems, IsEmpty());
}

TEST_F(LintTest, NamesAFleetThatDoesNotExist) {
  const File model = Manifest(dir_ / "m");
  const std::string missing = "ServingFleet default/cpu does not exist; did you mean gpu?";
  const HostObjects host{.fleets = {{{api::kServingFleetKind, "default", "gpu"}, {}}}};
  EXPECT_THAT(Lint({model}, {.host = host}).problems, ElementsAre("m.yaml:5: spec.fleet: " + missing));
  EXPECT_THAT(Lint({model, Fleet("cpu", "  ports: {grpc: 0, rest: 0}\n")}, {.host = host}).problems, IsEmpty());
  const HostObjects of_file{.defined = {{api::kServingFleetKind, "default", "cpu"}}};
  EXPECT_THAT(Lint({model}, {.host = of_file}).problems, IsEmpty());
  const Checked checked = Lint({model, Fleet("gpu")}, {});
  EXPECT_THAT(checked.problems, IsEmpty()) << "the fleet may be in another repository";
  EXPECT_THAT(checked.notes, ElementsAre("m.yaml:5: spec.fleet: in these files " + missing));
}

TEST_F(LintTest, GoesOnAfterAProblem) {
  const Checked checked = Lint(
      {{"empty.yaml", "# nothing"}, Manifest(dir_ / "m", "  verson: 2\n"), Manifest(dir_ / "m"), Manifest(dir_ / "m")},
      {});
  EXPECT_THAT(checked.problems, ElementsAre("empty.yaml: defines no object",
                                            HasSubstr("spec.verson: is not a field; did you mean version?"),
                                            "m.yaml:1: Model default/m is at m.yaml:1 too"));
}

}  // namespace
}  // namespace longshore::cli::input
