import type { Operator, ReconcileCounts, ReconcileDifference } from '@counterfoil/client/operator';
import { useEffect, useState } from 'preact/hooks';
import { type Compared, periodOf } from './compared.ts';

export interface Comparison {
  readonly isRunning: boolean;
  readonly differences: readonly ReconcileDifference[];
  readonly counts: ReconcileCounts | undefined;
  /** Why not everything was compared; null if it was. */
  readonly unfinished: string | null;
  readonly error: unknown;
}

const none: Comparison = {
  isRunning: false,
  differences: [],
  counts: undefined,
  unfinished: null,
  error: undefined,
};

/** Compares while the view is open, and again with each attempt. Does nothing without a processor. */
export function useReconciliation(client: Operator, compared: Compared, attempt: number): Comparison {
  const [comparison, setComparison] = useState(none);
  const { processor, from, to } = compared;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt compares again
  useEffect(() => {
    if (processor === undefined) return setComparison(none);
    const leaving = new AbortController();
    const set = (change: Partial<Comparison>) => {
      if (!leaving.signal.aborted) setComparison((before) => ({ ...before, ...change }));
    };
    const compare = async () => {
      const period = periodOf({ ...(from && { from }), ...(to && { to }) });
      for await (const line of client.reconcile({ processor, ...period, signal: leaving.signal })) {
        if (line.type === 'difference') {
          const { type: _, ...difference } = line;
          setComparison((before) => ({ ...before, differences: [...before.differences, difference] }));
        } else if (line.type === 'progress') set({ counts: line });
        else if (line.type === 'end') set({ counts: line, unfinished: line.unfinished });
      }
    };
    setComparison({ ...none, isRunning: true });
    compare()
      .catch((error: unknown) => set({ error }))
      .finally(() => set({ isRunning: false }));
    return () => leaving.abort();
  }, [client, processor, from, to, attempt]);
  return comparison;
}
