// Lowers the priority of background threads, so that they do not slow down requests.
#pragma once

namespace longshore::process {

// Lowers the priority of the calling thread. Nice 10: on a busy processor it gets a tenth of the share of other
// threads. A long time slice of 100 ms: other threads that wake up may preempt it immediately (sched(7), Linux 6.12 or
// later). If the system does not permit this, logs it once and changes nothing.
void RunInBackground();

}  // namespace longshore::process
