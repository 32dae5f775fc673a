import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * How much garbage V8 may keep in a command on tables. With these values an import of 1,000,000 items takes 35 to 60 MB more
 * than an import of 100,000, and with V8's own values 110 to 180 MB more. Half of them would cost a third more processor
 * time.
 */
const youngObjectsMegabytes = 8;
const heapGrowthPercent = 60;
/** How often a serving process looks whether it is idle. */
const idleLookMs = 2_000;
/** The share of that time that an idle process may be busy: recovery looks at the store every second. */
const idleShareMax = 0.02;
/** How much the heap must have grown since the last collection, so that a few requests an hour cause none. */
const idleGrowthBytesMin = 16 * 1024 * 1024;

interface Collection {
  readonly type: 'major';
  /** Also frees what V8 can make again, such as the bytecode of functions that ran once. */
  readonly flavor: 'last-resort';
}

/**
 * Returns memory to the system while the process is idle. V8 collects garbage only when a heap is full, and an idle process
 * fills no heap, so it would keep the memory of its start or of a busy hour. A collection stops the process for about 50 ms
 * (docs/decisions/idle-memory.md).
 */
export function giveMemoryBackWhenIdle(): void {
  const collect = collector();
  let before = performance.eventLoopUtilization();
  let collectedTo = 0;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > idleShareMax || heapBytes() - collectedTo < idleGrowthBytesMin) return;
    collect({ type: 'major', flavor: 'last-resort' });
    collectedTo = heapBytes();
    // The collection is not work of the service.
    before = performance.eventLoopUtilization();
  }, idleLookMs).unref();
}

function heapBytes(): number {
  return getHeapStatistics().total_physical_size;
}

/** Node.js has no other access to the collector. The flag exposes the function in contexts that are created while it is set. */
function collector(): (collection: Collection) => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (collection: Collection) => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

/**
 * Commands that move many items make much garbage and keep little. V8 would let the heap grow with the length of the file.
 * Call this before the store is opened, because the thread of the store has its own heap.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`--max-semi-space-size=${youngObjectsMegabytes}`);
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
}

/**
 * V8 allocates objects as old where it has seen them survive. It would then treat the objects of requests as long-lived, and
 * garbage collection would take a third of the processor time (docs/decisions/small-requests.md).
 */
export function keepRequestsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
