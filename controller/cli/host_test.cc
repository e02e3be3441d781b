// The commands on a host: what they print about its controller and its manifest files. The tests simulate the
// controller: they hold its lock, read the manifests and write the statuses.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <sstream>
#include <thread>

#include "common/os/file.h"
#include "controller/api/format.h"
#include "controller/cli/host_view.h"
#include "controller/cli/program.h"
#include "controller/cli/status.h"
#include "controller/store/document.h"
#include "controller/store/forwarding_store.h"
#include "controller/store/local/controller_lock.h"
#include "controller/store/local/local_store.h"

namespace longshore::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Manifest(int version) {
  return fmt::format(
      "apiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {{name: iris}}\n"
      "spec:\n  fleet: cpu\n  source: {{uri: \"file:///models/iris\"}}\n  version: {}\n",
      version);
}

class Host : public testing::Test {
 protected:
  struct Outcome {
    int code;
    std::string text;
  };

  Host() {
    std::string pattern = testing::TempDir() + "host.XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    controller_ = store::local::LocalStore::Open({.dir = dir_, .read_manifests = true}).value();
    place_.store = store::local::LocalStore::Open({.dir = dir_}).value();
    place_.manifests = dir_;
  }
  ~Host() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& file, const std::string& text) { ASSERT_TRUE(WriteFileAtomically(dir_ / file, text)); }

  void StartController(int64_t epoch) {
    lock_ = store::local::ControllerLock::Take(dir_).value();
    ASSERT_TRUE(lock_->Describe(epoch, "/state"));
    ASSERT_TRUE(lock_->RecordActivity());
  }
  // Simulates a controller that has read the manifests and serves the version that they name.
  void Serve(int64_t epoch) {
    ASSERT_TRUE(controller_->ReadManifests());
    const store::Object object = controller_->Get(key_).value();
    api::ModelStatus status;
    status.epoch = epoch;
    status.observed_generation = object.metadata.generation;
    status.stable_version = object.spec.at("version").get<int64_t>();
    status.conditions = {{"Ready", "True", "Serving", "it serves", 1, {}}, {"Stalled", "False", "None", "", 1, {}}};
    ASSERT_TRUE(
        controller_->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, api::ToJson(status)));
  }

  Outcome Run(const Options& options) {
    std::ostringstream out;
    const int code = cli::Run(options, place_, SystemClock(), out).value();
    return {code, out.str()};
  }
  Outcome RunStatus(const std::string& name = "", bool wait = false, int timeout_ms = 50) {
    Options options;
    options.verb = Verb::kStatus;
    options.name = name;
    options.wait = wait;
    options.timeout = std::chrono::milliseconds(timeout_ms);
    return Run(options);
  }

  Outcome SetVersion(int64_t version, const std::string& manifests = "") {
    Options options;
    options.manifests = manifests;
    options.verb = Verb::kSetVersion;
    options.name = "iris";
    options.version = version;
    return Run(options);
  }
  Outcome RunFile(Verb verb, const std::string& text, bool dry_run = false) {
    Write("other.txt", text);
    Options options;
    options.verb = verb;
    options.files = {(dir_ / "other.txt").string()};
    options.dry_run = dry_run;
    return Run(options);
  }
  // Returns the message of the error; "" if the command succeeds.
  std::string RefusalOf(Verb verb, const std::string& file, bool dry_run = false) {
    Options options;
    options.verb = verb;
    options.files = {file};
    options.dry_run = dry_run;
    std::ostringstream out;
    const auto code = cli::Run(options, place_, SystemClock(), out);
    return code ? "" : code.error().message;
  }
  Outcome RunGet() {
    Options options;
    options.targets = {{api::kModelKind, ""}};
    return Run(options);
  }

  const api::Key key_{api::kModelKind, "default", "iris"};
  Path dir_;
  std::unique_ptr<store::local::LocalStore> controller_;
  std::optional<store::local::ControllerLock> lock_;
  Place place_;
};

TEST_F(Host, StatusHasItsOwnExitCodeWhenNoControllerIsRunning) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  EXPECT_EQ(RunStatus("iris").code, kExitOk);
  lock_.reset();
  const Outcome status = RunStatus("iris");
  EXPECT_EQ(status.code, kExitNoController);
  EXPECT_THAT(status.text, HasSubstr("no controller is running; this is the state as of "));
  const Outcome waited = RunStatus("", true);
  EXPECT_EQ(waited.code, kExitNoController);
  EXPECT_THAT(waited.text, HasSubstr("waiting for a controller: no controller is running"));
  EXPECT_THAT(RunGet().text, HasSubstr("no controller is running; this is the state as of "));
}

TEST_F(Host, StatusWaitsForAControllerThatStartsLater) {
  Write("iris.yaml", Manifest(1));
  std::thread controller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    StartController(1);
    Serve(1);
  });
  const Outcome waited = RunStatus("iris", true, 60'000);
  controller.join();
  EXPECT_EQ(waited.code, kExitOk) << waited.text;
}

TEST_F(Host, StatusWaitsUntilTheControllerHasReadTheManifest) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  Write("iris.yaml", Manifest(2));
  for (const std::string name : {"", "iris"}) {
    const Outcome early = RunStatus(name, true);
    EXPECT_EQ(early.code, kExitTimeout) << early.text;
    EXPECT_THAT(early.text, HasSubstr("no controller has read the current content of this file yet"));
  }
  std::thread controller([&] { Serve(1); });
  EXPECT_EQ(RunStatus("iris", true, 60'000).code, kExitOk);
  controller.join();
  EXPECT_THAT(RunStatus("iris").text, HasSubstr("serves    version 2"));
}

TEST_F(Host, StatusWaitsForAModelThatOnlyExistsInAManifestSoFar) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  EXPECT_EQ(RunStatus("iris").code, kExitTimeout);
  Serve(1);
  EXPECT_EQ(RunStatus("iris").code, kExitOk);
}

TEST_F(Host, AFailureOfThePreviousManifestDoesNotEndTheWait) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  store::Object object = controller_->Get(key_).value();
  api::ModelStatus status = ToModel(object)->status;
  status.conditions[1].status = "True";
  ASSERT_TRUE(controller_->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, api::ToJson(status)));
  EXPECT_EQ(RunStatus("iris", true).code, kExitFailed);
  Write("iris.yaml", Manifest(2));
  EXPECT_EQ(RunStatus("iris", true).code, kExitTimeout);
}

TEST_F(Host, StatusWaitsUntilARestartedControllerHasReconciledTheObject) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  lock_.reset();
  StartController(2);
  const Outcome early = RunStatus("iris", true);
  EXPECT_EQ(early.code, kExitTimeout);
  EXPECT_THAT(early.text, HasSubstr("the controller has started but has not reconciled this object yet"));
  Serve(2);
  EXPECT_EQ(RunStatus("iris", true).code, kExitOk);
}

// status, doctor and rollout judge a Model alike.
TEST_F(Host, AModelIsUnderWayUntilTheControllerHasProcessedItsChangedFleet) {
  Write("iris.yaml", Manifest(1));
  store::Object fleet;
  fleet.kind = api::kServingFleetKind;
  fleet.metadata.name = "cpu";
  fleet.spec = Json::object();
  StartController(1);
  Serve(1);
  const store::Object object = controller_->Get(key_).value();
  api::ModelStatus status = ToModel(object)->status;
  status.conditions.push_back({"FleetFound", "True", "Found", "", 1, {}});
  status.observed_fleet = api::ToObserve(*ToFleet(controller_->Apply(fleet).value()));
  ASSERT_TRUE(controller_->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, api::ToJson(status)));
  Options doctor;
  doctor.verb = Verb::kDoctor;
  doctor.output = Output::kJson;
  Options rollout;
  rollout.verb = Verb::kRollout;
  rollout.name = "iris";
  rollout.watch = true;
  const std::string changed = "has changed, which the controller has not processed yet";
  EXPECT_EQ(RunStatus("iris").code, kExitOk);
  EXPECT_THAT(Run(doctor).text, Not(HasSubstr(changed)));
  EXPECT_THAT(Run(rollout).text, HasSubstr("it serves"));

  fleet.spec = {{"replicas", {{"min", 2}}}};
  ASSERT_TRUE(controller_->Apply(fleet));
  EXPECT_THAT(RunStatus("iris").text, HasSubstr(changed));
  EXPECT_THAT(Run(doctor).text, HasSubstr(changed));
  lock_.reset();  // A rollout that is under way ends a watch only without a controller.
  EXPECT_THAT(Run(rollout).text, HasSubstr(changed));
}

TEST_F(Host, ApplyWarnsOfATakenServedNameAndOfALabelWithoutVersion) {
  Write("iris.yaml", Manifest(1));
  ASSERT_TRUE(controller_->ReadManifests());
  std::filesystem::create_directories(dir_ / "m/2");
  Write("m/2/saved_model.pb", "");
  const std::string other = fmt::format(
      "apiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {{name: other}}\nspec: {{fleet: cpu, "
      "servedName: iris, source: {{uri: \"file://{}/m\"}}, version: 2, labels: {{live: 2, next: 7}}}}\n",
      dir_.string());
  for (const bool dry_run : {true, false}) {
    const std::string text = RunFile(Verb::kApply, other, dry_run).text;
    EXPECT_THAT(text,
                HasSubstr("Warning: Model default/other: the name \"iris\" is also that of Model default/iris; on "
                          "one fleet each Model needs its own servedName\n"));
    EXPECT_THAT(text, HasSubstr("Warning: Model default/other: spec.labels.next: " + (dir_ / "m").string() +
                                " has no version 7; the newest is 2\n"));
  }
}

TEST_F(Host, StatusReportsAnInvalidManifestAsFailed) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  Write("broken.yaml", "kind: [");
  const Outcome all = RunStatus();
  EXPECT_EQ(all.code, kExitFailed);
  EXPECT_THAT(all.text, HasSubstr("broken.yaml   failed"));
  EXPECT_EQ(RunStatus("iris").code, kExitOk) << "the invalid file does not concern iris";
  Write("iris.yaml", Manifest(1) + "  colour: blue\n");
  const Outcome one = RunStatus("iris", true);
  EXPECT_EQ(one.code, kExitFailed);
  EXPECT_THAT(one.text, HasSubstr("iris.yaml:8: spec.colour"));
}

TEST_F(Host, StatusOfASelectionIgnoresTheManifestsOfOtherObjects) {
  const auto labelled = [](const char* name, const char* app) {
    std::string text = Manifest(1);
    return text.replace(text.find("name: iris"), 10, fmt::format("name: {}, labels: {{app: {}}}", name, app));
  };
  Write("iris.yaml", labelled("iris", "x"));
  StartController(1);
  Serve(1);
  Write("broken.yaml", "kind: [");
  Write("new.yaml", labelled("new", "y"));
  const auto status = [&](const char* app) {
    Options options;
    options.verb = Verb::kStatus;
    options.selector = input::ParseSelector(app).value();
    return Run(options);
  };
  EXPECT_EQ(status("app=x").code, kExitOk) << status("app=x").text;
  EXPECT_THAT(status("app=x").text, Not(HasSubstr(".yaml")));
  EXPECT_EQ(status("app=y").code, kExitTimeout);
  EXPECT_THAT(status("app=y").text, HasSubstr("new.yaml"));
  Write("iris.yaml", labelled("iris", "x") + "  colour: blue\n");
  EXPECT_EQ(status("app=x").code, kExitFailed) << "the object of the store has the label";
}

TEST_F(Host, StatusReportsASecondFileWithTheSameObjectAsFailed) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  Write("x.yml", Manifest(1));
  Serve(1);
  const Outcome all = RunStatus("", true);
  EXPECT_EQ(all.code, kExitFailed) << all.text;
  EXPECT_THAT(all.text, HasSubstr("x.yml   failed   -        Model default/iris is already defined in iris.yaml"));
}

TEST_F(Host, ApplyRefusesASecondFileWithTheSameObjectAndDoctorSaysWhatToDo) {
  Write("iris.yaml", Manifest(2));
  Write("zz.yaml", Manifest(1));
  const std::string second = (dir_ / "zz.yaml").string();
  const std::string why =
      second + ":1: Model default/iris is already defined in iris.yaml: remove the object from one of the two files";
  EXPECT_EQ(RefusalOf(Verb::kApply, second), why) << "no controller has read the files";
  StartController(1);
  Serve(1);
  for (const bool dry_run : {false, true}) EXPECT_EQ(RefusalOf(Verb::kApply, second, dry_run), why);
  EXPECT_EQ(RefusalOf(Verb::kDiff, second), why);
  EXPECT_EQ(place_.store->Get(key_)->spec.at("version"), 2);
  Options doctor;
  doctor.verb = Verb::kDoctor;
  EXPECT_THAT(Run(doctor).text, HasSubstr("zz.yaml: Model default/iris is already defined in iris.yaml.\n"
                                          "       -> remove the object from one of the two files\n"));
  EXPECT_EQ(RefusalOf(Verb::kApply, (dir_ / "iris.yaml").string()), "") << "the file that the controller uses";
  EXPECT_THAT(RunFile(Verb::kApply, Manifest(1)).text, HasSubstr("iris.yaml says version 2")) << "a file elsewhere";
}

TEST_F(Host, DoctorSaysAsStatusThatAFileAndItsObjectDiffer) {
  Write("iris.yaml", Manifest(2));
  StartController(1);
  Serve(2);
  Options doctor;
  doctor.verb = Verb::kDoctor;
  EXPECT_THAT(Run(doctor).text, HasSubstr("all 1 files are applied."));
  RunFile(Verb::kApply, Manifest(1));
  const std::string differs = "iris.yaml says version 2; Model default/iris has version 1";
  EXPECT_THAT(RunStatus("iris").text, HasSubstr(differs));
  const std::string text = Run(doctor).text;
  EXPECT_THAT(text, HasSubstr(differs));
  EXPECT_THAT(text, Not(HasSubstr("files are applied")));
}

TEST_F(Host, AnObjectMayMoveToAnotherFile) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  Write("iris.yaml", "# Moved.\n");
  Write("zz.yaml", Manifest(2));
  EXPECT_EQ(RefusalOf(Verb::kApply, (dir_ / "zz.yaml").string()), "");
}

TEST_F(Host, StatusMentionsAFileWithoutObjects) {
  Write("iris.yaml", Manifest(1));
  Write("none.yaml", "# Later.\n");
  StartController(1);
  Serve(1);
  const Outcome all = RunStatus("", true);
  EXPECT_EQ(all.code, kExitOk) << all.text;
  EXPECT_THAT(all.text, HasSubstr("it defines no object"));
}

TEST_F(Host, ApplyGetAndDiffPrintDifferencesBetweenAManifestAndItsObject) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  const std::string file = (dir_ / "iris.yaml").string();
  EXPECT_THAT(RunFile(Verb::kApply, Manifest(2), true).text,
              HasSubstr(file + " says version 1; Model default/iris would have version 2\n"));
  const std::string sentence = file + " says version 1; Model default/iris has version 2\n";
  EXPECT_THAT(RunGet().text, Not(HasSubstr("says")));
  EXPECT_THAT(RunFile(Verb::kApply, Manifest(2)).text, HasSubstr(sentence));
  EXPECT_THAT(RunGet().text, HasSubstr(sentence));
  for (const char* name : {"", "iris"}) EXPECT_THAT(RunStatus(name).text, HasSubstr(sentence));
  EXPECT_THAT(RunFile(Verb::kDiff, Manifest(1)).text, HasSubstr(sentence));
  Write("iris.yaml", Manifest(2));
  EXPECT_THAT(RunGet().text, Not(HasSubstr("says"))) << "the file is newer";
  ASSERT_TRUE(controller_->ReadManifests());
  EXPECT_THAT(RunGet().text, Not(HasSubstr("says")));
}

TEST_F(Host, ApplyWarnsOfAPortThatAnotherFleetHas) {
  const auto fleet = [](const char* name, int grpc, int rest) {
    return fmt::format(
        "---\napiVersion: longshore.dev/v1alpha1\nkind: ServingFleet\nmetadata: {{name: {}}}\n"
        "spec: {{ports: {{grpc: {}, rest: {}}}}}\n",
        name, grpc, rest);
  };
  EXPECT_THAT(RunFile(Verb::kApply, fleet("main", 8500, 8501)).text, Not(HasSubstr("Warning")));
  EXPECT_THAT(RunFile(Verb::kApply, fleet("main", 8500, 8502)).text, Not(HasSubstr("Warning"))) << "it moves";
  const std::string warning =
      "Warning: ServingFleet default/second: spec.ports.rest: port 8500 is also a port of ServingFleet default/main; "
      "on "
      "one host each fleet needs its own ports\n";
  for (const bool dry_run : {true, false})
    EXPECT_THAT(RunFile(Verb::kApply, fleet("second", 8600, 8500), dry_run).text, HasSubstr(warning));
  EXPECT_THAT(RunFile(Verb::kApply, fleet("main", 8700, 8701) + fleet("second", 8600, 8500)).text,
              Not(HasSubstr("Warning")))
      << "both are applied";
  const std::string together = RunFile(Verb::kApply, fleet("main", 8600, 8701) + fleet("second", 8600, 8500)).text;
  EXPECT_THAT(together, HasSubstr("Warning: ServingFleet default/second: spec.ports.grpc: port 8600 is also a port of "
                                  "ServingFleet default/main;"));
  EXPECT_EQ(together.find("Warning"), together.rfind("Warning")) << together;
}

TEST_F(Host, GetNamesTheObjectsOfManifestsThatWereDeleted) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  ASSERT_TRUE(place_.store->Delete(key_, place_.store->Get(key_)->metadata.uid));
  EXPECT_THAT(RunGet().text, HasSubstr("iris.yaml defines Model default/iris, which `longshore delete` deleted\n"));
}

TEST_F(Host, DeleteSaysThatTheManifestFileDoesNotCreateTheObjectAgain) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  Options options;
  options.verb = Verb::kDelete;
  options.targets = {{api::kModelKind, "iris"}};
  const std::string text = Run(options).text;
  EXPECT_THAT(text, HasSubstr("Model default/iris deleted\n"));
  EXPECT_THAT(text, HasSubstr("iris.yaml defines Model default/iris, which `longshore delete` deleted\n"));
  EXPECT_THAT(text, HasSubstr("A file is applied again when its content changes"));
}

TEST_F(Host, SetVersionChangesTheObjectAndTheNumberInItsFile) {
  Write("iris.yaml", "# Ours.\n" + Manifest(1));
  StartController(1);
  Serve(1);
  EXPECT_EQ(SetVersion(2).text, "Model default/iris version 1 -> 2, also in " + (dir_ / "iris.yaml").string() + "\n");
  EXPECT_EQ(ReadFile(dir_ / "iris.yaml").value(), "# Ours.\n" + Manifest(2));
  EXPECT_EQ(place_.store->Get(key_)->spec.at("version"), 2);
  const int64_t generation = place_.store->Get(key_)->metadata.generation;
  Serve(1);
  EXPECT_EQ(place_.store->Get(key_)->metadata.generation, generation) << "the file agrees with the object";
}

TEST_F(Host, AWatchedRolloutFailsAfterARollbackEvenIfTheSpecWasSetBack) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  const store::Object object = controller_->Get(key_).value();
  auto status = api::ModelStatusFromJson(object.status).value();
  status.rollout.phase = api::RolloutPhase::kRolledBack;
  status.rollout.candidate = 2;
  ASSERT_TRUE(controller_->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, api::ToJson(status)));
  Options options;
  options.verb = Verb::kRollout;
  options.name = "iris";
  options.watch = true;
  const Outcome watched = Run(options);
  EXPECT_THAT(watched.text, HasSubstr("Version 2 was rolled back"));
  EXPECT_EQ(watched.code, kExitFailed);
  EXPECT_EQ(RunStatus("iris").code, kExitOk) << "the Model is as wanted";
}

TEST_F(Host, TwoCommandsAtOnceLeaveTheFileAndTheObjectEqual) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  const auto set_versions = [this](int64_t first) {
    const Place place{.store = store::local::LocalStore::Open({.dir = dir_}).value(), .manifests = dir_};
    Options options;
    options.verb = Verb::kSetVersion;
    options.name = "iris";
    for (options.version = first; options.version < first + 20; ++options.version) {
      std::ostringstream out;
      EXPECT_TRUE(cli::Run(options, place, SystemClock(), out));
    }
  };
  for (int64_t round = 1; round < 20; ++round) {
    {
      const std::jthread other([&] { set_versions(1000 * round); });
      set_versions(1000 * round + 500);
    }
    const auto version = place_.store->Get(key_)->spec.at("version").get<int64_t>();
    ASSERT_EQ(ReadFile(dir_ / "iris.yaml").value(), Manifest(version));
  }
}

// A pager may keep a command waiting that prints to it.
TEST_F(Host, SetVersionDoesNotKeepOtherCommandsWaitingWhilePrinting) {
  struct Printed : std::stringbuf {
    explicit Printed(const Path& dir) : lock(::open((dir / ".longshore/edit.lock").c_str(), O_RDWR)) {}
    std::streamsize xsputn(const char* text, std::streamsize size) override {
      locked_by_others = locked_by_others || flock(lock.get(), LOCK_EX | LOCK_NB) != 0;
      flock(lock.get(), LOCK_UN);
      return std::stringbuf::xsputn(text, size);
    }
    process::Descriptor lock;
    bool locked_by_others = false;
  };
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  SetVersion(2);
  Printed printed(dir_);
  ASSERT_TRUE(printed.lock.valid());
  std::ostream out(&printed);
  Options options;
  options.verb = Verb::kSetVersion;
  options.name = "iris";
  options.version = 3;
  ASSERT_TRUE(cli::Run(options, place_, SystemClock(), out));
  EXPECT_THAT(printed.str(), StartsWith("Model default/iris version 2 -> 3"));
  EXPECT_FALSE(printed.locked_by_others);
}

TEST_F(Host, SetVersionSaysThatTheFileIsChangedIfTheObjectCannotBe) {
  struct Full : store::ForwardingStore {
    using ForwardingStore::ForwardingStore;
    Result<store::Object> Apply(const store::Object&) override { return Internal("no space left on device"); }
  };
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  const auto store = std::move(place_.store);
  place_.store = std::make_unique<Full>(*store);
  std::ostringstream out;
  Options options;
  options.verb = Verb::kSetVersion;
  options.name = "iris";
  options.version = 2;
  const auto set = cli::Run(options, place_, SystemClock(), out);
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().message, (dir_ / "iris.yaml").string() +
                                     " says version 2 now, and longshore-controller will apply it; Model default/iris "
                                     "could not be changed: no space left on device");
  place_.store.reset();
}

TEST_F(Host, SetVersionAndApplySayThatNothingHappensWithoutAController) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  EXPECT_THAT(SetVersion(2).text, Not(HasSubstr("no controller")));
  lock_.reset();
  EXPECT_THAT(SetVersion(1).text, EndsWith("\nno controller is running: this has no effect until one runs\n"));
  EXPECT_THAT(RunFile(Verb::kApply, Manifest(2)).text, HasSubstr("no controller is running: this has no effect until"));
  EXPECT_THAT(RunFile(Verb::kApply, Manifest(2), true).text, Not(HasSubstr("no controller")));
}

TEST_F(Host, SetVersionNamesRetryForAVersionThatHasFailedAndIsWantedAlready) {
  Write("iris.yaml", Manifest(2));
  StartController(1);
  Serve(1);
  EXPECT_THAT(SetVersion(2).text, StartsWith("Model default/iris version 2 unchanged, also in "));
  const auto fail = [&](int64_t generation, const std::vector<std::string>& accepted) {
    const store::Object object = controller_->Get(key_).value();
    auto status = api::ModelStatusFromJson(object.status).value();
    status.failed = {{2, "", generation, "Aborted", "", {}}};
    status.accepted_commands = accepted;
    ASSERT_TRUE(
        controller_->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, api::ToJson(status)));
  };
  const int64_t generation = controller_->Get(key_)->metadata.generation;
  fail(generation, {"retry"});
  EXPECT_THAT(SetVersion(2, "/m").text,
              HasSubstr("version 2 has failed (Aborted); to try it again: longshore retry iris --manifests /m"));
  fail(generation, {});
  EXPECT_THAT(SetVersion(2).text, Not(HasSubstr("retry"))) << "the controller would refuse it";
  fail(generation - 1, {"retry"});
  EXPECT_THAT(SetVersion(2).text, Not(HasSubstr("retry"))) << "the manifest has changed since the failure";
  fail(generation, {"retry"});
  EXPECT_THAT(SetVersion(1).text, Not(HasSubstr("retry")));
}

TEST_F(Host, SetVersionChangesNothingButTheVersion) {
  Write("iris.yaml", Manifest(1));
  StartController(1);
  Serve(1);
  const std::string batching = "  batching: {mode: Auto}\n";
  RunFile(Verb::kApply, Manifest(1) + batching);
  EXPECT_THAT(SetVersion(2).text, HasSubstr("iris.yaml says batching"));
  ASSERT_TRUE(controller_->ReadManifests());
  EXPECT_EQ(place_.store->Get(key_)->spec.at("version"), 2);
  EXPECT_EQ(place_.store->Get(key_)->spec.at("batching").at("maxBatchSize"), 16) << "the file has no batching";
  Write("iris.yaml", "# A comment.\n" + Manifest(2));
  ASSERT_TRUE(controller_->ReadManifests());
  EXPECT_EQ(place_.store->Get(key_)->spec.at("batching").at("maxBatchSize"), 16);
  Write("iris.yaml", Manifest(3));
  ASSERT_TRUE(controller_->ReadManifests());
  EXPECT_EQ(place_.store->Get(key_)->spec.at("version"), 3) << "an edit of a person is applied";
}

TEST_F(Host, SetVersionWritesThroughALinkAndKeepsTheMode) {
  const Path target = dir_ / "sources/iris.yaml";
  std::filesystem::create_directories(target.parent_path());
  ASSERT_TRUE(WriteFileAtomically(target, Manifest(1)));
  std::filesystem::permissions(target, std::filesystem::perms(0640));
  std::filesystem::create_symlink(target, dir_ / "iris.yaml");
  StartController(1);
  Serve(1);
  SetVersion(2);
  EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "iris.yaml"));
  EXPECT_EQ(ReadFile(target).value(), Manifest(2));
  EXPECT_EQ(std::filesystem::status(target).permissions(), std::filesystem::perms(0640));
}

TEST_F(Host, SetVersionSaysThatLatestEnds) {
  std::string latest = Manifest(1);
  latest.replace(latest.find("version: 1"), 10, "versionPolicy: Latest");
  Write("iris.yaml", latest);
  StartController(1);
  ASSERT_TRUE(controller_->ReadManifests());
  EXPECT_EQ(SetVersion(2).text, "Model default/iris version Latest -> 2, also in " + (dir_ / "iris.yaml").string() +
                                    "; newer versions are no longer rolled out by themselves\n");
  EXPECT_EQ(ReadFile(dir_ / "iris.yaml").value(), Manifest(2));
}

TEST_F(Host, AMissingVersionOrGoldenSetIsKnownBeforeTheRollout) {
  const Path models = dir_ / "models";
  std::filesystem::create_directories(models / "1");
  ASSERT_TRUE(WriteFileAtomically(models / "1/saved_model.pb", ""));
  const auto manifest = [&](int version) {
    std::string text = Manifest(version);
    return text.replace(text.find("/models/iris"), 12, models.string());
  };
  const std::string fleet = "---\napiVersion: longshore.dev/v1alpha1\nkind: ServingFleet\nmetadata: {name: cpu}\n";
  EXPECT_THAT(RunFile(Verb::kApply, manifest(1) + fleet, true).text, HasSubstr("no version yet -> version 1"));
  const std::string missing = models.string() + " has no version 44; the newest is 1";
  EXPECT_THAT(RunFile(Verb::kApply, manifest(44) + fleet, true).text,
              HasSubstr("Model default/iris: no rollout: spec.version: " + missing));
  const std::string golden = manifest(1) + "  validation: {goldenSet: {path: none.tfrecord}}\n";
  EXPECT_THAT(RunFile(Verb::kApply, golden + fleet, true).text,
              HasSubstr("no rollout: spec.validation.goldenSet.path: " + (models / "none.tfrecord").string()));
  // A record of a prediction without outputs, which has 2 bytes: its rollout begins, and the rehearsal fails.
  const std::string record = std::string("\2\0\0\0\0\0\0\0", 8) + std::string(4, '\0') + std::string("\x32\0", 2);
  ASSERT_TRUE(WriteFileAtomically(models / "none.tfrecord", record));
  const std::string judged = RunFile(Verb::kApply, golden + fleet, true).text;
  EXPECT_THAT(judged, HasSubstr("Warning: Model default/iris: spec.validation.goldenSet.metric: top1 compares"));
  EXPECT_THAT(judged, HasSubstr("no version yet -> version 1"));
  Write("iris.yaml", manifest(1));
  StartController(1);
  Serve(1);
  EXPECT_THAT(SetVersion(44).text, HasSubstr("\nbut " + missing + "\n"));
}

TEST(ControllerNote, SaysHowOldTheStateIs) {
  const TimePoint at{std::chrono::seconds(1'800'000'000)};  // 2027-01-15T08:00:00Z
  const auto note = [&](bool is_running, std::chrono::seconds ago) {
    return ControllerNote({.is_running = is_running, .last_active_at = at}, at + ago);
  };
  EXPECT_EQ(note(true, std::chrono::seconds(2)), "");
  EXPECT_EQ(note(true, std::chrono::seconds(31)),
            "a controller is running, but it has not reconciled any object since 08:00:00 UTC (31s ago)\n");
  EXPECT_EQ(note(false, std::chrono::seconds(12)),
            "no controller is running; this is the state as of 08:00:00 UTC (12s ago)\n");
  EXPECT_EQ(note(false, std::chrono::hours(72)),
            "no controller is running; this is the state as of 2027-01-15 08:00:00 UTC (3d ago)\n");
  const store::local::ControllerLockState stuck{
      .is_running = true, .problem = "cannot create /m/a.json: No space left on device", .last_active_at = at};
  EXPECT_EQ(ControllerNote(stuck, at),
            "the controller cannot create /m/a.json: No space left on device; this is the state that it could write "
            "last\n");
  EXPECT_EQ(ControllerNote({}, at), "no controller is running; none has reconciled these objects yet\n");
}

}  // namespace
}  // namespace longshore::cli
