/** Work that is done regularly. Instances share it: what one has locked, the others skip. */
export interface SweepTask {
  /**
   * Does the part that is due first.
   *
   * @param merchantId for this merchant alone, whose clock stands still. Without it, for all others.
   */
  run(merchantId?: string): Promise<SweepProgress>;
}

/**
 * How much is looked up at a time for a merchant whose clock stands still: its requests wait meanwhile, and so does the
 * request that moves the clock, which must answer in time.
 */
export const LIMIT_OF_ONE = 20;

/** Work that dates ask for. */
export interface DatedTask extends SweepTask {
  /** Returns the instant at which the next work of a merchant is due, or was; undefined if there is none. */
  nextOf(merchantId: string): Promise<Date | undefined>;
}

export interface SweepProgress {
  /** Whether there may be more to do at once. */
  hasMore: boolean;
  /** The instant up to which nothing is due any more. By default, that is when the run began. */
  doneUntil?: Date;
}

/** @param due what was due first and has been done. @param limit how much of it was looked up. */
export function progressOf(due: readonly { expiresAt: Date }[], limit: number, now: Date): SweepProgress {
  const hasMore = due.length === limit;
  return { hasMore, doneUntil: hasMore ? due.at(-1)!.expiresAt : now };
}

/** Does each of some things, also after one of them failed. @throws the first error, at the end. */
export async function doEach<T>(things: Iterable<T>, doOne: (thing: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  for (const thing of things) await doOne(thing).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
