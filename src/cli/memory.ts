import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * What V8 may keep before it collects, in a command on tables. An import of 1,000,000 items takes 35 to 60 MB more than one of a
 * tenth with these values, and 110 to 180 MB with V8's own; half as much costs a third more of the processor.
 */
const youngObjectsMegabytes = 8;
const heapGrowthPercent = 60;
/** How often a serving process looks whether it is idle. */
const idleLookMs = 2_000;
/** The share of that time that an idle process may be busy: recovery looks at the store every second. */
const idleShareMax = 0.02;
/** What a collection has to be worth, in bytes that the heap has grown by since the last one: few requests an hour cause none. */
const idleGrowthBytesMin = 16 * 1024 * 1024;

interface Collection {
  readonly type: 'major';
  /** Everything that can be made again goes, too, such as the bytecode of functions that ran once. */
  readonly flavor: 'last-resort';
}

/**
 * Gives memory back to the system while nobody waits. V8 collects garbage when a heap is full, and an idle process fills none: it
 * would keep what its start, or a busy hour, has taken. A collection stops the process for some 50 ms (docs/decisions/idle-memory.md).
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

/** Node.js has no other way to it. The flag shows the function in contexts that are made while it is set. */
function collector(): (collection: Collection) => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (collection: Collection) => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

/**
 * Commands that move many items make much garbage and keep little. V8 would let it grow with the length of the file, since that
 * is the fastest way. Call it before the store is opened, whose thread has a heap of its own.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`--max-semi-space-size=${youngObjectsMegabytes}`);
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
}

/**
 * V8 creates objects as old ones where it has seen them survive. Here it then takes the objects of requests for long-lived, all of
 * them outlive their request, and garbage collection takes a third of the processor (docs/decisions/small-requests.md).
 */
export function keepRequestsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
