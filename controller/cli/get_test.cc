// get, describe and delete against the real local store, with the forms of kubectl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "common/os/file.h"
#include "controller/api/format.h"
#include "controller/cli/delete.h"
#include "controller/cli/parse_options.h"
#include "controller/cli/program.h"
#include "controller/cli/show.h"
#include "controller/cli/testing.h"
#include "controller/cli/watch/seen.h"

namespace longshore::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Get : public StoreTest {
 protected:
  Get() {
    Put(api::kModelKind, "digits", {{"app", "x"}, {"tier", "web"}});
    Put(api::kModelKind, "words", {{"app", "y"}});
    Put(api::kServingFleetKind, "cpu", {{"app", "x"}});
    place_.store = std::move(store_);
  }

  void Put(const std::string& kind, const std::string& name, const std::map<std::string, std::string>& labels) {
    store::Object object;
    object.kind = kind;
    object.metadata.name = name;
    object.metadata.labels = labels;
    object.spec = Json::object();
    if (kind == api::kModelKind) object.spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///m"}}}, {"version", 2}};
    store::Store& store = place_.store ? *place_.store : *store_;
    ASSERT_TRUE(store.Apply(object));
  }

  struct Outcome {
    std::string text;
    std::string error;
    int code;
  };
  Outcome Run(const std::vector<const char*>& words) {
    std::vector<const char*> argv = {"longshore"};
    argv.insert(argv.end(), words.begin(), words.end());
    const auto options = ParseOptions(static_cast<int>(argv.size()), argv.data());
    if (!options) return {"", options.error().message, ExitCodeOf(options.error())};
    std::ostringstream out;
    const Result<int> code = cli::Run(**options, place_, SystemClock(), out);
    return {out.str(), code ? "" : code.error().message, code ? *code : ExitCodeOf(code.error())};
  }
  Status Delete(const Options& options, const std::string& answer) {
    std::istringstream in(answer);
    out_.str("");
    return cli::Delete(options, place_, in, out_);
  }
  bool Exists(const std::string& kind, const std::string& name) {
    return place_.store->Get({kind, "default", name}).has_value();
  }

  Place place_;
  std::ostringstream out_;
};

TEST_F(Get, WithoutArgumentsShowsModelsAndFleets) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"get"}, {"get", "all"}, {"get", "models,fleets"}}) {
    const std::string text = Run(words).text;
    EXPECT_THAT(text, HasSubstr("model/digits"));
    EXPECT_THAT(text, HasSubstr("\n\nNAMESPACE"));
    EXPECT_THAT(text, HasSubstr("fleet/cpu"));
  }
  EXPECT_EQ(Run({"get", "-n", "empty"}).text,
            "No models and no fleets in namespace empty. Apply a manifest: longshore apply -f FILE\n");
}

TEST_F(Get, ShowsTheExistingOnesOfSeveralNamesAndThenFails) {
  const Outcome both = Run({"get", "model", "words", "digits", "words", "-o", "name"});
  EXPECT_EQ(both.text, "model.longshore.dev/words\nmodel.longshore.dev/digits\n");
  const Outcome some = Run({"get", "model", "nope", "digits", "nix", "-o", "name"});
  EXPECT_EQ(some.text, "model.longshore.dev/digits\n");
  EXPECT_EQ(some.code, kExitNotFound);
  EXPECT_THAT(some.error, HasSubstr("Model default/nope does not exist"));
  EXPECT_THAT(some.error, HasSubstr("Model default/nix does not exist"));
  const Outcome none = Run({"get", "model", "nope", "-o", "json"});
  EXPECT_EQ(none.text, "") << "no empty list";
  EXPECT_EQ(none.code, kExitNotFound);
  const Outcome ignored = Run({"get", "model", "nope", "--ignore-not-found"});
  EXPECT_EQ(ignored.text + ignored.error, "");
  EXPECT_EQ(ignored.code, kExitOk);
}

TEST_F(Get, PrintsOneNamedObjectAsADocumentAndAnythingElseAsAList) {
  EXPECT_EQ(ParseJson(Run({"get", "model/digits", "-o", "json"}).text)->at("kind"), "Model");
  const Json list = ParseJson(Run({"get", "models", "-o", "json"}).text).value();
  EXPECT_EQ(list.at("kind"), "List");
  EXPECT_EQ(list.at("apiVersion"), "v1");
  EXPECT_THAT(list.at("items"), SizeIs(2));
  EXPECT_EQ(ParseJson(Run({"get", "models", "-n", "empty", "-o", "json"}).text)->at("items").size(), 0u);
  EXPECT_EQ(Run({"get", "model", "digits", "-o", "jsonpath={.spec.version}"}).text, "2");
  EXPECT_EQ(Run({"get", "-o", "jsonpath={.items[*].metadata.name}"}).text, "digits words cpu");
}

TEST_F(Get, SelectsByLabels) {
  EXPECT_EQ(Run({"get", "-l", "app=x", "-o", "name"}).text,
            "model.longshore.dev/digits\nservingfleet.longshore.dev/cpu\n");
  EXPECT_EQ(Run({"get", "models", "-l", "app in (y, z),tier!=web", "-o", "name"}).text, "model.longshore.dev/words\n");
  EXPECT_THAT(Run({"status", "-l", "app=y"}).text, Not(HasSubstr("digits")));
}

TEST_F(Get, StatusShowsTheNamedObjects) {
  EXPECT_THAT(Run({"status", "fleet/cpu", "digits"}).text,
              AllOf(HasSubstr("default/cpu"), HasSubstr("default/digits"), Not(HasSubstr("default/words"))));
  EXPECT_THAT(Run({"status", "digits", "nope"}).error, HasSubstr("Model default/nope does not exist"));
}

TEST_F(Get, WideAddsColumnsAndNoHeadersRemovesTheFirstLine) {
  const std::string wide = Run({"get", "models", "-o", "wide"}).text;
  EXPECT_THAT(wide, HasSubstr("SOURCE"));
  EXPECT_THAT(wide, HasSubstr("file:///m   app=x,tier=web"));
  const std::string bare = Run({"get", "models", "--no-headers"}).text;
  EXPECT_TRUE(bare.starts_with("default   digits")) << bare;
}

TEST_F(Get, DescribeShowsEachObject) {
  const std::string text = Run({"describe", "models"}).text;
  EXPECT_THAT(text, HasSubstr("Model default/digits\n"));
  EXPECT_THAT(text, HasSubstr("\n\nModel default/words\n"));
}

TEST_F(Get, EventsTakesANameOrASelector) {
  EXPECT_EQ(Run({"events"}).text, "No events.\n");
  EXPECT_EQ(Run({"events", "nope"}).code, kExitNotFound);
}

TEST_F(Get, AWatchPrintsTheChangedRowsOnly) {
  watch::Seen seen([](const store::Object& object) { return object.metadata.resource_version; });
  const auto objects = [&] { return place_.store->List(api::kModelKind)->objects; };
  EXPECT_THAT(seen.Update(objects()).changed, SizeIs(2));
  EXPECT_THAT(seen.Update(objects()).changed, IsEmpty());
  Put(api::kModelKind, "words", {{"app", "new"}});
  const watch::Seen::Difference changed = seen.Update(objects());
  ASSERT_THAT(changed.changed, SizeIs(1));
  EXPECT_EQ(changed.changed[0].metadata.name, "words");
  ASSERT_TRUE(place_.store->Delete({api::kModelKind, "default", "words"}, changed.changed[0].metadata.uid));
  EXPECT_THAT(seen.Update(objects()).deleted, ElementsAre(api::Key{api::kModelKind, "default", "words"}));
}

TEST_F(Get, ANameOfTheOtherKindIsNamed) {
  for (const char* command : {"status", "explain", "promote"})
    EXPECT_EQ(Run({command, "cpu"}).error,
              "Model default/cpu does not exist, but ServingFleet default/cpu does: longshore status fleet/cpu; these "
              "exist: digits -n default, words -n default");
  EXPECT_THAT(
      Run({"describe", "fleet", "words"}).error,
      HasSubstr("does not exist, but Model default/words does: longshore status model/words; these exist: cpu"));
}

// Calls a function at each flush, and fails after the last one.
class FlushedBuffer : public std::stringbuf {
 public:
  explicit FlushedBuffer(std::vector<std::function<void()>> at_flush) : at_flush_(std::move(at_flush)) {}

 private:
  int sync() override {
    if (next_ == at_flush_.size()) return -1;
    at_flush_[next_++]();
    return 0;
  }

  const std::vector<std::function<void()>> at_flush_;
  size_t next_ = 0;
};

TEST_F(Get, AWatchPrintsNoRowOfWhichOnlyAnAgeHasChanged) {
  const api::Key key{api::kModelKind, "default", "digits"};
  const auto put_status = [&](int64_t evidence_used_at, int64_t stable) {
    const store::Object object = place_.store->Get(key).value();
    api::ModelStatus status;
    status.stable_version = stable;
    status.rollout.phase = api::RolloutPhase::kStep;
    status.rollout.started_at = FromUnixMillis(5'000);
    status.rollout.evidence_used_at = FromUnixMillis(evidence_used_at);
    ASSERT_TRUE(
        place_.store->PutStatus(key, object.metadata.uid, object.metadata.resource_version, api::ToJson(status)));
  };
  put_status(1, 1);
  FlushedBuffer buffer({[&] { put_status(2, 1); }, [&] { put_status(3, 2); }});
  std::ostream out(&buffer);
  Options options;
  options.targets = {{api::kModelKind, "digits"}};
  options.namespace_ = "default";
  options.watch = true;
  ASSERT_TRUE(cli::Run(options, place_, SystemClock(), out));
  const std::string text = buffer.str();
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << text << "the headers, the first row, the row with version 2";
}

TEST_F(Get, AWatchOfAMissingObjectFails) { EXPECT_EQ(Run({"get", "model", "nope", "-w"}).code, kExitNotFound); }

TEST_F(Get, DeleteGoesOnAfterAMissingObject) {
  const Outcome deleted = Run({"delete", "model", "digits", "nope", "words"});
  EXPECT_EQ(deleted.text, "Model default/digits deleted\nModel default/words deleted\n");
  EXPECT_EQ(deleted.code, kExitNotFound);
  EXPECT_EQ(Run({"delete", "model", "digits", "--ignore-not-found"}).code, kExitOk);
  EXPECT_TRUE(Exists(api::kServingFleetKind, "cpu"));
}

TEST_F(Get, DeleteSelectsByLabelsOrAll) {
  EXPECT_EQ(Run({"delete", "all", "-l", "app=x", "--yes"}).text,
            "Model default/digits deleted\nServingFleet default/cpu deleted\n");
  EXPECT_EQ(Run({"delete", "models", "--all"}).text, "Model default/words deleted\n");
  EXPECT_EQ(Run({"delete", "models", "--all"}).text, "nothing to delete: no object is selected\n");
}

TEST_F(Get, DeleteGoesOnAfterADamagedObjectAndNamesIt) {
  ASSERT_TRUE(WriteFileAtomically(dir_ / ".longshore/objects/Model/default/damaged.json", "{"));
  const Outcome deleted = Run({"delete", "models", "--all"});
  EXPECT_EQ(deleted.text, "Model default/digits deleted\nModel default/words deleted\n");
  EXPECT_EQ(deleted.code, kExitFailed);
  EXPECT_THAT(deleted.error, HasSubstr("Model default/damaged was not deleted: "));
  EXPECT_THAT(deleted.error, HasSubstr("damaged.json"));
}

TEST_F(Get, DeleteTakesTheObjectsOfFiles) {
  const Path file = dir_ / "f.txt";
  ASSERT_TRUE(
      WriteFileAtomically(file, "apiVersion: longshore.dev/v1alpha1\nkind: ServingFleet\nmetadata: {name: cpu}\n"));
  EXPECT_EQ(Run({"delete", "-f", file.c_str()}).text, "ServingFleet default/cpu deleted\n");
}

TEST_F(Get, DeleteAsksBeforeAFleetThatModelsReferTo) {
  Options options;
  options.targets = {{api::kServingFleetKind, "cpu"}};
  options.namespace_ = "default";
  options.can_ask = true;
  for (const char* answer : {"n\n", "\n", ""}) {
    const Status refused = Delete(options, answer);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "nothing was deleted");
  }
  EXPECT_EQ(out_.str(),
            "ServingFleet default/cpu serves default/digits, default/words, which then are no longer served. Delete "
            "it? [y/N] ");
  EXPECT_TRUE(Exists(api::kServingFleetKind, "cpu"));
  EXPECT_TRUE(Delete(options, "y\n"));
  EXPECT_FALSE(Exists(api::kServingFleetKind, "cpu"));
}

TEST_F(Get, DeleteOfASelectionAsksForEachFleetEvenIfItsModelsAreSelectedToo) {
  Options options;
  options.targets = {{api::kModelKind, ""}, {api::kServingFleetKind, ""}};
  options.namespace_ = "default";
  options.all = true;
  options.can_ask = true;
  EXPECT_FALSE(Delete(options, "n\n"));
  EXPECT_THAT(out_.str(), HasSubstr("ServingFleet default/cpu serves default/digits, default/words, which"));
  options.can_ask = false;
  const Status refused = Delete(options, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "nothing was deleted: ServingFleet default/cpu serves default/digits, default/words, which then are no "
            "longer served; use --yes to delete it");
  EXPECT_TRUE(Exists(api::kModelKind, "digits"));
  options.yes = true;
  EXPECT_TRUE(Delete(options, ""));
  EXPECT_FALSE(Exists(api::kServingFleetKind, "cpu"));
}

TEST_F(Get, DeleteNamesAtMostTenModels) {
  for (int i = 0; i < 20; ++i) Put(api::kModelKind, fmt::format("a{:02}", i), {});
  Options options;
  options.targets = {{api::kServingFleetKind, "cpu"}};
  options.namespace_ = "default";
  options.can_ask = true;
  EXPECT_FALSE(Delete(options, ""));
  EXPECT_THAT(out_.str(), HasSubstr("default/a09 and 12 more, which then"));
}

TEST_F(Get, DeleteDoesNotAskIfItNeedNot) {
  Options options;
  options.namespace_ = "default";
  options.targets = {{api::kServingFleetKind, "cpu"}};
  options.can_ask = true;
  options.yes = true;
  EXPECT_TRUE(Delete(options, "")) << "--yes";
  Put(api::kServingFleetKind, "cpu", {});
  options.yes = false;
  options.can_ask = false;
  EXPECT_TRUE(Delete(options, "")) << "not a terminal";
  Put(api::kServingFleetKind, "cpu", {});
  options.can_ask = true;
  options.targets = {{api::kServingFleetKind, "cpu"}, {api::kModelKind, "digits"}, {api::kModelKind, "words"}};
  EXPECT_TRUE(Delete(options, "")) << "its models are deleted too";
}

TEST_F(Get, NoObjectInTheFilesIsAnError) {
  const Path file = dir_ / "empty.txt";
  ASSERT_TRUE(WriteFileAtomically(file, "# nothing\n---\n"));
  const Outcome applied = Run({"apply", "-f", file.c_str()});
  EXPECT_EQ(applied.error, "no objects passed: " + file.string() + " contains none");
  EXPECT_EQ(applied.code, kExitUsage);
}

TEST_F(Get, ApplyTakesSeveralFilesAndWritesNothingIfOneIsWrong) {
  const auto write = [&](const char* name, const std::string& model, const char* more) {
    const Path file = dir_ / "manifests" / name;
    std::filesystem::create_directories(file.parent_path());
    EXPECT_TRUE(WriteFileAtomically(file, "apiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {name: " + model +
                                              "}\nspec: {fleet: cpu, source: {uri: \"file:///m\"}" + more + "}\n"));
    return file.string();
  };
  const std::string good = write("a.yaml", "one", "");
  const std::string wrong = write("b.yaml", "two", ", verson: 3");
  EXPECT_THAT(Run({"apply", "-f", good.c_str(), "-f", wrong.c_str()}).error, HasSubstr("did you mean version?"));
  EXPECT_FALSE(Exists(api::kModelKind, "one"));
  write("b.yaml", "one", "");
  EXPECT_THAT(Run({"apply", "-f", (dir_ / "manifests").c_str()}).error,
              HasSubstr("b.yaml:1: Model default/one is in " + good + " too"));
  write("b.yaml", "two", "");
  EXPECT_EQ(Run({"apply", "-f", (dir_ / "manifests").c_str()}).text,
            "Model default/one created\nModel default/two created\n");
}

TEST_F(Get, ApplyWarnsOfAModelWhoseFleetDoesNotExist) {
  const Path file = dir_ / "m.txt";
  const std::string model =
      "apiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {name: m}\nspec: {fleet: cpuu, "
      "source: {uri: \"file:///m\"}}\n";
  ASSERT_TRUE(WriteFileAtomically(file, model));
  EXPECT_EQ(Run({"apply", "-f", file.c_str()}).text,
            "Model default/m created\n"
            "Warning: Model default/m cannot be served: ServingFleet default/cpuu does not exist; did you mean cpu?\n");
  const std::string fleet = "---\napiVersion: longshore.dev/v1alpha1\nkind: ServingFleet\nmetadata: {name: cpuu}\n";
  ASSERT_TRUE(WriteFileAtomically(file, model + fleet));
  EXPECT_EQ(Run({"apply", "-f", file.c_str()}).text, "Model default/m unchanged\nServingFleet default/cpuu created\n");
}

}  // namespace
}  // namespace longshore::cli
