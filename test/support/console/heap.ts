import type { Page } from 'playwright-core';

/** Whether a text is in the memory of a page's scripts, after unused memory has been collected. */
export async function heapHas(page: Page, text: string): Promise<boolean> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send('HeapProfiler.enable');
    await session.send('HeapProfiler.collectGarbage');
    let snapshot = '';
    session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => {
      snapshot += chunk;
    });
    await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    return snapshot.includes(text);
  } finally {
    await session.detach();
  }
}
