import { PageCheck, problemOf } from '../page-check.ts';
import { readHeads } from '../pages.ts';

/** What is known of the pages of a file that may be damaged. */
export interface KnownPages {
  /** What is wrong with its structure, as the end of a sentence; undefined when it is whole. */
  readonly problem: string | undefined;
  /** Whether it is known which pages are free. */
  readonly isFreeListKnown: boolean;
  /** Whether a page may be a part of the store; false for one that is free, and may have what was deleted. */
  readonly mayBeUsed: (page: number) => boolean;
}

/** Call it while nothing can write. */
export function knownPages(file: number): KnownPages {
  const heads = readHeads(file);
  if (heads === undefined)
    return { problem: 'it has no valid meta pages', isFreeListKnown: false, mayBeUsed: () => true };
  const checkAfter = (run: (check: PageCheck) => void) => {
    let check: PageCheck | undefined;
    const problem = problemOf(() => {
      check = new PageCheck(file, heads);
      run(check);
    });
    return { check, problem };
  };
  const { check, problem } = checkAfter((each) => each.run());
  if (problem === undefined)
    return { problem, isFreeListKnown: true, mayBeUsed: (page) => check?.isUsedBy('tree', page) === true };
  const free = checkAfter((each) => each.checkFreeList());
  const isFreeListKnown = free.problem === undefined;
  return {
    ...{ problem, isFreeListKnown },
    mayBeUsed: (page) => !isFreeListKnown || free.check?.isUsedBy('free', page) !== true,
  };
}
