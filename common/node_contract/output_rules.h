// The rules by which pairs compare the outputs of two versions (OutputRule of control.proto), as texts.
#pragma once

#include <string>

#include "longshore/control.pb.h"

namespace longshore::node_contract {

// The largest number of rules of a model.
inline constexpr int kOutputRulesMax = 32;

// Returns a text that two rules share if and only if they are equal, for example "probabilities: Top1" or
// "boxes: Within, absolute 1e-05, relative 0.001". Nodes report the counts of a rule under it, and people read it.
std::string TextOf(const control::OutputRule& rule);

}  // namespace longshore::node_contract
