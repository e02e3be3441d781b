#include "serving-node/golden_files/from_log.h"

#include <fmt/ranges.h>

#include <memory>
#include <ostream>
#include <set>
#include <span>

#include "common/base/sha256.h"
#include "common/binary_proto/binary_proto.h"
#include "serving-node/golden_files/draft.h"
#include "serving-node/golden_files/progress.h"
#include "serving-node/golden_files/reservoir.h"
#include "serving-node/golden_set/records.h"
#include "serving-node/saved_model/tfrecord.h"
#include "serving-node/sources/gunzip.h"

namespace longshore::golden_files {
namespace {

using golden_set::Record;
using tensorflow::serving::PredictionLog;

// How many records were left out, by the reason.
struct LeftOut {
  size_t other_methods = 0;
  size_t without_answer = 0;
  size_t other_models = 0;
  size_t other_signatures = 0;
  size_t repeated = 0;
};

void AddPart(std::string_view part, Sha256Stream* digest) {
  const uint64_t size = part.size();
  digest->Update({reinterpret_cast<const char*>(&size), sizeof(size)});
  digest->Update(part);
}

// Equal for two requests with the same signature, outputs, and names, types, shapes and bits of the inputs.
Sha256Bytes DigestOf(const engine::RunRequest& request) {
  Sha256Stream digest;
  AddPart(request.signature, &digest);
  for (const auto& [name, values] : request.inputs) {
    AddPart(name, &digest);
    AddPart(engine::TypeText(values), &digest);
    if (values.type() == tensor::DType::kString) {
      for (const std::string& text : values.values<std::string>()) AddPart(text, &digest);
    } else {
      AddPart({reinterpret_cast<const char*>(values.data()), values.bytes()}, &digest);
    }
  }
  for (const std::string& output : request.outputs) AddPart(output, &digest);
  return digest.Finish();
}

// TensorFlow's TFRecordWriter compresses the whole file if its option is GZIP.
Result<saved_model::TfRecordReader> OpenLog(const Path& path) {
  constexpr size_t kBeginning = 12;
  std::string beginning(kBeginning, '\0');
  ASSIGN_OR_RETURN(process::SteadyReader peeked, process::SteadyReader::Open(path));
  ASSIGN_OR_RETURN(const size_t read, peeked.Read(beginning));
  if (!saved_model::IsGzip(beginning.substr(0, read))) return saved_model::TfRecordReader::Open(path);
  ASSIGN_OR_RETURN(process::SteadyReader file, process::SteadyReader::Open(path));
  const auto shared = std::make_shared<process::SteadyReader>(std::move(file));
  const auto gunzipped = sources::Gunzipped([shared](std::span<char> bytes) { return shared->Read(bytes); });
  return saved_model::TfRecordReader(path, [path, gunzipped](std::span<char> bytes) -> Result<size_t> {
    const auto count = gunzipped(bytes);
    if (!count) return Prefixed(count.error(), path.string());
    return count;
  });
}

class LogReader {
 public:
  LogReader(const Options& options, std::ostream& notes)
      : options_(options), notes_(notes), progress_("read", notes), drawn_(options.log.sample, options.log.seed) {}

  Status ReadFile(const Path& file) {
    ASSIGN_OR_RETURN(auto reader, OpenLog(file));
    for (size_t index = 0;; ++index) {
      const uint64_t offset = reader.offset();
      const auto bytes = reader.Next();
      if (!bytes && reader.is_cut() && index > 0) {
        notes_ << file.string() << ": record " << index << " at byte " << offset
               << " is not complete, and is left out: the file may still be being written\n";
        return {};
      }
      if (!bytes) return tl::make_unexpected(bytes.error());
      if (!*bytes) return {};
      if (const Status taken = Take(**bytes); !taken)
        return Prefixed(taken.error(), fmt::format("{}: record {} at byte {}", file.string(), index, offset));
      progress_.Done(++read_);
    }
  }

  Status CheckOneModel() const {
    if (models_.size() < 2 || !options_.log.served_name.empty()) return {};
    return InvalidArgument("the files have requests to {} models: use --served-name with one of: {}", models_.size(),
                           fmt::join(models_, ", "));
  }

  std::vector<Record> TakeDrawn() { return drawn_.Take(); }
  size_t read() const { return read_; }

  // One line for each reason.
  std::string LeftOutText() const {
    std::string text;
    const auto add = [&](size_t count, std::string_view what) {
      if (count > 0) text += fmt::format("left out {} records {}\n", count, what);
    };
    add(left_out_.other_methods,
        "of other methods than Predict; `longshore golden from-model --inputs FILE` takes "
        "them, with the answers of a version");
    add(left_out_.without_answer,
        "without an answer; `longshore golden from-model --inputs FILE` records the answers "
        "of a version");
    add(left_out_.other_models, "of other models");
    add(left_out_.other_signatures, "of other signatures");
    add(left_out_.repeated, "whose request an earlier record has");
    return text;
  }

 private:
  Status Take(const std::string& bytes) {
    PredictionLog log;
    if (!ParseBinaryProto(bytes, &log)) return DataLoss("it is not a PredictionLog");
    if (!log.has_predict_log()) return Count(&left_out_.other_methods);
    const std::string& model = log.predict_log().request().model_spec().name();
    const std::string& wanted = options_.log.served_name;
    if (!wanted.empty() && model != wanted) return Count(&left_out_.other_models);
    if (!model.empty()) models_.insert(model);
    if (log.predict_log().response().outputs().empty()) return Count(&left_out_.without_answer);
    ASSIGN_OR_RETURN(Record record, golden_set::RecordOf(log));
    if (!options_.signature.empty() && record.request.signature != options_.signature)
      return Count(&left_out_.other_signatures);
    if (options_.log.deduplicate && !seen_.insert(DigestOf(record.request)).second) return Count(&left_out_.repeated);
    if (options_.log.sample == 0 && drawn_.offered() == golden_set::kRecordsMax)
      return ResourceExhausted("a golden set may have at most {} records: use --sample", golden_set::kRecordsMax);
    drawn_.Offer(std::move(record));
    return {};
  }

  static Status Count(size_t* count) {
    ++*count;
    return {};
  }

  const Options& options_;
  std::ostream& notes_;
  Progress progress_;
  size_t read_ = 0;
  LeftOut left_out_;
  std::set<std::string> models_;
  std::set<Sha256Bytes> seen_;
  Reservoir<Record> drawn_;
};

}  // namespace

Status FromLog(const Options& options, std::ostream& out, std::ostream& notes) {
  ASSIGN_OR_RETURN(Draft draft, Draft::Open(options.out));
  LogReader reader(options, notes);
  for (const Path& file : options.log.files) RETURN_IF_ERROR(reader.ReadFile(file));
  notes << reader.LeftOutText();
  RETURN_IF_ERROR(reader.CheckOneModel());
  const size_t read = reader.read();
  for (Record& record : reader.TakeDrawn()) RETURN_IF_ERROR(draft.Add(std::move(record)));
  RETURN_IF_ERROR(draft.Write());
  out << fmt::format("{}: {} of {} records\n", draft.file().string(), draft.records(), read);
  return {};
}

}  // namespace longshore::golden_files
