// The program longshore-load: its flags, and the loop that takes commands and prints JSON lines.
#pragma once

#include <chrono>
#include <functional>

#include "tests/load/ledger.h"

namespace longshore::load {

// The longest time from a request to its answer: each try has a deadline, and 5 s are for the pauses between the tries
// and for a slow machine.
std::chrono::milliseconds AnswerTimeMax(std::chrono::milliseconds deadline, int retries);

// Waits until every request of the ledger is answered, at most for `time_max`, and calls `meanwhile` about every 10 ms.
// Returns whether all of them are answered.
bool AwaitAnswers(const Ledger& ledger, std::chrono::milliseconds time_max, const std::function<void()>& meanwhile);

// Returns the exit code: 0 if every request got a good answer, 1 if some did not, 2 for invalid flags.
int Main(int argc, char** argv);

}  // namespace longshore::load
