// Threads that must not slow what serves.
#pragma once

namespace longshore::process {

// From now on the calling thread yields to the others of the process: a tenth of their share of a busy processor
// (nice 10), and whoever wakes may interrupt it at once (a time slice of 100 ms; sched(7), Linux 6.12 or later).
// What the system refuses is logged once and changes nothing else.
void RunInBackground();

}  // namespace longshore::process
