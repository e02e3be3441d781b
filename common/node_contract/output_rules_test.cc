#include "common/node_contract/output_rules.h"

#include <gmock/gmock.h>

#include <set>

namespace longshore::node_contract {
namespace {

control::OutputRule Rule(control::OutputRule::Measure measure) {
  control::OutputRule rule;
  rule.set_output("scores");
  rule.set_measure(measure);
  return rule;
}

TEST(OutputRules, HaveATextThatPeopleCanRead) {
  EXPECT_EQ(TextOf(Rule(control::OutputRule::TOP1)), "scores: Top1");
  control::OutputRule top = Rule(control::OutputRule::TOPK);
  top.set_k(5);
  top.set_similarity(0.8);
  EXPECT_EQ(TextOf(top), "scores: Top5, overlap 0.8");
  control::OutputRule within = Rule(control::OutputRule::WITHIN);
  within.set_relative(1e-3);
  within.set_absolute(1e-5);
  EXPECT_EQ(TextOf(within), "scores: Within, absolute 1e-05, relative 0.001");
}

TEST(OutputRules, HaveDifferentTextsIfTheyDiffer) {
  std::set<std::string> texts;
  for (const auto measure : {control::OutputRule::TOP1, control::OutputRule::TOPK, control::OutputRule::COSINE,
                             control::OutputRule::WITHIN, control::OutputRule::EQUAL}) {
    control::OutputRule rule = Rule(measure);
    texts.insert(TextOf(rule));
    rule.set_output("labels");
    texts.insert(TextOf(rule));
  }
  EXPECT_EQ(texts.size(), 10U);
  control::OutputRule text = Rule(control::OutputRule::EQUAL);
  const std::string exact = TextOf(text);
  text.set_collapse_whitespace(true);
  EXPECT_NE(TextOf(text), exact);
}

}  // namespace
}  // namespace longshore::node_contract
