// Agreement: whether the outputs of a candidate and of stable to the same input are the same, by the rules of the model
// (OutputRule of control.proto).
//
// Pure. The first dimension of an output counts its rows; an output without dimensions is one row. Of each output, one
// row is compared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "longshore/control.pb.h"
#include "serving-node/engine/engine.h"
#include "serving-node/evidence/recorder.h"

namespace longshore::evidence {

// A rule and its text (node_contract::TextOf), under which it is counted.
struct NamedRule {
  control::OutputRule rule;
  std::string text;
};
using OutputRules = std::vector<NamedRule>;

// Returns the rules in their order, at most node_contract::kOutputRulesMax, without those that are equal to another.
std::shared_ptr<const OutputRules> RulesOf(const control::Validation& validation);

// Returns false if the rule says nothing about an output like this one: EQUAL compares numbers and strings, the other
// measures compare real numbers, and TOP1 and TOPK need at least two dimensions, because a row needs columns.
bool AppliesTo(const control::OutputRule& rule, const tensor::Tensor& output);

// Returns true if this row of the candidate's output agrees with the same row of stable's. Outputs of different types
// or shapes differ; outputs without elements agree. Requires: AppliesTo(rule, stable), and row < RowsOf(stable) unless
// that is 0.
//   TOP1, TOPK: the columns are the last dimension, and each position of the row must agree. Equal values at the end of
//               the k largest ones count in favour of agreement.
//   COSINE:     the row is one vector. Equal rows agree; otherwise a row of zeros, or with Inf, differs.
//   WITHIN:     equal values agree, also Inf; Inf differs from all other values.
//   EQUAL:      byte by byte: 0 differs from -0, and two NaN agree if their bits are the same.
// Except for EQUAL, a NaN agrees with a NaN and differs from a number: for WITHIN at the same place, for TOP1 and TOPK
// anywhere in the same position, for COSINE anywhere in the row.
bool RowAgrees(const control::OutputRule& rule, const tensor::Tensor& candidate, const tensor::Tensor& stable,
               int64_t row);

// Returns how far an output of the candidate that differs from stable's by the rule is from it, from 0 to 1. For
// WITHIN, this is max|a-b| / (max|a| + max|b|) over all values, and 1 if a value is Inf or only one of two is NaN. For
// the other measures, which have no distance, it is the share of the rows that differ. 1 for outputs of different types
// or shapes. Requires: AppliesTo(rule, stable), and a row differs.
double SeverityOf(const control::OutputRule& rule, const tensor::Tensor& candidate, const tensor::Tensor& stable);

// The answers to one input.
struct Answers {
  const engine::TensorMap& candidate;
  const engine::TensorMap& stable;
  const engine::TensorMap* stable_before;  // Of another run of stable; null if that run failed.
};

// Returns what each rule finds in row `random` modulo the number of rows in stable's output. `random` must not depend
// on the answers. A rule is not counted if stable's answer does not have its output, if it does not apply to the
// output, or if there is no other run of stable.
std::vector<OutputOutcome> CompareOutputs(const OutputRules& rules, const Answers& answers, uint64_t random);

// Returns how the outputs of a candidate cannot be those of stable, whatever their values are: an output that only one
// of them has, another type, another number of dimensions, or another size of a dimension that stable's signature
// states, except for the first. The text names the first such output and what both versions have; "" if there is none.
std::string Mismatch(const engine::TensorMap& candidate, const engine::TensorMap& stable,
                     const tensorflow::SignatureDef& signature);

}  // namespace longshore::evidence
