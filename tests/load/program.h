// The program longshore-load: its flags, and the loop that takes commands and prints results.
#pragma once

#include <chrono>
#include <functional>

#include "tests/load/ledger.h"

namespace longshore::load {

// The longest time from a request to its answer: one deadline for each try, and 5 s for the pauses between the tries
// and for a slow machine.
std::chrono::milliseconds AnswerTimeMax(std::chrono::milliseconds deadline, int retries);

// Waits until every request of the ledger is answered, at most for `time_max`, and calls `meanwhile` about every 10 ms.
// Returns whether all of them are answered.
bool AwaitAnswers(const Ledger& ledger, std::chrono::milliseconds time_max, const std::function<void()>& meanwhile);

// Returns the exit code: 0 if every request got exactly one good answer and no version was disputed, 1 if not, 2 if the
// flags or the input file are not valid. A comparison returns 0 if both files can be compared, whatever it finds.
int Main(int argc, char** argv);

}  // namespace longshore::load
