// Lowers the priority of background threads, so that they do not slow down requests.
#pragma once

namespace longshore::process {

// Lowers the priority of the calling thread. Nice 10: on a busy processor it gets a tenth of the share of other
// threads. A long time slice of 100 ms: other threads that wake up may preempt it immediately (sched(7), Linux 6.12 or
// later). If the system does not permit this, logs it once and does not change the priority. Also sets the thread's
// timer slack (prctl(2)) to the minimum, so that GiveWay is short.
void RunInBackground();

// Sleeps as briefly as possible, so that waiting threads of a higher priority run. Takes about 10 us on a background
// thread, and 60 us on others. Call it about every 100 us of work: a thread that wakes up is sometimes not preferred at
// once, if a third thread waits too, and then waits for the kernel's next tick, up to 4 ms. sched_yield is not
// suitable: it gives up the whole time slice.
void GiveWay();

}  // namespace longshore::process
