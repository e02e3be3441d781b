// The commands as a user gives them, on the models of tests/models.
#include "serving-node/golden_files/program.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "common/json/json.h"
#include "common/os/file.h"
#include "serving-node/golden_set/records.h"
#include "serving-node/saved_model/tfrecord.h"
#include "serving-node/tensor/npy.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::golden_files {
namespace {

using golden_set::Record;
using tensor::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Path kModels = source_tree::Root() / "tests" / "models";
const std::string kHalf = (kModels / "half_plus_two_tf2/1").string();  // y = x / 2 + 2.
const std::string kDigits = (kModels / "digits/2").string();

struct Outcome {
  int code = 0;
  std::string out;
  std::string notes;  // With the error message.
};

Outcome RunProgram(std::vector<std::string> words) {
  words.insert(words.begin(), "longshore-model");
  std::vector<const char*> argv;
  for (const auto& word : words) argv.push_back(word.c_str());
  const auto options = ParseOptions(static_cast<int>(argv.size()), argv.data());
  if (!options) return {kExitUsage, "", options.error().message};
  std::ostringstream out, notes;
  const auto code = Run(**options, out, notes);
  return {code.value_or(kExitFailed), out.str(), notes.str() + (code ? "" : code.error().message)};
}

// A request to half_plus_two, as a node logs it. NaN: without an answer.
std::string Logged(float x, float y, const std::string& model = "half") {
  Record record{
      .request = {.signature = "serving_default", .inputs = {{"x", Tensor::Of<float>({1}, {x})}}, .outputs = {}},
      .expected = {{"y", Tensor::Of<float>({1}, {y})}}};
  auto log = golden_set::LogOf(record);
  log.mutable_predict_log()->mutable_request()->mutable_model_spec()->set_name(model);
  if (std::isnan(y)) log.mutable_predict_log()->clear_response();
  return log.SerializeAsString();
}

class GoldenFilesTest : public testing::Test {
 protected:
  GoldenFilesTest() { std::filesystem::create_directories(dir_); }
  ~GoldenFilesTest() override { std::filesystem::remove_all(dir_); }

  std::string PathOf(const std::string& name) const { return (dir_ / name).string(); }
  std::string File(const std::string& name, std::string_view bytes) const {
    EXPECT_TRUE(WriteFileAtomically(dir_ / name, bytes));
    return PathOf(name);
  }
  std::string Log(const std::string& name, const std::vector<std::string>& records) const {
    EXPECT_TRUE(saved_model::WriteTfRecords(dir_ / name, records));
    return PathOf(name);
  }
  // A log of `count` requests with the inputs 0, 1, 2, ...
  std::string LongLog(int count) const {
    std::vector<std::string> records;
    for (int i = 0; i < count; ++i) records.push_back(Logged(static_cast<float>(i), static_cast<float>(i) / 2 + 2));
    return Log("log", records);
  }
  std::vector<Record> Records(const std::string& name = "out") const {
    std::vector<Record> records;
    auto reader = golden_set::RecordReader::Open(dir_ / name);
    EXPECT_TRUE(reader) << reader.error().message;
    while (reader) {
      auto record = reader->Next();
      EXPECT_TRUE(record) << record.error().message;
      if (!record || !*record) break;
      records.push_back(std::move(**record));
    }
    return records;
  }
  // The first element of the tensor of this name in each record.
  std::vector<float> Inputs(const std::string& input = "x") const {
    std::vector<float> values;
    for (const Record& record : Records()) values.push_back(record.request.inputs.at(input).values<float>()[0]);
    return values;
  }
  std::vector<float> Answers() const {
    std::vector<float> values;
    for (const Record& record : Records()) values.push_back(record.expected.at("y").values<float>()[0]);
    return values;
  }
  Outcome FromLog(std::vector<std::string> words) const {
    words.insert(words.begin(), {"golden", "from-log", "--out", PathOf("out")});
    return RunProgram(words);
  }
  Outcome FromCsv(const std::string& table, const std::string& model, std::vector<std::string> words = {}) const {
    words.insert(words.begin(),
                 {"golden", "from-csv", File("table.csv", table), "--model", model, "--out", PathOf("out")});
    return RunProgram(words);
  }

  const Path dir_ = Path(testing::TempDir()) / fmt::format("golden_files_{}", getpid());
};

TEST_F(GoldenFilesTest, FromLogKeepsTheOrderOfTheRequestsAndTheirAnswers) {
  const std::string first = Log("a", {Logged(3, 3.5F), Logged(1, 2.5F)}), second = Log("b", {Logged(2, 3)});
  const Outcome outcome = FromLog({first, second});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.notes;
  EXPECT_THAT(outcome.out, HasSubstr("out: 3 of 3 records"));
  EXPECT_THAT(Inputs(), ElementsAre(3, 1, 2));
  EXPECT_THAT(Answers(), ElementsAre(3.5F, 2.5F, 3));
  EXPECT_THAT(Records()[0].request.outputs, ElementsAre("y"));
}

TEST_F(GoldenFilesTest, ASampleKeepsTheOrderAndDependsOnTheSeedOnly) {
  const std::string log = LongLog(100);
  const auto drawn = [&](const std::string& seed) {
    EXPECT_EQ(FromLog({log, "--sample", "10", "--seed", seed}).code, kExitOk);
    return Inputs();
  };
  const std::vector<float> first = drawn("1");
  EXPECT_EQ(first.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(first));
  EXPECT_EQ(drawn("1"), first);
  EXPECT_NE(drawn("2"), first);
}

TEST_F(GoldenFilesTest, DeduplicateTakesEachRequestOnce) {
  const Outcome outcome = FromLog({Log("log", {Logged(1, 2.5F), Logged(2, 3), Logged(1, 9)}), "--deduplicate"});
  EXPECT_THAT(Inputs(), ElementsAre(1, 2));
  EXPECT_THAT(outcome.notes, HasSubstr("left out 1 records whose request an earlier record has"));
}

TEST_F(GoldenFilesTest, FromLogLeavesOutWhatIsNotAKnownAnswerAndSaysSo) {
  tensorflow::serving::PredictionLog classify;
  classify.mutable_classify_log();
  const Outcome outcome = FromLog({Log("log", {Logged(1, NAN), classify.SerializeAsString(), Logged(2, 3)})});
  EXPECT_THAT(Inputs(), ElementsAre(2));
  EXPECT_THAT(outcome.notes, HasSubstr("left out 1 records of other methods than Predict"));
  EXPECT_THAT(outcome.notes, HasSubstr("left out 1 records without an answer"));
  EXPECT_THAT(FromLog({Log("log", {Logged(1, NAN)})}).notes,
              HasSubstr("is not written, because it would have no records"));
}

TEST_F(GoldenFilesTest, FromLogTakesTheRequestsToOneModel) {
  const std::string log = Log("log", {Logged(1, 2.5F, "half"), Logged(2, 7, "other")});
  EXPECT_THAT(FromLog({log}).notes, HasSubstr("requests to 2 models: use --served-name with one of: half, other"));
  EXPECT_EQ(FromLog({log, "--served-name", "half"}).code, kExitOk);
  EXPECT_THAT(Inputs(), ElementsAre(1));
}

TEST_F(GoldenFilesTest, FromLogLeavesOutARecordThatIsBeingWrittenAndRefusesADamagedOne) {
  const std::string whole = saved_model::EncodeTfRecord(Logged(1, 2.5F)),
                    next = saved_model::EncodeTfRecord(Logged(2, 3));
  const Outcome cut = FromLog({File("log", whole + next.substr(0, next.size() - 1))});
  EXPECT_EQ(cut.code, kExitOk);
  EXPECT_THAT(cut.notes, HasSubstr(fmt::format("record 1 at byte {} is not complete", whole.size())));
  std::string damaged = whole + next + whole;
  damaged[whole.size() + 20] ^= 1;
  const Outcome refused = FromLog({File("log", damaged)});
  EXPECT_EQ(refused.code, kExitFailed);
  EXPECT_THAT(refused.notes, HasSubstr(fmt::format("record 1 at byte {}: the checksum of the record", whole.size())));
}

TEST_F(GoldenFilesTest, FromCsvTakesTheAnswersOfTheVersionIfThereAreNoLabels) {
  const Outcome outcome = FromCsv("id,x\n7,1\n8,3\n", kHalf);
  EXPECT_EQ(outcome.code, kExitOk) << outcome.notes;
  EXPECT_THAT(outcome.notes, HasSubstr("columns without use: id"));
  EXPECT_THAT(outcome.out, HasSubstr("the known answers are those of " + kHalf));
  EXPECT_THAT(Inputs(), ElementsAre(1, 3));
  EXPECT_THAT(Answers(), ElementsAre(2.5F, 3.5F));
}

TEST_F(GoldenFilesTest, ALabelIsTheValueOfTheOnlyOutput) {
  EXPECT_EQ(FromCsv("x,wanted\n1,2.5\n3,4\n", kHalf, {"--label", "wanted"}).code, kExitOk);
  EXPECT_THAT(Answers(), ElementsAre(2.5F, 4));
  const Outcome checked = RunProgram({"check-version", kHalf, "--golden", PathOf("out"), "--metric", "tolerance"});
  EXPECT_EQ(checked.code, kExitFailed);
  EXPECT_THAT(checked.out, HasSubstr("1 of 2 pass"));
  EXPECT_THAT(checked.out, HasSubstr("record 1, signature serving_default: output \"y\" is 3.5 at index 0, not 4"));
}

// A table with one image of zeros for each label.
std::string Images(const std::vector<std::string>& labels) {
  std::string table, row;
  for (int i = 0; i < 64; ++i) table += fmt::format("image[{}],", i);
  for (int i = 0; i < 64; ++i) row += "0,";
  table += "digit\n";
  for (const std::string& label : labels) table += row + label + "\n";
  return table;
}

TEST_F(GoldenFilesTest, ALabelOfScoresIsTheNumberOrTheNameOfAClass) {
  EXPECT_EQ(FromCsv(Images({"3", "9.0"}), kDigits, {"--label", "digit"}).code, kExitOk);
  const std::vector<Record> records = Records();
  EXPECT_THAT(records[0].expected.at("probabilities").values<float>(), ElementsAre(0, 0, 0, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(records[1].expected.at("probabilities").values<float>()[9], 1);
  EXPECT_THAT(records[0].request.outputs, ElementsAre("probabilities"));
  const std::vector<std::string> names = {"--label", "digit", "--classes", "0,1,2,three,4,5,6,7,8,9"};
  EXPECT_EQ(FromCsv(Images({"three"}), kDigits, names).code, kExitOk);
  EXPECT_EQ(Records()[0].expected.at("probabilities").values<float>()[3], 1);
  const std::string file = File("classes.txt", "0\n1\n2\n three \r\n4\n5\n6\n7\n8\n9\n\n");
  EXPECT_EQ(FromCsv(Images({"three"}), kDigits, {"--label", "digit", "--classes", file}).code, kExitOk);
  EXPECT_EQ(Records()[0].expected.at("probabilities").values<float>()[3], 1);
  EXPECT_THAT(FromCsv(Images({"3", "four"}), kDigits, names).notes,
              HasSubstr("table.csv: line 2: column \"digit\": \"3\" is not in --classes: 0, 1, 2, three"));
  EXPECT_THAT(
      FromCsv(Images({"0", "10"}), kDigits, {"--label", "digit"}).notes,
      HasSubstr("line 3: column \"digit\": \"10\" is not a class of output \"probabilities\": a number from 0 to 9"));
}

TEST_F(GoldenFilesTest, ClassesThatCannotBeUsedAreAnError) {
  EXPECT_EQ(FromCsv(Images({"3"}), kDigits, {"--label", "digit", "--classes", "nofile.txt"}).notes,
            "--classes: the file nofile.txt does not exist; write NAME,NAME,..., or a file with one name per line");
  EXPECT_THAT(FromCsv("x,price\n1,2.5\n", kHalf, {"--label", "price", "--classes", "nofile.txt"}).notes,
              HasSubstr("the file nofile.txt does not exist"));
  EXPECT_THAT(FromCsv("x,price\n1,2.5\n", kHalf, {"--label", "price", "--classes", "a,b"}).notes,
              HasSubstr("--classes has no effect: output \"y\" is a value and not the scores of classes"));
}

TEST_F(GoldenFilesTest, ALabelMayNameItsOutput) {
  EXPECT_EQ(FromCsv(Images({"3"}), kDigits, {"--label", "label=digit"}).code, kExitOk);
  EXPECT_THAT(Records()[0].expected.at("label").values<int64_t>(), ElementsAre(3));
  EXPECT_THAT(
      FromCsv(Images({"3"}), kDigits, {"--label", "other=digit"}).notes,
      HasSubstr("--label other=digit: the signature has no output \"other\"; its outputs are: label, probabilities"));
  EXPECT_THAT(FromCsv(Images({"3"}), kDigits, {"--label", "class"}).notes,
              HasSubstr("there is neither a column \"class\""));
}

TEST_F(GoldenFilesTest, FromModelMakesARecordOfEachRow) {
  const std::string array = File("x.npy", *tensor::ToNpy(Tensor::Of<float>({3}, {1, 2, 3})));
  const auto make = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"golden", "from-model", kHalf, "--out", PathOf("out")});
    const Outcome outcome = RunProgram(words);
    EXPECT_EQ(outcome.code, kExitOk) << outcome.notes;
    return Records().size();
  };
  EXPECT_EQ(make({"--inputs", array}), 3U);
  EXPECT_THAT(Inputs(), ElementsAre(1, 2, 3));
  EXPECT_THAT(Answers(), ElementsAre(2.5F, 3, 3.5F));
  EXPECT_EQ(make({"--inputs", array, "--batch", "2"}), 2U);
  EXPECT_EQ(make({"--input", "x=" + array}), 3U);
  EXPECT_EQ(make({"--inputs", File("x.json", R"({"instances": [5, 6]})")}), 2U);
  EXPECT_EQ(make({"--inputs", Log("requests", {Logged(8, NAN)})}), 1U);
  EXPECT_THAT(Answers(), ElementsAre(6));
}

TEST_F(GoldenFilesTest, ShowCountsRecordsShapesAndClasses) {
  ASSERT_EQ(FromCsv(Images({"3", "3", "9"}), kDigits, {"--label", "digit"}).code, kExitOk);
  const Outcome shown = RunProgram({"golden", "show", PathOf("out"), "--records", "1"});
  EXPECT_THAT(shown.out, HasSubstr("out: 3 records, "));
  EXPECT_THAT(shown.out, HasSubstr("input   image  DT_FLOAT [1,8,8,1]\n"));
  EXPECT_THAT(shown.out, HasSubstr("largest in column (rows): 3 (2) 9 (1)\n"));
  EXPECT_THAT(shown.out, HasSubstr("record 0 at byte 0, signature serving_default\n"));
  EXPECT_THAT(shown.out, Not(HasSubstr("record 1 ")));
  const auto json = ParseJson(RunProgram({"golden", "show", PathOf("out"), "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("signatures").at("serving_default").at("answers").at("probabilities").at("records"), 3);
}

TEST_F(GoldenFilesTest, CheckNamesTheFileTheRecordAndItsOffset) {
  const auto check = [&](const std::vector<std::string>& records) {
    return RunProgram({"golden", "check", Log("set", records), "--model", kHalf});
  };
  EXPECT_EQ(check({Logged(1, 2), Logged(2, 3)}).code, kExitOk);
  Record other{
      .request = {.signature = "serving_default", .inputs = {{"x", Tensor::Of<int64_t>({1}, {1})}}, .outputs = {}},
      .expected = {{"y", Tensor::Of<float>({1}, {1})}}};
  const auto bytes = [&] { return golden_set::LogOf(other).SerializeAsString(); };
  const size_t offset = saved_model::EncodeTfRecord(Logged(1, 2)).size();
  const Outcome wrong_type = check({Logged(1, 2), bytes()});
  EXPECT_EQ(wrong_type.code, kExitFailed);
  EXPECT_THAT(wrong_type.notes, HasSubstr(fmt::format("set: record 1 at byte {}: input \"x\" is DT_INT64 [1], but the "
                                                      "signature states DT_FLOAT",
                                                      offset)));
  other.request.inputs = {{"z", Tensor::Of<float>({1}, {1})}};
  EXPECT_THAT(check({bytes()}).notes, HasSubstr("the signature has no input \"z\"; its inputs are: x"));
  other.request.inputs.clear();
  EXPECT_THAT(check({bytes()}).notes, HasSubstr("input \"x\" is missing"));
  other.request.signature = "none";
  EXPECT_THAT(check({bytes()}).notes, HasSubstr("the model has no signature \"none\""));
  EXPECT_THAT(check({Logged(1, NAN)}).notes, HasSubstr("the record has no known answer"));
  EXPECT_THAT(check({Logged(1, 2), "garbage"}).notes,
              HasSubstr(fmt::format("record 1 at byte {}: it is not a", offset)));
}

TEST_F(GoldenFilesTest, CheckVersionPrintsTheScoreAndTheFirstFailingRecords) {
  const std::string set = Log("set", {Logged(1, 2.5F), Logged(2, 4), Logged(3, 5)});
  const std::vector<std::string> words = {"check-version", kHalf,     "--golden", set,      "--metric",
                                          "tolerance",     "--rules", "a test",   "--rows", "1"};
  const Outcome outcome = RunProgram(words);
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_THAT(outcome.out, HasSubstr(kHalf + ": would not pass\n"));
  EXPECT_THAT(outcome.out, HasSubstr("rules       a test\n"));
  EXPECT_THAT(outcome.out, HasSubstr("score       0.3333; at least 0.9500\n"));
  EXPECT_THAT(outcome.out, HasSubstr("record 1, signature serving_default: output \"y\" is 3 at index 0, not 4\n"
                                     "  input     x DT_FLOAT [1] 2.0\n"
                                     "  expected  y DT_FLOAT [1] 4.0\n"
                                     "  got       y DT_FLOAT [1] 3.0\n"));
  EXPECT_THAT(outcome.out, HasSubstr("and 1 more records; --rows shows more"));
  std::vector<std::string> lenient = words;
  lenient.insert(lenient.end(), {"--minimum", "0.3"});
  EXPECT_EQ(RunProgram(lenient).code, kExitOk);
}

TEST_F(GoldenFilesTest, CheckVersionAsJsonHasTheNumbers) {
  const std::string set = Log("set", {Logged(1, 2.5F), Logged(2, 4)});
  const auto json =
      ParseJson(RunProgram({"check-version", kHalf, "--golden", set, "--metric", "tolerance", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("passes"), false);
  EXPECT_EQ(json->at("score"), 0.5);
  EXPECT_EQ(json->at("failing")[0].at("record"), 1);
  EXPECT_EQ(json->at("failing")[0].at("relative_difference"), 0.25);
}

TEST_F(GoldenFilesTest, AVersionThatCannotBeRehearsedWouldNotPass) {
  std::filesystem::create_directories(dir_ / "1");
  File("1/saved_model.pb", "garbage");
  const Outcome damaged = RunProgram({"check-version", PathOf("1"), "--golden", Log("set", {Logged(1, 2.5F)})});
  EXPECT_EQ(damaged.code, kExitFailed);
  EXPECT_THAT(damaged.out, HasSubstr("would not pass"));
  EXPECT_THAT(damaged.out, HasSubstr("saved_model.pb"));
  const Outcome bad_set = RunProgram({"check-version", kHalf, "--golden", File("set.txt", "garbage")});
  EXPECT_EQ(bad_set.code, kExitFailed);
  EXPECT_THAT(bad_set.out, HasSubstr("golden set: "));
}

TEST_F(GoldenFilesTest, AMissingGoldenSetIsNoJudgementOfTheVersion) {
  const Outcome no_set = RunProgram({"check-version", kHalf, "--golden", PathOf("none")});
  EXPECT_EQ(no_set.out, "");
  EXPECT_EQ(no_set.notes, "golden set: " + PathOf("none") + " does not exist");
}

TEST_F(GoldenFilesTest, AVersionThatRefusesRequestsOfTheOneThatServesWouldNotPass) {
  const Outcome outcome = RunProgram({"check-version", kHalf, "--stable", kDigits});
  EXPECT_EQ(outcome.code, kExitFailed);
  EXPECT_THAT(outcome.out, HasSubstr("because     SignatureChanged: "));
}

TEST_F(GoldenFilesTest, AMisspeltVerbGetsASuggestion) {
  EXPECT_EQ(RunProgram({"golden", "shw", "x"}).notes,
            "\"golden shw\" is not a command; did you mean golden show? (see longshore golden --help)");
  EXPECT_THAT(RunProgram({"golden", "edit"}).notes, HasSubstr("use one of: from-log, from-csv, "));
  EXPECT_THAT(RunProgram({"golden", "show"}).notes, HasSubstr("(see longshore golden show --help)"));
}

TEST_F(GoldenFilesTest, WrongUsageIsExplained) {
  EXPECT_EQ(RunProgram({"golden", "from-log", "x"}).code, kExitUsage);
  EXPECT_THAT(RunProgram({"golden", "from-model", kHalf, "--out", "x"}).notes, HasSubstr("--inputs FILE or"));
  EXPECT_THAT(FromCsv("x\n1\n", kHalf, {"--separator", "::"}).notes, HasSubstr("must be one character"));
  EXPECT_THAT(FromCsv("x\n1\n", kHalf, {"--column", "x"}).notes, HasSubstr("--column x: must be INPUT=COLUMN"));
  EXPECT_THAT(FromCsv("x\n1\n", kHalf, {"--classes", "a,b"}).notes, HasSubstr("--label"));
  const Outcome late =
      RunProgram({"golden", "from-csv", File("t.csv", "x\n"), "--model", kHalf, "--out", PathOf("none/out")});
  EXPECT_THAT(late.notes, HasSubstr("--out: cannot write to folder"));
}

}  // namespace
}  // namespace longshore::golden_files
