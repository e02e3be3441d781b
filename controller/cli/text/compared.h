// What a rollout has compared, for users: stable and candidate side by side, and what would change the verdict.
//
// Pure, like text.h.
#pragma once

#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/cli/text/interval_bar.h"

namespace longshore::cli::text {

// One comparison of the two versions, as texts; "" where there is nothing to say.
struct ComparedRow {
  std::string what;
  std::string stable;
  std::string candidate;
  std::string difference;
  std::string allowed;
};
// The requests, errors and run times of both versions since the rollout began, with the intervals of their differences
// and what the manifest allows; empty if nothing has been compared. A row's difference is that of the row's own data.
std::vector<ComparedRow> ComparedRows(const api::Model& model);
// Explains a table in which the interval of the test that failed is missing; "" if there is nothing to explain.
std::string ComparedNote(const api::Model& model);
// The rows as a table, with the note below it; "" if nothing has been compared.
std::string ComparedText(const api::Model& model);
// Says that the answers of many pairs differ although nothing in the manifest limits it; "" if this is not so.
std::string DriftWarning(const api::Model& model);

// A difference that the table shows, as numbers: of error rates as a share, of run times as a share of stable's.
struct NamedBounds {
  const char* subject;
  Bounds bounds;
};
// Returns the differences whose intervals are known.
std::vector<NamedBounds> BoundsOf(const api::Model& model);

// How long the candidate's run times may be compared with stable's: "at most 10 % or 0.1 ms longer".
std::string RunTimeAllowed(const api::Model& model);

// What the current step or phase still needs, and when a test would fail, in counts of requests or pairs: one sentence
// per line. "" if no rollout is judged now.
std::string OutlookText(const api::Model& model);

}  // namespace longshore::cli::text
