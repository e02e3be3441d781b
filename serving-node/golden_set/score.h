// Judges the answers of one version to the records of a golden set.
#pragma once

#include <functional>
#include <string>

#include "common/base/error.h"
#include "longshore/control.pb.h"
#include "serving-node/engine/engine.h"
#include "serving-node/golden_set/records.h"

namespace longshore::golden_set {

// Runs the version on the inputs of a record and waits for the answer.
using RunFunction = std::function<Result<engine::TensorMap>(engine::RunRequest)>;

// The judgement of one record.
struct Judgement {
  int64_t index = 0;  // Of the record in its file; begins at 0.
  const Record& record;
  const engine::TensorMap& outputs;  // The answer of the version.
  std::string difference;            // Why the record does not pass, or the version is refused; "" if it is right.
  double relative_difference = 0;    // As in evidence::PairDifference.
};
using Observer = std::function<void(const Judgement& judgement)>;

class Score {
 public:
  // `observe` is called once for each record that is judged.
  explicit Score(const control::Validation& validation, Observer observe = {});

  // Runs the record, twice if the validation is `deterministic`, and judges the answer. Call it once for each record,
  // in their order. Returns the error of a run; then the record does not count yet, and can be judged again.
  Status Judge(const Record& record, const RunFunction& run);
  // Counts the next record as not passed because the version cannot answer it. The result is then not `ok`, whatever
  // the minimum is.
  void AddFailure(const Error& error);

  // The result of all records so far; `at_unix_ms` is not set. It is `ok` unless a record failed, the share of records
  // that passed is below the minimum, an output is NaN or Inf (with non_finite_reject), or the same input gave two
  // answers (with deterministic). Then `message` says why; if the minimum is missed, with the first difference.
  control::GoldenResult Finished() const;

 private:
  void Add(const Record& record, const engine::TensorMap& outputs, const std::string& refusal);
  void Refuse(const std::string& reason);

  const control::Validation validation_;
  const Observer observe_;
  control::GoldenResult result_;
  std::string first_difference_;  // Of the first record that did not pass; "" if all passed.
};

}  // namespace longshore::golden_set
